//! One metric on every placement: points with their intervals.

use super::chart::Kind;
use super::intervals::{IntervalRow, intervals};
use crate::fmt::digits::axis;
use crate::picture::Picture;
use crate::place::{Numbered, difference_words};
use crate::text::plain;
use coretalk_model::place::{Arm, PlaceOutcome, PlacementConditions};
use coretalk_model::quantity::Better;
use coretalk_model::run::PlaceReport;

/// The figures of all comparisons of a run.
pub fn all(place: &PlaceReport, width: f64) -> impl Iterator<Item = Picture> {
    Numbered::all(&place.result.comparisons).filter_map(move |numbered| placements(place, numbered, width))
}

/// One row for each placement, with its difference from the winner and its disturbance; `None` without the metric.
pub fn placements(place: &PlaceReport, numbered: Numbered<'_>, width: f64) -> Option<Picture> {
    let comparison = numbered.comparison;
    let metric = &comparison.metric;
    let is_disturbed = |arm: &Arm| {
        let doubts = place.result.doubts.iter().filter(|doubt| doubt.work == comparison.work);
        doubts.filter(|doubt| doubt.placement == arm.placement.name).any(PlacementConditions::is_disturbed)
    };
    let row = |(index, arm): (usize, &Arm)| {
        let median = arm.median.map(|median| median.point);
        IntervalRow {
            name: plain(&arm.placement.name),
            point: median,
            interval: arm.interval(),
            range: None,
            words: {
                let value = match (median, arm.interval()) {
                    (Some(median), Some([low, high])) => {
                        format!("{} [{} .. {}]", axis(median), axis(low), axis(high))
                    }
                    (Some(median), None) => format!("{}, no interval", axis(median)),
                    (None, _) => "not measured".into(),
                };
                let disturbed = is_disturbed(arm).then(|| "disturbed".to_owned());
                [difference_words(numbered, index), disturbed, Some(value)]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(", ")
            },
            series: index,
            heading: None,
        }
    };
    let rows: Vec<IntervalRow> = comparison.arms.iter().enumerate().map(row).collect();
    let better = if metric.better == Better::Higher { "higher" } else { "lower" };
    let found = match &comparison.outcome {
        PlaceOutcome::Winner { winner, .. } => {
            format!("{} wins, ", plain(&comparison.arms[*winner].placement.name))
        }
        _ => String::new(),
    };
    let title = format!("{}: {found}{}, {better} is better", plain(&comparison.work), plain(&metric.name));
    intervals(&title, &plain(metric.unit), Kind::Linear, &rows, width)
}
