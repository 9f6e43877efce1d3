//! Runs a latency measurement: pilot, map, gate, re-measurement, ladder, execution, tails. Also imitates other tools.
//!
//! [`run`] orders the phases. All use the driver, which performs rounds, keeps the budget and passes everything to the
//! sink.

mod driver;
mod estimate;
mod execution;
mod gate;
mod imitate;
mod ladder;
mod map;
mod pilot;
mod remeasure;
mod tails;
mod visit_log;
mod visit_plan;

pub use super::run_loop::{Ended, ResumedState, RunError};
pub use estimate::plan;
pub use imitate::least_time;

use super::{Observer, Sink};
use crate::machine::Machine;
use crate::stop::Stop;
use coretalk_model::Picos;
use coretalk_model::latency::{LatencyResult, LatencySettings};
use driver::Driver;

/// Measures a map on a machine with engaged workers. `resumed` holds the results of earlier segments of the same run,
/// whose finished visits are not repeated; it is empty for a new run. Fails with [`RunError::Interrupted`] if the user
/// stopped the run and the sink has kept everything. After other errors, committed data remain.
pub fn run(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    resumed: ResumedState,
    sink: &mut dyn Sink,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<(LatencyResult, Ended), RunError> {
    let mut driver = Driver::new(machine, settings, resumed, sink, observer, stop)?.then(after_map);
    let ended = measure(&mut driver)?;
    driver.finish(ended)
}

type Phase = fn(&mut Driver<'_>) -> Result<Ended, RunError>;

fn measure(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    if !driver.settings.imitate.is_empty() {
        return imitate::perform(driver);
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
    for (index, phase) in phases.into_iter().enumerate() {
        // The map updates the expected time itself, with every pass.
        if index > 1 {
            let remaining = ladder::remaining(driver).alone();
            driver.foresee(remaining);
        }
        match phase(driver)? {
            Ended::Complete => {}
            // Each later phase checks whether it still fits. A map that uses up its share must not cost the ladder.
            Ended::Budget => driver.budget_ended = true,
            Ended::Interrupted => return Ok(Ended::Interrupted),
        }
    }
    Ok(if driver.budget_ended { Ended::Budget } else { Ended::Complete })
}

/// Expected machine time of the phases after the map and its ladder, which end after `spent`.
fn after_map(driver: &Driver<'_>, spent: Picos) -> Picos {
    let known = gate::remaining(driver) + remeasure::remaining(driver) + execution::remaining(driver);
    known + tails::machine_time(driver.settings, driver.pairs.len(), driver.settings.budget - (spent + known))
}
