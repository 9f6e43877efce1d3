use super::bare_csv::next_row;
use super::document::{Document, decode};
use super::field::{DecimalMark, read_cell};
use super::import_error::excerpt;
use super::{
    FormatId, ImportError, ImportedMatrix, Problem, Warning, bare_csv, id_table, json, pairs, write,
};
use std::iter;

/// Maximum number of CPUs. The largest machines of 2026 have about 2,000.
pub const MAX_CPUS: usize = 8192;

struct TextTable {
    starts: fn(&Document, usize) -> bool,
    read: fn(&Document, usize) -> Result<ParsedMatrix, ImportError>,
}

type ParsedMatrix = (ImportedMatrix, usize);

/// The most specific start comes first.
const TEXT_TABLES: &[TextTable] = &[
    TextTable { starts: pairs::mctop_starts, read: pairs::read_mctop },
    TextTable { starts: id_table::starts, read: id_table::read },
    TextTable { starts: pairs::aggregates_starts, read: pairs::read_aggregates },
    TextTable { starts: pairs::list_starts, read: pairs::read_list },
    TextTable { starts: bare_csv::bars_start, read: bare_csv::read_bars },
    TextTable { starts: bare_csv::coherency_starts, read: bare_csv::read_coherency },
    TextTable { starts: bare_csv::triangle_starts, read: bare_csv::read_triangle },
];

/// Reads every latency matrix in a file of any known tool, detected by content.
///
/// # Errors
/// [`ImportError`] with line, field, problem and solution. One invalid table fails the whole file. A table without
/// values is omitted, and the first returned matrix has a warning about it.
///
/// ```
/// # use coretalk_model::formats::{FormatId, read_matrices};
/// let matrices = read_matrices(b",,\n52.5,,\n53,54.25,\n").unwrap();
/// assert_eq!(matrices[0].format, FormatId::BareCsv);
/// assert_eq!(matrices[0].matrix.get(2, 1), Some(&Some(54.25)));
///
/// let error = read_matrices(b",,\n52.5,,\n53,fast,\n").unwrap_err();
/// assert_eq!((error.line, error.column), (Some(3), Some(2)));
/// ```
pub fn read_matrices(bytes: &[u8]) -> Result<Vec<ImportedMatrix>, ImportError> {
    let text = decode(bytes)?;
    let document = Document::new(&text);
    let mut matrices = with_values(read_text(&text, &document)?)?;
    for matrix in matrices.iter_mut().filter(|matrix| matrix.fact("simulated").is_none()) {
        let facts = simulated(&document).map(|machine| [("simulated", "true"), ("machine", machine)]);
        matrix
            .metadata
            .extend(facts.into_iter().flatten().map(|(key, text)| (key.to_owned(), text.to_owned())));
    }
    Ok(matrices)
}

/// The file of an interrupted run has matrices without values. The first other matrix gets a warning for each.
fn with_values(found: Vec<ImportedMatrix>) -> Result<Vec<ImportedMatrix>, ImportError> {
    let (total, mut empty, mut matrices) = (found.len(), Vec::new(), Vec::new());
    for (index, one) in found.into_iter().enumerate() {
        let has_value = one.matrix.iter().any(|(_, _, cell)| cell.is_some());
        if has_value {
            matrices.push(one);
        } else {
            let name = one.title.as_deref().or(one.fact("as")).map(excerpt);
            empty.push(Warning::Empty { number: index + 1, of: total, name });
        }
    }
    matrices.first_mut().ok_or(Problem::NoValues)?.warnings.extend(empty);
    Ok(matrices)
}

fn simulated<'a>(document: &Document<'a>) -> Option<&'a str> {
    let machine = titles(document).filter_map(|title| title.strip_prefix("SIMULATED ")).next()?;
    Some(machine.split([':', ' ']).next().unwrap_or(machine))
}

