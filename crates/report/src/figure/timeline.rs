//! States over time: every pass with its time and its value.

use super::chart::{Axis, Chart, Curve, Kind, Marks};
use crate::fmt::digits::percent;
use crate::picture::Picture;
use crate::states::letter;
use coretalk_model::latency::StateWatch;

/// The figure; `None` if no pair was followed over time.
pub fn timeline(watch: &StateWatch, width: f64, height: f64) -> Option<Picture> {
    let times = watch.line.iter().map(|(at, ..)| at.secs());
    let begin = times.clone().fold(f64::INFINITY, f64::min);
    let states = watch.states.len().max(1);
    let curve = |state: usize| Curve {
        name: match watch.states.get(state) {
            Some(watched) => format!("state {} · {} of the passes", letter(state), percent(watched.share)),
            None => "passes".to_owned(),
        },
        points: watch
            .line
            .iter()
            .filter(|(_, _, pass_state)| usize::from(*pass_state) == state || states == 1)
            .map(|(at, value, _)| [at.secs() - begin, *value])
            .collect(),
        marks: Marks::Dots,
        intervals: Vec::new(),
        shows: Vec::new(),
    };
    let chart = Chart {
        title: "Every pass over time".into(),
        finding: None,
        x: Axis::over("seconds since the first pass", Kind::Linear, times.map(|at| at - begin))?,
        y: Axis::over("ns, logarithmic", Kind::Log, watch.line.iter().map(|(_, value, _)| *value))?,
        curves: (0..states).map(curve).collect(),
    };
    Some(chart.draw(width, height))
}
