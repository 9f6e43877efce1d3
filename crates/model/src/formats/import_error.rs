use super::{MAX_CPUS, Unit};
use crate::CpuId;
pub(super) use crate::excerpt::excerpt;
use std::fmt;

/// Why a file is not a matrix. The message follows "failed to".
#[derive(Debug, Clone, PartialEq)]
pub struct ImportError {
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
    /// The field of that line, counted from 1, including row labels. For JSON syntax, the character.
    pub column: Option<usize>,
    /// The problem.
    pub problem: Problem,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "read line {line}, column {column}: {}", self.problem),
            (Some(line), None) => write!(f, "read line {line}: {}", self.problem),
            (None, _) => write!(f, "read it: {}", self.problem),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<Problem> for ImportError {
    fn from(problem: Problem) -> ImportError {
        ImportError { line: None, column: None, problem }
    }
}

/// A problem of a file and its solution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum Problem {
    #[error("the file is empty")]
    Empty,
    /// Only white space, as core-to-core-latency writes with a single CPU.
    #[error("the file contains only blank lines and no latency, as when a tool ran on one CPU")]
    Blank,
    #[error("the file is larger than {limit_mib} MiB, more than a matrix of {MAX_CPUS} CPUs needs")]
    TooLarge { limit_mib: usize },
    #[error("this is not text: {what} (save the file as UTF-8, or as UTF-16 with a byte order mark)")]
    NotText { what: &'static str },
    #[error("this is markup such as an error page, not a matrix; fetch the raw file")]
    Markup,
    #[error(
        "it contains no percentile table (a line `Value Percentile TotalCount 1/(1-Percentile)`) and no interval log"
    )]
    NoPercentiles,
    #[error("the percentile table that starts here has no rows")]
    NoRows,
    #[error("`{line}` is not a row of a percentile table: {why}")]
    NotARow { line: String, why: String },
    #[error("the {what} is lower than in the previous row, but it must not decrease")]
    OutOfOrder { what: &'static str },
    #[error("this interval cannot be read: {why}")]
    NotAnInterval { why: IntervalError },
    #[error(
        "this is the output of {tool}, which compares NUMA nodes, not CPUs; measure with `coretalk latency`"
    )]
    OfNodes { tool: &'static str },
    #[error("this is a latency histogram, not a matrix; show it with `coretalk view`")]
    Histogram,
    #[error("the JSON is broken: {message}")]
    JsonSyntax { message: String },
    #[error("this JSON contains no known matrix: {message}")]
    JsonShape { message: String },
    #[error("`{cell}` is not a latency (leave the cell empty if the pair was not measured)")]
    NotANumber { cell: String },
    #[error("`{cell}` may have a thousands separator; write plain numbers such as 1019.22")]
    Thousands { cell: String },
    #[error(
        "`{cell}` uses a different decimal mark from the cells before it; use points or commas in every cell"
    )]
    MixedDecimals { cell: String },
    #[error("the latency {value} is negative; measure this pair again or leave the cell empty")]
    Negative { value: f64 },
    #[error("the latency is infinite; measure this pair again or leave the cell empty")]
    Infinite,
    #[error(
        "no latency can be {value:e} (0.01 to 1e11 ns can be measured); measure this pair again or leave the cell empty"
    )]
    Impossible { value: f64 },
    #[error("this row has {cells} cells, expected {expected}; every CPU needs one row and one column")]
    Ragged { cells: usize, expected: usize },
    #[error(
        "the table has {rows} × {columns} cells; a latency matrix is square, with a row and a column per CPU"
    )]
    NotSquare { rows: usize, columns: usize },
    #[error("the matrix has one CPU; a latency needs two")]
    OneCpu,
    #[error("the matrix contains no latency at all")]
    NoValues,
    #[error("the matrix has more than the supported {MAX_CPUS} CPUs")]
    TooManyCpus,
    #[error("`{label}` is not a CPU id (expected for example `5` or `CPU 5`)")]
    NotACpu { label: String },
    #[error("CPU {cpu} appears twice; each CPU needs one row and one column")]
    DuplicateCpu { cpu: CpuId },
    #[error("CPU {cpu} has a row but no column; rows and columns must list the same CPUs")]
    UnknownRow { cpu: CpuId },
    #[error("the latency from CPU {from} to CPU {to} is given twice; keep one of the two lines")]
    DuplicatePair { from: CpuId, to: CpuId },
    #[error("the table ends after {found} of {expected} rows; is the output truncated?")]
    MissingRows { found: usize, expected: usize },
    #[error("there is one row more than CPUs in the header; is the header truncated?")]
    ExtraRow,
    /// pandas left out columns or rows.
    #[error("the table was shortened (`...`); print it in full")]
    Shortened,
    #[error("`{cell}` is not below a CPU ID of the header; keep the table's spaces as printed")]
    Misaligned { cell: String },
    #[error("a quoted cell does not end where it should; write \"cell\" and double the quotes inside")]
    Quote,
    #[error(
        "the first row and column may be CPU IDs or latencies; write `cpu` in the first cell if they are IDs, 0 if not"
    )]
    AmbiguousLabels,
    /// A matrix with distant ids and few pairs.
    #[error("too few latencies for a matrix ({pairs} for {cpus} CPUs); split the file by group of CPUs")]
    TooSparse { pairs: usize, cpus: usize },
    #[error(
        "the file claims to be symmetric, but CPU {from} to CPU {to} differs from CPU {to} to CPU {from}"
    )]
    HalvesDiffer { from: CpuId, to: CpuId },
    #[error(
        "`{text}` is not `# coretalk matrix: SHAPE, UNIT` with symmetric or directed, {} or {}",
        Unit::Ns,
        Unit::Cycles
    )]
    OwnHeader { text: String },
    #[error(
        "this is a table of messages per second, not latencies; compare queue runs with `coretalk compare`"
    )]
    Rates,
    #[error(
        "this is a screen of coretalk, whose numbers are rounded; write the run with `coretalk export --format csv`"
    )]
    Screen,
    #[error("`{text}` has an unsupported unit; convert the column to ns")]
    Unit { text: String },
    #[error("`{text}` is a line without a unit, but other lines have one; write the unit on every line")]
    NoUnit { text: String },
    #[error(
        "no matrix was found in this text; it needs a row and a column of numbers for each CPU, or a line with two CPUs and a number for each pair"
    )]
    NotAMatrix,
}