fn titles<'a>(document: &Document<'a>) -> impl Iterator<Item = &'a str> {
    (0..8).map(|line| document.line(line).trim_start_matches(['#', ' '])).collect::<Vec<_>>().into_iter()
}

/// Output of tools that do not compare CPUs, by a phrase in lower case. Used if nothing else is recognised.
const OF_NODES: [(&str, &str); 3] =
    [("memory latency checker", "Intel MLC"), ("numa node", "Intel MLC"), ("node distances:", "numactl")];

fn read_text(text: &str, document: &Document) -> Result<Vec<ImportedMatrix>, ImportError> {
    match text.trim_start().bytes().next() {
        None if text.is_empty() => return Err(Problem::Empty.into()),
        None if !text.contains('\t') => return Err(Problem::Blank.into()),
        Some(b'{') => return json::read(text),
        Some(b'<') => return Err(Problem::Markup.into()),
        _ => {}
    }
    if write::is_ours(document) {
        return write::read_ours(document).map(|one| vec![one]);
    }
    let tables = read_text_tables(document);
    // A Markdown report begins with the same title line as a screen, but its tables are readable.
    let is_bar_table = |tables: &[ImportedMatrix]| tables.iter().any(|one| one.format == FormatId::BarTable);
    if titles(document).any(|line| line.contains(" · coretalk "))
        && !tables.as_deref().is_ok_and(is_bar_table)
    {
        return Err(Problem::Screen.into());
    }
    let tables = tables?;
    if !tables.is_empty() {
        return Ok(tables);
    }
    // Invalid JSON may be a prompt such as `[user@host ~]$`.
    if text.trim_start().starts_with('[') {
        match json::read(text) {
            Err(ImportError { problem: Problem::JsonSyntax { .. }, .. }) => {}
            read => return read,
        }
    }
    if is_histogram(document) {
        return Err(Problem::Histogram.into());
    }
    if let Some(header) = pairs::long_csv_header(document) {
        return pairs::read_long_csv(document, header);
    }
    // Only rows count, because a comment may also name the tool.
    let rows = || iter::successors(next_row(document, 0), |&line| next_row(document, line + 1));
    let of_nodes = |line: usize| {
        let text = document.line(line).to_lowercase();
        OF_NODES.iter().find(|(words, _)| text.contains(words))
    };
    if let Some((_, tool)) = rows().find_map(of_nodes) {
        return Err(Problem::OfNodes { tool }.into());
    }
    bare_csv::read_bare_csv(document).map(|one| vec![one]).map_err(|error| match is_prose(document) {
        true => Problem::NotAMatrix.into(),
        false => error,
    })
}

fn read_text_tables(document: &Document) -> Result<Vec<ImportedMatrix>, ImportError> {
    let mut matrices = Vec::new();
    let mut line = 0;
    while line < document.len() {
        match TEXT_TABLES.iter().find(|table| (table.starts)(document, line)) {
            Some(table) => {
                let (mut matrix, next) = (table.read)(document, line)?;
                // The text above the first table of a report also describes the other tables.
                let above = matrices.last().filter(|above: &&ImportedMatrix| above.format == matrix.format);
                if let Some(above) = above.filter(|_| matrix.metadata.is_empty()) {
                    matrix.metadata.clone_from(&above.metadata);
                }
                matrices.push(matrix);
                line = next;
            }
            None => line += 1,
        }
    }
    Ok(matrices)
}

/// An error about a single cell of prose would mislead.
fn is_prose(document: &Document) -> bool {
    let words = document.text().split([',', ';', '"']).flat_map(str::split_whitespace);
    // Counted without collecting, because the file may be large.
    words.fold(0i64, |balance, word| {
        balance + if read_cell(word, DecimalMark::Point).is_ok() { -1 } else { 1 }
    }) > 0
}

fn is_histogram(document: &Document) -> bool {
    (0..document.len()).map(|line| document.line(line)).any(|line| {
        (line.contains("Percentile") && line.contains("TotalCount"))
            || line.starts_with("#[Histogram log format")
    })
}
