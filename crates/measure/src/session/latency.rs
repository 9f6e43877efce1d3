//! Driving a latency run: pilot, map, gate, re-measurement, ladder.

use super::{Observer, Sink, SinkError};
use crate::machine::{Machine, MachineError};
use crate::stop::Stop;
use coretalk_model::latency::{LatencyResult, LatencySettings, Record};
use coretalk_model::{Picos, Relation};

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine as a whole failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// What was measured could not be kept.
    #[error("keep what was measured: {0}")]
    Sink(#[from] SinkError),
    /// The settings ask for something that this machine does not have.
    #[error("{0}")]
    Settings(String),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything planned was done.
    Complete,
    /// The budget ended; wide intervals stay and are said.
    Budget,
    /// Somebody wished to end; the rest can be resumed.
    Interrupted,
}

/// Measures what the settings ask for. `past` is what earlier segments of the same run said (empty for a new run):
/// finished trials are not repeated.
///
/// # Errors
/// [`RunError`]; whatever was committed before stays.
pub fn run(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    past: Record,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(LatencyResult, Ended), RunError> {
    let _ = (machine, settings, past, sink, observer, stop);
    Err(RunError::Settings("measure: not built yet".into()))
}

/// What would be measured and how long it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanReport {
    /// Cells (pairs) of the map.
    pub cells: u64,
    /// Pairs of each relation.
    pub relations: Vec<(Relation, u64)>,
    /// Passes that every cell gets, and the most a wide cell can get.
    pub passes: [u32; 2],
    /// Rounds in a pass over all cells.
    pub rounds_per_pass: u64,
    /// Pairs at the same time.
    pub parallel: u32,
    /// The kernels timed in each visit.
    pub kernels: Vec<String>,
    /// Expected machine time.
    pub machine_time: Picos,
    /// What the expectation rests on, in words (a pilot of so many pairs, or typical values).
    pub basis: String,
    /// Expected size of the run file in bytes.
    pub file_bytes: u64,
}

/// Says what [`run`] would do, after a short pilot on representative pairs.
///
/// # Errors
/// [`RunError`] where the machine cannot even pilot.
pub fn plan(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    stop: &Stop,
) -> Result<PlanReport, RunError> {
    let _ = (machine, settings, stop);
    Err(RunError::Settings("plan: not built yet".into()))
}
