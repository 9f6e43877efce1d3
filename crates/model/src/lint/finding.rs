//! [`Doubt`]: something about the numbers of a matrix that a reader should know, and the cells that show it.

use crate::infer::Suspect;
use crate::{CpuId, CpuSet};

named! {
    /// What can be wrong with a matrix.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Kind {
        /// Values that no pair of CPUs can have.
        Impossible = "impossible",
        /// Pairs without a value.
        Missing = "missing",
        /// Values on multiples of one step.
        ClockComb = "clock-comb",
        /// One half of the machine as slow inside as across.
        TaintedHome = "tainted-home",
        /// The two directions of a pair differ.
        Asymmetry = "asymmetry",
        /// No CPU's row says anything of another's: threads that were not pinned.
        Unpinned = "unpinned",
        /// CPU 0 and its nearest CPU slower together than other nearest CPUs.
        FirstCpu = "first-cpu",
        /// One CPU, or one pair of them, slower to everybody.
        OddCpu = "odd-cpu",
        /// Values that are, digit by digit, those of other pairs.
        Copied = "copied",
        /// Pairs that are nearer than the others allow, where nothing shows which of them are wrong.
        Contradictory = "contradictory",
        /// Pairs that do not fit the groups that the others form.
        Unfit = "unfit",
    }
}

/// A doubt, with what shows it and what it means. Numbers are in the unit of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// Latencies of 0.
    Zero {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
    },
    /// Latencies below what any pair of CPUs reaches.
    TooFast {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// The least of them.
        least: f64,
    },
    /// Latencies far beyond all others.
    TooSlow {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// The largest.
        most: f64,
        /// Median of all cells.
        median: f64,
    },
    /// Pairs without a value.
    Missing {
        /// The cells.
        cells: Vec<[CpuId; 2]>,
        /// Pairs of the matrix.
        of: usize,
    },
    /// Values on multiples of one step.
    ClockComb {
        /// The step.
        step: f64,
        /// The fastest cell, to say what the step means.
        least: f64,
    },
    /// One half of the machine as slow inside as across.
    TaintedHome {
        /// The half that looks as it is.
        clean: CpuSet,
        /// The half that does not.
        tainted: CpuSet,
        /// Far pairs inside the clean half, inside the tainted one, and across.
        far: [f64; 3],
    },
    /// The two directions of a typical pair differ.
    Asymmetry {
        /// Median over the pairs of the larger direction ÷ the smaller one.
        typical: f64,
        /// Pairs that differ most, worst first.
        cells: Vec<[CpuId; 2]>,
        /// Their largest ratio.
        worst: f64,
    },
    /// No CPU's row says anything of another's.
    Unpinned {
        /// Share of the variation that rows of similar CPUs predict; 0 is none.
        predicted: f64,
        /// Scatter of the values, as a share: that of the inferred structure where it has one.
        spread: f64,
        /// Fast pairs that share a CPU while the other two CPUs are slow to each other.
        open: Vec<[CpuId; 2]>,
    },
    /// CPU 0 and its nearest CPU slower together than other nearest CPUs.
    FirstCpu {
        /// The two.
        pair: [CpuId; 2],
        /// Their latency.
        value: f64,
        /// What other CPUs have to their nearest.
        usual: f64,
    },
    /// A CPU, or two, slower to everybody.
    OddCpu {
        /// Which.
        cpus: CpuSet,
        /// Median of their pairs with others.
        value: f64,
        /// Median of the pairs of the others.
        usual: f64,
    },
    /// Values that are, digit by digit, those of other pairs.
    Copied {
        /// The cells that come later in the file.
        cells: Vec<[CpuId; 2]>,
        /// The cells with the same values, in the same order.
        of: Vec<[CpuId; 2]>,
    },
    /// The structure that pairs show contradicts itself: [`Structure::contradictory`](crate::infer::Structure).
    Contradictory {
        /// How many pairs do not go together.
        pairs: usize,
    },
    /// Pairs that do not fit: those of the inferred structure.
    Unfit {
        /// The cells, with how far each is off.
        cells: Vec<Suspect>,
        /// Whether there are groups that they do not fit; else they are unlike the rest.
        has_groups: bool,
    },
}

impl Doubt {
    /// What kind it is of.
    pub fn kind(&self) -> Kind {
        match self {
            Doubt::Zero { .. } | Doubt::TooFast { .. } | Doubt::TooSlow { .. } => Kind::Impossible,
            Doubt::Missing { .. } => Kind::Missing,
            Doubt::ClockComb { .. } => Kind::ClockComb,
            Doubt::TaintedHome { .. } => Kind::TaintedHome,
            Doubt::Asymmetry { .. } => Kind::Asymmetry,
            Doubt::Unpinned { .. } => Kind::Unpinned,
            Doubt::FirstCpu { .. } => Kind::FirstCpu,
            Doubt::OddCpu { .. } => Kind::OddCpu,
            Doubt::Copied { .. } => Kind::Copied,
            Doubt::Contradictory { .. } => Kind::Contradictory,
            Doubt::Unfit { .. } => Kind::Unfit,
        }
    }

    /// The pairs that show it; empty where the whole matrix does, or CPUs do with all that they have.
    pub fn pairs(&self) -> Vec<[CpuId; 2]> {
        match self {
            Doubt::Zero { cells }
            | Doubt::TooFast { cells, .. }
            | Doubt::TooSlow { cells, .. }
            | Doubt::Missing { cells, .. }
            | Doubt::Asymmetry { cells, .. }
            | Doubt::Copied { cells, .. }
            | Doubt::Unpinned { open: cells, .. } => cells.clone(),
            Doubt::FirstCpu { pair, .. } => vec![*pair],
            Doubt::Unfit { cells, .. } => cells.iter().map(|cell| cell.pair).collect(),
            Doubt::ClockComb { .. }
            | Doubt::TaintedHome { .. }
            | Doubt::OddCpu { .. }
            | Doubt::Contradictory { .. } => Vec::new(),
        }
    }
}
