//! Driving a latency run: pilot, map, gate, re-measurement, ladder, shared execution, tails; or another tool's counts.
//!
//! The order of work is in [`run`]; each phase is a file of its own. All of them go through the driver, which
//! performs rounds, keeps the budget and hands everything to the sink.

mod driver;
mod estimate;
mod execution;
mod gate;
mod imitation;
mod ladder;
mod map;
mod outline;
mod pilot;
mod reducer;
mod remeasure;
mod tails;
mod visit_log;
mod visit_plan;

pub use estimate::{PlanReport, plan};

use super::{Observer, Sink, SinkError};
use crate::machine::{Machine, MachineError};
use crate::stop::Stop;
use coretalk_model::latency::{LatencyResult, LatencySettings, Record};
use driver::{Driver, Flow};

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
    /// Somebody wished to end, and the sink has kept everything. The result would take seconds for a large machine,
    /// and whoever wants it reads the run back.
    #[error("measure on: somebody wished to end")]
    Interrupted,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything planned was done.
    Complete,
    /// The budget ended; wide intervals stay and are said.
    Budget,
    /// Somebody wished to end, and the sink keeps nothing: this is all that is left of the run.
    Interrupted,
}

/// Measures what the settings ask for, on a machine whose workers are engaged. `past` is what earlier segments of the
/// same run said (empty for a new run): finished visits are not repeated.
///
/// # Errors
/// [`RunError`]; whatever was committed before stays. [`RunError::Interrupted`] where somebody wished to end and the
/// sink has kept everything.
pub fn run(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    past: Past,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(LatencyResult, Ended), RunError> {
    let mut driver = Driver::new(machine, settings, past, sink, observer, stop)?;
    let flow = measure(&mut driver)?;
    driver.finish(flow)
}

/// One phase of a run, in a file of its own.
type Phase = fn(&mut Driver<'_>) -> Result<Flow, RunError>;

fn measure(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    if !driver.settings.imitate.is_empty() {
        return imitation::perform(driver);
    }
    let phases: [Phase; 8] = [
        pilot::perform,
        map::perform,
        gate::perform,
        remeasure::first,
        ladder::perform,
        remeasure::second,
        execution::perform,
        tails::perform,
    ];
    for phase in phases {
        match phase(driver)? {
            Flow::On => {}
            // A budget that ended during the map must not cost the short ladder as well: each phase looks for itself
            // whether it still fits.
            Flow::BudgetEnded => driver.budget_ended = true,
            Flow::Stopped => return Ok(Flow::Stopped),
        }
    }
    Ok(if driver.budget_ended { Flow::BudgetEnded } else { Flow::On })
}

/// What earlier segments of a run said.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// Their visits and decisions.
    pub record: Record,
    /// How many there were: the number of the new one.
    pub segments: u32,
}
