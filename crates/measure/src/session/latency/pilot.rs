//! The pilot: measures the round-trip time of each relation, and whether a pause is faster.

use super::driver::Driver;
use super::visit_plan::candidates;
use super::{Ended, RunError};
use crate::schedule::CellRound;
use coretalk_model::latency::{Purpose, hint};
use coretalk_model::stats;
use coretalk_model::{Picos, Relation};
use std::collections::BTreeMap;

/// Number of passes. One stall does not move the median of three.
const PASSES: u32 = 3;
/// Lines of each span: one aligned run, which covers the slices of the cache.
const LINES: u32 = 16;

/// Maximum share of the budget for the pilot. A longer pilot continues with few round trips, since a round trip takes
/// up to a quantum on CPUs that are emulated or shared with other programs. The first visit has this limit, and the
/// other visits of the first pass together have it again.
const SHARE: f64 = 0.1;

/// Visits representative pairs with every kernel that a map may use. Then chooses the hints. A tiny machine chooses
/// them at the end, from all passes: a pilot of its first two passes erred in up to 3 of 40 runs.
pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Pilot);
    let cells = driver.representatives.clone();
    driver.visit_plan.prepare_other("pilot", &candidates(driver.settings), LINES);
    let share = Picos::from_secs(SHARE * driver.settings.budget.secs());
    let mut is_short = false;
    for pass in 0..PASSES {
        let all = rounds(driver, pass, &cells);
        // The first visit predicts the time of the others in the first pass. These show the times of other relations.
        let (first, others) = all.split_at(all.len().min(usize::from(pass == 0)));
        for group in [first, others] {
            let (began, is_tried) = (driver.run.now(), pass == 0 && !is_short && !group.is_empty());
            driver.run.limit(is_tried.then_some(share));
            let mut ended = visit(driver, pass, group)?;
            driver.run.limit(None);
            let is_long = ended == Ended::Budget && driver.run.left() > Picos::ZERO;
            let each = (driver.run.now() - began).secs() / group.len().max(1) as f64;
            if is_tried && (is_long || each * f64::from(PASSES) * cells.len() as f64 > share.secs()) {
                is_short = true;
                driver.visit_plan.shorten("pilot");
                driver.log.forget_times(Purpose::Pilot);
            }
            if is_tried && is_long {
                let due = rounds(driver, pass, &cells);
                ended = visit(driver, pass, &due[..due.len().min(group.len())])?;
            }
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
    }
    let measured = round_trips(driver);
    driver.visit_plan.set_round_trips(measured);
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

fn rounds(driver: &Driver<'_>, pass: u32, cells: &[u32]) -> Vec<CellRound> {
    let due = driver.due(Purpose::Pilot, pass, cells);
    crate::schedule::serial(&due, driver.key(Purpose::Pilot, pass))
}

fn visit(driver: &mut Driver<'_>, pass: u32, rounds: &[CellRound]) -> Result<Ended, RunError> {
    driver.perform(Purpose::Pilot, pass, rounds, &|plan, cell| plan.other("pilot", cell))
}

fn round_trips(driver: &Driver<'_>) -> BTreeMap<Relation, f64> {
    let mut by_relation: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
    for entry in driver.log.record.others(Purpose::Pilot) {
        let Ok(visit) = &entry.outcome else { continue };
        let hops = visit.spans.iter().map(|span| f64::from(span.location_ns));
        if let Some(fastest) = hops.min_by(f64::total_cmp) {
            by_relation.entry(driver.relations[entry.cell as usize]).or_default().push(2.0 * fastest);
        }
    }
    by_relation
        .into_iter()
        .filter_map(|(relation, values)| Some((relation, stats::median(&values)?)))
        .collect()
}
