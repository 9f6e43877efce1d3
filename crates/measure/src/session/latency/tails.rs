//! Tails: times every single round trip of each pair for a fixed time.

use super::driver::Driver;
use super::{Ended, RunError};
use coretalk_model::latency::{LatencySettings, Purpose};
use coretalk_model::stats::ANALYSES;
use coretalk_model::{Hint, KernelId, Picos, Protocol, Relation};
use std::collections::BTreeMap;
use std::ops::Range;

/// Visits of each pair, spread over the rest of the budget.
const VISITS: u32 = 4;
/// Minimum and maximum length of a visit.
const MIN_VISIT: Picos = Picos::from_ms(5);
const MAX_VISIT: Picos = Picos::from_ms(400);

/// Visits of each pair for `one-way`. An interval over visits needs as many as the first analysis of a map.
const ONE_WAY_VISITS: u32 = ANALYSES[0] as u32;
const ONE_WAY_MESSAGES: u64 = 2_000;

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    if driver.settings.protocols.contains(&Protocol::OneWay) {
        let ended = one_way(driver)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    if driver.settings.tails.is_some() { round_trips(driver) } else { Ok(Ended::Complete) }
}

/// Single messages in each direction. Their recordings are kept, and the map of `one-way` is derived from them.
fn one_way(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Tails);
    let kernel = KernelId::new(Protocol::OneWay, Hint::None);
    driver.visit_plan.prepare_events("one-way", &kernel, |_| ONE_WAY_MESSAGES);
    visit_pairs(driver, "one-way", 0..ONE_WAY_VISITS)
}

/// Visits every pair alone. Passes that an earlier segment finished are not repeated.
fn visit_pairs(driver: &mut Driver<'_>, name: &'static str, passes: Range<u32>) -> Result<Ended, RunError> {
    let cells: Vec<u32> = (0..driver.pairs.len() as u32).collect();
    for pass in passes {
        let due = driver.due(Purpose::Tails, pass, &cells);
        let rounds = crate::schedule::serial(&due, driver.key(Purpose::Tails, pass));
        let ended = driver.perform(Purpose::Tails, pass, &rounds, &|plan, cell| plan.other(name, cell))?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    Ok(Ended::Complete)
}

fn visit_time(time_left: Picos, pairs: usize) -> Picos {
    let all = pairs as f64 * f64::from(VISITS);
    Picos::from_secs(time_left.secs() * 0.9 / all.max(1.0)).clamp(MIN_VISIT, MAX_VISIT)
}

/// Time of the requested tails out of the budget that remains after the map; zero without requested tails.
pub fn machine_time(settings: &LatencySettings, pairs: usize, time_left: Picos) -> Picos {
    match settings.tails {
        Some(_) => Picos(visit_time(time_left, pairs).0 * pairs as u64 * u64::from(VISITS)).min(time_left),
        None => Picos::ZERO,
    }
}

fn round_trips(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    driver.run.phase(Purpose::Tails);
    let visit_time = visit_time(driver.run.left(), driver.pairs.len());
    let of_round_trips = |protocol: &&Protocol| **protocol != Protocol::OneWay;
    let protocol = driver.settings.protocols.iter().find(of_round_trips).copied().unwrap_or(Protocol::Cas);
    let hint = driver.choices.hints.get(&protocol).map_or(Hint::None, |chosen| chosen.hint);
    let trips: BTreeMap<Relation, u64> = driver
        .relations
        .iter()
        .map(|&relation| {
            let clock_ns = driver.choices.clock_ns.unwrap_or(0.0);
            let trip_ns = driver.visit_plan.round_trip_ns(relation).unwrap_or(200.0) + clock_ns;
            (relation, (visit_time.ns() / trip_ns.max(1.0)) as u64)
        })
        .collect();
    driver
        .visit_plan
        .prepare_events("tails", &KernelId::new(protocol, hint), |relation| trips[&relation].max(1));
    // Numbered after the passes of `one-way`.
    visit_pairs(driver, "tails", ONE_WAY_VISITS..ONE_WAY_VISITS + VISITS)
}
