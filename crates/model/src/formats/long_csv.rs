//! One pair per line below a header: `Core 1,Core 2,Latency (Nanoseconds)`, or several statistics, of which the
//! median is read.

use std::borrow::Cow;

use super::cell::read_cell;
use super::delimited::Dialect;
use super::document::Document;
use super::label::read_label;
use super::pairs::{Pair, Pairs};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit, Warning, import_error::excerpt};

/// The first line that is neither blank nor a comment, if it names two CPUs and a latency.
pub(super) fn header(document: &Document) -> Option<usize> {
    let line = super::bare_csv::next_row(document, 0)?;
    let lower = document.line(line).to_ascii_lowercase().replace('"', "");
    let mut names = lower.split([',', ';', '\t']).map(str::trim);
    let cpu =
        |name: &str| ["core", "cpu", "from", "to", "src", "dst"].iter().any(|word| name.starts_with(word));
    let pair = names.next().is_some_and(cpu) && names.next().is_some_and(cpu);
    (pair && names.any(is_latency)).then_some(line)
}

fn is_latency(name: &str) -> bool {
    name.contains("latency")
}

/// Reads the pairs below the header on this line.
///
/// # Errors
/// What the file gets wrong.
pub(super) fn read(document: &Document, header: usize) -> Result<ImportedMatrix, ImportError> {
    let mut lines = Vec::new();
    let mut next = header;
    while let Some(line) = super::bare_csv::next_row(document, next) {
        lines.push(line);
        next = line + 1;
    }
    let dialect = Dialect::detect(document, &lines)?;
    let fields = |line: usize| -> Result<Vec<Cow<str>>, ImportError> {
        let fields = dialect.fields(document.line(line)).enumerate();
        fields.map(|(index, field)| field.map_err(|problem| problem.at(line, index))).collect()
    };
    let names: Vec<String> = fields(header)?.iter().map(|name| name.to_ascii_lowercase()).collect();
    let column = latency_column(&names).ok_or_else(|| Problem::NotAMatrix.at_line(header))?;
    let unit = read_unit(&names[column]).map_err(|problem| problem.at(header, column))?;
    let mut pairs = Pairs::default();
    for &line in &lines[1..] {
        let fields = fields(line)?;
        if fields.len() != names.len() {
            return Err(Problem::Ragged { cells: fields.len(), expected: names.len() }.at_line(line));
        }
        let from = read_label(&fields[0]).map_err(|problem| problem.at(line, 0))?;
        let to = read_label(&fields[1]).map_err(|problem| problem.at(line, 1))?;
        let number = read_cell(&fields[column], dialect.mark).map_err(|problem| problem.at(line, column))?;
        pairs
            .push(Pair { line, field: column, from, to, number })
            .map_err(|problem| problem.at_line(line))?;
    }
    let mut imported = pairs.into_square()?.finish(
        FormatId::LongCsv,
        unit.unwrap_or(Unit::Ns),
        Labels::FromFile,
        Shape::Detect,
    )?;
    if unit.is_none() {
        imported.warnings.insert(0, Warning::UnitAssumed { unit: Unit::Ns });
    }
    imported.title = Some(fields(header)?[column].to_string());
    Ok(imported)
}

/// The median if there is one, else the first latency.
fn latency_column(names: &[String]) -> Option<usize> {
    let latencies = || (2..names.len()).filter(|&index| is_latency(&names[index]));
    let median = |&index: &usize| ["_med", "median", "p50"].iter().any(|word| names[index].contains(word));
    latencies().find(median).or_else(|| latencies().next())
}

/// The unit in a column name; `None` if there is none.
fn read_unit(name: &str) -> Result<Option<Unit>, Problem> {
    for word in name.split(|c: char| !c.is_alphabetic()) {
        match word {
            "ns" | "nanosecond" | "nanoseconds" => return Ok(Some(Unit::Ns)),
            "cycles" | "clocks" => return Ok(Some(Unit::Cycles)),
            "us" | "µs" | "ms" | "s" | "ps" | "microseconds" | "milliseconds" | "seconds" | "picoseconds" => {
                return Err(Problem::Unit { text: excerpt(name) });
            }
            _ => {}
        }
    }
    Ok(None)
}