impl Problem {
    pub(super) fn at(self, line: usize, field: usize) -> ImportError {
        ImportError { line: Some(line + 1), column: Some(field + 1), problem: self }
    }

    pub(super) fn at_line(self, line: usize) -> ImportError {
        ImportError { line: Some(line + 1), column: None, problem: self }
    }
}

/// Why a line of an interval log cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum IntervalError {
    #[error("it does not have four fields")]
    Fields,
    #[error("`{field}` is not a number")]
    NotANumber { field: String },
    #[error("its last field is not base64")]
    NotBase64,
    #[error("its last field is not an HdrHistogram histogram")]
    NotHdr,
    #[error(
        "it is encoded as {version} of HdrHistogram, but only V2 (log format 1.2 or later) is supported; write it again with a current HdrHistogram"
    )]
    Older { version: &'static str },
    #[error("it contains more than {limit_mib} MiB")]
    TooLarge { limit_mib: usize },
    #[error("the log has more than {limit} different values; write it with fewer significant digits")]
    TooManyValues { limit: usize },
    #[error("its compressed data cannot be decompressed")]
    NotZlib,
    #[error("its compressed data is not a V2 histogram")]
    NotV2,
    #[error("its header is invalid")]
    Header,
    #[error("it is truncated")]
    Cut,
    #[error("its counts are truncated")]
    CountsCut,
    #[error("a value is beyond 64 bits")]
    Beyond,
    #[error("the counts up to it add up to more than 64 bits")]
    TooMany,
}
