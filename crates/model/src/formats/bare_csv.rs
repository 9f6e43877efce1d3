//! Separated values: a bare square or triangle (core-to-core-latency, SoilRos), or one with CPU ids around it; and the
//! matrices of CoherencyLatency (Microbenchmarks), comma rows with `x` on the diagonal, one for each `Cache line offset` line.

use super::delimited::Dialect;
use super::document::Document;
use super::field::{CpuLabels, DecimalMark, read_cell, read_label, unit_of};
use super::frame::{Frame, Grid};
use super::square::{Shape, Square};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Problem, Unit};

/// The first line from `index` on that is a row: neither blank (tabs are cells), nor a comment, a rule or a prompt.
pub(super) fn next_row(document: &Document, index: usize) -> Option<usize> {
    (index..document.len()).find(|&index| {
        let line = document.line(index).trim_start_matches(' ');
        !line.is_empty() && !line.starts_with('#') && !is_prompt(line) && !is_rule(line)
    })
}

/// Whether a line is a command below a prompt such as `$ `, `bash-5.1$ `, `[user@host ~]$ ` or `user@host:~# `. In a row with
/// a separator `@` and `$` are text of its cells, as in `A @ 2.3GHz`, so there only its first field may be a prompt.
fn is_prompt(line: &str) -> bool {
    let is_user = |word: &str| match word.split_once('@') {
        Some((user, host)) => !user.is_empty() && (user.starts_with('[') || host.contains(':')),
        None => false,
    };
    line.contains(['$', '@'])
        && match line.split_once([',', ';', '\t', '|', '│']) {
            None => true,
            Some((field, _)) => {
                let mut words = field.split_whitespace();
                let first = words.clone().next().unwrap_or_default();
                first.ends_with('$') || words.any(is_user)
            }
        }
}

/// What draws a line: `|---:|---:|`, `+-----+`, the fence of a block of code. `-` and `--` alone may be cells.
fn is_rule(line: &str) -> bool {
    let drawn = |c: char| matches!(c, '|' | '+' | '-' | '=' | ':' | ' ' | '\t' | '\u{2500}'..='\u{257f}');
    line.starts_with("```")
        || (line.chars().all(drawn)
            && ["---", "===", "|-", "+-", "──", "══"].iter().any(|rule| line.contains(rule)))
}

const BARS: [char; 2] = ['|', '│'];

/// Whether a table in bars starts on this line: its first row, in which all but the first field are CPU ids or numbers.
pub(super) fn bars_start(document: &Document, line: usize) -> bool {
    let text = document.line(line).trim();
    let is_first = line == 0 || !document.line(line - 1).trim_start().starts_with(BARS);
    let mut fields = text.trim_matches(BARS).split(BARS).skip(1).map(str::trim).peekable();
    let known = |field: &str| read_label(field).is_ok() || read_cell(field, DecimalMark::Point).is_ok();
    text.starts_with(BARS) && text.ends_with(BARS) && is_first && fields.peek().is_some() && fields.all(known)
}

/// Reads the table in bars that starts on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong, and our own tables of queues.
pub(super) fn read_bars(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let is_row = |line: &usize| {
        let text = document.line(*line).trim_start();
        text.starts_with(BARS) || (!text.is_empty() && is_rule(text))
    };
    let end = (line..document.len()).find(|line| !is_row(line)).unwrap_or(document.len());
    let above = (0..line)
        .rev()
        .map(|line| (line, document.line(line).trim()))
        .find(|(_, text)| !text.is_empty() && !is_rule(text));
    let title = above.map(|(_, text)| text.trim_end_matches(':').to_owned());
    if title.as_deref().is_some_and(|title| title.contains("messages per second")) {
        return Err(Problem::Rates.at_line(line));
    }
    let (square, labels) = read_square(document, &rows(document, line, end)?)?;
    let mut unit = unit_of(document.line(line)).map_err(|problem| problem.at_line(line))?;
    if let (None, Some((at, title))) = (unit, above) {
        unit = unit_of(title).map_err(|problem| problem.at_line(at))?;
    }
    let imported = square
        .finish(FormatId::BarTable, unit, labels, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((ImportedMatrix { title, ..imported }, end))
}

/// Reads the rows of a file without any announcement.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_bare_csv(document: &Document) -> Result<ImportedMatrix, ImportError> {
    let lines = rows(document, 0, document.len())?;
    let (square, labels) = read_square(document, &lines)?;
    let format = match labels {
        Labels::FromFile => FormatId::LabelledCsv,
        Labels::RowNumbers => FormatId::BareCsv,
    };
    Ok(square.finish(format, None, labels, Shape::Detect)?)
}

