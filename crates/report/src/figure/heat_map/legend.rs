//! The legend of a heat map, to the right of the map or below it: the colours with their values, and a text.

use super::content::{Content, Painted};
use super::{EDGE, MISSING, SLICES};
use crate::figure::chart::{Axis, Kind, OTHER_FONT};
use crate::figure::{SMALL, wrapped};
use crate::fmt::digits::{axis, ns};
use crate::input::Map;
use crate::palette::Colors;
use crate::picture::{Anchor, Ink, Picture, Weight, text_width};

const STEPS: u32 = 90;
const LEGEND_LINE: f64 = 14.0;

pub fn colors_beside(picture: &mut Picture, colors: &Colors, unit: &str, [left, top]: [f64; 2], height: f64) {
    let kind = if matches!(colors, Colors::Level(_)) { Kind::Log } else { Kind::Linear };
    let axis = Axis { label: String::new(), ends: colors.ends(), kind };
    let step_height = height / f64::from(STEPS);
    for (step, value) in steps_along(&axis) {
        let y = top + height - (f64::from(step) + 1.0) * step_height;
        picture.rect([left, y, 10.0, step_height], Ink::Rgb(colors.rgb(value)));
    }
    let faint = SMALL.in_ink(Ink::Faint);
    let mut free = f64::INFINITY;
    let mut right = left + text_width(unit, SMALL.size, Weight::Regular).max(10.0);
    for (value, text) in axis.ticks() {
        let y = top + height * (1.0 - axis.position(value));
        if y < free {
            picture.line(vec![[left + 10.0, y], [left + 13.0, y]], Ink::Faint, 1.0);
            right = right.max(left + 16.0 + text_width(&text, SMALL.size, Weight::Regular));
            picture.text([left + 16.0, (y + 4.0).clamp(top + 8.0, top + height)], Anchor::Start, faint, text);
            free = y - 15.0;
        }
    }
    picture.text([left, top - 7.0], Anchor::Start, faint, unit);
    picture.width = picture.width.max(right);
}

pub fn legend(content: &Content<'_>, words: &str, width: f64) -> Picture {
    let words = wrapped(words, (width - EDGE) / OTHER_FONT, SMALL);
    let mut picture = Picture::new("legend", width, 44.0 + LEGEND_LINE * (words.len() as f64 - 1.0).max(0.0));
    let length = width.min(360.0);
    let kind = match content.colors {
        Colors::Level(_) => Kind::Log,
        Colors::Difference { .. } => Kind::Linear,
    };
    let axis = Axis { label: String::new(), ends: content.colors.ends(), kind };
    let step_width = length / f64::from(STEPS);
    for (step, value) in steps_along(&axis) {
        picture
            .rect([f64::from(step) * step_width, 0.0, step_width, 10.0], Ink::Rgb(content.colors.rgb(value)));
    }
    let mut free = f64::NEG_INFINITY;
    for (value, text) in axis.ticks() {
        let half = text_width(&text, SMALL.size, Weight::Regular) / 2.0;
        let at = (axis.position(value) * length).clamp(half, length - half);
        if at - half > free {
            picture.line(vec![[at, 10.0], [at, 13.0]], Ink::Faint, 1.0);
            picture.text([at, 25.0], Anchor::Middle, SMALL.in_ink(Ink::Faint), text);
            free = at + half + 6.0;
        }
    }
    for (line, text) in words.into_iter().enumerate() {
        let below = 41.0 + LEGEND_LINE * line as f64;
        picture.text([0.0, below], Anchor::Start, SMALL.in_ink(Ink::Faint), text);
    }
    let missing = content.cells.iter().any(|cell| cell.median_ns.is_none() && cell.pairs > 0);
    if missing && width > length + 120.0 {
        let left = length + 24.0;
        for line in 0..4 {
            let x = left + f64::from(line) * 5.0;
            picture.line(vec![[x, 10.0], [x + 8.0, 0.0]], MISSING, 1.0);
        }
        picture.text([left + 32.0, 10.0], Anchor::Start, SMALL.in_ink(Ink::Faint), "not measured");
    }
    picture
}

fn steps_along(axis: &Axis) -> impl Iterator<Item = (u32, f64)> {
    let ([low, high], kind) = (axis.ends, axis.kind);
    (0..STEPS).map(move |step| {
        let share = f64::from(step) / f64::from(STEPS - 1);
        let value = match kind {
            Kind::Log => low * (high / low).powf(share),
            Kind::Linear | Kind::Nines => low + (high - low) * share,
        };
        (step, value)
    })
}

pub fn legend_words(map: &Map, Painted { scale, same }: Painted) -> String {
    let values = || map.columns.median.iter().copied().flatten();
    let outside =
        [values().any(|value| value < scale.low * 0.999), values().any(|value| value > scale.high * 1.001)];
    let is_wider = values().all(|value| value < scale.high * 0.999);
    let range = match (same, is_wider) {
        (Some(same), _) => same,
        (None, true) => {
            "colours from the minimum of this map to 1.5 times that, so that noise does not fill the scale"
        }
        (None, false) => "colours fitted to this map",
    };
    let number = |value: f64| if value < 1e5 { ns(value) } else { axis(value) };
    let (low, high) = (number(scale.low), number(scale.high));
    let mut words = vec![format!("{}, logarithmic", map.unit), range.to_owned()];
    words.extend(same.is_none().then(|| format!("{} to {}", number(scale.low), number(scale.high))));
    words.extend(map.columns.slices.contains(&true).then(|| format!("s: {SLICES}")));
    words.extend(outside[0].then(|| format!("below {low}: the first colour")));
    words.extend(outside[1].then(|| format!("above {high}: the last colour")));
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Columns;
    use crate::input::ScaleChoice;

    #[test]
    fn the_legend_states_a_colour_range_wider_than_the_values() {
        let words = |values: [f64; 2]| {
            let columns = Columns { median: values.map(Some).to_vec(), ..Columns::default() };
            let map = Map { columns, ..Map::default() };
            legend_words(&map, Painted::paint(&map, ScaleChoice::Fit))
        };
        let wider = words([2.0, 2.2]);
        assert!(wider.contains("to 1.5 times that") && wider.contains("2.00 to 3.00"), "{wider}");
        assert!(words([2.0, 20.0]).contains("fitted to this map; 2.00 to 20.0"), "{}", words([2.0, 20.0]));
    }
}
