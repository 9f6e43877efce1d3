//! Enumerated values of options.

use clap::ValueEnum;
use coretalk_model::Protocol;
use std::path::Path;

/// `--smt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SmtWord {
    /// Every hardware thread
    All,
    /// The first thread of each core
    OnePerCore,
    /// Only pairs of SMT siblings
    Siblings,
}

/// `--hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HintWord {
    /// Chosen once per run; pause only if it gains 5 %
    Auto,
    /// Nothing
    None,
    /// One PAUSE (ISB on Arm)
    Pause,
}

/// `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOnWord {
    /// A level or a cell is slower
    Slower,
    /// A level or a cell is faster
    Faster,
    /// Either
    Any,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum FormatWord {
    /// Text, tables and a heat map
    Text,
    /// One JSON document
    Json,
    /// One JSON line per trial
    Jsonl,
    /// The matrix with CPU IDs
    Csv,
    /// A bare matrix, as written by core-to-core-latency
    C2cCsv,
    /// A table
    Markdown,
    /// HdrHistogram percentile tables
    Hgrm,
}

impl FormatWord {
    /// The format for the extension of a file.
    pub fn of_file(file: &Path) -> Option<FormatWord> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(FormatWord::Json),
            "jsonl" => Some(FormatWord::Jsonl),
            "csv" => Some(FormatWord::Csv),
            "md" => Some(FormatWord::Markdown),
            "hgrm" => Some(FormatWord::Hgrm),
            _ => None,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            FormatWord::Text => "text",
            FormatWord::Json => "json",
            FormatWord::Jsonl => "jsonl",
            FormatWord::Csv => "csv",
            FormatWord::C2cCsv => "c2c-csv",
            FormatWord::Markdown => "markdown",
            FormatWord::Hgrm => "hgrm",
        }
    }
}

impl std::fmt::Display for FormatWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Format of a report, chosen by the extension of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// A page.
    Html,
    /// A vector picture.
    Svg,
    /// A raster picture.
    Png,
}

impl ReportFormat {
    /// The format for an extension; `None` for any other.
    pub fn of_file(file: &Path) -> Option<ReportFormat> {
        match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(ReportFormat::Html),
            "svg" => Some(ReportFormat::Svg),
            "png" => Some(ReportFormat::Png),
            _ => None,
        }
    }
}

/// `--order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderWord {
    /// By CPU ID
    Id,
    /// By the reported topology
    Topology,
    /// By measured latency
    Measured,
}

/// `--by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ByWord {
    /// Cores
    Core,
    /// Hardware threads
    Thread,
}

/// `--scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleWord {
    /// The same range on every machine
    Fixed,
    /// From the minimum to the maximum shown
    Fit,
}

/// `--cdf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AxisWord {
    /// A logarithmic time axis
    Log,
    /// A linear time axis
    Linear,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Parser of protocol names.
pub fn protocol() -> impl clap::builder::TypedValueParser<Value = Protocol> {
    one_of(Protocol::ALL, Protocol::name)
}

/// Parser of the names of a model type, so that a new value needs no change here.
pub fn one_of<T: Copy + std::fmt::Debug + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(all.map(name))
        .try_map(move |word| all.into_iter().find(|&value| name(value) == word).ok_or("unknown"))
}
