//! [`Source`]: where a number of a screen or a page comes from.

use coretalk_model::place::Communication;
use coretalk_model::series::{Parameters, TrialId, TrialResult};
use coretalk_model::{CpuId, KernelId, Level, Relation, Topology};

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
        /// The map.
        map: MapSource,
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
    /// A bound of the offset between the clocks of two CPUs, or the widest bounds of all.
    ClockOffset {
        /// The CPUs.
        cpus: Option<[CpuId; 2]>,
    },
    /// A field of the document, as a JSON pointer; its interval is the `ci` that stands with it.
    Field(String),
    /// The mean of the numbers of these lists of the document, as JSON pointers.
    MeanOf(Vec<String>),
    /// A field of the cell of a pair; its interval is the `ci` that stands with it.
    Pair {
        /// The kernel of the matrix.
        kernel: String,
        /// The CPUs.
        pair: [CpuId; 2],
        /// A JSON pointer inside the cell.
        field: &'static str,
    },
    /// A number of the intervals of a map that are wider than requested.
    Wide {
        /// The map, or all maps of queues.
        map: MapSource,
        /// Which number.
        number: WideNumber,
    },
    /// How often CPUs entered an idle state per wake-up after this gap.
    Entered {
        /// The gap in nanoseconds.
        gap_ns: u64,
        /// Whether deep states were disabled.
        kept_out: bool,
        /// The state.
        state: String,
    },
    /// The number of trials of all probes.
    AllTrials,
    /// Half the width of the interval of a trial in percent, as its reason states it.
    Width(TrialId),
    /// A mode of a distribution.
    Mode {
        /// The trial.
        trial: TrialId,
        /// The distribution.
        view: String,
        /// The place of the mode, from the fastest.
        index: usize,
        /// Which number of it.
        part: ModePart,
    },
    /// An option of the command, by its name; the number may be a part of it, as the budget of a map.
    Option(&'static str),
    /// A constant of the method.
    Method,
    /// The length of a list: of what a sentence compares, or of what it does not name.
    Listed,
    /// How many pairs of a comparison of two runs have a field with this value.
    Differing {
        /// The matrix of the pairs; `None` of all.
        matrix: Option<String>,
        /// The field.
        key: &'static str,
        /// Its value in JSON.
        value: &'static str,
    },
    /// How many items of a list of the document have this value at a key.
    Matching {
        /// The list, as a JSON pointer.
        list: &'static str,
        /// The key of each item.
        key: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// Groups of a reported level with at least this number of measured CPUs.
    Groups(Level, usize),
    /// All CPUs that the system reports.
    ReportedCpus,
    /// No document has it: tests do not recompute it.
    Unrecorded,
    /// A number of a placement, from its list of CPUs in the document.
    Placement {
        /// The list.
        cpus: Box<Source>,
        /// Which number.
        number: PlacementNumber,
    },
    /// A relative difference with its two sides exchanged: `1 / (1 + x) − 1`.
    Reversed(Box<Source>),
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
    /// The correlation of the values with the distance between CPU ids.
    IdCorrelation,
}

/// What a map shows.
#[derive(Debug, Clone, PartialEq)]
pub enum MapSource {
    /// The matrix of this kernel.
    Kernel(String),
    /// All maps of queues.
    Queues,
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

/// A number of a mode of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModePart {
    /// Its share of the events.
    Share,
    /// The median of its events in nanoseconds.
    Median,
}

/// A number of the intervals of a map. Cells that may be wrong are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideNumber {
    /// The number of cells.
    Sound,
    /// The number of intervals that are wider than requested and whose width is stated.
    Stated,
    /// The half width of the widest of them, as a share.
    Widest,
    /// The number of intervals that are too wide to state.
    Unstated,
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

/// A number of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementNumber {
    /// Different CPUs.
    Cpus,
    /// Groups of a level that its CPUs are in.
    Groups(Level),
    /// CPUs of a kind.
    Class(String),
    /// Messages from one group of a level to another, of the thread with the most where each has its own.
    Crossings(Level, Communication),
    /// All messages.
    Messages(Communication),
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

    /// The groups of a reported level.
    pub fn of_level(topology: &Topology, level: Level) -> Source {
        let inner = topology.levels().into_iter().take_while(|&inner| inner != level);
        let at = inner.filter(|&inner| !topology.level(inner).is_empty()).count();
        Source::Field(format!("/topology/reported/levels/{at}/groups"))
    }

    /// A number of one trial.
    pub fn of_trial(trial: &TrialResult, quantity: &'static str, statistic: Statistic) -> Source {
        Source::Trial { trial: trial.spec.id(), quantity, statistic, placements: 1 }
    }
}
