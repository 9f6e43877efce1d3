//! Tables in text reports: a header of CPU ids, then rows that begin with an id. Each tool is an entry of [`DIALECTS`].

use super::document::Document;
use super::field::{CpuLabels, DecimalMark, is_whole, read_cell, read_label, unit_of};
use super::import_error::excerpt;
use super::square::{Square, SquareShape, check_density};
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit};

struct Dialect {
    format: FormatId,
    header: fn(&Document, usize) -> Option<usize>,
    corner: usize,
    below: Option<&'static str>,
    /// Whether the first CPU has no column and the last CPU no row, as in an upper triangle.
    is_open: bool,
    cells: Cells,
    /// `None` if only a title can state the unit.
    unit: Option<Unit>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    All,
    /// By count, if every row has as many cells as in a triangle, or one less than the CPUs; otherwise by position.
    Counted,
    /// By the position of the ids. Splitting at blanks would shift cells to the right of a blank diagonal.
    Placed,
}

const C2CLAT: Dialect = Dialect {
    format: FormatId::C2clat,
    header: c2clat,
    corner: 1,
    below: None,
    is_open: false,
    cells: Cells::All,
    unit: Some(Unit::Ns),
};

/// All tools, the most specific header first.
const DIALECTS: &[Dialect] = &[
    Dialect { format: FormatId::C2clatGnuplot, header: c2clat_in_script, ..C2CLAT },
    C2CLAT,
    Dialect {
        format: FormatId::CoreToCoreReport,
        header: announced,
        corner: 0,
        cells: Cells::Counted,
        ..C2CLAT
    },
    Dialect { format: FormatId::Pivot, header: pivot, below: Some("fromCore"), unit: None, ..C2CLAT },
    Dialect {
        format: FormatId::Multichase,
        header: upper_triangle,
        corner: 0,
        is_open: true,
        cells: Cells::Counted,
        ..C2CLAT
    },
    Dialect {
        format: FormatId::FixedWidth,
        header: fixed_width,
        corner: 0,
        cells: Cells::Placed,
        unit: None,
        ..C2CLAT
    },
];

pub(super) fn starts(document: &Document, line: usize) -> bool {
    DIALECTS.iter().any(|dialect| (dialect.header)(document, line).is_some())
}

pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let found = DIALECTS.iter().find_map(|dialect| Some((dialect, (dialect.header)(document, line)?)));
    let (dialect, header) = found.ok_or_else(|| Problem::NotAMatrix.at_line(line))?;
    let mut labels = CpuLabels::default();
    if dialect.is_open {
        let first = read_label(first_row_label(document, header)).and_then(|cpu| labels.push(cpu));
        first.map_err(|problem| problem.at_line(header + 1))?;
    }
    let mut columns = Vec::new();
    for (index, (at, word)) in words(document.line(header)).enumerate().skip(dialect.corner) {
        if word == "..." {
            return Err(Problem::Shortened.at(header, index));
        }
        read_label(word).and_then(|cpu| labels.push(cpu)).map_err(|problem| problem.at(header, index))?;
        columns.push((at, at + word.len()));
    }
    let mut first = header + 1;
    if let Some(below) = dialect.below {
        if document.line(first).trim() != below {
            return Err(Problem::MissingRows { found: 0, expected: labels.len() }.at_line(first));
        }
        first += 1;
    }
    let (square, next) = read_rows(document, &labels, &columns, first, dialect)?;
    let title = if line < header { numbered(document.line(line)) } else { title_above(document, header) };
    let unit = match (dialect.unit, &title) {
        (None, Some(title)) => {
            unit_of(title).map_err(|problem| problem.at_line(line.min(header.saturating_sub(1))))?
        }
        (known, _) => known,
    };
    let imported = square
        .finish(dialect.format, unit, Labels::FromFile, SquareShape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    let metadata = if line < header { preamble(document, line) } else { Vec::new() };
    Ok((ImportedMatrix { title, metadata, ..imported }, next))
}

struct Row {
    line: usize,
    position: usize,
    cells: usize,
}

