//! [`read_matrices`]: which reader is asked, in which order.

use serde_json::Value;

use super::cell::{DecimalMark, read_cell};
use super::document::{Document, decode};
use super::{ImportError, ImportedMatrix, Problem};
use super::{
    aggregates, bare_csv, c2clat, c2clat_json, coherency, coretalk_csv, fixed_width, ipc_json, long_csv,
    mctop, pivot, report,
};

/// The most CPUs that are read; the largest machines of today have about 2,000.
pub const MAX_CPUS: usize = 8192;

/// The largest JSON document; its tree takes up to 16 times as much memory.
const MAX_JSON_MIB: usize = 128;

/// A table that announces itself inside other text.
struct TextTable {
    starts: fn(&Document, usize) -> bool,
    read: fn(&Document, usize) -> Result<Found, ImportError>,
}

/// A matrix and the line that follows it.
type Found = (ImportedMatrix, usize);

/// Every reader of tables in text, the most telling announcement first.
const TEXT_TABLES: &[TextTable] = &[
    TextTable { starts: mctop::starts, read: mctop::read },
    TextTable { starts: c2clat::starts, read: c2clat::read },
    TextTable { starts: report::starts, read: report::read },
    TextTable { starts: pivot::starts, read: pivot::read },
    TextTable { starts: aggregates::starts, read: aggregates::read },
    TextTable { starts: fixed_width::starts, read: fixed_width::read },
];

/// Reads every latency matrix in a file of any known tool; the content decides which, never a name.
///
/// # Errors
/// [`ImportError`] names the line, the field, what is wrong and what to do. One bad table, and the file gives no matrix at all.
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
    match text.trim_start().bytes().next() {
        None if text.is_empty() => return Err(Problem::Empty.into()),
        None if !text.contains('\t') => return Err(Problem::Blank.into()),
        Some(b'{' | b'[') => return read_json(&text),
        Some(b'<') => return Err(Problem::Markup.into()),
        _ => {}
    }
    let document = Document::new(&text);
    if coretalk_csv::is_ours(&document) {
        return coretalk_csv::read(&document).map(|one| vec![one]);
    }
    let tables = read_text_tables(&document)?;
    if !tables.is_empty() {
        return Ok(tables);
    }
    if is_histogram(&document) {
        return Err(Problem::Histogram.into());
    }
    let headers = coherency::headers(&document);
    if !headers.is_empty() {
        return coherency::read(&document, &headers);
    }
    if let Some(header) = long_csv::header(&document) {
        return long_csv::read(&document, header).map(|one| vec![one]);
    }
    bare_csv::read(&document).map(|one| vec![one]).map_err(|error| match is_prose(&document) {
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
                let (matrix, next) = (table.read)(document, line)?;
                matrices.push(matrix);
                line = next;
            }
            None => line += 1,
        }
    }
    Ok(matrices)
}

fn read_json(text: &str) -> Result<Vec<ImportedMatrix>, ImportError> {
    if text.len() > MAX_JSON_MIB << 20 {
        return Err(Problem::TooLarge { limit_mib: MAX_JSON_MIB }.into());
    }
    let document: Value = serde_json::from_str(text).map_err(|error| {
        // The library puts the position at the end of its sentence as well.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let (line, column) = (Some(error.line()), Some(error.column()));
        ImportError { line, column, problem: Problem::JsonSyntax { message } }
    })?;
    let unknown = || Problem::JsonShape {
        message: "expected an object of objects keyed by CPU, or `inter-processor-communication`".to_owned(),
    };
    let object = document.as_object().ok_or_else(unknown)?;
    if let Some(matrix) = ipc_json::find(object) {
        return ipc_json::read(object, matrix).map(|one| vec![one]);
    }
    if c2clat_json::is_one(object) {
        return c2clat_json::read(object).map(|one| vec![one]);
    }
    Err(unknown().into())
}

/// Whether most words are neither numbers nor signs for unknown, so that naming one wrong cell would mislead.
fn is_prose(document: &Document) -> bool {
    let words = document.text().split([',', ';', '"']).flat_map(str::split_whitespace);
    // Counted, not collected: the file may be large.
    words.fold(0i64, |balance, word| {
        balance + if read_cell(word, DecimalMark::Point).is_ok() { -1 } else { 1 }
    }) > 0
}

/// Whether this is a `.hgrm` table or a `.hlog` interval log.
fn is_histogram(document: &Document) -> bool {
    (0..document.len()).map(|line| document.line(line)).any(|line| {
        (line.contains("Percentile") && line.contains("TotalCount"))
            || line.starts_with("#[Histogram log format")
    })
}
