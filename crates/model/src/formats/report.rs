//! The text that core-to-core-latency prints for people: `52±6` below and beside CPU ids.

use super::document::Document;
use super::id_table::{Layout, read_header, read_rows};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Unit};

/// The lines above the announcement that may describe the run; the tool prints three.
const PREAMBLE: usize = 8;

/// Whether this line announces a table.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    document.line(line).trim_start().starts_with("Showing latency=")
}

/// Reads the table below the announcement on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let header = document.next_filled(line + 1).unwrap_or(line + 1);
    let labels = read_header(document, header, 0)?;
    let (square, next) = read_rows(document, &labels, header + 1, &Layout::LowerTriangle)?;
    let mut imported = square
        .finish(FormatId::CoreToCoreReport, Unit::Ns, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    imported.metadata = (line.saturating_sub(PREAMBLE)..line)
        .filter_map(|line| document.line(line).split_once(": "))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    Ok((imported, next))
}
