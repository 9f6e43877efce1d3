//! A pandas pivot table: `toCore` and the ids, `fromCore`, then the rows.

use super::document::Document;
use super::id_table::{Layout, read_header, read_rows};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit, Warning};

/// Whether a table starts on this line.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    document.line(line).split_whitespace().next() == Some("toCore")
}

/// Reads the table whose ids are on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 1)?;
    if document.line(line + 1).trim() != "fromCore" {
        return Err(Problem::MissingRows { found: 0, expected: labels.len() }.at_line(line + 1));
    }
    let (square, next) = read_rows(document, &labels, line + 2, &Layout::Full)?;
    let title = title_above(document, line);
    let unit = title.as_deref().and_then(unit_of);
    let mut imported = square
        .finish(FormatId::Pivot, unit.unwrap_or(Unit::Ns), Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    if unit.is_none() {
        imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    }
    imported.title = title;
    Ok((imported, next))
}

/// The line above a table, if it ends in a colon.
pub(super) fn title_above(document: &Document, line: usize) -> Option<String> {
    let above = document.line(line.checked_sub(1)?).trim();
    above.strip_suffix(':').map(str::to_owned)
}

/// The unit that a title or column name states.
pub(super) fn unit_of(title: &str) -> Option<Unit> {
    let lower = title.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    words.find_map(|word| match word {
        "ns" | "nanoseconds" | "nsec" | "latencyns" => Some(Unit::Ns),
        "cycles" | "clocks" => Some(Unit::Cycles),
        _ => None,
    })
}
