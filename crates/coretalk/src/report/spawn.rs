//! Creation of threads and processes: a row for each kind, pause and placement.

use super::text::{duration, ns, plain};
use super::trial_words::{median_width, remarks};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_measure::series::SeriesProbe;
use coretalk_model::series::TrialResult;
use coretalk_model::stats::Estimate;

/// The probe.
pub(super) const PROBE: &str = "spawn";
/// From this width on a terminal shows the tails.
const ROOMY: usize = 96;

/// Everything about the creations of a run.
pub(super) fn blocks(probe: &dyn SeriesProbe, trials: &[&TrialResult]) -> Vec<Block<'static>> {
    let columns = [
        Column::words("kind"),
        Column::numbers("pause"),
        Column::words("CPUs"),
        Column::numbers("runs µs"),
        Column::numbers("±"),
        Column::numbers("p99"),
        Column::numbers("p99.9").from_width(ROOMY),
        Column::numbers("max").from_width(ROOMY),
        Column::numbers("cost"),
        Column::numbers("joined"),
        Column::numbers("C−B"),
    ];
    let rows = trials.iter().map(|trial| {
        let at = |name: &str, share: f64| {
            let ns = trial.histogram(name).and_then(|histogram| histogram.telling_percentile_ns(share));
            Cell::known(ns.map(micros))
        };
        let parameters = &trial.spec.parameters;
        let pause = parameters.number("pause_ns").filter(|ns| *ns > 0.0);
        [
            plain(parameters.text("kind").unwrap_or_default()).into(),
            pause.map_or("none".to_owned(), |ns| duration(ns * 1e-9)).into(),
            placement_label(trial).into(),
            at("latency", 0.5),
            median_width(trial, "latency"),
            at("latency", 0.99),
            at("latency", 0.999),
            at("latency", 1.0),
            at("cost", 0.5),
            at("join", 0.5),
            Cell::known(trial.values.get("after_return_ns").map(signed)),
        ]
    });
    let mut blocks = vec![
        Block::Prose(
            "µs, medians: until the new one runs (with its tail), until the creator continues (cost), and until the \
             creator knows that it has ended (joined). C−B: first statement minus return; below zero the new one ran first; a range means that the sign is uncertain."
                .to_owned().into(),
        ),
        Block::Gap,
        Block::Table(Table::new(columns).with(rows)),
        Block::Gap,
    ];
    blocks.extend(remarks(probe, trials));
    blocks
}

/// Microseconds with three significant digits.
fn micros(value_ns: f64) -> String {
    ns(value_ns / 1e3)
}

/// A difference; where its interval holds zero, both ends in its place: in some passes the one is first, in some the other.
fn signed(difference: &Estimate) -> String {
    if difference.low < 0.0 && difference.high > 0.0 {
        format!("{}..{}", micros(difference.low), micros(difference.high))
    } else {
        micros(difference.point)
    }
}

/// Where creator and created run: `0 → 8`, `0 → any`.
fn placement_label(trial: &TrialResult) -> String {
    match trial.spec.placement.as_slice() {
        [from, to] => format!("{from} → {to}"),
        [from] => format!("{from} → any"),
        other => format!("{}", other.len()),
    }
}
