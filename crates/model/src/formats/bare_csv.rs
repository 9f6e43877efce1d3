//! Separated values: a bare square or triangle (core-to-core-latency, SoilRos), a matrix with CPU ids, and the matrices
//! of CoherencyLatency (comma-separated, `x` on the diagonal, after a `Cache line offset` line).

use super::delimited::Dialect;
use super::document::Document;
use super::field::{CpuLabels, DecimalMark, read_cell, read_label, unit_of};
use super::frame::{Frame, Grid};
use super::square::{Square, SquareShape};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Problem, Unit};
use std::iter;

/// The first row at or after line `index`, without blank lines (tabs are cells), comments, rules and prompts.
pub(super) fn next_row(document: &Document, index: usize) -> Option<usize> {
    (index..document.len()).find(|&index| {
        let line = document.line(index).trim_start_matches(' ');
        !line.is_empty() && !line.starts_with('#') && !is_prompt(line) && !is_rule(line)
    })
}

/// Whether a line is a command after a prompt such as `$ `, `bash-5.1$ `, `[user@host ~]$ ` or `user@host:~# `. With
/// separators, only the first field can be a prompt, because cells may contain `@` and `$`, as in `A @ 2.3GHz`.
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

/// Whether a line is a rule: `|---:|---:|`, `+-----+`, or the fence of a code block. `-` and `--` alone may be cells.
fn is_rule(line: &str) -> bool {
    let drawn = |c: char| matches!(c, '|' | '+' | '-' | '=' | ':' | ' ' | '\t' | '\u{2500}'..='\u{257f}');
    line.starts_with("```")
        || (line.chars().all(drawn)
            && ["---", "===", "|-", "+-", "──", "══"].iter().any(|rule| line.contains(rule)))
}

const BARS: [char; 2] = ['|', '│'];

/// Whether this line is the first row of a table in bars, with only CPU ids or numbers after its first field.
pub(super) fn bars_start(document: &Document, line: usize) -> bool {
    let text = document.line(line).trim();
    let is_first = line == 0 || !document.line(line - 1).trim_start().starts_with(BARS);
    let mut fields = text.trim_matches(BARS).split(BARS).skip(1).map(str::trim).peekable();
    let known = |field: &str| read_label(field).is_ok() || read_cell(field, DecimalMark::Point).is_ok();
    text.starts_with(BARS) && text.ends_with(BARS) && is_first && fields.peek().is_some() && fields.all(known)
}

