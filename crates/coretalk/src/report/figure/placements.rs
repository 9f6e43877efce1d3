//! One metric on every placement: points with their intervals.

use super::chart::{Kind, number};
use super::intervals::{Row, intervals};
use crate::report::picture::Picture;
use crate::report::text::plain;
use coretalk_model::place::{Arm, Comparison, Outcome};
use coretalk_model::quantity::Better;

/// A row for each placement; `None` where no run has the number.
pub fn placements(comparison: &Comparison, width: f64) -> Option<Picture> {
    let metric = &comparison.metric;
    let row = |(index, arm): (usize, &Arm)| {
        let median = arm.median.map(|median| median.point);
        Row {
            name: plain(&arm.placement.name),
            point: median,
            interval: arm.interval(),
            range: None,
            words: match (median, arm.interval()) {
                (Some(median), Some([low, high])) => {
                    format!("{} [{} .. {}]", number(median), number(low), number(high))
                }
                (Some(median), None) => format!("{}, no interval", number(median)),
                (None, _) => "not measured".into(),
            },
            series: index,
            heading: None,
        }
    };
    let rows: Vec<Row> = comparison.arms.iter().enumerate().map(row).collect();
    let better = if metric.better == Better::Higher { "higher" } else { "lower" };
    let found = match &comparison.outcome {
        Outcome::Winner { winner, .. } => {
            format!("{} wins, ", plain(&comparison.arms[*winner].placement.name))
        }
        _ => String::new(),
    };
    let title = format!("{}: {found}{}, {better} is better", plain(&comparison.work), plain(&metric.name));
    intervals(&title, &plain(metric.unit), Kind::Linear, &rows, width)
}
