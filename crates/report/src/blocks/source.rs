//! [`Source`]: the origin of a value shown on a screen or a page.

use coretalk_model::place::Communication;
use coretalk_model::series::{Parameters, TrialId, TrialResult};
use coretalk_model::{CpuId, KernelId, Level, Relation, Topology};

macro_rules! pointer {
    ($($part:tt)*) => { format!($($part)*) };
}
pub(crate) use pointer;

/// Location of a value in the JSON document of a run, or the locations of its operands. Tests recompute the value.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A value of a trial.
    Trial {
        /// The trial; if the value stands for several trials, the first of them.
        trial: TrialId,
        /// Id of the [quantity](coretalk_model::quantity::Quantity::id).
        quantity: &'static str,
        /// The statistic of the quantity.
        statistic: Statistic,
        /// The number of placements for which the value stands.
        placements: usize,
    },
    /// A parameter.
    Parameter {
        /// The trial; `None` if the parameter is the same in all trials that the sentence covers.
        trial: Option<TrialId>,
        /// Name of the parameter in documents.
        name: String,
    },
    /// The pairs of a map that have the same relation.
    Pairs {
        /// The map.
        map: MapSource,
        /// Relation of the two CPUs of each pair.
        relation: Relation,
        /// Kinds of the cores of each pair, if the map is grouped by kind.
        classes: Option<[String; 2]>,
        /// The number of pairs, a percentile of their values (0 is the minimum, 1 the maximum), or the median of the
        /// lower or upper ends of their intervals.
        statistic: Statistic,
    },
    /// A cell of a map: the median over the pairs of one CPU of the row and another CPU of the column.
    Cell {
        /// The map.
        map: MapSource,
        /// The CPUs of the row.
        row: Vec<CpuId>,
        /// The CPUs of the column.
        column: Vec<CpuId>,
        /// Whether both roles run on one CPU. In a row of several CPUs, such a value is separate.
        own: bool,
    },
    /// An aggregate over all cells of a matrix.
    Matrix {
        /// Kernel of the matrix.
        kernel: String,
        /// The aggregate.
        number: MatrixNumber,
    },
    /// A field of a trial: in the first distribution that has the field, or in the cell of a queue map. The field
    /// `/reason` stands for the half width in percent that the reason states.
    OfTrial {
        /// The trial.
        trial: TrialId,
        /// The distribution; `None` for any.
        view: Option<String>,
        /// The JSON pointer within the distribution or the cell.
        field: String,
    },
    /// The number of trials.
    Trials {
        /// The probe of the trials; `None` for all probes.
        probe: Option<String>,
        /// Whether to count only trials in which the machine had several states.
        changed: bool,
    },
    /// The result of an operation on other values.
    Computed(Operation, Vec<Source>),
    /// An operand that is the same in all documents.
    Constant(f64),
    /// A bound of the clock offset between two CPUs.
    ClockOffset {
        /// The CPUs; `None` for the widest bounds of all pairs.
        cpus: Option<[CpuId; 2]>,
    },
    /// JSON pointer to a field of the document. The interval of the field is `ci` of the same object, or the entry in
    /// `intervals` of a distribution. In an operand, `*` in place of an index stands for all items.
    Field(String),
    /// A field in the cell of a pair. The interval of the field is `ci` of the same object.
    Pair {
        /// The kernel of the matrix.
        kernel: String,
        /// The CPUs.
        pair: [CpuId; 2],
        /// A JSON pointer within the cell.
        field: &'static str,
    },
    /// A statistic of the intervals of a map that are wider than requested.
    Wide {
        /// The map, or all queue maps.
        map: MapSource,
        /// The statistic.
        number: WideNumber,
    },
    /// A mode of a distribution.
    Mode {
        /// The trial.
        trial: TrialId,
        /// The distribution.
        view: String,
        /// The index of the mode, fastest first.
        index: usize,
        /// The property of the mode.
        part: ModePart,
    },
    /// Name of a command-line option. The value may be a part of the option, such as the budget of one map.
    Option(&'static str),
    /// A constant of the method.
    Method,
    /// The number of items that a sentence compares, or does not name.
    Listed,
    /// The number of items with the given values in a list of the document.
    Count {
        /// The list, as a JSON pointer.
        list: &'static str,
        /// JSON pointers within an item and the expected values as text; `*` matches any value except null.
        matching: Vec<(&'static str, String)>,
    },
    /// The groups of a reported level that have at least this number of measured CPUs.
    Groups(Level, usize),
    /// All CPUs that the system reports.
    ReportedCpus,
    /// A value that no document contains; tests do not recompute it.
    Unrecorded,
    /// A value derived from a placement's list of CPUs in the document.
    Placement {
        /// The list of CPUs.
        cpus: Box<Source>,
        /// The property of the placement.
        number: PlacementNumber,
    },
}

/// An operation on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The sum of all operands.
    Sum,
    /// The product of all operands.
    Product,
    /// The first operand minus the second.
    Less,
    /// The first operand divided by the second.
    Ratio,
    /// The minimum.
    Least,
    /// The maximum.
    Most,
    /// The mean.
    Mean,
    /// The integer part.
    Whole,
    /// A relative difference with its sides swapped: `1 / (1 + x) − 1`.
    Reversed,
}

