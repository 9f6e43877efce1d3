//! Throughput of queues over the batch size: a chart for each payload, capacity and pair.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::fmt;
use crate::fmt::digits::grouped;
use crate::picture::Picture;
use crate::text::plain;
use crate::trial_words::placement_sentence;
use coretalk_model::queue::{BatchCurve, batch_curves, names};
use coretalk_model::run::RunReport;

const MAX_CHARTS: usize = 8;

/// The charts of a run; of many charts, the first ones.
pub fn charts(report: &RunReport, size: [f64; 2]) -> Vec<Picture> {
    let curves = report.series.iter().flat_map(|series| batch_curves(&series.result));
    let curves: Vec<BatchCurve<'_>> =
        curves.filter(|curve| curve.rate_per_s.is_none() && curve.steps.len() > 1).collect();
    let share_a_chart = |a: &&BatchCurve<'_>, b: &&BatchCurve<'_>| {
        (a.payload, a.capacity, a.placement) == (b.payload, b.capacity, b.placement)
    };
    let mut groups: Vec<Vec<&BatchCurve<'_>>> = Vec::new();
    for curve in &curves {
        match groups.iter_mut().find(|group| share_a_chart(&group[0], &curve)) {
            Some(group) => group.push(curve),
            None => groups.push(vec![curve]),
        }
    }
    groups.iter().take(MAX_CHARTS).filter_map(|group| chart(report, group, size)).collect()
}

fn chart(report: &RunReport, group: &[&BatchCurve<'_>], [width, height]: [f64; 2]) -> Option<Picture> {
    let first = group.first()?;
    let curves: Vec<Curve> = group
        .iter()
        .map(|curve| {
            let known = curve.steps.iter().filter_map(|step| {
                let rate = step.trial.values.get(names::RATE)?;
                let batch = step.batch as f64;
                Some(([batch, rate.point / 1e6], [batch, rate.low / 1e6, rate.high / 1e6]))
            });
            let (points, intervals) = known.unzip();
            Curve { name: plain(curve.queue), points, marks: Marks::Joined, intervals, shows: Vec::new() }
        })
        .collect();
    let every = || curves.iter().flat_map(|curve| &curve.points);
    let capacity = grouped(first.capacity as i64);
    let placed = fmt::sentence(&placement_sentence(&report.topology, first.placement));
    let chart = Chart {
        title: format!("{}, capacity {capacity}; {placed}: what passes in batches", plain(first.payload)),
        finding: None,
        x: Axis::over("messages of a batch", Kind::Log, every().map(|[x, _]| *x))?,
        y: Axis::over("million messages per second", Kind::Log, every().map(|[_, y]| *y))?,
        curves: curves.clone(),
    };
    Some(chart.draw(width, height))
}
