//! c2clat's table (`CPU 0 1 …`), also inside the gnuplot script of its `-p`.

use super::document::Document;
use super::id_table::{Layout, read_header, read_rows};
use super::label::is_whole;
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Unit};

/// Whether a table starts on this line.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    let text = document.line(line);
    let mut words = text.split_whitespace();
    // With tabs or commas it is a file of separated values, whose cells may be empty.
    let blanks = !text.contains(['\t', ',', ';']);
    blanks && words.next() == Some("CPU") && words.clone().next().is_some() && words.all(is_whole)
}

/// Reads the table whose header is on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 1)?;
    let (square, next) = read_rows(document, &labels, line + 1, &Layout::Full)?;
    let wrapped = line > 0 && document.line(line - 1).contains("<<");
    let format = if wrapped { FormatId::C2clatGnuplot } else { FormatId::C2clat };
    let imported = square
        .finish(format, Unit::Ns, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((imported, next))
}
