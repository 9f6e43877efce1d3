//! [`Source`]: where a number of a screen or a page comes from.

use coretalk_model::series::{Parameters, TrialId, TrialResult};
use coretalk_model::{CpuId, KernelId, Relation};

/// Where a number comes from. Tests recompute the numbers of one trial and the parameters from there.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// What a trial measured.
    Trial {
        /// The trial; of a number that is typical of several placements, that of the first.
        trial: TrialId,
        /// Its [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
        /// Which number of it.
        statistic: Statistic,
        /// Placements that it is typical of.
        placements: usize,
    },
    /// A parameter.
    Parameter {
        /// Of this trial; `None` of all that a sentence compares.
        trial: Option<TrialId>,
        /// Its name, as in documents.
        name: String,
    },
    /// What a document holds of a distribution, perhaps of a quantity that this version does not know.
    Series {
        /// Its place among the series of the document.
        index: usize,
        /// Which number of it.
        number: SeriesNumber,
    },
    /// Pairs of a map that share the same things.
    Pairs {
        /// The kernel of the map.
        kernel: String,
        /// What the pairs share.
        relation: Relation,
        /// The kinds of their cores, where the map is grouped by these.
        classes: Option<[String; 2]>,
        /// Of the pairs: the median, or the fastest or the slowest as percentiles 0 and 1.
        statistic: Statistic,
    },
    /// A cell of a map: the median over the pairs of a CPU of its row and another of its column.
    Cell {
        /// The map.
        map: MapSource,
        /// CPUs of the row.
        row: Vec<CpuId>,
        /// CPUs of the column.
        column: Vec<CpuId>,
        /// Whether it is of both roles on one CPU instead, which stand apart where a row has several CPUs.
        own: bool,
    },
    /// A number of all cells of a matrix.
    Matrix {
        /// Its kernel.
        kernel: String,
        /// Which number.
        number: MatrixNumber,
    },
    /// What the pairs of a relation pass through a queue.
    Rates {
        /// The queue.
        queue: String,
        /// What travels.
        payload: String,
        /// Messages that it holds.
        capacity: u64,
        /// What the pairs share.
        relation: Relation,
        /// How many pairs there are, or the median of their rates or of the ends of their intervals.
        statistic: Statistic,
    },
    /// A number of a cell of a map of queues, by its key in the document.
    QueueCell {
        /// The trial of the cell.
        trial: TrialId,
        /// The key.
        key: &'static str,
    },
    /// What one role of a trial has for itself.
    Role {
        /// The trial.
        trial: TrialId,
        /// Its place among the roles.
        role: usize,
        /// The [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
    },
    /// A number of a trial in one state of the machine: the share of its passes, or what it is shown by.
    State {
        /// The trial.
        trial: TrialId,
        /// The place of the state.
        index: usize,
        /// `share` or `value`.
        of: &'static str,
        /// The name of what the trial is shown by.
        quantity: String,
    },
    /// Trials of a probe: all, or those with several states of the machine.
    Trials {
        /// The probe.
        probe: String,
        /// Whether only those with several states.
        changed: bool,
    },
    /// Half the width of an interval that was asked for.
    Precision,
    /// The sum of several.
    Sum(Vec<Source>),
    /// The product of two numbers.
    Product(Box<Source>, Box<Source>),
    /// A factor between units.
    Constant(f64),
    /// The first number less the second.
    Less(Box<Source>, Box<Source>),
    /// Up to which wait polling is cheaper between CPUs, by the key in the advice of the document.
    Spin {
        /// In role order.
        placement: Vec<CpuId>,
        /// The key of the number, or of its interval.
        key: &'static str,
        /// Which end of the interval; `None` of a number.
        end: Option<usize>,
    },
    /// Single hops of a pair.
    Tail {
        /// From the CPU that sends to the one that answers.
        pair: [CpuId; 2],
        /// Which number of them.
        number: TailNumber,
    },
    /// A level of a machine that was watched while it moved between levels.
    Watch(WatchNumber),
    /// The ratio of the first number to the second.
    Ratio(Box<Source>, Box<Source>),
    /// The number of one trial ÷ that of another.
    Quotient {
        /// The trial whose number is divided.
        trial: TrialId,
        /// The trial by whose number it is divided.
        by: TrialId,
        /// The [quantity](coretalk_model::quantity::Quantity::id) of both.
        quantity: &'static str,
        /// [`Statistic::Estimate`], or an end of the interval: the quotient of opposite ends.
        statistic: Statistic,
    },
    /// A number of a comparison of placements, by its key in the document.
    Comparison {
        /// The comparison.
        index: usize,
        /// The part of it that has the key.
        part: ComparisonPart,
        /// The key.
        key: &'static str,
    },
    /// The shift of a level of a comparison of two runs, both by position; of all pairs without a level.
    Difference {
        /// The dataset.
        dataset: usize,
        /// The level.
        level: Option<usize>,
    },
    /// A bound of the offset between the clocks of two CPUs, or the widest bounds of all.
    ClockOffset {
        /// The CPUs.
        cpus: Option<[CpuId; 2]>,
    },
    /// A field of the document, as a JSON pointer; its interval is the `ci` that stands with it.
    Field(String),
    /// A field of the cell of a pair; its interval is the `ci` that stands with it.
    Pair {
        /// The kernel of the matrix.
        kernel: String,
        /// The CPUs.
        pair: [CpuId; 2],
        /// A JSON pointer inside the cell.
        field: &'static str,
    },
    /// A constant of the method.
    Method,
    /// The length of a list: of what a sentence compares, or of what it does not name.
    Listed,
}

