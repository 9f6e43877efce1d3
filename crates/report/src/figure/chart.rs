//! [`Chart`]: curves over two axes.

use super::{BODY, SMALL};
use crate::fmt::digits::{axis, nines};
use crate::picture::{Anchor, Ink, Picture, SeriesName, Weight, text_width};

/// Allowance for browser fonts, which may be wider than the measured outlines (DejaVu Sans: by a seventh).
pub(super) const OTHER_FONT: f64 = 1.15;
pub(super) const OTHER_BOLD: f64 = 1.35;

const MIN_HEIGHT_FOR_LEGEND: f64 = 250.0;
const MIN_WIDTH_FOR_NAMES: f64 = 480.0;
/// Largest share of the width for names at the ends of curves; longer names go above.
const MAX_NAME_SHARE: f64 = 0.34;
const MAX_DEVIATION: f64 = 0.35;
const NAME_HEIGHT: f64 = 14.0;
const MAX_NAME_DISTANCE: f64 = 34.0;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios.
    Log,
    /// Equal distances divide the remaining share by equal factors: 90 %, 99 %, 99.9 %. Values are shares, 0 to 1.
    Nines,
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name of the quantity, with its unit.
    pub label: String,
    /// The values at the ends of the axis.
    pub ends: [f64; 2],
    /// Scale of the axis.
    pub kind: Kind,
}

impl Axis {
    /// An axis that covers these values; `None` if it can show none of them.
    pub fn over(label: &str, kind: Kind, values: impl Iterator<Item = f64>) -> Option<Axis> {
        let shown = values.filter(|value| value.is_finite() && (kind != Kind::Log || *value > 0.0));
        let [low, high] = shown
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
        if low > high {
            return None;
        }
        let ends = match kind {
            // The margin is never zero, so that nearly equal values appear in the middle.
            Kind::Log => {
                let room = (1.6 * low / high).sqrt().max(1.12);
                [low / room, high * room]
            }
            Kind::Linear => [low.min(0.0), if high > low.min(0.0) { high * 1.05 } else { low + 1.0 }],
            Kind::Nines => [0.0, high],
        };
        Some(Axis { label: label.to_owned(), ends, kind })
    }

    /// The position of a value, 0 to 1; values outside the axis are clamped to its ends.
    pub fn position(&self, value: f64) -> f64 {
        let along = |value: f64| match self.kind {
            Kind::Linear => value,
            Kind::Log => value.max(f64::MIN_POSITIVE).ln(),
            Kind::Nines => -(1.0 - value).max(1e-12).log10(),
        };
        let [low, high] = self.ends.map(along);
        let position = (along(value) - low) / (high - low);
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values along the axis, with their text.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let [low, high] = self.ends;
        let inside = |value: &f64| (low..=high).contains(value);
        match self.kind {
            Kind::Nines => {
                [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999, 0.99999999, 0.999999999]
                    .into_iter()
                    .filter(inside)
                    .map(|share| (share, nines(share)))
                    .collect()
            }
            Kind::Log => {
                let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
                let steps = |steps: &'static [f64]| -> Vec<f64> {
                    let values =
                        decades.clone().flat_map(|decade| steps.iter().map(move |step| (decade, *step)));
                    values.map(|(decade, step)| step * 10f64.powi(decade)).filter(inside).collect()
                };
                let fine = steps(&[1.0, 2.0, 5.0]);
                let values = match fine.len() {
                    0..=2 => steps(&[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]),
                    3..=8 => fine,
                    _ => steps(&[1.0]),
                };
                values.into_iter().map(|value| (value, axis(value))).collect()
            }
            Kind::Linear => {
                let rough = (high - low) / 6.0;
                let decade = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
                let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
                let first = (low / step).ceil() as i64;
                let last = (high / step).floor() as i64;
                (first..=last).map(|tick| tick as f64 * step).map(|value| (value, axis(value))).collect()
            }
        }
    }
}

