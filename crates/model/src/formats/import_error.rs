//! [`ImportError`]: where a file could not be read, why, and what to do.

use super::{MAX_CPUS, Unit};
use crate::CpuId;
pub(super) use crate::excerpt::excerpt;
use std::fmt;

/// Why a file is not taken as a matrix. Follows "failed to".
#[derive(Debug, Clone, PartialEq)]
pub struct ImportError {
    /// The line, counted from 1 as an editor does, where one is to blame.
    pub line: Option<usize>,
    /// The field of that line, counted from 1 (row labels count); for JSON syntax the character.
    pub column: Option<usize>,
    /// What is wrong there.
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

/// What is wrong with a file, and what to do about it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum Problem {
    /// Not a single byte.
    #[error("the file is empty")]
    Empty,
    /// Nothing but blanks: what core-to-core-latency writes where one CPU has nobody to talk to.
    #[error("the file contains only blank lines and no latency, as when a tool ran on one CPU")]
    Blank,
    /// More than a reader is willing to hold.
    #[error("the file is larger than {limit_mib} MiB, more than a matrix of {MAX_CPUS} CPUs needs")]
    TooLarge { limit_mib: usize },
    /// Not text in UTF-8, or in UTF-16 with a byte order mark.
    #[error("this is not text: {what} (save the file as UTF-8, or as UTF-16 with a byte order mark)")]
    NotText { what: &'static str },
    /// HTML or XML.
    #[error("this is markup such as an error page, not a matrix; fetch the raw file")]
    Markup,
    /// No percentile table where one was asked for.
    #[error(
        "it contains no percentile table (a line `Value Percentile TotalCount 1/(1-Percentile)`) and no interval log"
    )]
    NoPercentiles,
    /// A heading without rows.
    #[error("the percentile table that starts here has no rows")]
    NoRows,
    /// Something else within a percentile table.
    #[error("`{line}` is not a row of a percentile table: {why}")]
    NotARow { line: String, why: String },
    /// Rows that fall.
    #[error("the {what} is lower than in the previous row, but it must not decrease")]
    OutOfOrder { what: &'static str },
    /// A line of an interval log that cannot be read.
    #[error("this interval cannot be read: {why}")]
    NotAnInterval { why: IntervalError },
    /// Another tool, whose rows are no CPUs.
    #[error(
        "this is the output of {tool}, which compares NUMA nodes, not CPUs; measure with `coretalk latency`"
    )]
    OfNodes { tool: &'static str },
    /// A `.hgrm` or `.hlog` file.
    #[error("this is a latency histogram, not a matrix; show it with `coretalk view`")]
    Histogram,
    /// Broken JSON.
    #[error("the JSON is broken: {message}")]
    JsonSyntax { message: String },
    /// JSON of some other kind.
    #[error("this JSON contains no known matrix: {message}")]
    JsonShape { message: String },
    /// A cell that is neither a number nor a sign for "not measured".
    #[error("`{cell}` is not a latency (leave the cell empty if the pair was not measured)")]
    NotANumber { cell: String },
    /// `1,019.22`, or a comma that could mean either.
    #[error("`{cell}` may have a thousands separator; write plain numbers such as 1019.22")]
    Thousands { cell: String },
    /// Points in some cells, commas in others.
    #[error(
        "`{cell}` uses a different decimal mark from the cells before it; use points or commas in every cell"
    )]
    MixedDecimals { cell: String },
    /// A latency below zero.
    #[error("the latency {value} is negative; measure this pair again or leave the cell empty")]
    Negative { value: f64 },
    /// `inf`, or a number beyond what can be held.
    #[error("the latency is infinite; measure this pair again or leave the cell empty")]
    Infinite,
    /// A number that is smaller or larger than any latency.
    #[error(
        "no latency can be {value:e} (0.01 to 1e11 ns can be measured); measure this pair again or leave the cell empty"
    )]
    Impossible { value: f64 },
    /// A row that is longer or shorter than the others.
    #[error("this row has {cells} cells, expected {expected}; every CPU needs one row and one column")]
    Ragged { cells: usize, expected: usize },
    /// A rectangle.
    #[error(
        "the table has {rows} × {columns} cells; a latency matrix is square, with a row and a column per CPU"
    )]
    NotSquare { rows: usize, columns: usize },
    /// A matrix of one CPU.
    #[error("the matrix has one CPU; a latency needs two")]
    OneCpu,
    /// No cell holds a number.
    #[error("the matrix contains no latency at all")]
    NoValues,
    /// More CPUs than can be held.
    #[error("the matrix has more than the supported {MAX_CPUS} CPUs")]
    TooManyCpus,
    /// A row or column name without a CPU id.
    #[error("`{label}` is not a CPU id (expected for example `5` or `CPU 5`)")]
    NotACpu { label: String },
    /// One CPU named twice.
    #[error("CPU {cpu} appears twice; each CPU needs one row and one column")]
    DuplicateCpu { cpu: CpuId },
    /// A row for a CPU that has no column.
    #[error("CPU {cpu} has a row but no column; rows and columns must list the same CPUs")]
    UnknownRow { cpu: CpuId },
    /// One pair given twice.
    #[error("the latency from CPU {from} to CPU {to} is given twice; keep one of the two lines")]
    DuplicatePair { from: CpuId, to: CpuId },
    /// The table ends early.
    #[error("the table ends after {found} of {expected} rows; is the output truncated?")]
    MissingRows { found: usize, expected: usize },
    /// The table goes on after its last CPU.
    #[error("there is one row more than CPUs in the header; is the header truncated?")]
    ExtraRow,
    /// pandas left columns or rows out.
    #[error("the table was shortened (`...`); print it in full")]
    Shortened,
    /// A cell below no header.
    #[error("`{cell}` is not below a CPU ID of the header; keep the table's spaces as printed")]
    Misaligned { cell: String },
    /// A quote without its partner.
    #[error("a quoted cell does not end where it should; write \"cell\" and double the quotes inside")]
    Quote,
    /// A border of whole numbers around whole numbers.
    #[error(
        "the first row and column may be CPU IDs or latencies; write `cpu` in the first cell if they are IDs, 0 if not"
    )]
    AmbiguousLabels,
    /// Ids far apart with few pairs.
    #[error("too few latencies for a matrix ({pairs} for {cpus} CPUs); split the file by group of CPUs")]
    TooSparse { pairs: usize, cpus: usize },
    /// Our own file says symmetric and is not.
    #[error(
        "the file claims to be symmetric, but CPU {from} to CPU {to} differs from CPU {to} to CPU {from}"
    )]
    HalvesDiffer { from: CpuId, to: CpuId },
    /// A first line of our own format that this version does not know.
    #[error(
        "`{text}` is not `# coretalk matrix: SHAPE, UNIT` with symmetric or directed, {} or {}",
        Unit::Ns,
        Unit::Cycles
    )]
    OwnHeader { text: String },
    /// Our own table of queues.
    #[error(
        "this is a table of messages per second, not latencies; compare queue runs with `coretalk compare`"
    )]
    Rates,
    /// What coretalk shows of a run.
    #[error(
        "this is a screen of coretalk, whose numbers are rounded; write the run with `coretalk export --format csv`"
    )]
    Screen,
    /// A unit that is not read.
    #[error("`{text}` has an unsupported unit; convert the column to ns")]
    Unit { text: String },
    /// A line without a unit in a list whose other lines have one.
    #[error("`{text}` is a line without a unit, but other lines have one; write the unit on every line")]
    NoUnit { text: String },
    /// Text in which no reader finds a matrix.
    #[error(
        "no matrix was found in this text; it needs a row and a column of numbers for each CPU, or a line with two CPUs and a number for each pair"
    )]
    NotAMatrix,
}

