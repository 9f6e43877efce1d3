//! A run of everything: a short table for each probe, and what it found in one sentence.

use super::best::bare_title;
use super::ladder::relation_words;
use super::text::{chosen_time, count, million, ns, percent, plain};
use super::trial_words::question;
use super::wait::crossovers;
use super::{findings, jitter, plateaus, queue};
use crate::blocks::{Block, Cell, Column, Table};
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_measure::series::{MASK, SeriesProbe};
use coretalk_model::quantity::{Aggregate, Unit};
use coretalk_model::series::{self, TrialResult, Value};
use coretalk_model::stats::Estimate;
use coretalk_model::{Flag, Flags};
use std::borrow::Cow;

/// From this half width on a third digit tells nothing.
const TWO_DIGITS: f64 = 0.05;
/// Rows of a table; the rest is in the data.
const MOST_ROWS: usize = 24;
/// Parameters that tell columns apart, or that are the same everywhere.
const NOT_IN_ROWS: [&str; 5] = ["threads", "arrange", "payload", "parent_mib", MASK];

/// A table and some words for each probe of a run.
pub(super) fn blocks(report: &RunReport, series: &SeriesReport) -> Vec<Block<'static>> {
    let common = common(&series.result.trials);
    let mut blocks = vec![Block::Gap, Block::Prose(legend(series, &common).into())];
    for name in &series.settings.probes {
        let Some(probe) = probes::series_by_id(name) else { continue };
        let trials: Vec<&TrialResult> =
            series.result.trials.iter().filter(|trial| trial.spec.probe == *name).collect();
        blocks.extend([Block::Gap, question(probe)]);
        if *name == coretalk_model::jitter::names::PROBE {
            blocks.extend(jitter::in_short(&trials));
            continue;
        }
        let finding = findings::of_probe(report, series, name);
        blocks.extend(finding.and_then(|found| findings::sentence(report, &found)).map(Block::Answer));
        blocks.extend(of_probe(report, series, &trials, probe, &common));
        blocks.extend(plateaus::blocks(series, &trials));
        // A queue says it in its own words.
        if *name != coretalk_model::queue::names::PROBE && trials.iter().any(|trial| of_slices(trial)) {
            let text = "s: threads share a CPU and poll instead of sleeping: this measures time slices.";
            blocks.push(Block::Prose(text.to_owned().into()));
        }
        if *name == coretalk_model::wait::names::PROBE {
            blocks.extend(crossovers(report, series));
        }
        if *name == coretalk_model::queue::names::PROBE {
            blocks.extend(queue::words(report, series));
        }
    }
    blocks
}

/// A number of a table, and what it is.
#[derive(Clone, Copy)]
struct DisplayedValue<'a> {
    value: f64,
    /// Its name in the data.
    name: &'a str,
    unit: Unit,
    /// The interval around it.
    estimate: Option<&'a Estimate>,
    trial: &'a TrialResult,
}

impl DisplayedValue<'_> {
    /// Half of its interval as a share of it.
    fn width(&self) -> Option<f64> {
        self.estimate?.stated_reach(self.value)
    }

    /// As many digits as its interval allows, in the unit that reads best.
    fn words(&self) -> String {
        value_words(self.value, self.unit, self.width().is_some_and(|width| width >= TWO_DIGITS))
    }

    /// The same with its interval where that is wider than requested, and why it should not be used if so.
    fn cell(&self, precision: f64, common: &[Flag]) -> String {
        let width = self.width();
        let interval = match width {
            Some(width) if width <= precision * (1.0 + 1e-9) => String::new(),
            width => format!(" ±{}", width.map_or("?".to_owned(), percent)),
        };
        let mark = match reason(self.trial, common) {
            _ if of_slices(self.trial) => " s".to_owned(),
            Some(flag) => format!(" ! {}", flag.name()),
            None => String::new(),
        };
        format!("{}{interval}{mark}", self.words())
    }
}

/// Why a number of a trial should not be used, where most others do not share it.
fn reason(trial: &TrialResult, common: &[Flag]) -> Option<Flag> {
    trial
        .flags
        .iter()
        .filter(|flag| flag.may_be_wrong() && !common.contains(flag))
        .collect::<Flags>()
        .gravest()
}