/// How the points of a curve are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// Joined by lines.
    Joined,
    /// One dot each.
    Dots,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name of the curve.
    pub name: String,
    /// Points of the curve.
    pub points: Vec<[f64; 2]>,
    /// How the points are shown.
    pub marks: Marks,
    /// Intervals at some points: x, low, high.
    pub intervals: Vec<[f64; 3]>,
    /// The series in the curve; empty for a derived curve.
    pub shows: Vec<SeriesName>,
}

/// Curves over two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The title, in one line.
    pub title: String,
    /// The conclusion, as a heading above the title; `None` if there is none.
    pub finding: Option<String>,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

impl Chart {
    /// Draws the chart in this size.
    pub fn draw(&self, width: f64, height: f64) -> Picture {
        let description = self
            .finding
            .as_ref()
            .map_or_else(|| self.title.clone(), |found| format!("{}. {found}", self.title));
        let mut picture = Picture::new(description, width, height);
        picture.shows = self.curves.iter().flat_map(|curve| curve.shows.iter().cloned()).collect();
        let ticks = self.y.ticks();
        let width_of = |text: &String| text_width(text, SMALL.size, Weight::Regular);
        let left = ticks.iter().map(|(_, text)| width_of(text)).fold(24.0, f64::max) + 14.0;
        let heading =
            super::wrapped(self.finding.as_ref().unwrap_or(&self.title), width / OTHER_BOLD, BODY.strong());
        let mut top = super::paragraph(&mut picture, [0.0, 1.8], BODY.strong(), &heading);
        if self.finding.is_some() {
            let faint = SMALL.in_ink(Ink::Faint);
            top = super::paragraph(
                &mut picture,
                [0.0, top],
                faint,
                &super::wrapped(&self.title, width / OTHER_FONT, faint),
            );
        }
        let bottom = height - 42.0;
        let names = OTHER_FONT * self.curves.iter().map(|curve| width_of(&curve.name)).fold(0.0, f64::max);
        // A low chart has no room for names above it.
        let is_low = height < MIN_HEIGHT_FOR_LEGEND && self.curves.len() > 1;
        let at_ends = self
            .at_ends([top + 30.0, bottom])
            .filter(|_| width >= MIN_WIDTH_FOR_NAMES && names <= MAX_NAME_SHARE * width);
        let names = names.min(0.36 * width);
        let right = width - if is_low || at_ends.is_some() { names + 40.0 } else { 18.0 };
        if !is_low && at_ends.is_none() && self.curves.len() > 1 {
            top = self.legend(&mut picture, top + 20.0, width);
        }
        picture.text([0.0, top + 20.0], Anchor::Start, SMALL.in_ink(Ink::Faint), &self.y.label);
        let top = top + 30.0;
        let x = |value: f64| left + self.x.position(value) * (right - left);
        let y = |value: f64| bottom - self.y.position(value) * (bottom - top);
        let mut below = f64::INFINITY;
        for (value, text) in &ticks {
            picture.line(vec![[left, y(*value)], [right, y(*value)]], Ink::Line, 1.0);
            if y(*value) < below {
                picture.text([left - 8.0, y(*value) + 4.0], Anchor::End, SMALL.in_ink(Ink::Faint), text);
                below = y(*value) - SMALL.size;
            }
        }
        let mut free = f64::NEG_INFINITY;
        for (value, text) in self.x.ticks() {
            let (middle, half) = (x(value), text_width(&text, SMALL.size, Weight::Regular) / 2.0);
            picture.line(vec![[middle, top], [middle, bottom + 4.0]], Ink::Line, 1.0);
            if middle - half > free {
                picture.text([middle, bottom + 18.0], Anchor::Middle, SMALL.in_ink(Ink::Faint), text);
                free = middle + half + 8.0;
            }
        }
        picture.text([right, height - 6.0], Anchor::End, SMALL.in_ink(Ink::Faint), &self.x.label);
        picture.line(vec![[left, top], [left, bottom], [right, bottom]], Ink::Faint, 1.0);
        for (index, curve) in self.curves.iter().enumerate() {
            let points: Vec<[f64; 2]> = curve.points.iter().map(|[px, py]| [x(*px), y(*py)]).collect();
            for [at, low, high] in &curve.intervals {
                picture.line(vec![[x(*at), y(*low)], [x(*at), y(*high)]], Ink::Series(index), 1.0);
            }
            let name_baseline = match &at_ends {
                Some(baselines) => Some(baselines[index]),
                None if is_low => Some(top + 8.0 + 16.0 * index as f64),
                None => None,
            };
            if let Some(baseline) = name_baseline {
                let middle = baseline - 4.0;
                let end = points.last().filter(|_| at_ends.is_some());
                let begin = end.copied().unwrap_or([right + 10.0, middle]);
                let line_width = if end.is_some() { 1.0 } else { 3.0 };
                picture.line(
                    vec![begin, [right + 10.0, middle], [right + 24.0, middle]],
                    Ink::Series(index),
                    line_width,
                );
                let name = super::cut(&curve.name, names, SMALL.size);
                picture.text([right + 29.0, baseline], Anchor::Start, SMALL, name);
            }
            match curve.marks {
                Marks::Joined => picture.line(simplified(&points), Ink::Series(index), 2.0),
                Marks::Dots => points.into_iter().for_each(|at| picture.disc(at, 2.2, Ink::Series(index))),
            }
        }
        picture
    }

