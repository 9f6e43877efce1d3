//! Delays of a queue over the send rate: one chart for each sweep.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::fmt;
use crate::picture::Picture;
use crate::queue::sweep::{SHARES, limit_sentence, title};
use coretalk_model::queue::{Sweep, sweeps};
use coretalk_model::run::RunReport;

const MAX_CHARTS: usize = 8;

/// A chart for each sweep of a run; of many sweeps, only for the first ones.
pub fn charts(report: &RunReport, size: [f64; 2]) -> Vec<Picture> {
    let found = report.series.iter().flat_map(|series| sweeps(&series.result));
    found.take(MAX_CHARTS).filter_map(|sweep| chart(report, &sweep, size)).collect()
}

fn chart(report: &RunReport, sweep: &Sweep<'_>, [width, height]: [f64; 2]) -> Option<Picture> {
    let curves = SHARES.map(|(name, share, _)| {
        let kept = sweep.steps.iter().filter(|step| !step.mostly_fell_behind());
        let points = kept.filter_map(|step| Some([step.rate_per_s, step.percentile_ns(share)?])).collect();
        Curve {
            name: name.to_owned(),
            points,
            marks: Marks::Joined,
            intervals: Vec::new(),
            shows: Vec::new(),
        }
    });
    let curves: Vec<Curve> = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
    // The axis extends to the highest offered rate. A curve ends where the queue no longer kept the rate.
    let rates = sweep.steps.iter().map(|step| step.rate_per_s);
    let values = curves.iter().flat_map(|curve| &curve.points).map(|[_, y]| *y);
    let chart = Chart {
        title: format!("{}: delay at each rate", title(report, sweep)),
        finding: Some(fmt::sentence(&limit_sentence(sweep).capitalized())),
        x: Axis::over("messages/s offered", Kind::Log, rates)?,
        y: Axis::over("ns since the message was due", Kind::Log, values)?,
        curves: curves.clone(),
    };
    Some(chart.draw(width, height))
}