/// Reads the table in bars from this line on, and the number of the next line. Rejects coretalk's tables of queues.
pub(super) fn read_bars(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let is_row = |line: &usize| {
        let text = document.line(*line).trim_start();
        text.starts_with(BARS) || (!text.is_empty() && is_rule(text))
    };
    let end = (line..document.len()).find(|line| !is_row(line)).unwrap_or(document.len());
    let above = (0..line)
        .rev()
        .map(|line| (line, document.line(line).trim()))
        .find(|(_, text)| !text.is_empty() && !is_rule(text))
        .filter(|(_, text)| !text.starts_with(BARS));
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
        .finish(FormatId::BarTable, unit, labels, SquareShape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((ImportedMatrix { title, ..imported }, end))
}

pub(super) fn read_bare_csv(document: &Document) -> Result<ImportedMatrix, ImportError> {
    let lines = rows(document, 0, document.len())?;
    let (square, labels) = read_square(document, &lines)?;
    let format = match labels {
        Labels::FromFile => FormatId::LabelledCsv,
        Labels::RowNumbers => FormatId::BareCsv,
    };
    let unit = stated_unit(document, lines[0])?;
    Ok(square.finish(format, unit, labels, SquareShape::Detect)?)
}

/// The rows from line `from` to the line before `to`. Fails with [`Problem::TooManyCpus`].
pub(super) fn rows(document: &Document, from: usize, to: usize) -> Result<Vec<usize>, ImportError> {
    let mut lines = Vec::new();
    let mut next = from;
    while let Some(line) = next_row(document, next).filter(|&line| line < to) {
        // The header adds one line to the number of CPUs.
        if lines.len() > MAX_CPUS {
            return Err(Problem::TooManyCpus.at_line(line));
        }
        lines.push(line);
        next = line + 1;
    }
    Ok(lines)
}

pub(super) fn read_square(document: &Document, lines: &[usize]) -> Result<(Square, Labels), ImportError> {
    if lines.is_empty() {
        return Err(Problem::NoValues.into());
    }
    let grid = Grid { document, lines, dialect: Dialect::detect(document, lines)? };
    let frame = Frame::from_grid(&grid)?;
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

pub(super) fn coherency_starts(document: &Document, line: usize) -> bool {
    document.line(line).trim_start().starts_with("Cache line offset")
}

pub(super) fn read_coherency(
    document: &Document,
    header: usize,
) -> Result<(ImportedMatrix, usize), ImportError> {
    let commas = |line: usize| document.line(line).matches(',').count();
    let others = iter::successors(next_row(document, header + 1), |&line| next_row(document, line + 1));
    let mut lines: Vec<usize> = Vec::new();
    // Text may follow each matrix. A row of at least two CPUs has a comma.
    for line in others.filter(|&line| commas(line) > 0 || coherency_starts(document, line)) {
        let is_beyond = |first: usize| {
            lines.len() > commas(first)
                && (line > lines[lines.len() - 1] + 1 || commas(line) != commas(first))
        };
        if coherency_starts(document, line)
            || triangle_starts(document, line)
            || lines.first().is_some_and(|&first| is_beyond(first))
        {
            break;
        }
        if lines.len() > MAX_CPUS {
            return Err(Problem::TooManyCpus.at_line(line));
        }
        lines.push(line);
    }
    let (square, labels) =
        read_square(document, &lines).map_err(|error| with_fallback_line(error, header))?;
    let mut imported = square
        .finish(FormatId::CoherencyLatency, Some(Unit::Ns), labels, SquareShape::Detect)
        .map_err(|problem| problem.at_line(header))?;
    imported.title = Some(document.line(header).trim().to_owned());
    Ok((imported, lines.last().map_or(header, |&last| last) + 1))
}

/// Whether a lower triangle of core-to-core-latency starts on this line: a row of n commas, then n rows with n commas
/// each, empty from the diagonal on.
pub(super) fn triangle_starts(document: &Document, line: usize) -> bool {
    let commas = document.line(line).len();
    let is_empty = |line: &str| line.bytes().all(|byte| byte == b',');
    if commas == 0 || !is_empty(document.line(line)) {
        return false;
    }
    let is_row = |row: usize| {
        let mut fields = document.line(line + row).split(',').enumerate();
        let is_cell = |(column, field): (usize, &str)| {
            field.is_empty() || (column < row && read_cell(field, DecimalMark::Point).is_ok())
        };
        fields.clone().count() == commas + 1 && fields.all(is_cell)
    };
    let after = document.line(line + commas + 1);
    let ends = after.matches(',').count() != commas || is_empty(after);
    let has_cells = (1..=commas).any(|row| !is_empty(document.line(line + row)));
    ends && has_cells && (1..=commas).all(is_row)
}

pub(super) fn read_triangle(
    document: &Document,
    line: usize,
) -> Result<(ImportedMatrix, usize), ImportError> {
    let end = line + document.line(line).len() + 1;
    let (square, labels) = read_square(document, &rows(document, line, end)?)?;
    let imported = square
        .finish(FormatId::BareCsv, stated_unit(document, line)?, labels, SquareShape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((imported, end))
}

/// The unit in the first line of a table or in comments above. Fails with [`Problem::Unit`] if unsupported.
fn stated_unit(document: &Document, first: usize) -> Result<Option<Unit>, ImportError> {
    match unit_of(document.line(first)).map_err(|problem| problem.at_line(first))? {
        None => unit_above(document, first),
        known => Ok(known),
    }
}

pub(super) fn unit_above(document: &Document, first: usize) -> Result<Option<Unit>, ImportError> {
    let above = (0..first).rev().map(|line| (line, document.line(line).trim()));
    let comments = above.take_while(|(_, text)| text.is_empty() || text.starts_with('#'));
    let units = comments.map(|(line, text)| unit_of(text).map_err(|problem| problem.at_line(line)));
    units.filter_map(Result::transpose).next().transpose()
}

fn with_fallback_line(error: ImportError, header: usize) -> ImportError {
    ImportError { line: error.line.or(Some(header + 1)), ..error }
}
