//! `markdown` of a run that compares placements.

use super::{Export, ExportError};
use crate::report::place::{heading, rows};
use std::io::Write;

/// A table for pull requests and forums: a row for each metric on each placement.
pub(super) fn write_markdown(what: &Export<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let Some(place) = &what.report.place else { return Err(ExportError::NoComparisons) };
    let titles = heading().map(|(title, _)| title);
    writeln!(out, "| workload | {} |", titles.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(titles.len() + 1))?;
    for comparison in &place.result.comparisons {
        for row in rows(comparison) {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(out, "| {} | {} |", comparison.work, cells.join(" | "))?;
        }
    }
    Ok(())
}
