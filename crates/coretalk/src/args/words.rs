//! Enumerated values of options.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coretalk_model::Protocol;
use coretalk_report::export::Format;
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
    /// An arm, a level or a cell is slower
    Slower,
    /// An arm, a level or a cell is faster
    Faster,
    /// Either
    Any,
}

/// Parses `--format`.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let value = |(_, name, help, _)| PossibleValue::new(name).help(help);
    let format = |name: String| Format::ALL.iter().find(|row| row.1 == name).map(|row| row.0);
    PossibleValuesParser::new(Format::ALL.map(value))
        .try_map(move |name| format(name).ok_or("unknown format"))
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

/// Parser of the names of a model type. A new value of the type needs no change here.
pub fn one_of<T: Copy + std::fmt::Debug + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(all.map(name))
        .try_map(move |word| all.into_iter().find(|&value| name(value) == word).ok_or("unknown"))
}
