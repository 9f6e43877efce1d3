//! [`Source`]: where a number of a screen or a page comes from.

use coretalk_model::place::Communication;
use coretalk_model::series::{Parameters, TrialId, TrialResult};
use coretalk_model::{CpuId, KernelId, Level, Relation, Topology};

/// A JSON pointer into a document, or into an object of it.
macro_rules! pointer {
    ($($part:tt)*) => { format!($($part)*) };
}
pub(crate) use pointer;

/// Where the JSON document of a run has a number, or the numbers that it is computed from. Tests recompute it from there.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A number of a trial.
    Trial {
        /// The trial, or the first of several trials of which the number is typical.
        trial: TrialId,
        /// Its [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
        /// The statistic of the quantity.
        statistic: Statistic,
        /// The number of placements of which it is typical.
        placements: usize,
    },
    /// A parameter.
    Parameter {
        /// Its trial; `None` if it is the same in all trials of a sentence.
        trial: Option<TrialId>,
        /// Its name, as in documents.
        name: String,
    },
    /// The pairs of a map with the same relation.
    Pairs {
        /// The map.
        map: MapSource,
        /// Their relation.
        relation: Relation,
        /// Their kinds of cores, if the map is grouped by these.
        classes: Option<[String; 2]>,
        /// Their number, the median of their values or of an end of their intervals, or their least or greatest value as
        /// percentiles 0 and 1.
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
        /// Whether both roles are on one CPU, which is a number of its own if a row has several CPUs.
        own: bool,
    },
    /// A number of all cells of a matrix.
    Matrix {
        /// Its kernel.
        kernel: String,
        /// Which number.
        number: MatrixNumber,
    },
    /// A field of a trial: of the first distribution, or the cell of a map of queues, that has it. The number of `/reason` is
    /// the half width in percent that its text states.
    OfTrial {
        /// The trial.
        trial: TrialId,
        /// The distribution; `None` for any.
        view: Option<String>,
        /// The JSON pointer inside the distribution or the cell.
        field: String,
    },
    /// The number of trials.
    Trials {
        /// Their probe; `None` for all.
        probe: Option<String>,
        /// Whether only trials with several states of the machine count.
        changed: bool,
    },
    /// The result of an operation on other numbers.
    Computed(Operation, Vec<Source>),
    /// An operand that is the same in all documents.
    Constant(f64),
    /// A bound of the offset between the clocks of two CPUs, or the widest bounds of all.
    ClockOffset {
        /// The CPUs.
        cpus: Option<[CpuId; 2]>,
    },
    /// A field of the document, by its JSON pointer. Its interval is `ci` of the same object, or the entry in `intervals` of a
    /// distribution. A pointer with `*` for an index stands for the numbers of all items, as an operand.
    Field(String),
    /// A field of the cell of a pair; its interval is `ci` of the same object.
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
    /// The number of items of a list of the document with these values.
    Count {
        /// The list, as a JSON pointer.
        list: &'static str,
        /// JSON pointers inside an item and the values as texts; `*` is any value but null.
        matching: Vec<(&'static str, String)>,
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
}

/// An operation on numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The sum of all.
    Sum,
    /// The product of all.
    Product,
    /// The first less the second.
    Less,
    /// The first over the second.
    Ratio,
    /// The least.
    Least,
    /// The greatest.
    Most,
    /// The mean.
    Mean,
    /// The integer part of the number.
    Whole,
    /// A relative difference with its sides exchanged: `1 / (1 + x) − 1`.
    Reversed,
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
    /// The rates of the maps of one queue.
    Queue {
        /// Its name.
        queue: String,
        /// What travels.
        payload: String,
        /// Messages that it holds.
        capacity: u64,
    },
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

impl Operation {
    /// The result of the operation on these numbers.
    pub fn of(self, numbers: impl Into<Vec<Source>>) -> Source {
        Source::Computed(self, numbers.into())
    }
}

impl Source {
    /// A field of a trial in any of its distributions.
    pub fn of_any(trial: TrialId, field: impl Into<String>) -> Source {
        Source::OfTrial { trial, view: None, field: field.into() }
    }

    /// The number of these that a sentence does not list.
    pub fn unlisted(self, listed: usize) -> Source {
        Operation::Less.of([self, Source::Constant(listed as f64)])
    }

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
