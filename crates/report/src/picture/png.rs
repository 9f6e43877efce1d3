//! Pictures as PNG.

use super::glyphs::{Stroke, strokes, text_width};
use super::{Anchor, Ink, Picture, Shape};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8, Rect,
    Stroke as Pen, Transform,
};

/// Pixels per unit of a picture, so that text is sharp on any screen.
const SCALE: f32 = 2.0;
/// Largest width and height in pixels; larger pictures would need gigabytes.
const MAX_PIXELS: f64 = 16_000.0;

impl Picture {
    /// The picture as a PNG file on white; `None` if it is too large.
    pub fn to_png(&self) -> Option<Vec<u8>> {
        let size = |length: f64| {
            let pixels = (length * f64::from(SCALE)).ceil();
            (1.0..=MAX_PIXELS).contains(&pixels).then_some(pixels as u32)
        };
        let mut pixmap = Pixmap::new(size(self.width)?, size(self.height)?)?;
        pixmap.fill(Color::WHITE);
        let mut canvas = Canvas { pixmap, transform: Transform::from_scale(SCALE, SCALE) };
        for shape in &self.shapes {
            canvas.draw(shape);
        }
        canvas.pixmap.encode_png().ok()
    }
}

pub(super) fn squares(squares: &[Option<[u8; 3]>], columns: usize) -> Option<Vec<u8>> {
    let rows = squares.len().checked_div(columns)?;
    let mut pixmap = Pixmap::new(columns as u32, rows as u32)?;
    for (pixel, square) in pixmap.pixels_mut().iter_mut().zip(squares) {
        *pixel = match square {
            Some([red, green, blue]) => PremultipliedColorU8::from_rgba(*red, *green, *blue, 255)?,
            None => PremultipliedColorU8::TRANSPARENT,
        };
    }
    pixmap.encode_png().ok()
}

struct Canvas {
    pixmap: Pixmap,
    transform: Transform,
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect(area, ink) => self.rect(*area, *ink),
            Shape::Line(points, ink, width) => {
                let pen = Pen {
                    width: *width as f32,
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    ..Pen::default()
                };
                if let Some(path) = polygon(points, false) {
                    self.pixmap.stroke_path(&path, &paint(*ink, 255), &pen, self.transform, None);
                }
            }
            Shape::Area(points, ink) => self.fill(polygon(points, true), &paint(*ink, 82)),
            Shape::Disc([x, y], radius, ink) => {
                let path = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                self.fill(path, &paint(*ink, 255));
            }
            Shape::Text(at, anchor, style, text) => {
                let width = text_width(text, style.size, style.weight);
                let left = match anchor {
                    Anchor::Start => at[0],
                    Anchor::Middle => at[0] - width / 2.0,
                    Anchor::End => at[0] - width,
                };
                let mut path = PathBuilder::new();
                strokes(text, [left, at[1]], style.size, style.weight, |stroke| match stroke {
                    Stroke::Move([x, y]) => path.move_to(x as f32, y as f32),
                    Stroke::Line([x, y]) => path.line_to(x as f32, y as f32),
                    Stroke::Curve([cx, cy], [x, y]) => path.quad_to(cx as f32, cy as f32, x as f32, y as f32),
                    Stroke::Close => path.close(),
                });
                self.fill(path.finish(), &paint(style.ink, 255));
            }
            Shape::Raster { area: [x, y, width, height], columns, squares } => {
                let columns = (*columns).max(1);
                let rows = squares.len().div_ceil(columns).max(1);
                let (square_width, square_height) = (width / columns as f64, height / rows as f64);
                for (index, square) in squares.iter().enumerate() {
                    let Some(rgb) = square else { continue };
                    let (column, row) = ((index % columns) as f64, (index / columns) as f64);
                    self.rect(
                        [x + column * square_width, y + row * square_height, square_width, square_height],
                        Ink::Rgb(*rgb),
                    );
                }
            }
        }
    }

    fn rect(&mut self, [x, y, width, height]: [f64; 4], ink: Ink) {
        if let Some(rect) = Rect::from_xywh(x as f32, y as f32, width as f32, height as f32) {
            // Without hard edges, neighbouring squares would show seams.
            let paint = Paint { anti_alias: false, ..paint(ink, 255) };
            self.pixmap.fill_rect(rect, &paint, self.transform, None);
        }
    }

    fn fill(&mut self, path: Option<Path>, paint: &Paint<'_>) {
        if let Some(path) = path {
            self.pixmap.fill_path(&path, paint, FillRule::Winding, self.transform, None);
        }
    }
}

fn polygon(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, [x, y]) in points.iter().enumerate() {
        match index {
            0 => path.move_to(*x as f32, *y as f32),
            _ => path.line_to(*x as f32, *y as f32),
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint(ink: Ink, alpha: u8) -> Paint<'static> {
    let [red, green, blue] = ink.fixed();
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, alpha);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Type;

    #[test]
    fn a_picture_becomes_pixels_of_its_colours() {
        let mut picture = Picture::new("", 10.0, 4.0);
        picture.rect([0.0, 0.0, 5.0, 4.0], Ink::Rgb([200, 10, 30]));
        let pixmap = Pixmap::decode_png(&picture.to_png().unwrap()).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (20, 8));
        let color_at = |x, y| pixmap.pixel(x, y).map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
        assert_eq!((color_at(2, 2), color_at(15, 2)), (Some([200, 10, 30]), Some([255, 255, 255])));
    }

    #[test]
    fn text_is_drawn_without_installed_fonts() {
        let mut picture = Picture::new("", 60.0, 20.0);
        picture.text([4.0, 15.0], Anchor::Start, Type::with_size(14.0), "85 ns");
        let pixmap = Pixmap::decode_png(&picture.to_png().unwrap()).unwrap();
        let dark = pixmap.pixels().iter().filter(|pixel| pixel.red() < 128).count();
        assert!((100..1500).contains(&dark), "{dark} dark pixels");
    }

    #[test]
    fn squares_keep_their_places_and_gaps() {
        let png = squares(&[Some([1, 2, 3]), None, None, Some([4, 5, 6])], 2).unwrap();
        let pixmap = Pixmap::decode_png(&png).unwrap();
        let alpha: Vec<u8> = pixmap.pixels().iter().map(|pixel| pixel.alpha()).collect();
        assert_eq!(alpha, [255, 0, 0, 255]);
    }

    #[test]
    fn oversized_pictures_give_none() {
        assert_eq!(Picture::new("", 1e7, 10.0).to_png(), None);
        assert_eq!(Picture::new("", 0.0, 0.0).to_png(), None);
    }
}
