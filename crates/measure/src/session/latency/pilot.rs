//! The pilot: how long a round trip takes in each relation, and whether a pause gains.

use super::driver::Driver;
use super::visit_plan::candidates;
use super::{Ended, RunError};
use crate::schedule::CellRound;
use coretalk_model::latency::{Purpose, hint, representatives};
use coretalk_model::stats;
use coretalk_model::{CpuId, Picos, Relation};
use std::collections::BTreeMap;

/// Passes of the pilot: enough for a median that one stall does not move.
const PASSES: u32 = 3;
/// Lines of each of its spans: one aligned run covers the slices.
const LINES: u32 = 16;

/// The share of the budget that a pilot may take. A pilot that would take longer goes on with few round trips: on CPUs that
/// are emulated, or shared with other programs, a round trip takes up to a time slice of the system. Its first visit takes no
/// more by itself.
const SHARE: f64 = 0.1;

/// Visits representative pairs with every kernel that a map may end up with. A tiny machine decides its hints at the
/// end, from all passes (a pilot of its first two erred in up to 3 of 40 runs); any other decides here.
pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Pilot);
    let cells = representative_cells(driver);
    driver.visit_plan.prepare_other("pilot", &candidates(driver.settings), LINES);
    for pass in 0..PASSES {
        let due = driver.due(Purpose::Pilot, pass, &cells);
        let rounds = crate::schedule::serial(&due, driver.key(Purpose::Pilot, pass));
        // The first visit of all says how long the others will take.
        let (first, others) = rounds.split_at(rounds.len().min(usize::from(pass == 0)));
        for rounds in [first, others] {
            let (began, is_first) = (driver.run.now(), pass == 0 && rounds.len() == 1);
            let share = Picos::from_secs(SHARE * driver.settings.budget.secs());
            driver.run.limit(is_first.then_some(share));
            let mut ended = visit(driver, pass, rounds)?;
            driver.run.limit(None);
            let is_long = ended == Ended::Budget && driver.run.left() > Picos::ZERO;
            let foreseen = (driver.run.now() - began).secs() * f64::from(PASSES) * cells.len() as f64;
            if is_first && (is_long || foreseen > share.secs()) {
                driver.visit_plan.shorten("pilot");
                driver.log.forget_times(Purpose::Pilot);
            }
            if is_first && is_long {
                ended = visit(driver, pass, rounds)?;
            }
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
    }
    let seen = round_trips(driver);
    driver.visit_plan.set_round_trips(seen);
    if !driver.visit_plan.tiny {
        for &protocol in &driver.settings.protocols {
            if !driver.choices.hints.contains_key(&protocol) {
                let chosen = hint::choose(driver.settings, &driver.log.record, protocol);
                driver.choices.hints.insert(protocol, chosen);
            }
        }
        driver.decide()?;
    }
    Ok(Ended::Complete)
}

fn visit(driver: &mut Driver<'_>, pass: u32, rounds: &[CellRound]) -> Result<Ended, RunError> {
    driver.perform(Purpose::Pilot, pass, rounds, &|plan, cell| plan.other("pilot", cell))
}

/// Positions of a few cells of each relation.
pub fn representative_cells(driver: &Driver<'_>) -> Vec<u32> {
    let chosen: Vec<[CpuId; 2]> = representatives(&driver.topology, driver.pairs.iter().copied());
    (0..driver.pairs.len() as u32).filter(|&cell| chosen.contains(&driver.pairs[cell as usize])).collect()
}

/// Median round trip of each relation in nanoseconds, under the fastest kernel of each visit.
fn round_trips(driver: &Driver<'_>) -> BTreeMap<Relation, f64> {
    let mut seen: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
    for entry in driver.log.record.others(Purpose::Pilot) {
        let Ok(visit) = &entry.outcome else { continue };
        let hops = visit.spans.iter().map(|span| f64::from(span.location_ns));
        if let Some(fastest) = hops.min_by(f64::total_cmp) {
            seen.entry(driver.relations[entry.cell as usize]).or_default().push(2.0 * fastest);
        }
    }
    seen.into_iter().filter_map(|(relation, values)| Some((relation, stats::median(&values)?))).collect()
}
