//! `jsonl`: one line for each trial, in the order of the run.

use super::ExportError;
use crate::document::{pass_line, trial_line};
use crate::store::{RawTicks, RunFile};
use coretalk_model::latency::cells;
use std::io::Write;

/// Writes every trial of a run file, as they were printed while it was made; round by round, so that four million
/// trials need no room.
///
/// # Errors
/// Those of the file and of the writer.
pub fn write_jsonl(file: &RunFile, out: &mut dyn Write) -> Result<(), ExportError> {
    let topology = file.topology()?;
    let cells = file.settings()?.map_or_else(Vec::new, |settings| cells(&topology, &settings));
    let mut failed = None;
    let trials = file.series_settings()?.map_or(Vec::new(), |settings| settings.trials);
    file.each_round(RawTicks::Leave, |segment, round| {
        for trial in &round.trials {
            let written = trial_line(&round, trial, segment, &cells)
                .map_err(std::io::Error::from)
                .and_then(|line| writeln!(out, "{line}"));
            if let (Err(error), None) = (written, &failed) {
                failed = Some(error);
            }
        }
    })?;
    file.each_pass(|entry| {
        let written =
            pass_line(&entry, &trials).map_err(std::io::Error::from).and_then(|line| writeln!(out, "{line}"));
        if let (Err(error), None) = (written, &failed) {
            failed = Some(error);
        }
    })?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}
