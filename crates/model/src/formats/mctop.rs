//! mctop descriptions (`.mct`): `from to cycles` for every ordered pair, then sections about memory and caches.

use super::cell::{DecimalMark, read_cell};
use super::document::Document;
use super::label::read_label;
use super::pairs::{Pair, Pairs};
use super::square::Shape;
use super::{FormatId, ImportError, ImportedMatrix, Labels, Problem, Unit};

/// Whether this is the line that names the machine: `#name #HWCs 8 #Nodes 1 SMT 1`.
pub(super) fn starts(document: &Document, line: usize) -> bool {
    document.line(line).starts_with('#') && contexts(document.line(line)).is_some()
}

/// Reads the pairs below the header on this line, and says which line follows them.
///
/// # Errors
/// What the file gets wrong.
pub(super) fn read(document: &Document, line: usize) -> Result<(ImportedMatrix, usize), ImportError> {
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
        .finish(FormatId::Mctop, Unit::Cycles, Labels::FromFile, Shape::Detect)
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
