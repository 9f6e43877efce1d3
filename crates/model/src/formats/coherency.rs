//! The matrices of CoherencyLatency (Microbenchmarks): comma rows with `x` on the diagonal, one matrix for each
//! `Cache line offset` line.

use super::bare_csv::{read_square, rows};
use super::document::Document;
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Unit};

/// The lines that announce a matrix.
pub(super) fn headers(document: &Document) -> Vec<usize> {
    (0..document.len())
        .filter(|&line| document.line(line).trim_start().starts_with("Cache line offset"))
        .collect()
}

/// Reads the matrix below each of these lines.
///
/// # Errors
/// What a table gets wrong.
pub(super) fn read(document: &Document, headers: &[usize]) -> Result<Vec<ImportedMatrix>, ImportError> {
    let ends = headers[1..].iter().copied().chain([document.len()]);
    headers.iter().zip(ends).map(|(&header, end)| read_one(document, header, end)).collect()
}

fn read_one(document: &Document, header: usize, end: usize) -> Result<ImportedMatrix, ImportError> {
    let mut lines = rows(document, header + 1, end)?;
    // Text between the matrices; a row of two CPUs or more has a comma.
    lines.retain(|&line| document.line(line).contains(','));
    let (square, labels) = read_square(document, &lines).map_err(|error| at(error, header))?;
    let mut imported = square
        .finish(FormatId::CoherencyLatency, Unit::Ns, labels, Shape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    imported.title = Some(document.line(header).trim().to_owned());
    Ok(imported)
}

/// An error about a whole table is an error at its header.
fn at(error: ImportError, header: usize) -> ImportError {
    ImportError { line: error.line.or(Some(header + 1)), ..error }
}
