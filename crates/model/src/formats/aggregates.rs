//! A pandas table with one row of aggregates per pair (`count min 5% … median … max`); the median is read.

use super::cell::{DecimalMark, read_cell};
use super::document::Document;
use super::label::{is_whole, read_label};
use super::pairs::{Pair, Pairs};
use super::pivot::{title_above, unit_of};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit, Warning};
use crate::CpuId;

/// Whether this is the line between the names of the aggregates and the rows.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    let mut words = document.line(line).split_whitespace();
    words.next() == Some("fromCore") && words.next() == Some("toCore") && words.next().is_none() && line > 0
}

/// Reads the table whose index names are on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let names: Vec<&str> = document.line(line - 1).split_whitespace().collect();
    let median = names
        .iter()
        .position(|&name| name == "median")
        .ok_or_else(|| Problem::Ragged { cells: names.len(), expected: names.len() + 1 }.at_line(line - 1))?;
    let mut pairs = Pairs::default();
    let mut from: Option<CpuId> = None;
    let mut next = line + 1;
    while let Some(row) = read_row(document, next, names.len(), median, &mut from)? {
        pairs.push(row).map_err(|problem| problem.at_line(next))?;
        next += 1;
    }
    let title = (line >= 2).then(|| title_above(document, line - 2)).flatten();
    let unit = title.as_deref().and_then(unit_of);
    let mut imported = pairs
        .into_square()?
        .finish(FormatId::Aggregates, unit.unwrap_or(Unit::Ns), Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    if unit.is_none() {
        imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    }
    imported.title = title;
    Ok((imported, next))
}

/// Reads `from to aggregates…`; pandas leaves out `from` where it repeats. `None` is the end of the table.
fn read_row(
    document: &Document,
    line: usize,
    aggregates: usize,
    median: usize,
    from: &mut Option<CpuId>,
) -> Result<Option<Pair>, ImportError> {
    let words: Vec<&str> = document.line(line).split_whitespace().take(aggregates + 3).collect();
    if words.first().is_some_and(|word| word.starts_with("...")) {
        return Err(Problem::Shortened.at_line(line));
    }
    if !words.first().copied().is_some_and(is_whole) {
        return Ok(None);
    }
    let ids = match words.len().checked_sub(aggregates) {
        Some(ids @ (1 | 2)) => ids,
        _ => return Err(Problem::Ragged { cells: words.len(), expected: aggregates + 2 }.at_line(line)),
    };
    let id = |index: usize| read_label(words[index]).map_err(|problem| problem.at(line, index));
    if ids == 2 {
        *from = Some(id(0)?);
    }
    let from =
        from.ok_or_else(|| Problem::Ragged { cells: words.len(), expected: aggregates + 2 }.at_line(line))?;
    let field = ids + median;
    let number = read_cell(words[field], DecimalMark::Point).map_err(|problem| problem.at(line, field))?;
    Ok(Some(Pair { line, field, from, to: id(ids - 1)?, number }))
}
