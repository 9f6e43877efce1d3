//! Writers for `csv` of coretalk, `c2c-csv` (the bare matrix of core-to-core-latency) and Markdown. A reader for `csv`.

use super::bare_csv::{read_square, rows};
use super::document::Document;
use super::import_error::excerpt;
use super::square::SquareShape;
use super::{FormatId, ImportError, ImportedMatrix, Problem, Unit};
use crate::time::is_measurable;
use crate::{CpuId, Matrix};
use std::fmt::Write as _;

const MAGIC: &str = "# coretalk matrix:";

/// Formats a matrix with its metadata, one `# key: value` line each. The diagonal, `None`, and values that are no
/// latency (see [`is_measurable`]) have empty cells.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::{Unit, write_csv}};
/// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4)], |_, _| Some(52.5));
/// let csv = write_csv(&matrix, Unit::Ns, &[("probe", "cas")]);
/// assert_eq!(csv, "# coretalk matrix: symmetric, ns\n# probe: cas\ncpu,0,4\n0,,52.5\n4,52.5,\n");
/// ```
pub fn write_csv<K: AsRef<str>, V: AsRef<str>>(
    matrix: &Matrix<Option<f64>>,
    unit: Unit,
    metadata: &[(K, V)],
) -> String {
    let shape = if matrix.is_symmetric() { "symmetric" } else { "directed" };
    let cell = |row, column| latency(matrix, row, column);
    square(&format!("{shape}, {unit}"), matrix.cpus(), metadata, cell)
}

const RATE: &str = "messages/s";

/// Formats messages per second from the CPU of the row to the CPU of the column, as [`write_csv`] but with the
/// diagonal. Readers of latencies reject the result.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::write_rates_csv};
/// let matrix = Matrix::directed(vec![CpuId(0), CpuId(4)], |row, column| (row <= column).then_some(2.5e6));
/// let csv = write_rates_csv(&matrix, &[("capacity", "1")]);
/// assert_eq!(csv, "# coretalk matrix: directed, messages/s\n# capacity: 1\ncpu,0,4\n0,2500000,2500000\n4,,2500000\n");
/// ```
pub fn write_rates_csv<K: AsRef<str>, V: AsRef<str>>(
    matrix: &Matrix<Option<f64>>,
    metadata: &[(K, V)],
) -> String {
    let known = |value: &f64| value.is_finite() && *value >= 0.0;
    let cell = |row, column| matrix.get(row, column).copied().flatten().filter(known);
    square(&format!("directed, {RATE}"), matrix.cpus(), metadata, cell)
}

fn square<K: AsRef<str>, V: AsRef<str>>(
    what: &str,
    cpus: &[CpuId],
    metadata: &[(K, V)],
    cell: impl Fn(usize, usize) -> Option<f64>,
) -> String {
    let mut csv = format!("{MAGIC} {what}\n");
    for (key, value) in metadata {
        csv.push_str("# ");
        escape(key.as_ref(), &mut csv);
        csv.push_str(": ");
        escape(value.as_ref(), &mut csv);
        csv.push('\n');
    }
    csv.push_str("cpu");
    for cpu in cpus {
        let _ = write!(csv, ",{cpu}");
    }
    csv.push('\n');
    for (row, cpu) in cpus.iter().enumerate() {
        let _ = write!(csv, "{cpu}");
        for column in 0..cpus.len() {
            csv.push(',');
            if let Some(value) = cell(row, column) {
                let _ = write!(csv, "{value}");
            }
        }
        csv.push('\n');
    }
    csv
}

fn latency(matrix: &Matrix<Option<f64>>, row: usize, column: usize) -> Option<f64> {
    let cell = matrix.get(row, column).copied().flatten();
    // Adding zero turns -0 into 0.
    cell.filter(|value| row != column && is_measurable(*value)).map(|value| value + 0.0)
}

pub(super) fn is_ours(document: &Document) -> bool {
    document.line(0).starts_with(MAGIC)
}

