//! Comparisons of placements: a table for pull requests and forums, and what `hyperfine --export-json` writes, for tools
//! that read it.

use super::{Export, ExportError};
use crate::blocks::{Cell, Column};
use crate::document::Identity;
use crate::harmless::{Harmless, Replacement};
use crate::render::markdown;
use crate::report::place::{Numbered, table};
use coretalk_model::place::{Comparison, Placement};
use coretalk_model::stats::{mean, quantile, variance};
use serde::Serialize;
use std::io::Write;

/// `markdown`: a row for each metric on each placement.
pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let Some(place) = &what.report.place else { return Err(ExportError::NoComparisons) };
    let comparisons = &place.result.comparisons;
    let mut of_all = table(Numbered::all(comparisons));
    of_all.columns.insert(0, Column::words("workload"));
    let works = comparisons.iter().flat_map(|of| of.arms.iter().map(|_| of.work.as_str()));
    of_all.rows.iter_mut().zip(works).for_each(|(row, work)| row.insert(0, Cell::name(work)));
    out.write_all(markdown::table(&of_all).as_bytes())?;
    Ok(())
}

/// The names and units are hyperfine's; times are in seconds. What was not measured is null.
#[derive(Serialize)]
struct HyperfineDoc {
    results: Vec<ResultDoc>,
}

#[derive(Serialize)]
struct ResultDoc {
    command: String,
    mean: Option<f64>,
    stddev: Option<f64>,
    median: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    times: Vec<f64>,
    /// Runs that fail end the comparison, so all of these are 0.
    exit_codes: Vec<i32>,
    parameters: ParametersDoc,
}

#[derive(Serialize)]
struct ParametersDoc {
    workload: String,
    placement: String,
    cpus: String,
}

/// `hyperfine-json`: one result for each placement.
pub(super) fn write_hyperfine(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let comparisons = what.report.place.as_ref().map(|place| place.result.comparisons.as_slice());
    let comparisons = comparisons.ok_or(ExportError::NoComparisons)?;
    let mut document = HyperfineDoc { results: Vec::new() };
    let command = command(what);
    for wall in comparisons.iter().filter(|comparison| comparison.metric.name == "wall_s") {
        for arm in 0..wall.arms.len() {
            document.results.push(result(comparisons, wall, arm, &command));
        }
    }
    if document.results.is_empty() {
        return Err(ExportError::NoComparisons);
    }
    let mut out = Harmless::new(out, Replacement::JsonEscape);
    serde_json::to_writer_pretty(&mut out, &document).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.finish()?)
}

/// The command as a shell takes it; it is private, and what tells the results apart is the placement.
fn command(what: &Export<'_>) -> String {
    let words = &what.report.header.command;
    let own = words.iter().position(|word| word == "--").map(|at| &words[at + 1..]);
    match (what.identity, own) {
        (Identity::Included, Some(own)) => {
            own.iter().map(|word| for_a_shell(word)).collect::<Vec<_>>().join(" ")
        }
        _ => "COMMAND".to_owned(),
    }
}

/// A word in quotes where a shell would read something else into it.
fn for_a_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn on(placement: &Placement, command: &str) -> String {
    placement.taskset().map_or_else(|| command.to_owned(), |line| format!("{line} {command}"))
}

fn result(comparisons: &[Comparison], wall: &Comparison, arm: usize, command: &str) -> ResultDoc {
    let other = |name: &str| {
        let other = comparisons.iter().find(|other| other.work == wall.work && other.metric.name == name)?;
        mean(&other.arms[arm].runs)
    };
    let placement = &wall.arms[arm].placement;
    let times = wall.arms[arm].runs.clone();
    ResultDoc {
        command: on(placement, command),
        mean: mean(&times),
        stddev: variance(&times).map(f64::sqrt),
        median: quantile(&times, 0.5),
        user: other("user_s"),
        system: other("system_s"),
        min: quantile(&times, 0.0),
        max: quantile(&times, 1.0),
        exit_codes: vec![0; times.len()],
        times,
        parameters: ParametersDoc {
            workload: wall.work.clone(),
            placement: placement.name.clone(),
            cpus: placement.set().to_string(),
        },
    }
}
