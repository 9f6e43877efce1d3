//! `hyperfine-json`: what `hyperfine --export-json` writes, for tools that read it: one result for each placement.

use super::{Export, ExportError};
use coretalk_model::place::{COMMAND, Comparison};
use coretalk_model::stats::{mean, quantile, variance};
use serde::Serialize;
use std::io::Write;

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

pub(super) fn write(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let comparisons = what.report.place.as_ref().map(|place| place.result.comparisons.as_slice());
    let comparisons = comparisons.ok_or(ExportError::NoComparisons)?;
    let mut document = HyperfineDoc { results: Vec::new() };
    for wall in comparisons.iter().filter(|comparison| comparison.metric.name == "wall_s") {
        for arm in 0..wall.arms.len() {
            document.results.push(result(comparisons, wall, arm));
        }
    }
    if document.results.is_empty() {
        return Err(ExportError::NoComparisons);
    }
    serde_json::to_writer_pretty(&mut *out, &document).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

fn result(comparisons: &[Comparison], wall: &Comparison, arm: usize) -> ResultDoc {
    let other = |name: &str| {
        let other = comparisons.iter().find(|other| other.work == wall.work && other.metric.name == name)?;
        mean(&other.arms[arm].runs)
    };
    let placement = &wall.arms[arm].placement;
    let times = wall.arms[arm].runs.clone();
    // The command itself is private; what tells the results apart is the placement.
    let command = match wall.work.as_str() {
        COMMAND => placement.taskset().map_or_else(|| "COMMAND".to_owned(), |line| format!("{line} COMMAND")),
        workload => format!("{workload} on {}", placement.name),
    };
    ResultDoc {
        command,
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
