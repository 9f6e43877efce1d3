//! One metric on every placement: points with their intervals.

use super::chart::{Kind, number};
use super::intervals::{Row, intervals};
use crate::report::picture::Picture;
use crate::report::text::plain;
use crate::report::view::ComparisonView;

/// What is drawn, in words.
pub fn title(comparison: &ComparisonView) -> String {
    let ComparisonView { workload, metric, better, .. } = comparison;
    format!("{}: {}, {} is better", plain(workload), plain(metric), plain(better))
}

/// A row for each placement; `None` where no run has the number.
pub fn placements(comparison: &ComparisonView, width: f64) -> Option<Picture> {
    let rows = comparison.placements.iter().enumerate().map(|(index, placement)| Row {
        name: plain(&placement.name),
        point: placement.median,
        interval: placement.ci,
        range: None,
        words: match (placement.median, placement.ci) {
            (Some(median), Some([low, high])) => {
                format!("{} [{} .. {}]", number(median), number(low), number(high))
            }
            (Some(median), None) => format!("{}, no interval", number(median)),
            (None, _) => "not measured".into(),
        },
        series: index,
        heading: None,
    });
    let rows: Vec<Row> = rows.collect();
    intervals(&title(comparison), &plain(&comparison.unit), Kind::Linear, &rows, width)
}
