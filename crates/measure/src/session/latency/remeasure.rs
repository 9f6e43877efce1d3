//! Re-measurement: outlier cells are measured again, on new lines, before their values are accepted. A cell is an
//! outlier if it does not fit its relation, as the system reports it, or the groups that the latencies show.

use super::driver::Driver;
use super::{Ended, RunError, map};
use crate::schedule;
use crate::session::PASS_GAP;
use coretalk_model::infer::{Observation, SuspectReason, infer};
use coretalk_model::latency::analyse::{JudgedCells, settled};
use coretalk_model::latency::{CellValue, Counts, Entry, Purpose};
use coretalk_model::{CpuId, Flag, Flags, Matrix, Picos};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Visits of a cell: two re-measurements of four each, at least half a pass gap apart, with the ladder in between.
const VISITS: u32 = 8;
const FIRST: u32 = VISITS / 2;
/// Divisor of the number of cells. States in more than this fraction are states of the machine. Groups that more cells
/// do not fit are discarded.
const MACHINE_WIDE: usize = 10;
/// Rounds of the search. A corrected cell may reveal groups that other cells do not fit.
const ROUNDS: u32 = 4;

pub fn first(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    if driver.settings.counts != Counts::Adaptive || driver.visit_plan.tiny || driver.budget_ended {
        return Ok(Ended::Complete);
    }
    // Re-measurements do not change the judgement of the passes.
    let Some(judged) = judge(driver) else { return Ok(Ended::Interrupted) };
    driver.judged = judged;
    let mut known = BTreeSet::new();
    for _ in 0..ROUNDS {
        if driver.run.is_stopped() {
            return Ok(Ended::Interrupted);
        }
        let found = suspects(driver, &known);
        let fresh: Vec<u32> = found.into_iter().filter(|&cell| known.insert(cell)).collect();
        if driver.run.is_stopped() {
            return Ok(Ended::Interrupted);
        }
        if fresh.is_empty() {
            break;
        }
        let ended = visits(driver, &fresh, 0..FIRST)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    Ok(Ended::Complete)
}

pub fn second(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    let known: BTreeSet<u32> = driver.log.record.others(Purpose::Again).map(|entry| entry.cell).collect();
    let suspects: Vec<u32> = known.into_iter().collect();
    if suspects.is_empty() || driver.budget_ended {
        return Ok(Ended::Complete);
    }
    if let Some(last) = driver.last_of(Purpose::Again) {
        let spent = driver.run.now().saturating_sub(last);
        if spent < PASS_GAP && !driver.due(Purpose::Again, FIRST, &suspects).is_empty() {
            driver.pause(PASS_GAP - spent)?;
        }
    }
    visits(driver, &suspects, FIRST..VISITS)
}

pub fn remaining(driver: &Driver<'_>) -> Picos {
    let mut made: BTreeMap<u32, u32> = BTreeMap::new();
    for entry in driver.log.record.others(Purpose::Again) {
        *made.entry(entry.cell).or_default() += 1;
    }
    let remaining_ns = |(&cell, &visits): (&u32, &u32)| {
        f64::from(VISITS.saturating_sub(visits)) * driver.expect(Purpose::Again, &vec![cell]).unwrap_or(0.0)
    };
    Picos::from_ns(made.iter().map(remaining_ns).sum())
}

fn visits(driver: &mut Driver<'_>, suspects: &[u32], passes: Range<u32>) -> Result<Ended, RunError> {
    if suspects.is_empty() {
        return Ok(Ended::Complete);
    }
    driver.run.phase(Purpose::Again);
    let pairs = driver.choices.regime.as_ref().map_or(1, |regime| regime.pairs) as usize;
    for pass in passes {
        let key = driver.key(Purpose::Again, pass);
        let due = driver.due(Purpose::Again, pass, suspects);
        let rounds = if pairs > 1 {
            schedule::parallel(&driver.topology, &driver.pairs, &due, pairs, key)
        } else {
            schedule::serial(&due, key)
        };
        let ended = driver.perform(Purpose::Again, pass, &rounds, &|plan, cell| plan.map(cell, 0))?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
    }
    Ok(Ended::Complete)
}

/// The judgement of every cell in each map of round trips; `None` after a stop, as half a million cells take long.
fn judge(driver: &Driver<'_>) -> Option<Vec<JudgedCells>> {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let go_on = || !driver.run.is_stopped();
    map::surveys(driver, &regime).iter().map(|survey| survey.judge_all(&go_on)).collect()
}

/// Disturbed cells, cells with their own states, and outliers of relations or groups, in any map. `known` cells have
/// been re-measured.
fn suspects(driver: &Driver<'_>, known: &BTreeSet<u32>) -> Vec<u32> {
    let regime = driver.choices.regime.clone().unwrap_or_default();
    let mut suspects = BTreeSet::new();
    for (map, judged) in driver.judged.iter().enumerate() {
        // Only visits of earlier rounds count, so that a continued run finds the same suspects.
        let mut settled_cells: BTreeMap<usize, CellValue> = BTreeMap::new();
        if !known.is_empty() {
            let survey = &map::surveys(driver, &regime)[map];
            let flags = |cell: usize| judged.value(cell).map_or(Flags::NONE, |value| value.flags);
            let wanted = |entry: &Entry| entry.pass < FIRST && known.contains(&entry.cell);
            settled_cells.extend(settled(survey, flags, wanted));
        }
        let value_of = |cell: usize| settled_cells.get(&cell).or(judged.value(cell));
        let mut multimodal = Vec::new();
        for cell in 0..judged.len() {
            let flags = value_of(cell).map_or(Flags::NONE, |value| value.flags);
            if flags.contains(Flag::Drift) || flags.contains(Flag::ModelOutlier) {
                suspects.insert(cell as u32);
            }
            if flags.contains(Flag::Multimodal) {
                multimodal.push(cell as u32);
            }
        }
        // Two disturbed passes look like a state of the cell. States of many cells are the machine's and would recur.
        if multimodal.len() * MACHINE_WIDE <= judged.len() {
            suspects.extend(multimodal);
            let seen = |cell: usize| {
                let value = value_of(cell)?;
                Observation::from_estimate(&value.latency_ns, value.flags)
            };
            suspects.extend(misfits(&driver.settings.cpus, &driver.pairs, seen));
        }
    }
    suspects.into_iter().collect()
}

/// Cells that do not fit the groups shown by latencies. Empty if pairs are missing, or if too many fit no group.
fn misfits(cpus: &[CpuId], pairs: &[[CpuId; 2]], seen: impl Fn(usize) -> Option<Observation>) -> Vec<u32> {
    let all = cpus.len() * cpus.len().saturating_sub(1) / 2;
    if cpus.len() < 3 || pairs.len() != all {
        return Vec::new();
    }
    let position: BTreeMap<CpuId, usize> = cpus.iter().copied().zip(0..).collect();
    let index_of = |[a, b]: [CpuId; 2]| {
        let (a, b) = (*position.get(&a)?, *position.get(&b)?);
        (a != b).then(|| a.max(b) * (a.max(b) - 1) / 2 + a.min(b))
    };
    let mut observed = vec![None; all];
    for (cell, &pair) in pairs.iter().enumerate() {
        if let Some(index) = index_of(pair) {
            observed[index] = seen(cell);
        }
    }
    let Ok(structure) = infer(Matrix::of_symmetric(cpus.to_vec(), observed)) else { return Vec::new() };
    let doubted = structure.suspects.iter().filter(|suspect| suspect.doubt != SuspectReason::Missing);
    let ascending = |[a, b]: [CpuId; 2]| [a.min(b), a.max(b)];
    let mut misfits: BTreeMap<[CpuId; 2], Option<u32>> =
        doubted.map(|suspect| (ascending(suspect.pair), None)).collect();
    if misfits.is_empty() || misfits.len() * MACHINE_WIDE > all {
        return Vec::new();
    }
    for (cell, &pair) in (0..).zip(pairs) {
        if let Some(of_pair) = misfits.get_mut(&ascending(pair)) {
            *of_pair = Some(cell);
        }
    }
    misfits.into_values().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix where even and odd CPUs of eight are near each other; 2 and 6 appear `slowdown` times too slow.
    fn misfits_of(slowdown: f64, left_out: usize) -> Vec<[u32; 2]> {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let pairs: Vec<[CpuId; 2]> =
            (0..8).flat_map(|b| (0..b).map(move |a| [CpuId(a), CpuId(b)])).skip(left_out).collect();
        let seen = |cell: usize| {
            let [a, b] = pairs[cell].map(|cpu| cpu.0);
            let ns = if a % 2 == b % 2 { 20.0 } else { 90.0 } + f64::from(a + b) * 0.01;
            Some(Observation { value: if [a, b] == [2, 6] { ns * slowdown } else { ns }, half_width: 0.02 })
        };
        let misfits = misfits(&cpus, &pairs, seen);
        misfits.into_iter().map(|cell| pairs[cell as usize].map(|cpu| cpu.0)).collect()
    }

    #[test]
    fn a_pair_that_fits_no_group_is_found_without_reported_groups() {
        assert_eq!(misfits_of(1.5, 0), [[2, 6]]);
        assert!(misfits_of(1.0, 0).is_empty());
        assert!(misfits_of(1.5, 1).is_empty());
    }
}
