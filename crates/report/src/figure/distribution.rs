//! [`Steps`]: distributions as percentiles on a nines axis, and as shares up to a value.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::fmt::digits::axis;
use crate::picture::Picture;
use coretalk_model::histogram::tells;

pub(super) const MAX_CURVES: usize = 7;

/// Splits curves into parts of about equal size, each small enough for one chart.
pub(super) fn evenly<T>(all: &[T]) -> std::slice::Chunks<'_, T> {
    let parts = all.len().div_ceil(MAX_CURVES).max(1);
    all.chunks(all.len().div_ceil(parts).max(1))
}

/// Share and value at both ends of every step. The last share stays below 1, which a nines axis cannot show.
pub(super) fn points(steps: impl Iterator<Item = (f64, f64)>, total: u64) -> Vec<[f64; 2]> {
    let last = 1.0 - 0.5 / total.max(1) as f64;
    let mut below = 0.0;
    let mut points = Vec::new();
    for (value, share) in steps {
        points.push([below, value]);
        points.push([share.min(last), value]);
        below = share;
    }
    points
}

pub(super) const APART: f64 = 1.1;

/// The lowest and the highest curve at p99, or at the median if a curve has too few events; `None` for a single curve.
fn finding(curves: &[Curve], unit: &str) -> Option<String> {
    let value_at = |curve: &Curve, min_share: f64| {
        curve.points.iter().find(|[share, _]| *share >= min_share).map(|[_, value]| *value)
    };
    // The last point encodes the number of events.
    let events = |curve: &Curve| curve.points.last().map_or(0.0, |[share, _]| 0.5 / (1.0 - share));
    let is_known_at_p99 = |curve: &Curve| tells(events(curve).round() as u64, 0.99);
    let (words, min_share) = match curves.iter().all(is_known_at_p99) {
        true => ("99 %", 0.99),
        false => ("Half", 0.5),
    };
    let mut known: Vec<(f64, &str)> =
        curves.iter().filter_map(|curve| Some((value_at(curve, min_share)?, curve.name.as_str()))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [(low, first), .., (high, last)] = known[..] else { return None };
    let in_unit = |value: f64| format!("{} {unit}", axis(value.round()));
    Some(match high > APART * low {
        true => format!("{words} take at most {} with {first}, {} with {last}", in_unit(low), in_unit(high)),
        false => format!("{words} take at most {} with each of them", in_unit(high)),
    })
}

pub(super) fn curve(name: String, points: Vec<[f64; 2]>) -> Curve {
    Curve { name, points, marks: Marks::Joined, intervals: Vec::new(), shows: Vec::new() }
}

const MAX_LINEAR_SHARE: f64 = 0.99;

pub(super) const CHART: [f64; 2] = [900.0, 360.0];

/// Distributions on common axes, split into charts with distinguishable curves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps<'a> {
    pub curves: Vec<Curve>,
    pub what: &'a str,
    pub unit: &'a str,
    pub values: Kind,
}

