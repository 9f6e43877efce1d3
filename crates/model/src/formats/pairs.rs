//! Latencies from one line per pair: mctop descriptions (`.mct`), pandas tables with a row of aggregates per pair,
//! separated values with a header such as `Core 1,Core 2,Latency (Nanoseconds)`, and lists such as `0 <-> 1 : 19 ns`.
//! Of several statistics, the median is read.

use super::bare_csv::{bars_start, coherency_starts, next_row, triangle_starts, unit_above};
use super::delimited::Dialect;
use super::document::Document;
use super::field::{
    CpuLabels, DecimalMark, Number, is_whole, read_cell, read_label, read_unit, unit_of, words_of,
};
use super::id_table::{self, title_above};
use super::import_error::excerpt;
use super::square::{Square, SquareShape, check_density};
use super::{FormatId, ImportError, ImportedMatrix, Labels, MAX_CPUS, Problem, Unit};
use crate::CpuId;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

#[derive(Default)]
pub(super) struct Pairs {
    pairs: Vec<ListedPair>,
}

#[derive(Clone, Copy)]
pub(super) struct ListedPair {
    pub line: usize,
    pub field: usize,
    pub from: CpuId,
    pub to: CpuId,
    pub number: Option<Number>,
}

impl Pairs {
    /// Adds a line. Fails with [`Problem::TooManyCpus`] if there are more lines than cells in the largest matrix.
    pub(super) fn push(&mut self, pair: ListedPair) -> Result<(), Problem> {
        if self.pairs.len() == MAX_CPUS * MAX_CPUS {
            return Err(Problem::TooManyCpus);
        }
        self.pairs.push(pair);
        Ok(())
    }

    fn max_lines_per_pair(&self) -> usize {
        let mut lines: HashMap<[CpuId; 2], usize> = HashMap::new();
        for pair in &self.pairs {
            *lines.entry([pair.from, pair.to]).or_default() += 1;
        }
        lines.into_values().max().unwrap_or_default()
    }

    fn parted(&self, values: usize, key: impl Fn(&ListedPair) -> String) -> Option<Vec<(String, Pairs)>> {
        let mut parts: Vec<(String, Pairs)> = Vec::new();
        for pair in &self.pairs {
            let value = key(pair);
            let known = parts.iter().position(|(known, _)| *known == value);
            let at = known.unwrap_or(parts.len());
            if at == values {
                return None;
            }
            if known.is_none() {
                parts.push((value, Pairs::default()));
            }
            parts[at].1.pairs.push(*pair);
        }
        (parts.len() == values && parts.iter().all(|(_, part)| part.max_lines_per_pair() == 1))
            .then_some(parts)
    }

    /// The table of all CPUs, ascending. Fails like [`Square::set`], and for repeated pairs or a nearly empty matrix.
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
        for ListedPair { line, field, from, to, number } in self.pairs {
            let (row, column) = (labels.position(from)?, labels.position(to)?);
            if std::mem::replace(&mut seen[row * n + column], true) {
                return Err(Problem::DuplicatePair { from, to }.at_line(line));
            }
            square.set(row, column, number).map_err(|problem| problem.at(line, field))?;
        }
        Ok(square)
    }
}

/// Whether this is the header with the machine: `#name #HWCs 8 #Nodes 1 SMT 1`.
pub(super) fn mctop_starts(document: &Document, line: usize) -> bool {
    document.line(line).starts_with('#') && context_count(document.line(line)).is_some()
}

