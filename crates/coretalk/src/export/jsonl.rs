//! `jsonl`: one line for each trial, in the order of the run.

use super::ExportError;
use crate::RunReport;
use crate::document::entry_line;
use coretalk_model::latency::{Record, cells};
use std::io::Write;

/// Writes every trial of a run, as they were printed while it was made.
///
/// # Errors
/// Those of the writer.
pub fn write_jsonl(report: &RunReport, record: &Record, out: &mut dyn Write) -> Result<(), ExportError> {
    let cells = cells(&report.topology, &report.settings);
    for entry in record.entries() {
        writeln!(out, "{}", entry_line(entry, &cells).map_err(std::io::Error::from)?)?;
    }
    Ok(())
}
