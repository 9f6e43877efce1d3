//! [`LatencyPlan`] and [`SeriesPlan`]: the course of a run and its expected duration.

use crate::{Picos, Relation};

/// The predicted course of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyPlan {
    /// Number of cells (pairs) of the map.
    pub cells: u64,
    /// Number of pairs of each relation.
    pub relations: Vec<(Relation, u64)>,
    /// Minimum number of passes of every cell, and maximum number of passes of a cell with a wide interval.
    pub passes: [u32; 2],
    /// Number of rounds per pass over all cells.
    pub rounds_per_pass: u64,
    /// Number of concurrent pairs.
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
    /// Number of trials.
    pub trials: usize,
    /// Number of concurrent pairs if concurrency is proven harmless; 1 is serial.
    pub parallel: usize,
    /// Whether some trials could run concurrently.
    pub could_be_parallel: bool,
    /// Duration of one pass of one trial.
    pub pass: Picos,
    /// Minimum number of passes of every trial, and maximum number of passes of a trial with a wide interval.
    pub passes: [u32; 2],
    /// Number of trials of each probe, and the duration of one pass.
    pub probes: Vec<(String, usize, Picos)>,
    /// Maximum time for runtimes in other languages to settle at the start.
    pub settling: Picos,
    /// Machine time: the minimum if everything is stable, and the maximum.
    pub machine_time: [Picos; 2],
}
