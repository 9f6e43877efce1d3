//! Results by process of a runtime, for trials whose passes were made by such processes.

use super::headline::named_headline_of_passes;
use super::{PassOutcome, ProcessResult, SeriesSettings};
use crate::stats::median;

pub(super) fn by_process(
    settings: &SeriesSettings,
    probe: &str,
    passes: &[&PassOutcome],
) -> Vec<ProcessResult> {
    let Some((_, values)) = named_headline_of_passes(settings, probe, passes) else { return Vec::new() };
    let mut by_number: Vec<(u32, Vec<f64>)> = Vec::new();
    for (pass, value) in passes.iter().zip(values) {
        let Some((process, value)) = pass.process.zip(value) else { continue };
        match by_number.iter_mut().find(|(known, _)| *known == process) {
            Some((_, values)) => values.push(value),
            None => by_number.push((process, vec![value])),
        }
    }
    let result = |(_, values): &(u32, Vec<f64>)| {
        Some(ProcessResult { passes: values.len() as u32, value: median(values)? })
    };
    by_number.iter().filter_map(result).collect()
}
