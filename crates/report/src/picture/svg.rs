//! Pictures as SVG: for a page, whose stylesheet defines the colours, or for a file.

use super::{Anchor, Ink, Picture, SERIES, Shape, Type, Weight};
use crate::html::escape::escaped;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// The medium of an SVG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Inside a page: colours are variables of its stylesheet.
    Page,
    /// A file of its own: fixed colours on white.
    File,
}

impl Picture {
    /// The picture as an `svg` element; a file includes a white background.
    pub fn to_svg(&self, medium: Medium) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let mut svg = String::with_capacity(256 + 64 * self.shapes.len());
        svg.push_str("<svg xmlns=\"http://www.w3.org/2000/svg\" ");
        // The stylesheet of a page shrinks the picture to the available width. It never enlarges the picture.
        let _ = write!(
            svg,
            "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" "
        );
        let _ = write!(svg, "aria-label=\"{}\" ", escaped(&self.title));
        svg.push_str("font-family=\"Roboto,system-ui,-apple-system,'Segoe UI',sans-serif\">");
        let _ = write!(svg, "<title>{}</title>", escaped(&self.title));
        if medium == Medium::File {
            let _ = write!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        }
        for shape in &self.shapes {
            write_shape(&mut svg, shape, medium);
        }
        svg.push_str("</svg>");
        svg
    }
}

fn write_shape(svg: &mut String, shape: &Shape, medium: Medium) {
    let paint = |ink: Ink| color(ink, medium);
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Rect([x, y, width, height], ink) => write!(
            svg,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            number(*x),
            number(*y),
            number(*width),
            number(*height),
            paint(*ink)
        ),
        Shape::Line(points, ink, width) if points.len() == 2 => {
            let ends = [coordinates(&points[..1]), coordinates(&points[1..])].join("L");
            let width = match number(*width).as_str() {
                "1" => String::new(),
                other => format!(" stroke-width=\"{other}\""),
            };
            write!(svg, "<path d=\"M{ends}\" stroke=\"{}\"{width}/>", paint(*ink))
        }
        Shape::Line(points, ink, width) => write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"/>",
            coordinates(points),
            paint(*ink),
            number(*width)
        ),
        Shape::Area(points, ink) => {
            write!(
                svg,
                "<polygon points=\"{}\" fill=\"{}\" opacity=\".32\"/>",
                coordinates(points),
                paint(*ink)
            )
        }
        Shape::Disc([x, y], radius, ink) => write!(
            svg,
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
            number(*x),
            number(*y),
            number(*radius),
            paint(*ink)
        ),
        Shape::Text([x, y], anchor, Type { size, weight, ink }, text) => {
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\"",
                number(*x),
                number(*y),
                number(*size)
            );
            if *weight == Weight::Medium {
                svg.push_str(" font-weight=\"600\"");
            }
            match anchor {
                Anchor::Start => {}
                Anchor::Middle => svg.push_str(" text-anchor=\"middle\""),
                Anchor::End => svg.push_str(" text-anchor=\"end\""),
            }
            write!(svg, " fill=\"{}\">{}</text>", paint(*ink), escaped(text))
        }
        Shape::Raster { area: [x, y, width, height], columns, squares } => {
            match super::png::squares(squares, *columns) {
                Some(png) => write!(
                    svg,
                    "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
                     image-rendering=\"pixelated\" href=\"data:image/png;base64,{}\"/>",
                    number(*x),
                    number(*y),
                    number(*width),
                    number(*height),
                    STANDARD.encode(png)
                ),
                None => Ok(()),
            }
        }
    };
}

fn color(ink: Ink, medium: Medium) -> String {
    match (ink, medium) {
        (Ink::Paper, Medium::Page) => "var(--card)".into(),
        (Ink::Text, Medium::Page) => "var(--text)".into(),
        (Ink::Faint, Medium::Page) => "var(--faint)".into(),
        (Ink::Line, Medium::Page) => "var(--line)".into(),
        (Ink::Series(index), Medium::Page) => format!("var(--series-{})", index % SERIES.len()),
        (ink, _) => {
            let [red, green, blue] = ink.fixed();
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
    }
}

fn coordinates(points: &[[f64; 2]]) -> String {
    points.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect::<Vec<_>>().join(" ")
}

/// Formats a coordinate with at most two decimals: a hundredth of a pixel is invisible.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Picture {
        let mut picture = Picture::new("a <b> & \"c\"", 40.0, 20.0);
        picture.rect([0.0, 0.0, 10.5, 10.0], Ink::Rgb([1, 2, 255]));
        picture.text([5.0, 9.0], Anchor::Middle, Type::with_size(12.0).strong(), "</text><script>");
        picture
    }

    #[test]
    fn untrusted_text_is_escaped() {
        for medium in [Medium::Page, Medium::File] {
            let svg = sample().to_svg(medium);
            assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
            assert!(svg.contains("&lt;/text&gt;&lt;script&gt;"), "{svg}");
        }
    }

    #[test]
    fn a_file_has_fixed_colours_and_a_page_has_those_of_its_stylesheet() {
        let (file, page) = (sample().to_svg(Medium::File), sample().to_svg(Medium::Page));
        assert!(!file.contains("var(") && file.contains("fill=\"#ffffff\""));
        assert!(page.contains("var(--text)") && page.contains("#0102ff"));
    }

    #[test]
    fn tiled_and_stacked_sizes_include_all_pictures() {
        let tiled = Picture::tiled("", vec![sample(), sample(), sample()], 2, 4.0);
        assert_eq!((tiled.width, tiled.height), (84.0, 44.0));
        let stacked = Picture::stacked("", vec![sample(), sample()], 4.0);
        assert_eq!((stacked.width, stacked.height), (40.0, 44.0));
    }
}
