//! A run of everything: a short table for each probe, and its extremes in words.

use super::ladder::relation_words;
use super::look::Look;
use super::series::{crossovers, question};
use super::table::{Align, Columns};
use super::text::{count, ns, plain, wrap};
use super::{jitter, queue};
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_model::Flag;
use coretalk_model::series::summary::headline;
use coretalk_model::series::{TrialResult, Value};

/// Rows of a table; the rest is in the data.
const MOST_ROWS: usize = 24;
/// Parameters that tell columns apart, or that are the same everywhere.
const NOT_IN_ROWS: [&str; 4] = ["threads", "arrange", "payload", "parent_mib"];

/// A table and some words for each probe of a run.
pub(super) fn lines(report: &RunReport, series: &SeriesReport, look: &Look) -> Vec<String> {
    let mut lines = Vec::new();
    for name in &series.settings.probes {
        let Some(probe) = probes::series_by_id(name) else { continue };
        let trials: Vec<&TrialResult> =
            series.result.trials.iter().filter(|trial| trial.spec.probe == *name).collect();
        lines.push(String::new());
        lines.extend(question(probe, look.width));
        if *name == coretalk_model::jitter::names::PROBE {
            lines.extend(jitter::one_line(&trials, look.width));
            continue;
        }
        lines.extend(table(report, series, &trials, probe.spec().unit, look.width));
        // A queue says it in its own words.
        if *name != coretalk_model::queue::names::PROBE && trials.iter().any(|trial| of_slices(trial)) {
            let text = " s: threads share a CPU and look instead of sleeping, so that time slices are what is measured.";
            lines.extend(wrap(text, look.width, 1));
        }
        if *name == coretalk_model::wait::names::PROBE {
            lines.extend(crossovers(report, series, look.width));
        }
        if *name == coretalk_model::queue::names::PROBE {
            lines.extend(queue::words(report, series, look.width));
        }
    }
    lines
}

fn table(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    unit: &str,
    width: usize,
) -> Vec<String> {
    // What waiting takes from a sibling is a ratio, and stands in the whole table of `wait`.
    let ratio = |trial: &&&TrialResult| trial.spec.parameters.text("mode") == Some("sibling");
    let (mut rows, mut places): (Vec<String>, Vec<String>) = Default::default();
    let mut cells: Vec<(String, String, &TrialResult)> = Vec::new();
    for trial in trials.iter().filter(|trial| !ratio(trial)) {
        let (row, place) = (label(trial), place(report, trial));
        if !rows.contains(&row) {
            rows.push(row.clone());
        }
        if !places.contains(&place) {
            places.push(place.clone());
        }
        cells.push((row, place, trial));
    }
    let value = |row: &str, place: &str| {
        let (_, _, trial) = cells.iter().find(|(of, at, _)| of == row && at == place)?;
        Some((headline(&series.settings, trial)?.point, *trial, unit_of(trial, unit)))
    };
    let mut heading = vec![("", Align::Left)];
    heading.extend(places.iter().map(|place| (place.as_str(), Align::Right)));
    let mut table = Columns::new(&heading);
    for row in rows.iter().take(MOST_ROWS) {
        let cell = |place: &String| match value(row, place) {
            // That is no rate of the pair.
            Some((_, trial, _))
                if of_slices(trial) && trial.spec.probe == coretalk_model::queue::names::PROBE =>
            {
                "s".to_owned()
            }
            Some((value, trial, unit)) => {
                let mark = match (of_slices(trial), trial.flags.has_doubt()) {
                    (true, _) => " s",
                    (false, true) => " !",
                    (false, false) => "",
                };
                format!("{}{mark}", shown(value, unit))
            }
            None => "·".to_owned(),
        };
        table.row([row.clone()].into_iter().chain(places.iter().map(cell)).collect());
    }
    let mut lines = table.lines(width);
    if rows.len() > MOST_ROWS {
        let more = count((rows.len() - MOST_ROWS) as u64, "more row");
        lines.extend(wrap(&format!(" {more} in the data"), width, 1));
    }
    // Only what stands alike in one column can be said to be more or less.
    if let Some(place) =
        places.iter().max_by_key(|place| rows.iter().filter(|row| value(row, place).is_some()).count())
    {
        let mut told: Vec<(f64, &String)> = rows
            .iter()
            .filter_map(|row| {
                let comparable =
                    |&(_, trial, of): &(f64, &TrialResult, &str)| of == unit && !of_slices(trial);
                Some((value(row, place).filter(comparable)?.0, row))
            })
            .collect();
        told.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let ([first, .., last], true) = (&told[..], unit == "ns") {
            lines.extend(wrap(
                &format!(
                    " {place}: least {}, {}; most {}, {}.",
                    shown(first.0, unit),
                    first.1,
                    shown(last.0, unit),
                    last.1
                ),
                width,
                1,
            ));
        }
    }
    lines
}

/// Whether threads that look instead of sleeping shared a CPU.
fn of_slices(trial: &TrialResult) -> bool {
    trial.flags.contains(Flag::SharedSpin)
}

/// What a loaded pair is judged by: how many times as long as idle.
const RATIO: &str = "ratio";

fn unit_of<'a>(trial: &TrialResult, unit: &'a str) -> &'a str {
    if trial.spec.parameters.text("load").is_some() { RATIO } else { unit }
}

/// Three significant digits, in the unit that reads best; a mark where it is in doubt.
fn shown(value: f64, unit: &str) -> String {
    match unit {
        "ns" if value < 1e3 => format!("{} ns", ns(value)),
        "ns" if value < 1e6 => format!("{} µs", ns(value / 1e3)),
        "ns" => format!("{} ms", ns(value / 1e6)),
        RATIO => format!("× {}", ns(value)),
        _ => format!("{} M/s", queue::million(value)),
    }
}

/// What a trial is, but for its place.
fn label(trial: &TrialResult) -> String {
    let told = trial.spec.parameters.iter().filter(|(name, _)| !NOT_IN_ROWS.contains(name));
    // What it is first, then how much of it.
    let (names, numbers): (Vec<_>, Vec<_>) = told.partition(|(_, value)| matches!(value, Value::Text(_)));
    let words: Vec<String> =
        names.into_iter().chain(numbers).map(|(name, value)| super::view::telling(name, value)).collect();
    plain(&words.join(", "))
}

/// The threads or the relation that a trial stands for.
fn place(report: &RunReport, trial: &TrialResult) -> String {
    if let Some(threads) = trial.spec.parameters.number("threads") {
        return count(threads as u64, "thread");
    }
    // Many readers are told apart by their rows.
    if trial.spec.parameters.number("readers").is_some() {
        return "until the last".to_owned();
    }
    let pair_and_neighbours = trial.spec.parameters.text("load").is_some();
    match trial.spec.placement.as_slice() {
        [from, to, ..] if pair_and_neighbours => {
            relation_words(report.topology.relation(*from, *to), &report.topology)
        }
        [from, to] => relation_words(report.topology.relation(*from, *to), &report.topology),
        [] => "anywhere".to_owned(),
        [_] => "one CPU".to_owned(),
        more => count(more.len() as u64, "CPU"),
    }
}
