//! Tails: every single round trip of each pair, counted over a stated time.

use super::RunError;
use super::driver::{Driver, Flow};
use coretalk_model::latency::Purpose;
use coretalk_model::{Hint, KernelId, Picos, Relation};
use std::collections::BTreeMap;

/// Visits of each pair, spread over the rest of the budget.
const VISITS: u32 = 4;
/// Shortest and longest observation of a pair in one visit.
const SHORTEST: Picos = Picos::from_ms(5);
const LONGEST: Picos = Picos::from_ms(400);

pub fn perform(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    if driver.settings.tails.is_none() {
        return Ok(Flow::On);
    }
    driver.phase(Purpose::Tails);
    let visits = driver.pairs.len() as f64 * f64::from(VISITS);
    let share = Picos::from_secs(driver.left().secs() * 0.9 / visits).clamp(SHORTEST, LONGEST);
    let protocol = driver.settings.protocols[0];
    let hint = driver.choices.hints.get(&protocol).map_or(Hint::None, |chosen| chosen.hint);
    let trips: BTreeMap<Relation, u64> = driver
        .relations
        .iter()
        .map(|&relation| {
            let clock_ns = driver.choices.clock_ns.unwrap_or(0.0);
            let trip_ns = driver.menu.round_trip_ns(relation).unwrap_or(200.0) + clock_ns;
            (relation, (share.ns() / trip_ns.max(1.0)) as u64)
        })
        .collect();
    driver.menu.prepare_events("tails", &KernelId::of(protocol, hint), |relation| trips[&relation].max(1));
    let cells: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    for pass in 0..VISITS {
        let due = driver.due(Purpose::Tails, pass, &cells);
        let rounds = crate::schedule::serial(&due, driver.key(Purpose::Tails, pass));
        let flow = driver.perform(Purpose::Tails, pass, &rounds, &|menu, cell| menu.other("tails", cell))?;
        if flow != Flow::On {
            return Ok(flow);
        }
    }
    Ok(Flow::On)
}
