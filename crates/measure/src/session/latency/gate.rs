//! The gate: tests whether a pair is as fast during concurrent measurement as alone.

use super::driver::Driver;
use super::{Ended, RunError, map};
use crate::schedule;
use crate::session::PASS_GAP;
use coretalk_model::latency::analyse::Survey;
use coretalk_model::latency::{ChosenRegime, GateOutcome, Purpose};
use coretalk_model::stats::compare::Equivalence;
use coretalk_model::stats::gate::{GATE_CELLS, GATE_MARGIN, parallel_bias};
use coretalk_model::stats::{self, ANALYSES};
use coretalk_model::{Hint, KernelId, Picos, Relation};
use std::collections::{BTreeMap, BTreeSet};

/// Visits of each gate cell alone. Their median is reproducible within half of the margin.
const VISITS: u32 = 4;

/// Measures some cells of each relation alone and compares them with the concurrent values. A relation that fails is
/// repeated with half as many concurrent pairs, down to one. If it stays biased, its values are flagged.
pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    let parallel = driver.choices.regime.as_ref().is_some_and(|regime| regime.pairs > 1);
    if !parallel || driver.choices.hints.is_empty() {
        return Ok(Ended::Complete);
    }
    driver.run.phase(Purpose::Gate);
    // Relations judged by an earlier segment are not judged again.
    let known = driver.choices.regime.as_ref().map_or(&[][..], |regime| &regime.gate);
    let judged = |relation: &Relation| known.iter().any(|o| o.relation == *relation && o.cells > 0);
    let mut pending: BTreeSet<Relation> =
        driver.relations.iter().copied().filter(|relation| !judged(relation)).collect();
    let mut widths: BTreeMap<Relation, u32> =
        known.iter().map(|outcome| (outcome.relation, outcome.pairs)).collect();
    loop {
        let ended = measure_alone(driver, &pending)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
        if driver.run.is_stopped() {
            return Ok(Ended::Interrupted);
        }
        let outcomes = judge(driver, &pending, &widths);
        // A relation without a comparable cell needs no repetition.
        let refused: Vec<GateOutcome> =
            outcomes.iter().filter(|o| !o.equivalent && o.pairs > 1 && o.cells > 0).cloned().collect();
        record_outcomes(driver, outcomes)?;
        pending.clear();
        let mut sweep_ns = 0.0;
        for outcome in refused {
            let narrower = outcome.pairs / 2;
            let more_ns = sweep_ns + sweep_of_ns(driver, outcome.relation, narrower);
            if fits(driver, more_ns) {
                sweep_ns = more_ns;
                widths.insert(outcome.relation, narrower);
                pending.insert(outcome.relation);
            }
        }
        if pending.is_empty() {
            return Ok(Ended::Complete);
        }
        let before = driver.choices.regime.clone();
        begin_again(driver, &pending, &widths)?;
        let ended = map::perform_until_done(driver, &|relation| pending.contains(&relation))?;
        if ended == Ended::Budget && map::fewest_made(driver, &pending) < ANALYSES[0] as u32 {
            // Biased values with a flag are better than none.
            driver.choices.regime = before;
            driver.decide()?;
        }
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
}