/// What concerns most trials: a mark that they all carry would say nothing.
fn common(trials: &[TrialResult]) -> Vec<Flag> {
    let many =
        |flag: &Flag| 2 * trials.iter().filter(|trial| trial.flags.contains(*flag)).count() > trials.len();
    Flag::ALL.iter().copied().filter(|flag| flag.may_be_wrong() && many(flag)).collect()
}

/// What the marks of all tables mean, and what is not marked.
fn legend(series: &SeriesReport, common: &[Flag]) -> String {
    let width = percent(series.settings.precision);
    let mut words = format!(
        "Intervals are ±{width} at 95 % unless shown (±?: too few passes); ! marks a value that should not \
         be used, with the reason."
    );
    for flag in common {
        let of = series.result.trials.iter().filter(|trial| trial.flags.contains(*flag));
        let reason = of.clone().find(|trial| trial.flags.gravest() == Some(*flag));
        let reason =
            reason.and_then(|trial| trial.reason.as_ref()).map_or(flag.name(), |reason| reason.as_str());
        let (of, all) = (of.count(), series.result.trials.len());
        words.push_str(&format!(
            " Not marked because most values share it: {} ({of} of {all}).",
            plain(reason)
        ));
    }
    words
}

fn of_probe(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    probe: &dyn SeriesProbe,
    common: &[Flag],
) -> Vec<Block<'static>> {
    // What waiting takes from a sibling is a ratio, and stands in the whole table of `wait`.
    let ratio = |trial: &&&TrialResult| trial.spec.parameters.text("mode") == Some("sibling");
    let (mut rows, mut placements): (Vec<String>, Vec<String>) = Default::default();
    let mut cells: Vec<(String, String, &TrialResult)> = Vec::new();
    for trial in trials.iter().filter(|trial| !ratio(trial)) {
        let (row, placement) = (label(trial), placement_label(report, trial));
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        if !placements.contains(&placement) {
            placements.push(placement.clone());
        }
        cells.push((row, placement, trial));
    }
    let displayed = |row: &str, placement: &str| {
        let (_, _, trial) = cells.iter().find(|(of, at, _)| of == row && at == placement)?;
        let name = series::displayed_value(&series.settings, trial)?;
        let declared = series.settings.quantities.of(&trial.spec.probe, name);
        let unit = declared.map_or(Unit::Number, |quantity| quantity.unit);
        let estimate = trial.medians_ns.get(name).or_else(|| trial.values.get(name));
        Some(DisplayedValue { value: trial.number_of(name)?, name, unit, estimate, trial })
    };
    let titles = placements.iter().cloned().map(Column::numbers);
    let mut table = Table::new([Column::words("")].into_iter().chain(titles).collect::<Vec<_>>());
    for row in rows.iter().take(MOST_ROWS) {
        let cell = |placement: &String| match displayed(row, placement) {
            // That is no rate of the pair.
            Some(DisplayedValue { trial, .. })
                if of_slices(trial) && trial.spec.probe == coretalk_model::queue::names::PROBE =>
            {
                "s".into()
            }
            Some(displayed) => displayed.cell(series.settings.precision, common).into(),
            None => Cell::Unknown,
        };
        table.row([row.into()].into_iter().chain(placements.iter().map(cell)).collect::<Vec<_>>());
    }
    let every =
        rows.iter().flat_map(|row| placements.iter().filter_map(|placement| displayed(row, placement)));
    let what = quantities(probe, every);
    let mut blocks = vec![Block::Prose(what.into()), Block::Table(table)];
    if rows.len() > MOST_ROWS {
        let more = count((rows.len() - MOST_ROWS) as u64, "more row");
        blocks.push(Block::Prose(format!("{more} in the data").into()));
    }
    blocks
}