    /// Baselines of the names, in the order of the curves; `None` if a name would be far from its curve.
    fn at_ends(&self, [top, bottom]: [f64; 2]) -> Option<Vec<f64>> {
        let end = |curve: &Curve| {
            let [_, value] = *curve.points.last().filter(|_| curve.marks == Marks::Joined)?;
            Some(bottom - self.y.position(value) * (bottom - top) + 4.0)
        };
        let ends: Vec<f64> = self.curves.iter().map(end).collect::<Option<_>>()?;
        let mut order: Vec<usize> = (0..ends.len()).collect();
        order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
        let mut baselines = ends.clone();
        let mut free = f64::NEG_INFINITY;
        for &index in &order {
            baselines[index] = baselines[index].max(free);
            free = baselines[index] + NAME_HEIGHT;
        }
        // Names pushed below the axis move up again.
        let mut lowest = bottom + 4.0;
        for &index in order.iter().rev() {
            baselines[index] = baselines[index].min(lowest);
            lowest = baselines[index] - NAME_HEIGHT;
        }
        let is_near =
            baselines.iter().zip(&ends).all(|(baseline, end)| (baseline - end).abs() <= MAX_NAME_DISTANCE);
        (ends.len() > 1 && is_near).then_some(baselines)
    }

    fn legend(&self, picture: &mut Picture, mut baseline: f64, width: f64) -> f64 {
        let mut left = 0.0;
        for (index, curve) in self.curves.iter().enumerate() {
            let name = super::cut(&curve.name, width - 40.0, SMALL.size);
            let wide = 20.0 + OTHER_FONT * text_width(&name, SMALL.size, Weight::Regular) + 18.0;
            if left > 0.0 && left + wide > width {
                left = 0.0;
                baseline += 17.0;
            }
            picture.rect([left, baseline - 6.0, 14.0, 3.0], Ink::Series(index));
            picture.text([left + 20.0, baseline], Anchor::Start, SMALL, name);
            left += wide;
        }
        baseline
    }
}

