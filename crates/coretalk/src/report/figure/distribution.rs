//! [`Steps`]: distributions as percentiles on a nines axis, and as shares up to a value.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::report::picture::Picture;

/// More curves in one chart cannot be told apart.
pub(super) const MOST_CURVES: usize = 7;

/// Parts of about equal size, none with more than can be told apart.
pub(super) fn evenly<T>(all: &[T]) -> std::slice::Chunks<'_, T> {
    let parts = all.len().div_ceil(MOST_CURVES).max(1);
    all.chunks(all.len().div_ceil(parts).max(1))
}

/// Share and value at both ends of every step, from values with the share of all that lies at or below them. The last
/// one ends where it still rests on events: on a nines axis all is infinitely far away.
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

/// A distribution as a curve of shares and values.
pub(super) fn curve(name: String, points: Vec<[f64; 2]>) -> Curve {
    Curve { name, points, marks: Marks::Joined, intervals: Vec::new() }
}

/// Width and height of a chart on a page.
pub(super) const CHART: [f64; 2] = [900.0, 360.0];

/// Distributions that share their axes, in as many charts as it takes to tell them apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps<'a> {
    /// Points are shares and values.
    pub curves: Vec<Curve>,
    /// What was counted.
    pub what: &'a str,
    /// Of the values.
    pub unit: &'a str,
    /// How the axis of values divides its length.
    pub values: Kind,
}

impl Steps<'_> {
    /// Values over shares, with as much room for each further nine; empty where nothing can be drawn.
    pub fn percentiles(&self, title: &str, [width, height]: [f64; 2]) -> Vec<Picture> {
        let label = format!("share of {} at or below the value", self.what);
        let shares = self.points().map(|[share, _]| share);
        let (Some(x), Some(y)) = (Axis::over(&label, Kind::Nines, shares), self.values()) else {
            return Vec::new();
        };
        let draw = |some: &[Curve]| {
            Chart { title: title.to_owned(), x: x.clone(), y: y.clone(), curves: some.to_vec() }
                .draw(width, height)
        };
        evenly(&self.curves).map(draw).collect()
    }

    /// Shares over values; empty where nothing can be drawn.
    pub fn shares(&self, title: &str, [width, height]: [f64; 2]) -> Vec<Picture> {
        let Some(x) = self.values() else { return Vec::new() };
        let y = Axis { label: "share".into(), ends: [0.0, 1.0], kind: Kind::Linear };
        let turned = |curve: &Curve| Curve {
            points: curve.points.iter().map(|[share, value]| [*value, *share]).collect(),
            ..curve.clone()
        };
        let draw = |some: &[Curve]| {
            let curves = some.iter().map(turned).collect();
            Chart { title: title.to_owned(), x: x.clone(), y: y.clone(), curves }.draw(width, height)
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
