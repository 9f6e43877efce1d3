//! Tables of text reports: a header with CPU ids, then rows that begin with one. They are c2clat's (`CPU 0 1 …`), also inside
//! the gnuplot script of its `-p`; what core-to-core-latency prints for people (`52±6`); a pandas pivot table (`toCore` and
//! the ids, `fromCore`, then the rows); and columns of fixed width with a blank diagonal (jcurl's core_latency): splitting
//! at blanks would shift every cell right of the diagonal, so cells are placed by where the header's ids stand.

use super::document::Document;
use super::field::{CpuLabels, DecimalMark, is_whole, read_cell, read_label};
use super::import_error::excerpt;
use super::square::{Shape, Square};
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit};

/// How the cells of a row find their columns.
enum Layout {
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
fn read_header(document: &Document, line: usize, skipped: usize) -> Result<CpuLabels, ImportError> {
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
fn read_rows(
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
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().map(move |word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

/// Whether a table starts on this line.
pub(super) fn c2clat_starts(document: &Document, line: usize) -> bool {
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
pub(super) fn read_c2clat(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 1)?;
    let (square, next) = read_rows(document, &labels, line + 1, &Layout::Full)?;
    let wrapped = line > 0 && document.line(line - 1).contains("<<");
    let format = if wrapped { FormatId::C2clatGnuplot } else { FormatId::C2clat };
    let imported = square
        .finish(format, Some(Unit::Ns), Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((imported, next))
}

/// The lines above the announcement that may describe the run; the tool prints three.
const PREAMBLE: usize = 8;

/// Whether this line announces a table.
pub(super) fn report_starts(document: &Document, line: usize) -> bool {
    document.line(line).trim_start().starts_with("Showing latency=")
}

/// Reads the table below the announcement on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_report(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let header = document.next_filled(line + 1).unwrap_or(line + 1);
    let labels = read_header(document, header, 0)?;
    let (square, next) = read_rows(document, &labels, header + 1, &Layout::LowerTriangle)?;
    let mut imported = square
        .finish(FormatId::CoreToCoreReport, Some(Unit::Ns), Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    imported.metadata = (line.saturating_sub(PREAMBLE)..line)
        .filter_map(|line| document.line(line).split_once(": "))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    Ok((imported, next))
}

/// Whether a table starts on this line.
pub(super) fn pivot_starts(document: &Document, line: usize) -> bool {
    document.line(line).split_whitespace().next() == Some("toCore")
}

/// Reads the table whose ids are on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_pivot(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 1)?;
    if document.line(line + 1).trim() != "fromCore" {
        return Err(Problem::MissingRows { found: 0, expected: labels.len() }.at_line(line + 1));
    }
    let (square, next) = read_rows(document, &labels, line + 2, &Layout::Full)?;
    let title = title_above(document, line);
    let unit = title.as_deref().and_then(unit_of);
    let mut imported = square
        .finish(FormatId::Pivot, unit, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
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

/// Whether a table starts on this line: an indented row of whole numbers, the first of which begins the next line.
pub(super) fn fixed_width_starts(document: &Document, line: usize) -> bool {
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
pub(super) fn read_fixed_width(
    document: &Document,
    line: usize,
) -> Result<(ImportedMatrix, usize), ImportError> {
    let labels = read_header(document, line, 0)?;
    let columns = words(document.line(line)).map(|(at, word)| (at, at + word.len())).collect();
    let (square, next) = read_rows(document, &labels, line + 1, &Layout::Columns(columns))?;
    let imported = square
        .finish(FormatId::FixedWidth, None, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((imported, next))
}