/// Removes points that are indistinguishable from a line (Douglas and Peucker 1973); most steps are below a pixel.
fn simplified(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let Some(last) = points.len().checked_sub(1) else { return Vec::new() };
    let mut kept = vec![false; points.len()];
    kept[0] = true;
    kept[last] = true;
    let mut parts = vec![(0, last)];
    while let Some((from, to)) = parts.pop() {
        let with_distance = |at: usize| (at, distance(points[at], points[from], points[to]));
        let farthest = (from + 1..to).map(with_distance).max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, _)) = farthest.filter(|(_, distance)| *distance > MAX_DEVIATION) {
            kept[at] = true;
            parts.extend([(from, at), (at, to)]);
        }
    }
    points.iter().zip(kept).filter(|(_, kept)| *kept).map(|(point, _)| *point).collect()
}

fn distance([x, y]: [f64; 2], [ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (x - ax - along * dx).hypot(y - ay - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplified_lines_keep_corners_and_ends() {
        let steps = (0..1000).map(|step| [f64::from(step) * 0.1, f64::from(step) * 0.05]);
        let corner: Vec<[f64; 2]> = steps.chain([[100.0, 80.0], [100.0, 81.0]]).collect();
        assert_eq!(simplified(&corner), [[0.0, 0.0], corner[999], [100.0, 81.0]]);
        assert_eq!(simplified(&[[1.0, 2.0]]), [[1.0, 2.0]]);
        assert!(simplified(&[]).is_empty());
    }

    #[test]
    fn names_are_at_curve_ends_unless_many_ends_coincide() {
        let axis = |label: &str| Axis { label: label.into(), ends: [0.0, 10.0], kind: Kind::Linear };
        let curve = |end: &f64| Curve {
            name: format!("to {end}"),
            points: vec![[0.0, 0.0], [10.0, *end]],
            marks: Marks::Joined,
            intervals: Vec::new(),
            shows: Vec::new(),
        };
        let chart = |ends: &[f64]| {
            let curves = ends.iter().map(curve).collect();
            Chart { title: "t".into(), finding: None, x: axis("x"), y: axis("y"), curves }
        };
        let apart = chart(&[8.0, 2.0, 8.1]).at_ends([0.0, 300.0]).unwrap();
        assert!(apart[0] - apart[2] >= NAME_HEIGHT && apart[0] < apart[1], "{apart:?}");
        assert_eq!(chart(&[10.0; 7]).at_ends([0.0, 300.0]), None);
        assert_eq!(chart(&[10.0]).at_ends([0.0, 300.0]), None, "a lone curve needs no name");
    }

    fn words(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn nines_are_equally_spaced() {
        let axis = Axis { label: String::new(), ends: [0.0, 0.999], kind: Kind::Nines };
        let at = [0.9, 0.99, 0.999].map(|share| axis.position(share));
        assert!((at[0] - 1.0 / 3.0).abs() < 1e-9 && (at[1] - 2.0 / 3.0).abs() < 1e-9, "{at:?}");
        assert_eq!(at[2], 1.0);
        assert_eq!(words(&axis), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        let many = Axis { ends: [0.0, 1.0 - 1e-9], ..axis };
        assert_eq!(words(&many).last().unwrap(), "99.9999999 %");
    }

    #[test]
    fn every_axis_has_a_few_round_numbers() {
        for (low, high) in [(5.0, 500.0), (20.0, 21.0), (0.001, 1e9), (83.0, 91.0)] {
            let axis = Axis::over("", Kind::Log, [low, high].into_iter()).unwrap();
            let ticks = axis.ticks();
            assert!((1..=14).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        }
        let axis = Axis::over("", Kind::Linear, [24.0].into_iter()).unwrap();
        assert_eq!(words(&axis), ["0", "5", "10", "15", "20", "25"]);
    }

    #[test]
    fn an_axis_without_values_is_none() {
        assert_eq!(Axis::over("", Kind::Log, [0.0, -1.0, f64::NAN].into_iter()), None);
        assert_eq!([0.0, 2e-5, 0.5, 1500.0, 2.5e6].map(axis), ["0", "2.0e-5", "0.5", "1 500", "2.5 M"]);
    }
}
