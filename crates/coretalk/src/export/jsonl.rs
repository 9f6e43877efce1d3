//! `jsonl`: one line for each trial, in the order of the run.

use super::ExportError;
use crate::RunReport;
use crate::document::entry_line;
use coretalk_model::latency::{Entry, cells};
use std::borrow::Borrow;
use std::io::Write;

/// Writes every trial of a run, as they were printed while it was made. A large run streams them from its file.
///
/// # Errors
/// Those of the writer.
pub fn write_jsonl(
    report: &RunReport,
    trials: impl IntoIterator<Item = impl Borrow<Entry>>,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let cells = cells(&report.topology, &report.settings);
    for entry in trials {
        writeln!(out, "{}", entry_line(entry.borrow(), &cells).map_err(std::io::Error::from)?)?;
    }
    Ok(())
}
