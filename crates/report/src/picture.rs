//! [`Picture`]: shapes with a size, written as SVG or PNG.
//!
//! Colours are roles ([`Ink`]): on a page they follow the light or the dark theme, in a file they are fixed.

mod glyphs;
mod png;
mod svg;

pub use glyphs::{Weight, text_width};
pub use svg::Medium;

/// A drawing in CSS pixels; y points downwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Description in one line, used as the accessible name.
    pub title: String,
    /// Shapes in drawing order.
    pub shapes: Vec<Shape>,
    /// Series and maps of trials in the picture.
    pub shows: Vec<SeriesName>,
}

/// The name of a series in tables: each parameter with its value in words.
pub type SeriesName = Vec<(String, String)>;

/// A colour by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The background.
    Paper,
    /// Text.
    Text,
    /// Text of lower emphasis.
    Faint,
    /// Grid and frames.
    Line,
    /// The n-th curve of a chart.
    Series(usize),
    /// A colour of the palette, independent of the theme.
    Rgb([u8; 3]),
}

/// Colours of the curves on white, as in the stylesheet of the page. Source: Okabe and Ito (2008), a palette for
/// colour-blind readers. Each colour has a contrast of 3 : 1 on white; violet replaces the second blue.
const SERIES: [[u8; 3]; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x8f, 0x68],
    [0xbf, 0x4b, 0x8b],
    [0x6a, 0x3d, 0x9a],
    [0x95, 0x72, 0x00],
    [0x55, 0x55, 0x55],
];

impl Ink {
    fn fixed(self) -> [u8; 3] {
        match self {
            Ink::Paper => [0xff, 0xff, 0xff],
            Ink::Text => [0x1b, 0x1f, 0x24],
            Ink::Faint => [0x5b, 0x63, 0x6d],
            Ink::Line => [0xd4, 0xd9, 0xdf],
            Ink::Series(index) => SERIES[index % SERIES.len()],
            Ink::Rgb(rgb) => rgb,
        }
    }
}

/// The alignment of a text relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text starts at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// Size, weight and colour of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Type {
    /// Height of an em.
    pub size: f64,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub ink: Ink,
}

impl Type {
    /// Text of a size, in regular weight.
    pub const fn with_size(size: f64) -> Type {
        Type { size, weight: Weight::Regular, ink: Ink::Text }
    }

    /// The same text style in another colour.
    pub const fn in_ink(self, ink: Ink) -> Type {
        Type { ink, ..self }
    }

    /// The same text style, bolder.
    pub const fn strong(self) -> Type {
        Type { weight: Weight::Medium, ..self }
    }
}

/// A shape of a drawing.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A filled rectangle: left, top, width, height.
    Rect([f64; 4], Ink),
    /// Points joined by straight lines of a width.
    Line(Vec<[f64; 2]>, Ink, f64),
    /// A filled, translucent polygon.
    Area(Vec<[f64; 2]>, Ink),
    /// A filled disc: centre and radius.
    Disc([f64; 2], f64, Ink),
    /// Text with its baseline at the point.
    Text([f64; 2], Anchor, Type, String),
    /// Squares of one colour each, row by row; `None` is transparent.
    Raster {
        /// Left, top, width, height.
        area: [f64; 4],
        /// Squares in a row.
        columns: usize,
        /// The squares.
        squares: Vec<Option<[u8; 3]>>,
    },
}

impl Picture {
    /// An empty drawing.
    pub fn new(title: impl Into<String>, width: f64, height: f64) -> Picture {
        Picture { width, height, title: title.into(), shapes: Vec::new(), shows: Vec::new() }
    }

    /// Adds a rectangle.
    pub fn rect(&mut self, area: [f64; 4], ink: Ink) {
        self.shapes.push(Shape::Rect(area, ink));
    }

    /// Adds a line through points.
    pub fn line(&mut self, points: Vec<[f64; 2]>, ink: Ink, width: f64) {
        self.shapes.push(Shape::Line(points, ink, width));
    }

    /// Adds a translucent polygon.
    pub fn area(&mut self, points: Vec<[f64; 2]>, ink: Ink) {
        self.shapes.push(Shape::Area(points, ink));
    }

    /// Adds a disc.
    pub fn disc(&mut self, center: [f64; 2], radius: f64, ink: Ink) {
        self.shapes.push(Shape::Disc(center, radius, ink));
    }

    /// Adds text.
    pub fn text(&mut self, at: [f64; 2], anchor: Anchor, style: Type, text: impl Into<String>) {
        self.shapes.push(Shape::Text(at, anchor, style, text.into()));
    }

    /// Draws another picture with its corner at a point; this picture grows if necessary.
    pub fn insert(&mut self, other: Picture, at: [f64; 2]) {
        self.width = self.width.max(at[0] + other.width);
        self.height = self.height.max(at[1] + other.height);
        self.shapes.extend(other.shapes.into_iter().map(|shape| shape.placed(at, 1.0)));
        self.shows.extend(other.shows);
    }

    /// Draws another picture, scaled down to fit, into an area of this picture: left, top, width, height.
    pub fn insert_within(&mut self, other: Picture, [left, top, width, height]: [f64; 4]) {
        let scale = (width / other.width).min(height / other.height).min(1.0);
        self.shapes.extend(other.shapes.into_iter().map(|shape| shape.placed([left, top], scale)));
        self.shows.extend(other.shows);
    }

    /// Pictures below each other, with a gap between them.
    pub fn stacked(title: impl Into<String>, parts: Vec<Picture>, gap: f64) -> Picture {
        let mut whole = Picture::new(title, 0.0, 0.0);
        for part in parts {
            let top = if whole.height > 0.0 { whole.height + gap } else { 0.0 };
            whole.insert(part, [0.0, top]);
        }
        whole
    }

    /// Pictures in rows of at most `columns`, with a gap between them.
    pub fn tiled(title: impl Into<String>, parts: Vec<Picture>, columns: usize, gap: f64) -> Picture {
        let mut whole = Picture::new(title, 0.0, 0.0);
        let mut parts = parts.into_iter().peekable();
        while parts.peek().is_some() {
            let (top, mut left) = (if whole.height > 0.0 { whole.height + gap } else { 0.0 }, 0.0);
            for part in parts.by_ref().take(columns.max(1)) {
                let width = part.width;
                whole.insert(part, [left, top]);
                left += width + gap;
            }
        }
        whole
    }
}

impl Shape {
    fn placed(self, [dx, dy]: [f64; 2], scale: f64) -> Shape {
        let point = |[x, y]: [f64; 2]| [x * scale + dx, y * scale + dy];
        let placed =
            |[x, y, width, height]: [f64; 4]| [x * scale + dx, y * scale + dy, width * scale, height * scale];
        match self {
            Shape::Rect(at, ink) => Shape::Rect(placed(at), ink),
            Shape::Line(points, ink, width) => {
                Shape::Line(points.into_iter().map(point).collect(), ink, width * scale)
            }
            Shape::Area(points, ink) => Shape::Area(points.into_iter().map(point).collect(), ink),
            Shape::Disc(center, radius, ink) => Shape::Disc(point(center), radius * scale, ink),
            Shape::Text(at, anchor, style, text) => {
                Shape::Text(point(at), anchor, Type { size: style.size * scale, ..style }, text)
            }
            Shape::Raster { area: at, columns, squares } => {
                Shape::Raster { area: placed(at), columns, squares }
            }
        }
    }
}