fn read_rows(
    document: &Document,
    labels: &CpuLabels,
    columns: &[(usize, usize)],
    first: usize,
    dialect: &Dialect,
) -> Result<(Square, usize), ImportError> {
    // The rows are checked first, so that a long header alone does not allocate its square.
    let rows = find_rows(document, labels, first, dialect)?;
    let n = labels.len();
    check_density(n, rows.iter().map(|row| row.cells).sum())?;
    let all_have = |cells: fn(usize, usize) -> usize| rows.iter().all(|r| r.cells == cells(r.position, n));
    let by_number: Option<fn(usize, usize) -> usize> = match dialect.cells {
        Cells::All => Some(|_, index| index),
        Cells::Counted if all_have(|row, _| row) => Some(|_, index| index),
        Cells::Counted if all_have(|row, n| n - 1 - row) => Some(|row, index| row + 1 + index),
        Cells::Counted if all_have(|_, n| n - 1) => Some(|row, index| index + usize::from(index >= row)),
        Cells::Counted | Cells::Placed => None,
    };
    let mut square = Square::new(labels)?;
    for &Row { line, position, .. } in &rows {
        for (index, (at, word)) in words(document.line(line)).enumerate().skip(1) {
            // A standard error follows `±`.
            let value = word.split('±').next().unwrap_or(word);
            let column = match by_number {
                Some(column) => Ok(column(position, index - 1)),
                None => column_of(columns, at, value).map(|column| column + usize::from(dialect.is_open)),
            };
            column
                .and_then(|column| square.set(position, column, read_cell(value, DecimalMark::Point)?))
                .map_err(|problem| problem.at(line, index))?;
        }
    }
    Ok((square, rows.last().map_or(first, |row| row.line + 1)))
}

fn find_rows(
    document: &Document,
    labels: &CpuLabels,
    first: usize,
    dialect: &Dialect,
) -> Result<Vec<Row>, ImportError> {
    let n = labels.len();
    let expected = n - usize::from(dialect.is_open);
    let mut rows: Vec<Row> = Vec::new();
    let mut seen = CpuLabels::default();
    let mut next = first;
    while rows.len() < expected {
        let missing = || Problem::MissingRows { found: rows.len(), expected };
        let line = document.next_filled(next).ok_or_else(|| missing().at_line(document.len() - 1))?;
        let label = row_label(document.line(line));
        if label == "..." {
            return Err(Problem::Shortened.at_line(line));
        }
        if !is_whole(label) {
            return Err(missing().at_line(line));
        }
        let position = read_label(label)
            .and_then(|cpu| seen.push(cpu).and_then(|()| labels.position(cpu)))
            .map_err(|problem| problem.at(line, 0))?;
        let cells = document.line(line).split_whitespace().count() - 1;
        let (fits, most) = match dialect.cells {
            Cells::All => (cells == n, n),
            Cells::Counted => (cells <= n, n - 1),
            Cells::Placed => (cells == n || cells + 1 == n, n - 1),
        };
        if !fits {
            return Err(Problem::Ragged { cells, expected: most }.at_line(line));
        }
        rows.push(Row { line, position, cells });
        next = line + 1;
    }
    let mut after = document.line(next).split_whitespace();
    if after.next().is_some_and(is_whole) && after.count() == n {
        return Err(Problem::ExtraRow.at_line(next));
    }
    Ok(rows)
}

/// The column with an id that starts or ends with the word. Values overlap only their own id, so there is only one.
fn column_of(columns: &[(usize, usize)], at: usize, word: &str) -> Result<usize, Problem> {
    let end = at + word.chars().count();
    let overlapping = columns.partition_point(|&(_, id_end)| id_end <= at);
    match columns.get(overlapping) {
        Some(&(id_start, id_end)) if id_start == at || id_end == end => Ok(overlapping),
        _ => Err(Problem::Misaligned { cell: excerpt(word) }),
    }
}

/// The words of a line with the column of their first character. `±` is two bytes but one column.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_whitespace().scan((0, 0), move |(byte, column), word| {
        let begin = word.as_ptr() as usize - line.as_ptr() as usize;
        *column += line[*byte..begin].chars().count();
        *byte = begin;
        Some((*column, word))
    })
}

