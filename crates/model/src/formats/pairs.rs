//! [`Pairs`]: one line per pair, until all CPUs are known; and the files that are made of such lines. They are mctop
//! descriptions (`.mct`): `from to cycles` for every ordered pair, then sections about memory and caches; a pandas table
//! with one row of aggregates per pair (`count min 5% … median … max`), of which the median is read; and separated values
//! below a header, `Core 1,Core 2,Latency (Nanoseconds)` or several statistics, of which the median is read.

use super::bare_csv::next_row;
use super::delimited::Dialect;
use super::document::Document;
use super::field::{CpuLabels, DecimalMark, Number, is_whole, read_cell, read_label};
use super::id_table::{title_above, unit_of};
use super::import_error::excerpt;
use super::square::{Shape, Square, check_density};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Problem, Unit};
use crate::CpuId;
use std::borrow::Cow;

/// Latencies in the order of their lines.
#[derive(Default)]
pub(super) struct Pairs {
    pairs: Vec<Pair>,
}

/// One line: where it is, whom it names, what it says.
pub(super) struct Pair {
    pub line: usize,
    /// The field that holds the latency.
    pub field: usize,
    pub from: CpuId,
    pub to: CpuId,
    pub number: Option<Number>,
}

impl Pairs {
    /// Adds a line.
    ///
    /// # Errors
    /// [`Problem::TooManyCpus`] if there are more lines than the largest matrix has cells.
    pub(super) fn push(&mut self, pair: Pair) -> Result<(), Problem> {
        if self.pairs.len() == MAX_CPUS * MAX_CPUS {
            return Err(Problem::TooManyCpus);
        }
        self.pairs.push(pair);
        Ok(())
    }

    /// The table of all CPUs that were named, in ascending order.
    ///
    /// # Errors
    /// What [`Square::set`] refuses, a pair given twice, and a matrix that would be nearly empty.
    pub(super) fn into_square(self) -> Result<Square, ImportError> {
        let mut ids: Vec<CpuId> = self.pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        ids.sort_unstable();
        ids.dedup();
        let n = ids.len();
        check_density(n, self.pairs.len())?;
        let mut labels = CpuLabels::default();
        for id in ids {
            labels.push(id)?;
        }
        let mut square = Square::new(&labels)?;
        let mut seen = vec![false; n * n];
        for Pair { line, field, from, to, number } in self.pairs {
            let (row, column) = (labels.position(from)?, labels.position(to)?);
            if std::mem::replace(&mut seen[row * n + column], true) {
                return Err(Problem::DuplicatePair { from, to }.at_line(line));
            }
            square.set(row, column, number).map_err(|problem| problem.at(line, field))?;
        }
        Ok(square)
    }
}

/// Whether this is the line that names the machine: `#name #HWCs 8 #Nodes 1 SMT 1`.
pub(super) fn mctop_starts(document: &Document, line: usize) -> bool {
    document.line(line).starts_with('#') && contexts(document.line(line)).is_some()
}

/// Reads the pairs below the header on this line, and says which line follows them.
///
/// # Errors
/// What the file gets wrong.
pub(super) fn read_mctop(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let header = document.line(line);
    let expected = contexts(header).unwrap_or_default();
    let mut pairs = Pairs::default();
    let mut next = line + 1;
    while next < document.len() && !document.line(next).starts_with('#') {
        if let Some(pair) = read_pair(document, next)? {
            pairs.push(pair).map_err(|problem| problem.at_line(next))?;
        }
        next += 1;
    }
    let imported = pairs
        .into_square()?
        .finish(FormatId::Mctop, Some(Unit::Cycles), Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    let found = imported.matrix.len();
    if found != expected {
        return Err(Problem::MissingRows { found, expected }.at_line(line));
    }
    let machine = header.trim_start_matches('#').split_whitespace().next().unwrap_or_default();
    let metadata = vec![("machine".to_owned(), machine.to_owned())];
    Ok((ImportedMatrix { metadata, ..imported }, next))
}

/// The number of hardware contexts that a header announces.
fn contexts(header: &str) -> Option<usize> {
    let mut words = header.split_whitespace();
    words.by_ref().find(|&word| word == "#HWCs")?;
    words.next()?.parse().ok()
}

fn read_pair(document: &Document, line: usize) -> Result<Option<Pair>, ImportError> {
    let words: Vec<&str> = document.line(line).split_whitespace().take(4).collect();
    match words[..] {
        [] => Ok(None),
        [from, to, cycles] => {
            let from = read_label(from).map_err(|problem| problem.at(line, 0))?;
            let to = read_label(to).map_err(|problem| problem.at(line, 1))?;
            let number = read_cell(cycles, DecimalMark::Point).map_err(|problem| problem.at(line, 2))?;
            Ok(Some(Pair { line, field: 2, from, to, number }))
        }
        _ => Err(Problem::Ragged { cells: words.len(), expected: 3 }.at_line(line)),
    }
}

/// Whether this is the line between the names of the aggregates and the rows.
pub(super) fn aggregates_starts(document: &Document, line: usize) -> bool {
    let mut words = document.line(line).split_whitespace();
    words.next() == Some("fromCore") && words.next() == Some("toCore") && words.next().is_none() && line > 0
}

/// Reads the table whose index names are on this line, and says which line follows it.
///
/// # Errors
/// What the table gets wrong.
pub(super) fn read_aggregates(
    document: &Document,
    line: usize,
) -> Result<(ImportedMatrix, usize), ImportError> {
    let names: Vec<&str> = document.line(line - 1).split_whitespace().collect();
    let median = names
        .iter()
        .position(|&name| name == "median")
        .ok_or_else(|| Problem::Ragged { cells: names.len(), expected: names.len() + 1 }.at_line(line - 1))?;
    let mut pairs = Pairs::default();
    let mut from: Option<CpuId> = None;
    let mut next = line + 1;
    while let Some(row) = read_aggregate(document, next, names.len(), median, &mut from)? {
        pairs.push(row).map_err(|problem| problem.at_line(next))?;
        next += 1;
    }
    let title = (line >= 2).then(|| title_above(document, line - 2)).flatten();
    let unit = title.as_deref().and_then(unit_of);
    let mut imported = pairs
        .into_square()?
        .finish(FormatId::Aggregates, unit, Labels::FromFile, Shape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    imported.title = title;
    Ok((imported, next))
}

/// Reads `from to aggregates…`; pandas leaves out `from` where it repeats. `None` is the end of the table.
fn read_aggregate(
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

/// The first line that is neither blank nor a comment, if it names two CPUs and a latency.
pub(super) fn long_csv_header(document: &Document) -> Option<usize> {
    let line = next_row(document, 0)?;
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
pub(super) fn read_long_csv(document: &Document, header: usize) -> Result<ImportedMatrix, ImportError> {
    let mut lines = Vec::new();
    let mut next = header;
    while let Some(line) = next_row(document, next) {
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
    let mut imported =
        pairs.into_square()?.finish(FormatId::LongCsv, unit, Labels::FromFile, Shape::Detect)?;
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
