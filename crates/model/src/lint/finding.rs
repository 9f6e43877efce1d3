//! [`LintFinding`]: a problem with the numbers of a matrix, and the cells that show it.

use crate::infer::Suspect;
use crate::{CpuId, CpuSet};

named! {
    /// The kind of a problem with a matrix.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Kind {
        /// Values that no pair of CPUs can have.
        Impossible = "impossible",
        /// Pairs without a value.
        Missing = "missing",
        /// Values that are multiples of one step.
        ClockComb = "clock-comb",
        /// Latencies inside one half of the CPUs are as high as latencies between the halves.
        TaintedHome = "tainted-home",
        /// The two directions of a pair differ.
        Asymmetry = "asymmetry",
        /// Rows of similar CPUs do not predict each other, because threads were not pinned.
        Unpinned = "unpinned",
        /// CPU 0 and its nearest CPU are slower than other nearest pairs.
        FirstCpu = "first-cpu",
        /// One or two CPUs are slower to all others.
        OddCpu = "odd-cpu",
        /// Values are equal, digit by digit, to values of other pairs.
        Copied = "copied",
        /// Pairs are nearer than the rows of their CPUs allow. It is unknown which of them are wrong.
        Contradictory = "contradictory",
        /// Pairs do not fit the groups of the other pairs.
        Unfit = "unfit",
    }
}

/// A problem, with its evidence. Numbers are in the unit of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum LintFinding {
    /// Latencies of 0.
    Zero {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
    },
    /// Latencies below the minimum of any pair of CPUs.
    TooFast {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// The smallest latency.
        least: f64,
    },
    /// Latencies far beyond all others.
    TooSlow {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// The largest latency.
        most: f64,
        /// Median of all cells.
        median: f64,
    },
    /// Pairs without a value.
    Missing {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// Number of pairs of the matrix.
        of: usize,
    },
    /// Values that are multiples of one step.
    ClockComb {
        /// The step.
        step: f64,
        /// The fastest latency, as a scale for the step.
        least: f64,
    },
    /// Latencies inside one half of the CPUs are as high as latencies between the halves.
    TaintedHome {
        /// The half with plausible latencies.
        clean: CpuSet,
        /// The other half.
        tainted: CpuSet,
        /// Latency of far pairs inside the clean half, of far pairs inside the tainted half, and of pairs across.
        far: [f64; 3],
    },
    /// The two directions of a typical pair differ.
    Asymmetry {
        /// Median over the pairs of larger direction ÷ smaller direction.
        typical: f64,
        /// The pairs that differ most, worst first.
        cells: Vec<[CpuId; 2]>,
        /// The largest ratio of a pair.
        worst: f64,
    },
    /// Rows of similar CPUs do not predict each other.
    Unpinned {
        /// Share of the variation that rows of similar CPUs predict; 0 is none.
        predicted: f64,
        /// Relative scatter of the values: that of the inferred structure, if it can be computed.
        spread: f64,
        /// Fast pairs that share a CPU while their other two CPUs are slow to each other.
        open: Vec<[CpuId; 2]>,
    },
    /// CPU 0 and its nearest CPU are slower than other nearest pairs.
    FirstCpu {
        /// The pair.
        pair: [CpuId; 2],
        /// Latency of the pair.
        value: f64,
        /// Latency of other nearest pairs.
        usual: f64,
    },
    /// One or two CPUs are slower to all others.
    OddCpu {
        /// The CPUs.
        cpus: CpuSet,
        /// Median of the pairs of these CPUs with others.
        value: f64,
        /// Median of the pairs of the other CPUs.
        usual: f64,
    },
    /// Values are equal, digit by digit, to values of other pairs.
    Copied {
        /// The cells that come later in the file.
        cells: Vec<[CpuId; 2]>,
        /// The cells with the same values, in the same order.
        of: Vec<[CpuId; 2]>,
    },
    /// Pairs are contradictory: [`Structure::contradictory`](crate::infer::Structure).
    Contradictory {
        /// Number of contradictory pairs.
        pairs: usize,
    },
    /// Pairs do not fit the inferred structure.
    Unfit {
        /// The cells, with their deviations.
        cells: Vec<Suspect>,
        /// Whether there are groups that the cells do not fit. Otherwise the cells are unlike all others.
        has_groups: bool,
    },
}

impl LintFinding {
    /// The kind of the problem.
    pub fn kind(&self) -> Kind {
        match self {
            LintFinding::Zero { .. } | LintFinding::TooFast { .. } | LintFinding::TooSlow { .. } => {
                Kind::Impossible
            }
            LintFinding::Missing { .. } => Kind::Missing,
            LintFinding::ClockComb { .. } => Kind::ClockComb,
            LintFinding::TaintedHome { .. } => Kind::TaintedHome,
            LintFinding::Asymmetry { .. } => Kind::Asymmetry,
            LintFinding::Unpinned { .. } => Kind::Unpinned,
            LintFinding::FirstCpu { .. } => Kind::FirstCpu,
            LintFinding::OddCpu { .. } => Kind::OddCpu,
            LintFinding::Copied { .. } => Kind::Copied,
            LintFinding::Contradictory { .. } => Kind::Contradictory,
            LintFinding::Unfit { .. } => Kind::Unfit,
        }
    }

    /// The pairs that show the problem; empty if it concerns the whole matrix or all pairs of CPUs.
    pub fn pairs(&self) -> Vec<[CpuId; 2]> {
        match self {
            LintFinding::Zero { cells }
            | LintFinding::TooFast { cells, .. }
            | LintFinding::TooSlow { cells, .. }
            | LintFinding::Missing { cells, .. }
            | LintFinding::Asymmetry { cells, .. }
            | LintFinding::Copied { cells, .. }
            | LintFinding::Unpinned { open: cells, .. } => cells.clone(),
            LintFinding::FirstCpu { pair, .. } => vec![*pair],
            LintFinding::Unfit { cells, .. } => cells.iter().map(|cell| cell.pair).collect(),
            LintFinding::ClockComb { .. }
            | LintFinding::TaintedHome { .. }
            | LintFinding::OddCpu { .. }
            | LintFinding::Contradictory { .. } => Vec::new(),
        }
    }
}
