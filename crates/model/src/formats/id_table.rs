//! Tables of text reports: a header with CPU ids, then rows that begin with one.

use super::cell::{DecimalMark, read_cell};
use super::document::Document;
use super::import_error::excerpt;
use super::label::{CpuLabels, is_whole, read_label};
use super::square::Square;
use super::{ImportError, Problem};

/// How the cells of a row find their columns.
pub(super) enum Layout {
    /// One word per CPU.
    Full,
    /// Row `i` has `i` words; what follows `±` is an error bar.
    LowerTriangle,
    /// By where the header's ids stand: first byte, and the one after the last.
    Columns(Vec<(usize, usize)>),
}

/// Reads the words of a header line as CPU ids, `skipped` words not counted.
///
/// # Errors
/// A word that is no id, an id twice, or pandas' `...`.
pub(super) fn read_header(
    document: &Document,
    line: usize,
    skipped: usize,
) -> Result<CpuLabels, ImportError> {
    let mut labels = CpuLabels::default();
    for (index, word) in document.line(line).split_whitespace().enumerate().skip(skipped) {
        if word == "..." {
            return Err(Problem::Shortened.at(line, index));
        }
        read_label(word).and_then(|cpu| labels.push(cpu)).map_err(|problem| problem.at(line, index))?;
    }
    Ok(labels)
}

/// Reads one row per CPU of the header, from line `first` on, and says which line follows the table.
///
/// # Errors
/// Rows that are missing, too many, too long or too short, and cells that are no latency.
pub(super) fn read_rows(
    document: &Document,
    labels: &CpuLabels,
    first: usize,
    layout: &Layout,
) -> Result<(Square, usize), ImportError> {
    // The rows are checked before the table is made: a long header alone must not ask for its square.
    let rows = find_rows(document, labels, first, layout)?;
    let mut square = Square::new(labels)?;
    for &(line, row) in &rows {
        for (index, (at, word)) in words(document.line(line)).enumerate().skip(1) {
            let fail = |problem: Problem| problem.at(line, index);
            let column = match layout {
                Layout::Full | Layout::LowerTriangle => index - 1,
                Layout::Columns(columns) => column_of(columns, at, word).map_err(fail)?,
            };
            let value = match layout {
                Layout::LowerTriangle => word.split('±').next().unwrap_or(word),
                Layout::Full | Layout::Columns(_) => word,
            };
            read_cell(value, DecimalMark::Point)
                .and_then(|number| square.set(row, column, number))
                .map_err(fail)?;
        }
    }
    Ok((square, rows.last().map_or(first, |&(line, _)| line + 1)))
}

/// Line and position of each row.
fn find_rows(
    document: &Document,
    labels: &CpuLabels,
    first: usize,
    layout: &Layout,
) -> Result<Vec<(usize, usize)>, ImportError> {
    let n = labels.len();
    let mut rows: Vec<(usize, usize)> = Vec::new();
    let mut seen = CpuLabels::default();
    let mut next = first;
    while rows.len() < n {
        let line = document.next_filled(next);
        let mut row_words = document.line(line.unwrap_or(document.len())).split_whitespace();
        let label = row_words.next().unwrap_or_default();
        let missing = || Problem::MissingRows { found: rows.len(), expected: n };
        let line = line.ok_or_else(|| missing().at_line(document.len() - 1))?;
        if label == "..." {
            return Err(Problem::Shortened.at_line(line));
        }
        if !is_whole(label) {
            return Err(missing().at_line(line));
        }
        let row = read_label(label)
            .and_then(|cpu| seen.push(cpu).and_then(|()| labels.position(cpu)))
            .map_err(|problem| problem.at(line, 0))?;
        let cells = row_words.count();
        let fits = match layout {
            Layout::Full => cells == n,
            Layout::LowerTriangle => cells == row,
            Layout::Columns(_) => cells == n || cells + 1 == n,
        };
        if !fits {
            let expected = match layout {
                Layout::Full => n,
                Layout::LowerTriangle => row,
                Layout::Columns(_) => n - 1,
            };
            return Err(Problem::Ragged { cells, expected }.at_line(line));
        }
        rows.push((line, row));
        next = line + 1;
    }
    let mut after = document.line(next).split_whitespace();
    if after.next().is_some_and(is_whole) && after.count() == n {
        return Err(Problem::ExtraRow.at_line(next));
    }
    Ok(rows)
}

/// The column whose id starts or ends where the word does; the two are never the same column by chance, because ids
/// of a fixed-width table are at least a blank apart and values overlap their own id only.
fn column_of(columns: &[(usize, usize)], at: usize, word: &str) -> Result<usize, Problem> {
    let end = at + word.len();
    let overlapping = columns.partition_point(|&(_, id_end)| id_end <= at);
    match columns.get(overlapping) {
        Some(&(id_start, id_end)) if id_start == at || id_end == end => Ok(overlapping),
        _ => Err(Problem::Misaligned { cell: excerpt(word) }),
    }
}

/// The words of a line with their first byte.
pub(super) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(move |word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}
