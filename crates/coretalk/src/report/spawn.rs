//! Creation of threads and processes: a row for each kind, pause and placement.

use super::text::{duration, ns, plain, wrap};
use super::trial_words::median_width;
use crate::blocks::Align;
use crate::render::terminal::Columns;
use coretalk_measure::series::SeriesProbe;
use coretalk_model::series::TrialResult;
use coretalk_model::stats::Estimate;

/// The probe.
pub(super) const PROBE: &str = "spawn";
/// From this width on the table has its tails.
const ROOMY: usize = 96;

/// Everything about the creations of a run.
pub(super) fn lines(probe: &dyn SeriesProbe, trials: &[&TrialResult], width: usize) -> Vec<String> {
    let roomy = width >= ROOMY;
    let mut heading = vec![
        ("kind", Align::Left),
        ("pause", Align::Right),
        ("CPUs", Align::Left),
        ("runs µs", Align::Right),
        ("±", Align::Right),
        ("p99", Align::Right),
    ];
    if roomy {
        heading.extend([("p99.9", Align::Right), ("max", Align::Right)]);
    }
    heading.extend([("cost", Align::Right), ("joined", Align::Right), ("C−B", Align::Right)]);
    let mut table = Columns::new(&heading);
    for trial in trials {
        let at = |name: &str, share: f64| {
            let ns = trial.histogram(name).and_then(|histogram| histogram.telling_percentile_ns(share));
            ns.map_or("·".to_owned(), micros)
        };
        let parameters = &trial.spec.parameters;
        let mut row = vec![
            plain(parameters.text("kind").unwrap_or_default()),
            parameters
                .number("pause_ns")
                .filter(|ns| *ns > 0.0)
                .map_or("none".to_owned(), |ns| duration(ns * 1e-9)),
            placement_label(trial),
            at("latency", 0.5),
            median_width(trial, "latency"),
            at("latency", 0.99),
        ];
        if roomy {
            row.extend([at("latency", 0.999), at("latency", 1.0)]);
        }
        row.extend([at("cost", 0.5), at("join", 0.5)]);
        row.push(trial.values.get("after_return_ns").map_or("·".to_owned(), signed));
        table.row(row);
    }
    let mut lines = wrap(
        " µs, medians: until the new one runs, with its tail, until the creator goes on (cost), and until its end is known \
         (joined). C−B: first statement minus return; below zero the new one ran first; a range \
         where its sign is not sure.",
        width,
        1,
    );
    lines.push(String::new());
    lines.extend(table.lines(width));
    lines.push(String::new());
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    for remark in probe.remarks(&specs) {
        lines.extend(wrap(&format!(" {}", plain(&remark)), width, 3));
    }
    lines
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