/// A number of all cells of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixNumber {
    /// How many have a value.
    Pairs,
    /// How many have several states.
    Moved,
    /// How many have a value that may be wrong.
    Doubtful,
    /// How many with a value have this flag.
    Flagged(&'static str),
    /// How many have no value for this reason.
    Missing(String),
    /// The least value, which is that of this pair.
    Least([CpuId; 2]),
    /// The median value.
    Median,
    /// The greatest value, which is that of this pair.
    Most([CpuId; 2]),
    /// Some value: the end of a group of values.
    Some,
    /// How many values lie between two.
    Between([f64; 2]),
}

/// What a map shows.
#[derive(Debug, Clone, PartialEq)]
pub enum MapSource {
    /// The matrix of this kernel.
    Kernel(String),
    /// A map that is still being measured, which no document has.
    Unfinished,
    /// Trials on two CPUs each.
    Trials {
        /// Their probe.
        probe: String,
        /// Their parameters.
        parameters: Parameters,
        /// The distribution or value that they are shown by.
        quantity: String,
    },
}

/// A number of single hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailNumber {
    /// How many there are.
    Events,
    /// How many are slower than the 99.9th percentile.
    Beyond,
    /// The 99.9th percentile net of the clock.
    NetP999,
    /// The slowest net of the clock.
    NetMax,
}

/// A number of a machine that moved between levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchNumber {
    /// The most frequent level.
    Usual,
    /// Its share of the passes.
    Share,
    /// The slowest level.
    Slowest,
    /// The fastest level.
    Fastest,
    /// How often it changed its level.
    Changes,
    /// The greatest ratio between two levels, of the kernel that shows most of it.
    Widest,
}

/// A number of a distribution in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesNumber {
    /// How many events it holds.
    Events,
    /// A percentile, by its name.
    Percentile(&'static str),
    /// A value of the whole trial.
    Value(String),
    /// How often something happened.
    Count(String),
    /// A parameter.
    Parameter(String),
}

/// A part of a comparison of placements, by position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ComparisonPart {
    /// The comparison itself.
    Whole,
    /// One of its pairs.
    Pair(usize),
    /// One of its placements.
    Placement(usize),
}

/// A number of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// How many events its distribution holds, or the sum that it is.
    Count,
    /// The mean of its distribution.
    Mean,
    /// The percentile of its distribution at this share of events.
    Percentile(f64),
    /// The estimate over passes: of a distribution that of its median.
    Estimate,
    /// The lower end of the interval of that estimate.
    Low,
    /// The upper end.
    High,
}

impl Source {
    /// A field of the cell of a pair, by its JSON pointer inside the cell.
    pub fn of_pair(kernel: &KernelId, pair: [CpuId; 2]) -> impl Fn(&'static str) -> Source + use<> {
        let kernel = kernel.to_string();
        move |field| Source::Pair { kernel: kernel.clone(), pair, field }
    }

    /// A number of all cells of a matrix.
    pub fn of_matrix(kernel: &KernelId, number: MatrixNumber) -> Source {
        Source::Matrix { kernel: kernel.to_string(), number }
    }

    /// A number of one trial.
    pub fn of_trial(trial: &TrialResult, quantity: &'static str, statistic: Statistic) -> Source {
        Source::Trial { trial: trial.spec.id(), quantity, statistic, placements: 1 }
    }
}
