//! Driving a latency run: pilot, map, gate, re-measurement, ladder, shared execution, tails; or another tool's counts.
//!
//! The order of work is in [`run`]; each phase is a file of its own. All of them go through the driver, which
//! performs rounds, keeps the budget and hands everything to the sink.

mod driver;
mod estimate;
mod execution;
mod gate;
mod ladder;
mod map;
mod pilot;
mod reducer;
mod remeasure;
mod tails;
mod visit_log;
mod visit_plan;

pub use super::run_loop::{Ended, ResumedState, RunError};
pub use estimate::{PlanReport, plan};

use super::{Observer, Sink};
use crate::machine::Machine;
use crate::probes::imitation::Imitation;
use crate::stop::Stop;
use coretalk_model::Picos;
use coretalk_model::latency::{LatencyResult, LatencySettings, Purpose};
use driver::Driver;
use std::sync::Arc;

/// Measures what the settings ask for, on a machine whose workers are engaged. `resumed` is what earlier segments of the
/// same run said (empty for a new run): finished visits are not repeated.
///
/// # Errors
/// [`RunError`]; whatever was committed before stays. [`RunError::Interrupted`] where somebody wished to end and the
/// sink has kept everything.
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

/// One phase of a run, in a file of its own.
type Phase = fn(&mut Driver<'_>) -> Result<Ended, RunError>;

fn measure(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    if !driver.settings.imitate.is_empty() {
        return imitate(driver);
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
        // A map says itself at every pass how much is left.
        if index > 1 {
            let left = ladder::remaining(driver).alone();
            driver.foresee(left);
        }
        match phase(driver)? {
            Ended::Complete => {}
            // A budget that ended during the map must not cost the short ladder as well: each phase looks for itself
            // whether it still fits.
            Ended::Budget => driver.budget_ended = true,
            Ended::Interrupted => return Ok(Ended::Interrupted),
        }
    }
    Ok(if driver.budget_ended { Ended::Budget } else { Ended::Complete })
}

/// Machine time of what comes after a map and its ladder, where so much will be spent by then.
fn after_map(driver: &Driver<'_>, spent: Picos) -> Picos {
    let known = gate::remaining(driver) + remeasure::remaining(driver) + execution::remaining(driver);
    known + tails::machine_time(driver.settings, driver.pairs.len(), driver.settings.budget - (spent + known))
}

/// Another tool's kernel, placement and counts on every pair, once or once from each side, as that tool does.
fn imitate(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Imitation);
    let all: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    for (pass, &tool) in (0..).zip(&driver.settings.imitate) {
        let orders = Arc::from([Imitation::of(tool).counting(driver.settings.counts).order()]);
        let directions: &[Purpose] = match tool.measures_both_directions() {
            false => &[Purpose::Imitation],
            true => &[Purpose::Imitation, Purpose::ImitationBack],
        };
        // In the order of the list and one after another: the tools do not shuffle. Where a budget ends, pairs are missing
        // and not one direction of all.
        let mut due: Vec<(u32, Purpose)> = Vec::new();
        for &purpose in directions {
            due.extend(driver.due(purpose, pass, &all).into_iter().map(|cell| (cell, purpose)));
        }
        due.sort_by_key(|&(cell, _)| cell);
        for same in due.chunk_by(|one, next| one.1 == next.1) {
            let rounds: Vec<Vec<u32>> = same.iter().map(|&(cell, _)| vec![cell]).collect();
            let ended = driver.perform(same[0].1, pass, &rounds, &|_, _| Arc::clone(&orders))?;
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
    }
    Ok(Ended::Complete)
}
