//! Letters as outlines: widths for layout and shapes for PNG, without installed fonts.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The outlines. The head of the file states their source and licence.
const OUTLINES: &str = include_str!("glyphs.txt");
const EM: f64 = 1000.0;
const UNKNOWN: Glyph =
    Glyph { advance: 600.0, outline: "M80 0L80 700L520 700L520 0ZM140 60L460 60L460 640L140 640Z" };

/// The weight of a font.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// For text.
    Regular,
    /// For titles.
    Medium,
}

#[derive(Debug, Clone, Copy)]
struct Glyph {
    advance: f64,
    outline: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stroke {
    Move([f64; 2]),
    Line([f64; 2]),
    Curve([f64; 2], [f64; 2]),
    Close,
}

/// The width of a text, in the unit of its size.
///
/// ```
/// # use coretalk_report::picture::{Weight, text_width};
/// assert!(text_width("mm", 12.0, Weight::Regular) > text_width("ii", 12.0, Weight::Regular));
/// ```
pub fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    text.chars().map(|c| glyph(c, weight).advance).sum::<f64>() * size / EM
}

/// Calls `take` with each stroke of a text whose baseline starts at a point.
pub(super) fn strokes(
    text: &str,
    [left, baseline]: [f64; 2],
    size: f64,
    weight: Weight,
    mut take: impl FnMut(Stroke),
) {
    let scale = size / EM;
    let mut pen = left;
    for c in text.chars() {
        let glyph = glyph(c, weight);
        let point = |x: f64, y: f64| [pen + x * scale, baseline - y * scale];
        each_stroke(glyph.outline, |letter, numbers| match (letter, numbers) {
            ('M', &[x, y, ..]) => take(Stroke::Move(point(x, y))),
            ('L', &[x, y, ..]) => take(Stroke::Line(point(x, y))),
            ('Q', &[cx, cy, x, y]) => take(Stroke::Curve(point(cx, cy), point(x, y))),
            _ => take(Stroke::Close),
        });
        pen += glyph.advance * scale;
    }
}

fn each_stroke(outline: &str, mut take: impl FnMut(char, &[f64])) {
    let is_letter = |c: char| c.is_ascii_uppercase();
    let mut rest = outline;
    while let Some(letter) = rest.chars().next() {
        let end = rest[1..].find(is_letter).map_or(rest.len(), |at| at + 1);
        let numbers: Vec<f64> = rest[1..end].split(' ').filter_map(|number| number.parse().ok()).collect();
        take(letter, &numbers);
        rest = &rest[end..];
    }
}

fn glyph(c: char, weight: Weight) -> Glyph {
    static GLYPHS: OnceLock<HashMap<(Weight, char), Glyph>> = OnceLock::new();
    let glyphs = GLYPHS.get_or_init(|| OUTLINES.lines().filter_map(parsed).collect());
    let known = |weight| glyphs.get(&(weight, c)).copied();
    known(weight).or_else(|| known(Weight::Regular)).unwrap_or(UNKNOWN)
}

fn parsed(line: &'static str) -> Option<((Weight, char), Glyph)> {
    let mut parts = line.splitn(4, ' ');
    let weight = match parts.next()? {
        "R" => Weight::Regular,
        "M" => Weight::Medium,
        _ => return None,
    };
    let c = char::from_u32(u32::from_str_radix(parts.next()?, 16).ok()?)?;
    let advance = parts.next()?.parse().ok()?;
    Some(((weight, c), Glyph { advance, outline: parts.next().unwrap_or_default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = OUTLINES.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            let ((_, c), glyph) = parsed(line).unwrap();
            let mut strokes = 0;
            each_stroke(glyph.outline, |letter, numbers| {
                strokes += 1;
                let expected = match letter {
                    'M' | 'L' => 2,
                    'Q' => 4,
                    'Z' => 0,
                    other => panic!("{c:?} has the stroke {other}"),
                };
                assert_eq!(numbers.len(), expected, "{c:?}");
            });
            assert!(glyph.advance > 0.0 && (strokes > 0 || c.is_whitespace()), "{c:?}");
        }
    }

    #[test]
    fn characters_in_reports_have_outlines() {
        for c in "ABCxyz 0123456789.,:;()[]±×·–—→↔≤≥µ%|°…™®".chars() {
            for weight in [Weight::Regular, Weight::Medium] {
                assert!(glyph(c, weight).outline != UNKNOWN.outline, "{c:?}");
            }
        }
        assert_eq!(glyph('数', Weight::Regular).outline, UNKNOWN.outline);
    }
}
