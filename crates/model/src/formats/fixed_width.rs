//! Tables in columns of fixed width with a blank diagonal (jcurl's core_latency): splitting at blanks would shift
//! every cell right of the diagonal, so cells are placed by where the header's ids stand.

use super::document::Document;
use super::id_table::{Layout, read_header, read_rows, words};
use super::label::is_whole;
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Unit, Warning};

/// Whether a table starts on this line: an indented row of whole numbers, the first of which begins the next line.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    let text = document.line(line);
    let digits = text.bytes().any(|b| b.is_ascii_digit());
    if !digits || !text.starts_with(' ') || !text.bytes().all(|b| b.is_ascii_digit() || b == b' ') {
        return false;
    }
    let below = document.next_filled(line + 1).map_or("", |next| document.line(next));
    let (first, label) = (text.split_whitespace().next(), words(below).next());
    // A row label stands left of the header; in a bare matrix both rows start alike.
    let header_at = words(text).next().map(|(at, _)| at);
    label.is_some_and(|(at, label)| is_whole(label) && Some(label) == first && Some(at) < header_at)
}

/// Reads the table whose header is on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 0)?;
    let columns = words(document.line(line)).map(|(at, word)| (at, at + word.len())).collect();
    let (square, next) = read_rows(document, &labels, line + 1, &Layout::Columns(columns))?;
    let mut imported = square
        .finish(FormatId::FixedWidth, Unit::Ns, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    Ok((imported, next))
}
