//! What each process of a runtime says of a trial, where processes made its passes.

use super::headline::named_headline_of_passes;
use super::{PassOutcome, ProcessResult, SeriesSettings};
use crate::stats::median;

/// What the processes that made these passes say, each by the median of what the trial is judged by, in the order of their
/// first passes; nothing where this program made them.
pub(super) fn by_process(
    settings: &SeriesSettings,
    probe: &str,
    passes: &[&PassOutcome],
) -> Vec<ProcessResult> {
    let Some((_, values)) = named_headline_of_passes(settings, probe, passes) else { return Vec::new() };
    let mut said: Vec<(u32, Vec<f64>)> = Vec::new();
    for (pass, value) in passes.iter().zip(values) {
        let Some((process, value)) = pass.process.zip(value) else { continue };
        match said.iter_mut().find(|(known, _)| *known == process) {
            Some((_, values)) => values.push(value),
            None => said.push((process, vec![value])),
        }
    }
    let result = |(_, values): &(u32, Vec<f64>)| {
        Some(ProcessResult { passes: values.len() as u32, value: median(values)? })
    };
    said.iter().filter_map(result).collect()
}
