//! Points with their intervals, one row each: comparisons of placements, and the steps of a ladder.

use super::chart::{Axis, Kind, OTHER_BOLD, OTHER_FONT};
use super::{BODY, SMALL, cut};
use crate::picture::{Anchor, Ink, Picture, Weight, text_width};

/// A row of the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalRow {
    /// Name of the row.
    pub name: String,
    /// The value; without a value, only `words` are shown.
    pub point: Option<f64>,
    /// Interval of the value.
    pub interval: Option<[f64; 2]>,
    /// Minimum and maximum of the summarized values.
    pub range: Option<[f64; 2]>,
    /// Text at the right: the value with its interval.
    pub words: String,
    /// The colour, as the index of a series.
    pub series: usize,
    /// The heading of a group that starts with this row.
    pub heading: Option<String>,
}

const NARROW: f64 = 480.0;

/// Draws rows over one axis; `None` if no row has a value.
pub fn intervals(title: &str, label: &str, kind: Kind, rows: &[IntervalRow], width: f64) -> Option<Picture> {
    let values = rows.iter().flat_map(|row| {
        let ends = row.interval.into_iter().chain(row.range).flatten();
        row.point.into_iter().chain(ends)
    });
    let axis = Axis::over(label, kind, values)?;
    let width_of = |text: &str| OTHER_FONT * text_width(text, BODY.size, Weight::Regular);
    let widest = |text: fn(&IntervalRow) -> &str| {
        rows.iter().map(|row| width_of(text(row))).fold(40.0, f64::max).min(width)
    };
    let (full_names, words) = (widest(|row| &row.name), widest(|row| &row.words));
    let is_narrow = width < NARROW;
    let names = full_names.min(width * 0.34);
    // A quarter of the width is reserved for the points.
    let words = if is_narrow { words } else { words.min(width * 0.75 - names) };
    // A name and a value without room next to the points are above them, each on its own line if necessary.
    let is_stacked = is_narrow && full_names + words + 12.0 > width;
    let (left, right) = if is_narrow { (8.0, width - 8.0) } else { (names + 16.0, width - words - 16.0) };
    let (names, below) = match (is_narrow, is_stacked) {
        (_, true) => (width, 16.0),
        (true, false) => (width - words - 12.0, 0.0),
        (false, false) => (names, 0.0),
    };
    let x = |value: f64| left + axis.position(value) * (right - left);
    let mut picture = Picture::new(title, width, 0.0);
    let title = super::wrapped(title, width / OTHER_BOLD, BODY.strong());
    let top = 12.0 + super::paragraph(&mut picture, [0.0, 0.0], BODY.strong(), &title);
    let mut baseline = top;
    let mut drawn = Vec::new();
    for row in rows {
        if let Some(heading) = &row.heading {
            baseline += 26.0;
            drawn.push((baseline, None, heading));
        }
        baseline += 22.0;
        drawn.push((baseline, Some(row), &row.name));
        baseline += below + if is_narrow { 16.0 } else { 0.0 };
    }
    let bottom = baseline + 10.0;
    let mut free = f64::NEG_INFINITY;
    for (value, text) in axis.ticks() {
        picture.line(vec![[x(value), top + 4.0], [x(value), bottom]], Ink::Line, 1.0);
        let half = text_width(&text, SMALL.size, Weight::Regular) / 2.0;
        if x(value) - half > free {
            picture.text([x(value), bottom + 15.0], Anchor::Middle, SMALL.in_ink(Ink::Faint), text);
            free = x(value) + half + 8.0;
        }
    }
    picture.text([right, bottom + 32.0], Anchor::End, SMALL.in_ink(Ink::Faint), &axis.label);
    for (baseline, row, name) in drawn {
        let Some(row) = row else {
            picture.text([0.0, baseline], Anchor::Start, SMALL.strong().in_ink(Ink::Faint), name);
            continue;
        };
        let middle = baseline + below + if is_narrow { 12.0 } else { -4.0 };
        picture.text([0.0, baseline], Anchor::Start, BODY, cut(name, names, BODY.size));
        picture.text([width, baseline + below], Anchor::End, BODY, cut(&row.words, words, BODY.size));
        if let Some([low, high]) = row.range {
            picture.line(vec![[x(low), middle], [x(high), middle]], Ink::Series(row.series), 1.5);
        }
        if let Some([low, high]) = row.interval {
            let (left, right) = (x(low), x(high).max(x(low) + 1.0));
            let corners =
                [[left, middle - 5.0], [right, middle - 5.0], [right, middle + 5.0], [left, middle + 5.0]];
            picture.area(corners.to_vec(), Ink::Series(row.series));
        }
        if let Some(point) = row.point {
            picture.disc([x(point), middle], 4.0, Ink::Series(row.series));
        }
    }
    picture.height = bottom + 40.0;
    Some(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_values_give_no_figure() {
        let row = IntervalRow {
            name: "compact".into(),
            point: None,
            interval: None,
            range: None,
            words: "not measured".into(),
            series: 0,
            heading: None,
        };
        assert_eq!(intervals("t", "s", Kind::Linear, std::slice::from_ref(&row), 600.0), None);
        let known = IntervalRow { point: Some(3.0), ..row };
        assert!(intervals("t", "s", Kind::Linear, &[known], 600.0).is_some());
    }
}
