//! [`LatencyPlan`] and [`SeriesPlan`]: what a run would measure, and how long that takes.

use crate::{Picos, Relation};

/// The predicted course of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyPlan {
    /// Cells (pairs) of the map.
    pub cells: u64,
    /// Pairs of each relation.
    pub relations: Vec<(Relation, u64)>,
    /// Minimum passes of every cell, and the maximum of a cell with a wide interval.
    pub passes: [u32; 2],
    /// Rounds per pass over all cells.
    pub rounds_per_pass: u64,
    /// Concurrent pairs.
    pub parallel: u32,
    /// The kernels timed in each visit.
    pub kernels: Vec<String>,
    /// Expected machine time.
    pub machine_time: Picos,
    /// The basis of the prediction, as text.
    pub basis: String,
    /// Expected size of the run file in bytes.
    pub file_bytes: u64,
}

/// The predicted course of the trials of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPlan {
    /// Trials.
    pub trials: usize,
    /// Concurrent pairs if concurrency is proven harmless; 1 is serial.
    pub parallel: usize,
    /// Whether some trials could run concurrently at all.
    pub could_be_parallel: bool,
    /// Length of one pass of one trial.
    pub pass: Picos,
    /// Minimum passes of every trial, and the maximum of a trial with a wide interval.
    pub passes: [u32; 2],
    /// Number of trials of each probe, and the length of one of its passes.
    pub probes: Vec<(String, usize, Picos)>,
    /// Maximum time for runtimes in other languages to settle at the start.
    pub settling: Picos,
    /// Machine time: the minimum if everything is stable, and the maximum.
    pub machine_time: [Picos; 2],
}
