//! [`plan`]: what a run would measure and how long it takes, after a short pilot.

use super::driver::Driver;
use super::{Ended, Past, RunError, outline, pilot};
use crate::machine::Machine;
use crate::stop::Stop;
use coretalk_model::latency::LatencySettings;
use coretalk_model::{Picos, Relation};
use std::collections::BTreeMap;

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
    /// What the expectation rests on, in words.
    pub basis: String,
    /// Expected size of the run file in bytes.
    pub file_bytes: u64,
}

/// Bytes of a visit in the run file: raw ticks where they are kept, else a summary per span. Fitted to the files of
/// seven simulated machines of 4 to 192 CPUs, which come out at 0.74 to 1.03 times their size: cells that get a second
/// analysis and the gate are not foreseen.
const RAW_BYTES_PER_BATCH: f64 = 1.8;
const SUMMARY_BYTES_PER_SPAN: f64 = 22.0;
const ROW_BYTES: f64 = 56.0;
const EMPTY_FILE_BYTES: f64 = 100_000.0;

/// Says what [`run`](super::run) would do, after a pilot on representative pairs that is thrown away.
///
/// # Errors
/// [`RunError`] where the machine cannot even pilot.
pub fn plan(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    stop: &Stop,
) -> Result<PlanReport, RunError> {
    let (mut sink, mut observer) = ((), ());
    let mut driver = Driver::new(machine, settings, Past::default(), &mut sink, &mut observer, stop)?;
    if pilot::perform(&mut driver)? == Ended::Interrupted {
        return Err(RunError::Settings("plan: interrupted before the pilot ended".into()));
    }
    let outline = outline::outline(&mut driver)?;
    let mut relations: BTreeMap<Relation, u64> = BTreeMap::new();
    for &relation in &driver.relations {
        *relations.entry(relation).or_default() += 1;
    }
    // What the budget leaves no time for is not written.
    let time = outline.machine_time.secs();
    let in_budget = if time > 0.0 { (settings.budget.secs() / time).min(1.0) } else { 1.0 };
    let visits = driver.pairs.len() as f64 * outline.expected_passes * in_budget;
    let per_visit = if settings.keep_raw || settings.cpus.len() <= super::visit_log::RAW_CPUS {
        ROW_BYTES + RAW_BYTES_PER_BATCH * outline.batches_per_visit
    } else {
        SUMMARY_BYTES_PER_SPAN * outline.spans_per_visit
    };
    let map_time = outline.machine_time.min(settings.budget);
    let tails = super::tails::machine_time(settings, driver.pairs.len(), settings.budget - map_time);
    let basis = match tails {
        Picos::ZERO => outline.basis,
        tails => format!("{}; {tails} of it for single round trips", outline.basis),
    };
    Ok(PlanReport {
        cells: driver.pairs.len() as u64,
        relations: relations.into_iter().collect(),
        passes: outline.passes,
        rounds_per_pass: outline.rounds_per_pass,
        parallel: outline.parallel,
        kernels: outline.kernels,
        machine_time: map_time + tails,
        basis,
        file_bytes: (EMPTY_FILE_BYTES + visits * per_visit) as u64,
    })
}