pub(super) fn read_mctop(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let header = document.line(line);
    let expected = context_count(header).unwrap_or_default();
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
        .finish(FormatId::Mctop, Some(Unit::Cycles), Labels::FromFile, SquareShape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    let found = imported.matrix.len();
    if found != expected {
        return Err(Problem::MissingRows { found, expected }.at_line(line));
    }
    let machine = header.trim_start_matches('#').split_whitespace().next().unwrap_or_default();
    let metadata = vec![("machine".to_owned(), machine.to_owned())];
    Ok((ImportedMatrix { metadata, ..imported }, next))
}

fn context_count(header: &str) -> Option<usize> {
    let mut words = header.split_whitespace();
    words.by_ref().find(|&word| word == "#HWCs")?;
    words.next()?.parse().ok()
}

fn read_pair(document: &Document, line: usize) -> Result<Option<ListedPair>, ImportError> {
    let words: Vec<&str> = document.line(line).split_whitespace().take(4).collect();
    match words[..] {
        [] => Ok(None),
        [from, to, cycles] => {
            let from = read_label(from).map_err(|problem| problem.at(line, 0))?;
            let to = read_label(to).map_err(|problem| problem.at(line, 1))?;
            let number = read_cell(cycles, DecimalMark::Point).map_err(|problem| problem.at(line, 2))?;
            Ok(Some(ListedPair { line, field: 2, from, to, number }))
        }
        _ => Err(Problem::Ragged { cells: words.len(), expected: 3 }.at_line(line)),
    }
}

pub(super) fn aggregates_starts(document: &Document, line: usize) -> bool {
    let mut words = document.line(line).split_whitespace();
    words.next() == Some("fromCore") && words.next() == Some("toCore") && words.next().is_none() && line > 0
}

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
    let unit = title.as_deref().map_or(Ok(None), unit_of);
    let unit = unit.map_err(|problem| problem.at_line(line.saturating_sub(3)))?;
    let mut imported = pairs
        .into_square()?
        .finish(FormatId::Aggregates, unit, Labels::FromFile, SquareShape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    imported.title = title;
    Ok((imported, next))
}

/// Reads `from to aggregates…`. pandas omits a repeated `from`. `None` at the end of the table.
fn read_aggregate(
    document: &Document,
    line: usize,
    aggregates: usize,
    median: usize,
    from: &mut Option<CpuId>,
) -> Result<Option<ListedPair>, ImportError> {
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
    Ok(Some(ListedPair { line, field, from, to: id(ids - 1)?, number }))
}

/// Separators of two CPUs. A separator precedes those that it contains.
const ARROWS: [&str; 7] = ["<-->", "<->", "<=>", "-->", "->", "↔", "→"];

/// Maximum length of a line in a list, in bytes, so that rows of large matrices are not searched.
const MAX_LINE: usize = 200;

fn parse_arrow(text: &str) -> Option<(CpuId, CpuId, &str)> {
    if text.len() > MAX_LINE {
        return None;
    }
    let (from, rest) = ARROWS.iter().find_map(|arrow| text.split_once(arrow))?;
    let (to, value) = rest.split_once([':', '='])?;
    Some((read_label(from).ok()?, read_label(to).ok()?, value.trim()))
}

pub(super) fn list_starts(document: &Document, line: usize) -> bool {
    parse_arrow(document.line(line)).is_some()
}

const OTHER_STARTS: [fn(&Document, usize) -> bool; 6] =
    [mctop_starts, id_table::starts, aggregates_starts, bars_start, coherency_starts, triangle_starts];

/// Reads a list of pairs from this line on. Also returns the line after the list. Headings and blank lines may separate
/// the parts of a list. A pair that occurs again after such a line starts another list.
pub(super) fn read_list(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
    let mut pairs = Pairs::default();
    // The first line with a latency determines the unit of all lines.
    let mut first: Option<(usize, &str, Option<Unit>)> = None;
    let mut known = HashSet::new();
    let mut next = line;
    for at in line..document.len() {
        let Some((from, to, value)) = parse_arrow(document.line(at)) else {
            if OTHER_STARTS.iter().any(|starts| starts(document, at)) {
                break;
            }
            continue;
        };
        if !known.insert([from, to]) && at > next {
            break;
        }
        let digits =
            value.find(|c: char| !(c.is_ascii_digit() || ".,+-eE".contains(c))).unwrap_or(value.len());
        let end = match value[..digits].contains(|c: char| c.is_ascii_digit()) {
            true => digits,
            false => value.find(char::is_whitespace).unwrap_or(value.len()),
        };
        let number = read_cell(&value[..end], DecimalMark::Point).map_err(|problem| problem.at_line(at))?;
        if number.is_some_and(|number| number.value.is_finite()) {
            let unit = read_unit(&value[end..]).map_err(|problem| problem.at_line(at))?;
            let (known_at, known_value, known) = *first.get_or_insert((at, value, unit));
            if unit != known {
                let (text, at) = if known.is_none() { (known_value, known_at) } else { (value, at) };
                let text = excerpt(text);
                return Err(match (unit, known) {
                    (Some(_), Some(_)) => Problem::Unit { text },
                    _ => Problem::NoUnit { text },
                }
                .at_line(at));
            }
        }
        pairs
            .push(ListedPair { line: at, field: 2, from, to, number })
            .map_err(|problem| problem.at_line(at))?;
        next = at + 1;
    }
    let unit = first.and_then(|(_, _, unit)| unit);
    let imported = pairs
        .into_square()?
        .finish(FormatId::PairList, unit, Labels::FromFile, SquareShape::Detect)
        .map_err(|problem| problem.at_line(line))?;
    Ok((imported, next))
}

const MAX_PARTS: usize = 64;

/// Each searched column needs a pass over the file.
const MAX_KEYS: usize = 64;

const CPU_COLUMN_PREFIXES: [&str; 18] = [
    "core", "cpu", "thread", "from", "to", "src", "dst", "source", "dest", "target", "local", "remote",
    "send", "rec", "write", "read", "init", "resp",
];

/// The first line that is neither blank nor a comment, if it names two CPUs and a latency.
pub(super) fn long_csv_header(document: &Document) -> Option<usize> {
    let line = next_row(document, 0)?;
    let text = document.line(line).replace('"', "");
    let mut names = text.split([',', ';', '\t']).peekable();
    names.next_if(|name| is_index(name));
    let mut is_cpu = || {
        let words = words_of(names.next().unwrap_or_default());
        words.iter().any(|word| CPU_COLUMN_PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
    };
    (is_cpu() && is_cpu() && names.any(|name| latency_rank(name).is_some())).then_some(line)
}

/// Whether the first column is an unnamed row number, as written by pandas and R.
fn is_index(name: &str) -> bool {
    name.trim().is_empty() || name.trim() == "Unnamed: 0"
}

const NO_LATENCY: [&str; 20] = [
    "timestamp",
    "stamp",
    "total",
    "sum",
    "elapsed",
    "sd",
    "std",
    "stddev",
    "stdev",
    "dev",
    "deviation",
    "variance",
    "stderr",
    "sem",
    "error",
    "err",
    "count",
    "samples",
    "iterations",
    "unit",
];

/// Preference of a column as the latency of a pair, lowest first. Columns named latency, and statistics with a unit or
/// a single word, come first. Each group is ordered: median, mean, no statistic, minimum, maximum or percentile.
fn latency_rank(name: &str) -> Option<(bool, u32)> {
    let words = words_of(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if has(&NO_LATENCY) {
        return None;
    }
    let is_latency = words.iter().any(|word| word.contains("latency"));
    let has_unit = !matches!(read_unit(name), Ok(None));
    let rank = if has(&["median", "med"]) || name.contains("p50") {
        0
    } else if has(&["mean", "average", "avg"]) {
        1
    } else if has(&["min", "minimum", "best"]) {
        3
    } else if has(&["max", "maximum", "worst", "p"]) {
        4
    } else {
        2
    };
    let is_statistic = rank != 2 && (has_unit || words.len() == 1);
    (is_latency || has_unit || matches!(rank, 0 | 1 | 3)).then_some((!(is_latency || is_statistic), rank))
}

/// Reads the pairs below this header: one matrix per value of a column that distinguishes repeated pairs.
pub(super) fn read_long_csv(document: &Document, header: usize) -> Result<Vec<ImportedMatrix>, ImportError> {
    let lines: Vec<usize> =
        std::iter::successors(Some(header), |&line| next_row(document, line + 1)).collect();
    let dialect = Dialect::detect(document, &lines)?;
    let fields = |line: usize| -> Result<Vec<Cow<str>>, ImportError> {
        let fields = dialect.fields(document.line(line)).enumerate();
        fields.map(|(index, field)| field.map_err(|problem| problem.at(line, index))).collect()
    };
    let names = fields(header)?;
    let first_cpu_column = names.iter().take(1).filter(|name| is_index(name)).count();
    let values = first_cpu_column + 2..names.len();
    let latencies = values.clone().filter_map(|index| Some((latency_rank(&names[index])?, index)));
    let (_, column) = latencies.min().ok_or_else(|| Problem::NotAMatrix.at_line(header))?;
    let unit = match read_unit(&names[column]).map_err(|problem| problem.at(header, column))? {
        None => unit_above(document, header)?,
        known => known,
    };
    let mut pairs = Pairs::default();
    for &line in &lines[1..] {
        let fields = fields(line)?;
        if fields.len() != names.len() {
            return Err(Problem::Ragged { cells: fields.len(), expected: names.len() }.at_line(line));
        }
        let cpu = |index: usize| read_label(&fields[index]).map_err(|problem| problem.at(line, index));
        let (from, to) = (cpu(first_cpu_column)?, cpu(first_cpu_column + 1)?);
        let number = read_cell(&fields[column], dialect.mark).map_err(|problem| problem.at(line, column))?;
        pairs
            .push(ListedPair { line, field: column, from, to, number })
            .map_err(|problem| problem.at_line(line))?;
    }
    let lines_per_pair = pairs.max_lines_per_pair();
    let key = |line: usize, index: usize| -> String {
        dialect.fields(document.line(line)).nth(index).and_then(Result::ok).unwrap_or_default().into_owned()
    };
    let parts = values
        .take(MAX_KEYS)
        .filter(|&index| (2..=MAX_PARTS).contains(&lines_per_pair) && latency_rank(&names[index]).is_none())
        .find_map(|index| Some((index, pairs.parted(lines_per_pair, |pair| key(pair.line, index))?)));
    let parts = match parts {
        None => vec![(names[column].to_string(), pairs)],
        Some((index, parts)) => {
            let titled = |(value, part)| (format!("{}, {} {value}", names[column], names[index]), part);
            parts.into_iter().map(titled).collect()
        }
    };
    let read = |(title, part): (String, Pairs)| {
        let imported =
            part.into_square()?.finish(FormatId::LongCsv, unit, Labels::FromFile, SquareShape::Detect)?;
        Ok(ImportedMatrix { title: Some(title), ..imported })
    };
    parts.into_iter().map(read).collect()
}