/// An aggregate over all cells of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixNumber {
    /// The number of cells with a value.
    Pairs,
    /// The number of cells with several states.
    Moved,
    /// The number of cells whose value may be wrong.
    Doubtful,
    /// The number of cells that have a value and this flag.
    Flagged(&'static str),
    /// The number of cells that have no value for this reason.
    Missing(String),
    /// The minimum, with its pair.
    Least([CpuId; 2]),
    /// The median value.
    Median,
    /// The maximum, with its pair.
    Most([CpuId; 2]),
    /// The minimum or maximum of a group of values, without the pair.
    Some,
    /// The number of values between two bounds.
    Between([f64; 2]),
    /// The correlation of the values with the distance between CPU ids.
    IdCorrelation,
}

/// The data that a map shows.
#[derive(Debug, Clone, PartialEq)]
pub enum MapSource {
    /// The matrix of this kernel.
    Kernel(String),
    /// All queue maps.
    Queues,
    /// The rates of the maps of one queue.
    Queue {
        /// Name of the queue.
        queue: String,
        /// The message type.
        payload: String,
        /// The number of messages that the queue can hold.
        capacity: u64,
    },
    /// A map that is still being measured; no document contains it.
    Unfinished,
    /// Trials on two CPUs each.
    Trials {
        /// The probe of the trials.
        probe: String,
        /// The parameters of the trials.
        parameters: Parameters,
        /// The distribution or value that represents each trial.
        quantity: String,
    },
}

/// A property of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModePart {
    /// The share of all events in the mode.
    Share,
    /// The median of the events in the mode, in nanoseconds.
    Median,
}

/// A statistic of the intervals of a map; cells that may be wrong are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideNumber {
    /// The number of cells.
    Sound,
    /// The number of intervals that are wider than requested and whose width is stated.
    Stated,
    /// The half width of the widest interval whose width is stated, as a share.
    Widest,
    /// The number of intervals that are too wide to state.
    Unstated,
}

/// A property of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementNumber {
    /// The number of distinct CPUs.
    Cpus,
    /// The number of groups of a level that contain CPUs of the placement.
    Groups(Level),
    /// The number of CPUs of a kind.
    Class(String),
    /// The number of messages between groups of a level; in [`Communication::Phases`], of the role with the most.
    Crossings(Level, Communication),
    /// The number of all messages.
    Messages(Communication),
}

/// A statistic of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The number of events in the distribution, or the sum if the quantity is a sum.
    Count,
    /// The mean of the distribution.
    Mean,
    /// The percentile of the distribution at this share of the events.
    Percentile(f64),
    /// The estimate over passes; for a distribution, the estimate of its median.
    Estimate,
    /// The lower end of the interval of the estimate.
    Low,
    /// The upper end of the interval of the estimate.
    High,
}

impl Operation {
    /// Applies the operation to these values.
    pub fn on(self, numbers: impl Into<Vec<Source>>) -> Source {
        Source::Computed(self, numbers.into())
    }
}

impl Source {
    /// A field of a trial in any of its distributions.
    pub fn of_any(trial: TrialId, field: impl Into<String>) -> Source {
        Source::OfTrial { trial, view: None, field: field.into() }
    }

    /// The number of items that a sentence omits when it lists `listed` of them.
    pub fn unlisted(self, listed: usize) -> Source {
        Operation::Less.on([self, Source::Constant(listed as f64)])
    }

    /// A field of a pair's cell, by its JSON pointer within the cell.
    pub fn of_pair(kernel: &KernelId, pair: [CpuId; 2]) -> impl Fn(&'static str) -> Source + use<> {
        let kernel = kernel.to_string();
        move |field| Source::Pair { kernel: kernel.clone(), pair, field }
    }

    /// An aggregate over all cells of a matrix.
    pub fn of_matrix(kernel: &KernelId, number: MatrixNumber) -> Source {
        Source::Matrix { kernel: kernel.to_string(), number }
    }

    /// The groups of a reported level.
    pub fn of_level(topology: &Topology, level: Level) -> Source {
        let inner = topology.levels().into_iter().take_while(|&inner| inner != level);
        let at = inner.filter(|&inner| !topology.level(inner).is_empty()).count();
        Source::Field(format!("/topology/reported/levels/{at}/groups"))
    }

    /// A statistic of one trial.
    pub fn of_trial(trial: &TrialResult, quantity: &'static str, statistic: Statistic) -> Source {
        Source::Trial { trial: trial.spec.id(), quantity, statistic, placements: 1 }
    }
}