impl Problem {
    /// The error at a line and field, both given from 0.
    pub(super) fn at(self, line: usize, field: usize) -> ImportError {
        ImportError { line: Some(line + 1), column: Some(field + 1), problem: self }
    }

    /// The error at a line given from 0.
    pub(super) fn at_line(self, line: usize) -> ImportError {
        ImportError { line: Some(line + 1), column: None, problem: self }
    }
}

/// Why a line of an interval log cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum IntervalError {
    /// Start, length, maximum and histogram belong there.
    #[error("it does not have four fields")]
    Fields,
    /// The maximum is none.
    #[error("`{field}` is not a number")]
    NotANumber { field: String },
    /// The histogram is not text.
    #[error("its last field is not base64")]
    NotBase64,
    /// The histogram begins otherwise.
    #[error("its last field is not an HdrHistogram histogram")]
    NotHdr,
    /// An encoding that nothing writes any more.
    #[error(
        "it is encoded as {version} of HdrHistogram, but only V2 (log format 1.2 or later) is supported; write it again with a current HdrHistogram"
    )]
    Older { version: &'static str },
    /// More than a reader is willing to hold.
    #[error("it contains more than {limit_mib} MiB")]
    TooLarge { limit_mib: usize },
    /// More than memory should be spent on.
    #[error("the log has more than {limit} different values; write it with fewer significant digits")]
    TooManyValues { limit: usize },
    /// Not zlib.
    #[error("its compressed data cannot be decompressed")]
    NotZlib,
    /// What is inside begins otherwise.
    #[error("its compressed data is not a V2 histogram")]
    NotV2,
    /// Digits or a lowest value that no histogram has.
    #[error("its header is invalid")]
    Header,
    /// The end is missing.
    #[error("it is truncated")]
    Cut,
    /// The end of a count is missing.
    #[error("its counts are truncated")]
    CountsCut,
    /// No number holds it.
    #[error("a value is beyond 64 bits")]
    Beyond,
    /// No number holds their sum.
    #[error("the counts up to it add up to more than 64 bits")]
    TooMany,
}
