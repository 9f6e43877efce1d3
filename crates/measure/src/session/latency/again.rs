//! Second measurements: cells that do not fit are measured again, on fresh lines, before they are believed.

use super::RunError;
use super::driver::{Driver, Flow};
use super::map::PASS_GAP;
use crate::schedule;
use coretalk_model::latency::analyse::{Survey, flag_outliers};
use coretalk_model::latency::cell::Scratch;
use coretalk_model::latency::{Cell, Counts, Purpose};
use coretalk_model::{Flag, KernelId, Protocol};
use std::collections::BTreeSet;
use std::ops::Range;

/// Two independent second measurements of four visits each, half a pass gap apart at least: the ladder is climbed
/// between them.
const VISITS: u32 = 8;
const FIRST: u32 = VISITS / 2;
/// States in more than one cell of so many are those of the machine.
const MACHINE_WIDE: usize = 10;

/// The first measurement.
pub fn first(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    if driver.settings.counts != Counts::Adaptive || driver.menu.tiny || driver.budget_ended {
        return Ok(Flow::On);
    }
    let suspects = suspects(driver);
    if driver.is_stopped() {
        return Ok(Flow::Stopped);
    }
    visits(driver, &suspects, 0..FIRST)
}

/// The second measurement, of what had a first one.
pub fn second(driver: &mut Driver<'_>) -> Result<Flow, RunError> {
    let known: BTreeSet<u32> = driver.ledger.record.others(Purpose::Again).map(|entry| entry.cell).collect();
    let suspects: Vec<u32> = known.into_iter().collect();
    if suspects.is_empty() || driver.budget_ended {
        return Ok(Flow::On);
    }
    if let Some(last) = driver.last_of(Purpose::Again) {
        let spent = driver.machine.now().saturating_sub(last);
        if spent < PASS_GAP && !driver.due(Purpose::Again, FIRST, &suspects).is_empty() {
            driver.pause(PASS_GAP - spent)?;
        }
    }
    visits(driver, &suspects, FIRST..VISITS)
}

fn visits(driver: &mut Driver<'_>, suspects: &[u32], passes: Range<u32>) -> Result<Flow, RunError> {
    if suspects.is_empty() {
        return Ok(Flow::On);
    }
    driver.phase(Purpose::Again);
    let pairs = driver.choices.regime.as_ref().map_or(1, |regime| regime.pairs) as usize;
    for pass in passes {
        let key = driver.key(Purpose::Again, pass);
        let due = driver.due(Purpose::Again, pass, suspects);
        let rounds = if pairs > 1 {
            schedule::parallel(&driver.topology, &driver.pairs, &due, pairs, key)
        } else {
            schedule::serial(&due, key)
        };
        let flow = driver.perform(Purpose::Again, pass, &rounds, &|menu, cell| menu.map(cell, 0))?;
        if flow != Flow::On {
            return Ok(flow);
        }
    }
    Ok(Flow::On)
}

/// Cells with disturbed passes or states of their own, and cells that do not fit their relation, in any map.
fn suspects(driver: &Driver<'_>) -> Vec<u32> {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let mut suspects = BTreeSet::new();
    for (&protocol, chosen) in
        driver.choices.hints.iter().filter(|(protocol, _)| **protocol != Protocol::OneWay)
    {
        let kernel = KernelId::of(protocol, chosen.hint);
        let survey = Survey::new(
            &driver.topology,
            driver.settings,
            &driver.ledger.record,
            &regime,
            &driver.pairs,
            &kernel,
        );
        let mut scratch = Scratch::default();
        let mut cells: Vec<Cell> = (0..survey.len())
            // Judging half a million cells takes too long for somebody who waits.
            .map(|cell| {
                match (!driver.is_stopped()).then(|| survey.judge_with(cell, &mut scratch)).flatten() {
                    Some(value) => Cell::Measured(Box::new(value)),
                    None => Cell::Missing { reason: String::new() },
                }
            })
            .collect();
        if driver.is_stopped() {
            return Vec::new();
        }
        flag_outliers(&survey, &mut cells);
        let with = |wanted: Flag| {
            let flagged = (0..)
                .zip(&cells)
                .filter(move |(_, cell)| cell.value().is_some_and(|value| value.flags.contains(wanted)));
            flagged.map(|(index, _)| index)
        };
        suspects.extend(with(Flag::Drift).chain(with(Flag::ModelOutlier)));
        // Two disturbed passes of a cell look like a state of its own. Where many cells show states the machine has
        // them, and measuring again would only show them again.
        if with(Flag::Multimodal).count() * MACHINE_WIDE <= cells.len() {
            suspects.extend(with(Flag::Multimodal));
        }
    }
    suspects.into_iter().collect()
}
