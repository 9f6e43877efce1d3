//! Rates of queues over their capacities.

use super::relations;
use crate::blocks::Block;
use crate::blocks::value::{Arg, Sentence};
use crate::fmt::digits::grouped;
use crate::plot::{Plot, ValueAxis};
use crate::scope::distance_words;
use coretalk_model::queue::ShapeRates;
use coretalk_model::{Scope, Topology};
use std::collections::BTreeSet;

/// A text plot of the rates of a queue over its capacities; empty for a single capacity.
pub(super) fn over_capacities(shape: &ShapeRates<'_>, topology: &Topology) -> Vec<Block<'static>> {
    let curves = shape.curves();
    let capacities: BTreeSet<u64> =
        curves.iter().flat_map(|(_, points)| points).map(|(capacity, _)| *capacity).collect();
    let (Some(&least), Some(&most)) = (capacities.first(), capacities.last()) else { return Vec::new() };
    if least == most {
        return Vec::new();
    }
    let position =
        move |capacity: u64| (capacity as f64 / least as f64).ln() / (most as f64 / least as f64).ln();
    let named_curves: Vec<(String, Vec<[f64; 2]>)> = curves
        .into_iter()
        .map(|(relation, points)| {
            let points = points.into_iter().map(|(capacity, rate)| [position(capacity), rate.point / 1e6]);
            (distance_words(relation, topology), points.collect())
        })
        .collect();
    let left_out = not_drawn(shape, topology).map_or(Sentence::new(""), |left_out| {
        Sentence::new(" {left_out}.").with("left_out", left_out.capitalized())
    });
    let only = match &named_curves[..] {
        [(name, _)] => Sentence::new(", {name}").with_name("name", name),
        _ => Sentence::new(""),
    };
    let about =
        Sentence::new("{queue}, {payload}{only}: million messages per second over the capacity.{left_out}")
            .with_name("queue", shape.queue)
            .with_name("payload", shape.payload)
            .with("only", only)
            .with("left_out", left_out);
    let drawing = Block::drawing(move |style| {
        let values: Vec<f64> =
            named_curves.iter().flat_map(|(_, points)| points).map(|[_, value]| *value).collect();
        let Some(values) = ValueAxis::over(&values) else { return Vec::new() };
        let curves = named_curves.iter().map(|(name, points)| {
            let value_at = |position: f64, half_column: f64| interpolated(points, position, half_column);
            (name.clone(), Box::new(value_at) as Box<dyn Fn(f64, f64) -> Option<f64>>)
        });
        let ticks = capacities.iter().map(|&capacity| (position(capacity), grouped(capacity as i64)));
        let plot = Plot { values, curves: curves.collect(), ticks: ticks.collect(), unit: "", height: 11 };
        plot.lines(style.width)
    });
    vec![Block::Prose(about), Block::Gap, drawing, Block::Gap]
}

/// The value between two points, interpolated geometrically; `None` more than half a column beyond the ends.
fn interpolated(points: &[[f64; 2]], position: f64, half_column: f64) -> Option<f64> {
    let is_near = |&&[at, _]: &&[f64; 2]| (at - position).abs() <= half_column + 1e-9;
    let Some(next) = points.iter().position(|[at, _]| *at >= position) else {
        return points.last().filter(is_near).map(|[_, value]| *value);
    };
    let [to, high] = points[next];
    let Some(&[from, low]) = next.checked_sub(1).and_then(|last| points.get(last)) else {
        return points.first().filter(is_near).map(|[_, value]| *value);
    };
    Some(low * (high / low).powf(((position - from) / (to - from)).min(1.0)))
}

/// The relations without a curve, with the reason: `not drawn: both on one CPU (time slices)`.
pub fn not_drawn(shape: &ShapeRates<'_>, topology: &Topology) -> Option<Sentence> {
    let curves = shape.curves();
    let missing =
        relations(shape).into_iter().filter(|relation| curves.iter().all(|(drawn, _)| drawn != relation));
    let words = missing.map(|relation| {
        let rates = || shape.rows.iter().flat_map(|(_, row)| row).filter(|rate| rate.relation == relation);
        let why = match () {
            () if rates().any(|rate| rate.shared_spin) => "time slices",
            () if rates().any(|rate| rate.unclaimed) => "work of other threads",
            () => "no result",
        };
        Sentence::new("{relation} ({why})")
            .with("relation", Arg::Place(Scope::from_relation(relation, topology)))
            .with("why", why)
    });
    let words: Vec<Sentence> = words.collect();
    (!words.is_empty())
        .then(|| Sentence::new("not drawn: {words}").with("words", Sentence::joined(words, ", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_begin_and_end_where_they_are_known() {
        let points = [[0.5, 1.0], [1.0, 100.0]];
        let value_at = |position: f64| interpolated(&points, position, 0.01).map(|value| value.round());
        let values = [0.0, 0.48, 0.495, 0.75, 1.0].map(value_at);
        assert_eq!(values, [None, None, Some(1.0), Some(10.0), Some(100.0)]);
        assert_eq!(interpolated(&points[..1], 0.505, 0.01), Some(1.0), "a point between two columns");
    }
}
