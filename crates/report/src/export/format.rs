//! [`Format`]: the list of output formats.

use std::path::Path;

/// An output format of runs (`--format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The screen.
    Text,
    /// [`Document`](crate::document::Document).
    Json,
    /// One JSON line per trial.
    Jsonl,
    /// The matrix with CPU ids, or a table of trials.
    Csv,
    /// A bare matrix.
    C2cCsv,
    /// Tables.
    Markdown,
    /// Percentile tables of HdrHistogram.
    Hgrm,
}

impl Format {
    /// Every format with its name, its line of help, and the file extension that selects it.
    pub const ALL: [(Format, &'static str, &'static str, Option<&'static str>); 7] = [
        (Format::Text, "text", "Text, tables and a heat map", None),
        (Format::Json, "json", "One JSON document", Some("json")),
        (Format::Jsonl, "jsonl", "One JSON line per trial", Some("jsonl")),
        (Format::Csv, "csv", "The matrix with CPU IDs", Some("csv")),
        (Format::C2cCsv, "c2c-csv", "A bare matrix, as written by core-to-core-latency", None),
        (Format::Markdown, "markdown", "A table", Some("md")),
        (Format::Hgrm, "hgrm", "HdrHistogram percentile tables", Some("hgrm")),
    ];

    /// The format for the extension of a file, in any case.
    pub fn of_file(file: &Path) -> Option<Format> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        Format::ALL.iter().find(|row| row.3 == Some(&extension)).map(|row| row.0)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Format::ALL[self as usize].1
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
