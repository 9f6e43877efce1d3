//! Creation of threads and processes: one row for each kind, pause and placement.

use super::trial_cells::{self, MICROS, median_width, percentile};
use super::trial_words::{legend_of_trials, role_sentence};
use crate::blocks::value::{Number, Sentence, Statistic};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::quantity::Unit;
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::TrialResult;

pub(super) const PROBE: &str = "spawn";
const WIDE_TERMINAL: usize = 96;

pub(super) fn blocks(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
) -> Vec<Block<'static>> {
    let columns = [
        Column::words("kind"),
        Column::numbers("pause"),
        Column::words("CPUs"),
        Column::numbers("runs µs"),
        Column::numbers("±"),
        Column::numbers("p99"),
        Column::numbers("p99.9").from_width(WIDE_TERMINAL),
        Column::numbers("max").from_width(WIDE_TERMINAL),
        Column::numbers("cost"),
        Column::numbers("joined"),
        Column::numbers("C-B"),
    ];
    let rows = trials.iter().map(|trial| {
        let percentile_cell = |name: &'static str, share: f64| percentile(trial, name, share, MICROS);
        let parameters = &trial.spec.parameters;
        let has_pause = parameters.number("pause_ns").is_some_and(|ns| ns > 0.0);
        [
            Cell::name(parameters.text("kind").unwrap_or_default()),
            if has_pause { trial_cells::setting(trial, "pause_ns", Unit::Ns) } else { "none".into() },
            placement(trial).into(),
            percentile_cell("latency", 0.5),
            median_width(trial, "latency"),
            percentile_cell("latency", 0.99),
            percentile_cell("latency", 0.999),
            percentile_cell("latency", 1.0),
            percentile_cell("cost", 0.5),
            percentile_cell("join", 0.5),
            difference(trial, "after_return_ns"),
        ]
    });
    let mut blocks = vec![
        Block::Prose(
            "µs, medians: until the new one runs (with its tail), until the creator continues (cost), and until the \
             creator knows that it has ended (joined). C-B: first statement minus return; below zero the new one ran first; a range means that the sign is uncertain."
                .into(),
        ),
        Block::Gap,
        Block::Table(Table::new(columns).with(rows)),
        Block::Gap,
    ];
    blocks.extend(legend_of_trials(report, series, trials));
    blocks
}

/// A difference. If its interval includes zero, the two ends are shown, because the order varies between passes.
fn difference(trial: &TrialResult, name: &'static str) -> Cell {
    let Some(found) = trial.values.get(name).filter(|value| value.low < 0.0 && value.high > 0.0) else {
        return trial_cells::value(trial, name, MICROS);
    };
    let end = |statistic, end| trial_cells::display_value(trial, name, statistic, Number::Point(end), MICROS);
    Sentence::new("{low}..{high}")
        .with("low", end(Statistic::Low, found.low))
        .with("high", end(Statistic::High, found.high))
        .into()
}

fn placement(trial: &TrialResult) -> Sentence {
    match trial.spec.placement.as_slice() {
        [from] => Sentence::new("{cpu} → any").with("cpu", *from),
        cpus => role_sentence(cpus),
    }
}