impl Steps<'_> {
    /// Values over shares on a nines axis; empty if nothing can be drawn.
    pub fn percentiles(&self, title: &str, [width, height]: [f64; 2]) -> Vec<Picture> {
        let label = format!("share of {} at or below this value", self.what);
        let shares = self.points().map(|[share, _]| share);
        let (Some(x), Some(y)) = (Axis::over(&label, Kind::Nines, shares), self.values()) else {
            return Vec::new();
        };
        let draw = |some: &[Curve]| {
            let (title, finding) = (title.to_owned(), finding(some, self.unit));
            Chart { title, finding, x: x.clone(), y: y.clone(), curves: some.to_vec() }.draw(width, height)
        };
        evenly(&self.curves).map(draw).collect()
    }

    /// Shares over values; empty if nothing can be drawn.
    pub fn shares(&self, title: &str, size: [f64; 2]) -> Vec<Picture> {
        self.values().map_or(Vec::new(), |x| self.shares_over(x, title, size))
    }

    /// Shares over values on a linear axis up to p99, so that rare slow events do not compress the rest.
    pub fn linear_shares(&self, title: &str, size: [f64; 2]) -> Vec<Picture> {
        let drawn = |some: &[Curve]| Steps { curves: some.to_vec(), ..*self }.linear(title, size);
        evenly(&self.curves).flat_map(drawn).collect()
    }

    fn linear(&self, title: &str, size: [f64; 2]) -> Vec<Picture> {
        let usual = |curve: &Curve| {
            let at =
                curve.points.iter().find(|[share, _]| *share >= MAX_LINEAR_SHARE).or(curve.points.last());
            at.map_or(0.0, |[_, value]| *value)
        };
        let end = self.curves.iter().map(usual).fold(0.0, f64::max);
        let within = |[_, value]: &[f64; 2]| *value <= end;
        let is_cut = !self.points().all(|point| within(&point));
        let label = if is_cut { "up to the 99th percentile" } else { "linear" };
        let curves = self.curves.iter().map(|curve| {
            let points = curve.points.iter().copied().filter(within).collect();
            Curve { points, ..curve.clone() }
        });
        let kept = Steps { curves: curves.collect(), ..*self };
        let x = Axis::over(&format!("{}, {label}", self.unit), Kind::Linear, [end].into_iter());
        x.map_or(Vec::new(), |x| kept.shares_over(x, title, size))
    }

    fn shares_over(&self, x: Axis, title: &str, [width, height]: [f64; 2]) -> Vec<Picture> {
        if self.curves.is_empty() {
            return Vec::new();
        }
        let y = Axis { label: "share".into(), ends: [0.0, 1.0], kind: Kind::Linear };
        let transposed = |curve: &Curve| Curve {
            points: curve.points.iter().map(|[share, value]| [*value, *share]).collect(),
            ..curve.clone()
        };
        let draw = |some: &[Curve]| {
            let curves = some.iter().map(transposed).collect();
            Chart { title: title.to_owned(), finding: None, x: x.clone(), y: y.clone(), curves }
                .draw(width, height)
        };
        evenly(&self.curves).map(draw).collect()
    }

    fn points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.curves.iter().flat_map(|curve| curve.points.iter().copied())
    }

    fn values(&self) -> Option<Axis> {
        let label = match self.values {
            Kind::Log => format!("{}, logarithmic", self.unit),
            Kind::Linear | Kind::Nines => self.unit.to_owned(),
        };
        Axis::over(&label, self.values, self.points().map(|[_, value]| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Ink, Shape};

    #[test]
    fn findings_use_p99_only_with_enough_events() {
        let curve_of = |name: &str, slow: f64, total: u64| {
            let steps = [(100.0, 0.6), (slow, 1.0)].into_iter();
            curve(name.into(), points(steps, total))
        };
        let text =
            |total: u64| finding(&[curve_of("a", 300.0, total), curve_of("b", 900.0, total)], "ns").unwrap();
        assert_eq!(text(50), "Half take at most 100 ns with each of them");
        assert_eq!(text(99), text(50));
        assert_eq!(text(100), "99 % take at most 300 ns with a, 900 ns with b");
    }

    #[test]
    fn a_linear_axis_ends_at_p99() {
        let values = (1..=999).map(|step| (100.0 + f64::from(step) / 10.0, f64::from(step) / 1000.0));
        let steps = points(values.chain([(1e6, 1.0)]), 1000);
        let steps =
            Steps { curves: vec![curve("a".into(), steps)], what: "events", unit: "ns", values: Kind::Log };
        let drawn = &steps.linear_shares("t", CHART)[0];
        let ends = drawn.shapes.iter().find_map(|shape| match shape {
            Shape::Line(points, Ink::Series(0), _) => points.last().copied(),
            _ => None,
        });
        let label = |words: &str| {
            drawn.shapes.iter().any(|shape| matches!(shape, Shape::Text(_, _, _, text) if text == words))
        };
        assert!(label("ns, up to the 99th percentile") && label("200") && !label("1 M"));
        assert!(ends.unwrap()[0] > 0.8 * CHART[0], "the curve uses the width: {ends:?}");
        assert!(Steps { curves: Vec::new(), ..steps }.linear_shares("t", CHART).is_empty());
    }
}