fn row_label(line: &str) -> &str {
    let first = line.split_whitespace().next().unwrap_or_default();
    first.strip_suffix(':').unwrap_or(first)
}

fn first_row_label<'a>(document: &Document<'a>, header: usize) -> &'a str {
    row_label(document.next_filled(header + 1).map_or("", |row| document.line(row)))
}

fn is_ids(line: &str) -> bool {
    let digits = line.bytes().any(|byte| byte.is_ascii_digit());
    digits && line.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ')
}

/// `CPU 0 1 …`. With tabs or commas, the line would be separated values, whose cells may be empty.
fn c2clat(document: &Document, line: usize) -> Option<usize> {
    let ids = document.line(line).trim_start().strip_prefix("CPU")?;
    (ids.starts_with(' ') && is_ids(ids.trim_end())).then_some(line)
}

/// The header of c2clat in a here-document, as in the gnuplot script of `-p`.
fn c2clat_in_script(document: &Document, line: usize) -> Option<usize> {
    c2clat(document, line).filter(|header| *header > 0 && document.line(header - 1).contains("<<"))
}

/// The ids after `Showing latency=…` of core-to-core-latency, or since version 1.1 after the number and name of a
/// benchmark. Below is a lower triangle with standard errors, or a matrix of both directions for passed messages.
fn announced(document: &Document, line: usize) -> Option<usize> {
    let text = document.line(line).trim_start();
    if !text.starts_with("Showing latency=") && numbered(text).is_none() {
        return None;
    }
    let header = document.next_filled(line + 1)?;
    let first = document.line(header).split_whitespace().next();
    (is_ids(document.line(header).trim()) && first == Some(first_row_label(document, header)))
        .then_some(header)
}

/// `1) CAS latency on a single shared cache line`.
fn numbered(line: &str) -> Option<String> {
    let text = line.trim();
    matches!(text.as_bytes(), [b'1'..=b'9', b')', b' ', ..]).then(|| text.to_owned())
}

/// Maximum number of lines above the announcement that may describe the run. core-to-core-latency prints up to five.
const MAX_PREAMBLE_LINES: usize = 8;

/// Keys and values from the lines above an announcement, up to the summary of another table.
fn preamble(document: &Document, line: usize) -> Vec<(String, String)> {
    let above = (line.saturating_sub(MAX_PREAMBLE_LINES)..line).rev().map(|line| document.line(line));
    let mut pairs: Vec<(String, String)> = above
        .take_while(|text| !text.contains(" latency:"))
        .filter_map(|text| text.split_once(": "))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    pairs.reverse();
    pairs
}

/// The header of a pandas pivot table: `toCore 0 1 …`.
fn pivot(document: &Document, line: usize) -> Option<usize> {
    (document.line(line).split_whitespace().next() == Some("toCore")).then_some(line)
}

/// The indented ids of multichase's pingpong. The first row, `0:`, belongs to a CPU without a column.
fn upper_triangle(document: &Document, line: usize) -> Option<usize> {
    let text = document.line(line);
    if !text.starts_with(' ') || !is_ids(text) {
        return None;
    }
    let row = document.line(document.next_filled(line + 1)?).split_whitespace().next()?.strip_suffix(':')?;
    (is_whole(row) && text.split_whitespace().all(|id| id != row)).then_some(line)
}

/// An indented row of whole numbers (jcurl's core_latency). The first number also begins the next line.
fn fixed_width(document: &Document, line: usize) -> Option<usize> {
    let text = document.line(line);
    if !text.starts_with(' ') || !is_ids(text) {
        return None;
    }
    let below = document.line(document.next_filled(line + 1)?);
    let (at, id) = words(text).next()?;
    // A row label starts left of the header. In a bare matrix, both rows start at the same column.
    let (label_at, _) = words(below).next()?;
    (row_label(below) == id && label_at < at).then_some(line)
}

pub(super) fn title_above(document: &Document, line: usize) -> Option<String> {
    let above = document.line(line.checked_sub(1)?).trim();
    above.strip_suffix(':').map(str::to_owned)
}
