//! The load that the measured threads put on the CPUs during a run.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use super::distribution::MAX_CURVES;
use crate::picture::Picture;
use coretalk_model::series::LoadCurve;

/// A curve for each CPU; for many CPUs, their mean and extremes; `None` if nothing is known.
pub fn load(curve: &LoadCurve, [width, height]: [f64; 2]) -> Option<Picture> {
    let steps = curve.cpus.first().map_or(0, |(_, shares)| shares.len());
    let known =
        |step: usize| curve.cpus.iter().filter_map(move |(_, shares)| shares.get(step).copied().flatten());
    let mean = |step: usize| {
        let count = known(step).count();
        (count > 0).then(|| known(step).sum::<f64>() / count as f64)
    };
    let line = |name: String, share_at: &dyn Fn(usize) -> Option<f64>| Curve {
        name,
        points: (0..steps)
            .filter_map(|step| Some([(step as f64 + 0.5) * curve.step.secs(), 100.0 * share_at(step)?]))
            .collect(),
        marks: Marks::Joined,
        intervals: Vec::new(),
        shows: Vec::new(),
    };
    let curves: Vec<Curve> = match curve.cpus.len() {
        many if many > MAX_CURVES => vec![
            line("busiest CPU".into(), &|step| known(step).reduce(f64::max)),
            line(format!("mean of {many} CPUs"), &mean),
            line("least busy CPU".into(), &|step| known(step).reduce(f64::min)),
        ],
        _ => {
            let cpu_line = |(cpu, shares): &(_, Vec<Option<f64>>)| {
                line(format!("CPU {cpu}"), &|step| shares.get(step).copied().flatten())
            };
            curve.cpus.iter().map(cpu_line).collect()
        }
    };
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let chart = Chart {
        title: "CPU load from the measured threads during the run".into(),
        finding: None,
        x: Axis::over("seconds since the run began", Kind::Linear, points().map(|[x, _]| *x))?,
        y: Axis::over("% of a CPU", Kind::Linear, points().map(|[_, y]| *y).chain([100.0]))?,
        curves: curves.clone(),
    };
    points().next()?;
    Some(chart.draw(width, height))
}