/// What the numbers of a table are, by the names that they have in the table of their probe. Where they are several
/// things, that of the most rows is named first, and the others with their rows.
fn quantities<'a>(probe: &dyn SeriesProbe, every: impl Iterator<Item = DisplayedValue<'a>>) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for displayed in every {
        let row = first_word(displayed.trial);
        match kinds.iter_mut().find(|(name, _)| *name == displayed.name) {
            Some((_, rows)) if rows.contains(&row) => {}
            Some((_, rows)) => rows.push(row),
            None => kinds.push((displayed.name, vec![row])),
        }
    }
    // Sorting keeps the order of those with as many.
    kinds.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    let parts = kinds.into_iter().enumerate().map(|(index, (name, rows))| {
        let of = if index == 0 { String::new() } else { format!("{}: ", rows.join(", ")) };
        format!("{of}{}", quantity(probe, name))
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn quantity(probe: &dyn SeriesProbe, name: &str) -> String {
    let Some(quantity) = probe.quantities().iter().find(|quantity| quantity.id == name) else {
        return plain(&name.replace('_', " "));
    };
    let words = quantity.explanation().map_or_else(|| bare_title(quantity), Cow::into_owned);
    match quantity.aggregate {
        Aggregate::Events => format!("{words}, median"),
        _ => words,
    }
}

/// Whether threads that poll instead of sleeping shared a CPU.
fn of_slices(trial: &TrialResult) -> bool {
    trial.flags.contains(Flag::SharedSpin)
}

/// A number in the unit that reads best.
fn value_words(value: f64, unit: Unit, wide: bool) -> String {
    let digits = |value: f64| if wide { two_digits(value) } else { ns(value) };
    match unit {
        Unit::Ns if value < 1e3 => format!("{} ns", digits(value)),
        Unit::Ns if value < 1e6 => format!("{} µs", digits(value / 1e3)),
        Unit::Ns => format!("{} ms", digits(value / 1e6)),
        Unit::Ratio => format!("× {}", digits(value)),
        _ if wide => format!("{} M/s", two_digits(value / 1e6)),
        _ => format!("{} M/s", million(value)),
    }
}

fn two_digits(value: f64) -> String {
    let unit = 10f64.powf(value.abs().log10().floor() - 1.0);
    let decimals = (-unit.log10()).max(0.0).round() as usize;
    format!("{:.decimals$}", (value / unit).round() * unit)
}

/// What a trial is, but for its placement: what it is first, then how much of it.
fn label(trial: &TrialResult) -> String {
    let parts = [names(trial), numbers(trial)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn names(trial: &TrialResult) -> String {
    parameters(trial, |value| matches!(value, Value::Text(_))).join(", ")
}

fn numbers(trial: &TrialResult) -> String {
    parameters(trial, |value| matches!(value, Value::Number(_))).join(", ")
}

fn first_word(trial: &TrialResult) -> String {
    parameters(trial, |value| matches!(value, Value::Text(_)))
        .into_iter()
        .next()
        .unwrap_or_else(|| label(trial))
}

fn parameters(trial: &TrialResult, which: impl Fn(&Value) -> bool) -> Vec<String> {
    let told =
        trial.spec.parameters.iter().filter(|(name, value)| !NOT_IN_ROWS.contains(name) && which(value));
    told.map(|(name, value)| match (name, value) {
        ("pause_ns", Value::Number(ns)) => format!("{} apart", chosen_time(*ns)),
        ("distance_bytes", Value::Number(bytes)) => format!("{bytes} bytes apart"),
        ("readers", Value::Number(readers)) => count(*readers as u64, "reader"),
        ("critical_ns", Value::Number(ns)) => format!("{} inside", chosen_time(*ns)),
        ("parallel_ns", Value::Number(ns)) => format!("{} outside", chosen_time(*ns)),
        _ => plain(&super::parameters::telling(name, value)),
    })
    .collect()
}

/// The threads or the relation that a trial stands for.
fn placement_label(report: &RunReport, trial: &TrialResult) -> String {
    if let Some(threads) = trial.spec.parameters.number("threads") {
        return count(threads as u64, "thread");
    }
    // Many readers are told apart by their rows.
    if trial.spec.parameters.number("readers").is_some() {
        return "last reader".to_owned();
    }
    if let Some(cpus) = trial.spec.parameters.text(MASK) {
        return format!("on {}", plain(cpus));
    }
    let pair_and_neighbours = trial.spec.parameters.text("load").is_some();
    match trial.spec.placement.as_slice() {
        [from, to, ..] if pair_and_neighbours => {
            relation_words(report.topology.relation(*from, *to), &report.topology)
        }
        [from, to] => relation_words(report.topology.relation(*from, *to), &report.topology),
        [] => "anywhere".to_owned(),
        [_] => "same CPU".to_owned(),
        more => count(more.len() as u64, "CPU"),
    }
}
