//! Words that options take.

use clap::ValueEnum;
use coretalk_model::Protocol;

/// `--smt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SmtWord {
    /// Every hardware thread
    All,
    /// The first thread of each core
    OnePerCore,
    /// Only the pairs inside cores
    Siblings,
}

/// `--hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HintWord {
    /// Chosen once per run, and only for a gain of 5 %
    Auto,
    /// Nothing
    None,
    /// One PAUSE (on Arm ISB)
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
    /// Words, tables, heat map
    Text,
    /// One document
    Json,
    /// One line per trial
    Jsonl,
    /// The matrix with CPU ids
    Csv,
    /// The bare matrix of core-to-core-latency
    C2cCsv,
    /// A table
    Markdown,
    /// Percentile tables of HdrHistogram
    Hgrm,
    /// Comparisons as hyperfine writes them
    HyperfineJson,
}

/// `--order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderWord {
    /// By CPU id
    Id,
    /// By what the system reports
    Topology,
    /// By the measured values
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
    /// From the least to the most of each map
    Fit,
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

/// A protocol by its name.
pub fn protocol() -> impl clap::builder::TypedValueParser<Value = Protocol> {
    one_of(Protocol::ALL, Protocol::name)
}

/// Choices that derive from the vocabulary of the model, so that a new one needs no line here.
pub fn one_of<T: Copy + std::fmt::Debug + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::TypedValueParser;
    clap::builder::PossibleValuesParser::new(all.map(name))
        .try_map(move |word| all.into_iter().find(|&value| name(value) == word).ok_or("unknown"))
}