pub(super) fn read_ours(document: &Document) -> Result<ImportedMatrix, ImportError> {
    let (shape, unit) = read_magic(document.line(0)).map_err(|problem| problem.at_line(0))?;
    let metadata = (1..document.len())
        .map(|line| document.line(line))
        .map_while(|line| line.strip_prefix('#'))
        .filter_map(|line| split_unescaped(line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let (square, labels) = read_square(document, &rows(document, 1, end_of_square(document))?)?;
    let imported = square.finish(FormatId::CoretalkCsv, Some(unit), labels, shape)?;
    Ok(ImportedMatrix { metadata, ..imported })
}

fn end_of_square(document: &Document) -> usize {
    let begins_another = |line: &usize| {
        document.line(*line).trim().is_empty()
            && document.line(line + 1).starts_with("# ")
            && !document.line(line + 1).starts_with(MAGIC)
    };
    (1..document.len().saturating_sub(1)).find(begins_another).unwrap_or(document.len())
}

fn read_magic(line: &str) -> Result<(SquareShape, Unit), Problem> {
    let unknown = || Problem::OwnHeader { text: excerpt(line) };
    let (shape, unit) = line[MAGIC.len()..].split_once(',').ok_or_else(unknown)?;
    if unit.trim() == RATE {
        return Err(Problem::Rates);
    }
    let shape = match shape.trim() {
        "symmetric" => SquareShape::Symmetric,
        "directed" => SquareShape::Directed,
        _ => return Err(unknown()),
    };
    Ok((shape, Unit::named(unit.trim()).ok_or_else(unknown)?))
}

/// Escapes backslash, colon and control characters, which would break the line or separate key and value.
fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => into.push_str("\\\\"),
            ':' => into.push_str("\\:"),
            c if c.is_control() => into.extend(c.escape_unicode()),
            c => into.push(c),
        }
    }
}

/// Editors remove the blank after the colon if the value is empty.
fn split_unescaped(line: &str) -> Option<(String, String)> {
    let mut escaped = false;
    let colon = line.char_indices().find(|&(_, c)| {
        let found = c == ':' && !escaped;
        escaped = c == '\\' && !escaped;
        found
    });
    let (key, value) = line.split_at(colon?.0);
    let value = &value[1..];
    Some((unescape(key), unescape(value.strip_prefix(' ').unwrap_or(value))))
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        rest = after;
        let unicode = after.strip_prefix("u{").and_then(|hex| hex.split_once('}'));
        let read =
            unicode.and_then(|(hex, end)| Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, end)));
        if let Some((c, end)) = read {
            plain.push(c);
            rest = end;
        } else if let Some(c) = after.chars().next() {
            plain.push(c);
            rest = &after[c.len_utf8()..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Formats N rows of N fields by CPU id, without ids and with all digits. Only the strict lower triangle of a symmetric
/// matrix is filled, or all cells of a directed matrix except the diagonal. Unknown cells are empty.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::write_c2c_csv};
/// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4), CpuId(1)], |row, _| Some(50.0 + row as f64));
/// assert_eq!(write_c2c_csv(&matrix), ",,\n52,,\n51,52,\n");
/// ```
pub fn write_c2c_csv(matrix: &Matrix<Option<f64>>) -> String {
    let matrix = &matrix.by_id();
    let mut csv = String::new();
    for row in 0..matrix.len() {
        for column in 0..matrix.len() {
            if column > 0 {
                csv.push(',');
            }
            if matrix.is_symmetric() && column > row {
                continue;
            }
            if let Some(latency) = latency(matrix, row, column) {
                let _ = write!(csv, "{latency}");
            }
        }
        csv.push('\n');
    }
    csv
}

/// Formats a table with CPU ids on both axes and one decimal. Unknown cells and the diagonal are empty. A symmetric
/// matrix fills the whole square, so that each row holds all latencies of its CPU.
///
/// ```
/// # use coretalk_model::{CpuId, Matrix, formats::{Unit, write_markdown}};
/// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4)], |_, _| Some(52.46));
/// assert_eq!(
///     write_markdown(&matrix, Unit::Ns),
///     "|   ns |    0 |    4 |\n|-----:|-----:|-----:|\n|    0 |      | 52.5 |\n|    4 | 52.5 |      |\n"
/// );
/// ```
pub fn write_markdown(matrix: &Matrix<Option<f64>>, unit: Unit) -> String {
    let n = matrix.len();
    let cell =
        |row, column| latency(matrix, row, column).map_or(String::new(), |value| format!("{value:.1}"));
    let positions = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
    let widths = positions.map(|(row, column)| cell(row, column).len());
    let labels = matrix.cpus().iter().map(|cpu| cpu.to_string().len());
    let width = widths.chain(labels).chain([unit.to_string().len()]).max().unwrap_or_default();
    let mut table = String::new();
    let _ = write!(table, "| {:>width$} |", unit.to_string());
    for cpu in matrix.cpus() {
        let _ = write!(table, " {:>width$} |", cpu.0);
    }
    table.push_str("\n|");
    for _ in 0..=n {
        let _ = write!(table, "{:-<dashes$}:|", "", dashes = width + 1);
    }
    table.push('\n');
    for (row, cpu) in matrix.cpus().iter().enumerate() {
        let _ = write!(table, "| {:>width$} |", cpu.0);
        for column in 0..n {
            let _ = write!(table, " {:>width$} |", cell(row, column));
        }
        table.push('\n');
    }
    table
}