/// The rows between two lines, the second not included.
///
/// # Errors
/// [`Problem::TooManyCpus`].
pub(super) fn rows(document: &Document, from: usize, to: usize) -> Result<Vec<usize>, ImportError> {
    let mut lines = Vec::new();
    let mut next = from;
    while let Some(line) = next_row(document, next).filter(|&line| line < to) {
        // A header is one line more than there are CPUs.
        if lines.len() > MAX_CPUS {
            return Err(Problem::TooManyCpus.at_line(line));
        }
        lines.push(line);
        next = line + 1;
    }
    Ok(lines)
}

/// Reads these lines as a table, with ids if there are any.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_square(document: &Document, lines: &[usize]) -> Result<(Square, Labels), ImportError> {
    if lines.is_empty() {
        return Err(Problem::NoValues.into());
    }
    let grid = Grid { document, lines, dialect: Dialect::detect(document, lines)? };
    let frame = Frame::of(&grid)?;
    let columns = frame.labels(&grid)?;
    let mut square = Square::new(&columns)?;
    let mut seen = CpuLabels::default();
    for (index, &line) in lines.iter().enumerate().skip(frame.header as usize) {
        let index = index - frame.header as usize;
        let mut row = index + frame.cells.first_row();
        for (field_index, field) in grid.fields(line).enumerate() {
            let fail = |problem: Problem| problem.at(line, field_index);
            let field = field.map_err(fail)?;
            if frame.row_labels && field_index == 0 {
                let cpu = read_label(&field).map_err(fail)?;
                seen.push(cpu).map_err(fail)?;
                row = columns.position(cpu).map_err(fail)?;
                continue;
            }
            let column = field_index - frame.row_labels as usize + frame.cells.first_column(index);
            let number = read_cell(&field, grid.dialect.mark).map_err(fail)?;
            // What lies beyond is the empty field after a separator at the end of the line.
            if column < columns.len() {
                square.set(row, column, number).map_err(fail)?;
            }
        }
    }
    if frame.cut {
        square.complete_last_row();
    }
    let labelled = frame.header || frame.row_labels;
    Ok((square, if labelled { Labels::FromFile } else { Labels::RowNumbers }))
}

/// The lines that announce a matrix.
pub(super) fn coherency_headers(document: &Document) -> Vec<usize> {
    (0..document.len())
        .filter(|&line| document.line(line).trim_start().starts_with("Cache line offset"))
        .collect()
}

/// Reads the matrix below each of these lines.
///
/// # Errors
/// What a table gets wrong.
pub(super) fn read_coherency(
    document: &Document,
    headers: &[usize],
) -> Result<Vec<ImportedMatrix>, ImportError> {
    let ends = headers[1..].iter().copied().chain([document.len()]);
    headers.iter().zip(ends).map(|(&header, end)| read_one(document, header, end)).collect()
}

fn read_one(document: &Document, header: usize, end: usize) -> Result<ImportedMatrix, ImportError> {
    let mut lines = rows(document, header + 1, end)?;
    // Text between the matrices; a row of two CPUs or more has a comma.
    lines.retain(|&line| document.line(line).contains(','));
    let (square, labels) = read_square(document, &lines).map_err(|error| at(error, header))?;
    let mut imported = square
        .finish(FormatId::CoherencyLatency, Some(Unit::Ns), labels, Shape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    imported.title = Some(document.line(header).trim().to_owned());
    Ok(imported)
}

/// An error about a whole table is an error at its header.
fn at(error: ImportError, header: usize) -> ImportError {
    ImportError { line: error.line.or(Some(header + 1)), ..error }
}
