//! Imitation of another tool, with its kernel, placement and counts on every pair, in one or both directions.

use super::driver::Driver;
use super::{Ended, ResumedState, RunError};
use crate::machine::Machine;
use crate::probes::imitation::Imitation;
use crate::schedule::CellRound;
use crate::stop::Stop;
use coretalk_model::latency::{LatencySettings, Purpose};
use coretalk_model::{Picos, Relation, Tool};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Imitation);
    let all: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    for (pass, &tool) in (0..).zip(&driver.settings.imitate) {
        let orders = Arc::from([imitation(driver, tool).order()]);
        // In list order, as the tools do not shuffle. Both directions of a pair are consecutive, so a run that ends
        // early leaves out whole pairs.
        let mut due: Vec<(u32, Purpose)> = Vec::new();
        for &purpose in directions(tool) {
            due.extend(driver.due(purpose, pass, &all).into_iter().map(|cell| (cell, purpose)));
        }
        due.sort_by_key(|&(cell, _)| cell);
        for group in due.chunk_by(|one, next| one.1 == next.1) {
            let rounds: Vec<CellRound> = group.iter().map(|&(cell, _)| vec![cell]).collect();
            let ended = driver.perform(group[0].1, pass, &rounds, &|_, _| Arc::clone(&orders))?;
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
    }
    Ok(Ended::Complete)
}

pub fn imitation(driver: &Driver<'_>, tool: Tool) -> Imitation {
    Imitation::for_tool(tool).counting(driver.settings.counts)
}

/// The directions in which a tool measures each pair.
pub fn directions(tool: Tool) -> &'static [Purpose] {
    match tool.measures_both_directions() {
        false => &[Purpose::Imitation],
        true => &[Purpose::Imitation, Purpose::ImitationBack],
    }
}

/// Machine time of all visits, from tries on some pairs of each relation; `None` if the budget ended meanwhile.
pub fn machine_time(driver: &mut Driver<'_>) -> Result<Option<Picos>, RunError> {
    let mut total = Picos::ZERO;
    for tool in driver.settings.imitate.clone() {
        let mut by_relation: BTreeMap<Relation, Vec<Picos>> = BTreeMap::new();
        for cell in driver.representatives.clone() {
            let Some(visit) = visit_time(driver, imitation(driver, tool), cell)? else { return Ok(None) };
            by_relation.entry(driver.relations[cell as usize]).or_default().push(visit);
        }
        for (relation, visits) in by_relation {
            let cells = driver.relations.iter().filter(|&&other| other == relation).count() as u64;
            let (sum, tried): (u64, _) = (visits.iter().map(|visit| visit.0).sum(), visits.len() as u64);
            let visits = cells.saturating_mul(directions(tool).len() as u64);
            total += Picos((sum / tried).saturating_mul(visits));
        }
    }
    Ok(Some(total))
}

/// Minimum time of the run: one visit of one pair by the first tool; `None` if even a part of it exceeds the budget.
pub fn least_time(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    stop: &Stop,
) -> Result<Option<Picos>, RunError> {
    let (mut sink, mut observer) = ((), ());
    let mut driver = Driver::new(machine, settings, ResumedState::default(), &mut sink, &mut observer, stop)?;
    let Some(&tool) = settings.imitate.first() else { return Ok(Some(Picos::ZERO)) };
    let imitation = imitation(&driver, tool);
    let mut least = None;
    for _ in 0..TRIES {
        let time = visit_time(&mut driver, imitation, 0)?;
        least = [least, time].into_iter().flatten().min();
        if least.is_none_or(|least| least <= settings.budget) {
            break;
        }
    }
    Ok(least)
}

/// Number of tries. The fastest counts, since other programs can only lengthen a try.
const TRIES: u32 = 3;
const TRY_DIVISOR: u32 = 50;

/// Time of a tool's full counts on a pair. Tries with single and double counts separate the fixed cost of a visit.
fn visit_time(driver: &mut Driver<'_>, imitation: Imitation, cell: u32) -> Result<Option<Picos>, RunError> {
    let few = imitation.visits.div_ceil(TRY_DIVISOR);
    let mut times = [Picos::ZERO; 2];
    for (visits, time) in [few, 2 * few].into_iter().zip(&mut times) {
        let orders = Arc::from([Imitation { visits, ..imitation }.order()]);
        let began = driver.run.now();
        match driver.perform(Purpose::Imitation, 0, &[vec![cell]], &|_, _| Arc::clone(&orders))? {
            Ended::Complete => *time = driver.run.now() - began,
            Ended::Budget => return Ok(None),
            Ended::Interrupted => return Err(RunError::Interrupted),
        }
    }
    let [once, twice] = times.map(|time| time.0);
    let batch = if twice > once { (twice - once) / u64::from(few) } else { twice / u64::from(2 * few) };
    let fixed = twice.saturating_sub(batch * u64::from(2 * few));
    Ok(Some(Picos(fixed.saturating_add(batch.saturating_mul(u64::from(imitation.visits))))))
}