/// Visits up to 64 cells of each relation alone on the idle machine.
fn measure_alone(driver: &mut Driver<'_>, relations: &BTreeSet<Relation>) -> Result<Ended, RunError> {
    let done = driver.log.record.others(Purpose::Gate).map(|entry| entry.pass + 1).max().unwrap_or(0);
    let cells: Vec<u32> = relations.iter().flat_map(|&relation| gate_cells(driver, relation)).collect();
    for pass in done..done + VISITS {
        let rounds = schedule::serial(&cells, driver.key(Purpose::Gate, pass));
        let ended = driver.perform(Purpose::Gate, pass, &rounds, &|plan, cell| plan.map(cell, 0))?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    Ok(Ended::Complete)
}

/// Expected time of a gate that is still due, from the time of a map visit.
pub fn remaining(driver: &Driver<'_>) -> Picos {
    let is_due = |regime: &ChosenRegime| regime.pairs > 1 && regime.gate.is_empty();
    if !driver.choices.regime.as_ref().is_some_and(is_due) {
        return Picos::ZERO;
    }
    let mut cells: BTreeMap<Relation, (usize, u32)> = BTreeMap::new();
    for (cell, &relation) in (0..).zip(&driver.relations) {
        cells.entry(relation).or_insert((0, cell)).0 += 1;
    }
    let visits = |&(count, cell): &(usize, u32)| {
        let known = driver.expect(Purpose::Map, &vec![cell]);
        count.min(GATE_CELLS) as f64 * known.unwrap_or_else(|| map::visit_ns(driver, cell as usize))
    };
    Picos::from_ns(cells.values().map(visits).sum::<f64>() * f64::from(VISITS))
}

/// Expected time of the first gate, from the time of a visit alone.
pub fn expected_ns(driver: &Driver<'_>, alone_ns: &dyn Fn(u32) -> f64) -> f64 {
    let relations: BTreeSet<Relation> = driver.relations.iter().copied().collect();
    let cells = relations.iter().flat_map(|&relation| gate_cells(driver, relation));
    cells.map(alone_ns).sum::<f64>() * f64::from(VISITS)
}

fn gate_cells(driver: &Driver<'_>, relation: Relation) -> Vec<u32> {
    let is_candidate =
        |cell: &u32| driver.relations[*cell as usize] == relation && !driver.log.has_failed(*cell);
    let mut cells: Vec<u32> = (0..driver.pairs.len() as u32).filter(is_candidate).collect();
    driver.key(Purpose::Gate, 0).with(relation.code()).shuffle(&mut cells);
    cells.truncate(GATE_CELLS);
    cells
}

/// Compares the cells of each relation that were measured both concurrently and alone, under the kernel of the first
/// map.
fn judge(
    driver: &Driver<'_>,
    relations: &BTreeSet<Relation>,
    widths: &BTreeMap<Relation, u32>,
) -> Vec<GateOutcome> {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let kernel = first_map_kernel(driver);
    let survey =
        Survey::new(&driver.topology, driver.settings, &driver.log.record, &regime, &driver.pairs, &kernel);
    let mut alone: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for entry in driver.log.record.others(Purpose::Gate) {
        let Ok(visit) = &entry.outcome else { continue };
        for span in visit.spans.iter().filter(|span| span.kernel == kernel) {
            alone.entry((entry.cell, span.home.0)).or_default().push(f64::from(span.location_ns));
        }
    }
    relations
        .iter()
        .map(|&relation| {
            let (mut parallel, mut serial) = (Vec::new(), Vec::new());
            for cell in gate_cells(driver, relation) {
                let Some(value) = survey.judge(cell as usize) else { continue };
                let Some(values) = alone.get(&(cell, value.home.0)) else { continue };
                let Some(median) = stats::median(values) else { continue };
                parallel.push(value.latency_ns.point);
                serial.push(median);
            }
            let bias = parallel_bias(&parallel, &serial, GATE_MARGIN);
            GateOutcome {
                relation,
                pairs: widths.get(&relation).copied().unwrap_or(regime.pairs),
                bias: bias.map_or(GateOutcome::UNKNOWN, |bias| bias.log_ratio),
                cells: parallel.len() as u32,
                equivalent: bias.is_some_and(|bias| bias.verdict == Equivalence::Equivalent),
            }
        })
        .collect()
}

fn first_map_kernel(driver: &Driver<'_>) -> KernelId {
    let protocol = driver.settings.protocols[0];
    KernelId::new(protocol, driver.choices.hints.get(&protocol).map_or(Hint::None, |chosen| chosen.hint))
}

fn record_outcomes(driver: &mut Driver<'_>, outcomes: Vec<GateOutcome>) -> Result<(), RunError> {
    if let Some(regime) = &mut driver.choices.regime {
        for outcome in outcomes {
            regime.gate.retain(|known| known.relation != outcome.relation);
            regime.gate.push(outcome);
        }
        regime.gate.sort_by_key(|outcome| outcome.relation);
    }
    driver.decide()
}

fn sweep_of_ns(driver: &Driver<'_>, relation: Relation, pairs: u32) -> f64 {
    let cells = driver.relations.iter().filter(|&&other| other == relation).count();
    let first = driver.relations.iter().position(|&other| other == relation).unwrap_or(0);
    map::visit_ns(driver, first) * cells as f64 / f64::from(pairs)
}

/// Whether the remaining time suffices for the passes of the first analysis.
fn fits(driver: &Driver<'_>, sweep_ns: f64) -> bool {
    let passes = ANALYSES[0] as f64 * sweep_ns.max(PASS_GAP.ns());
    passes < driver.run.left().ns() * map::MAP_SHARE
}

/// Discards the passes of these relations. They stay in the run file but do not count any more.
fn begin_again(
    driver: &mut Driver<'_>,
    relations: &BTreeSet<Relation>,
    widths: &BTreeMap<Relation, u32>,
) -> Result<(), RunError> {
    let next = (0..driver.pairs.len())
        .filter_map(|cell| driver.log.record.passes(cell)?.heads().last().map(|head| head.pass + 1))
        .max()
        .unwrap_or(0);
    let regime: &mut ChosenRegime = driver.choices.regime.get_or_insert_default();
    for relation in relations {
        regime.valid_from.insert(*relation, next);
        for outcome in regime.gate.iter_mut().filter(|outcome| outcome.relation == *relation) {
            let pairs = widths[relation];
            *outcome = GateOutcome {
                relation: *relation,
                pairs,
                bias: GateOutcome::UNKNOWN,
                cells: 0,
                equivalent: false,
            };
        }
    }
    for (cell, closed) in driver.closed.iter_mut().enumerate() {
        *closed &= !relations.contains(&driver.relations[cell]);
    }
    driver.decide()
}
