//! Tests whether the nearest pairs of the map share execution units. This distinguishes SMT threads from near cores.

use super::driver::Driver;
use super::{Ended, RunError};
use crate::probes::execution::{self, Execution};
use crate::series::TrialOrder;
use coretalk_model::infer::{Observation, infer};
use coretalk_model::latency::execution::{ExecutionPass, ExecutionTest, TestReason};
use coretalk_model::latency::{Counts, PairChoice};
use coretalk_model::series::Parameters;
use coretalk_model::{CpuId, KernelId, Level, Matrix, OrNan, Picos, Protocol, stats};

/// Passes per pair. The exact interval of their median is from the third to the tenth value, so two disturbed passes do
/// not matter.
const PASSES: u32 = 12;
/// Length of a pass: three phases of ten spans of 40 µs.
const PASS: Picos = Picos::from_us(1_250);
/// Minimum time between passes of a pair. A host may move virtual CPUs every 20 to 360 ms, so the passes see several
/// placements.
const PASS_GAP: Picos = Picos::from_ms(40);
/// Number of representative pairs of a level and of the reported cores: the first, the middle and the last.
const PAIRS: usize = 3;
const NEAREST: usize = 2;

pub fn perform(driver: &mut Driver<'_>) -> Result<Ended, RunError> {
    // A resumed run already has the result.
    if !is_requested(driver) || !driver.choices.execution.is_empty() || driver.run.left() < expected(driver) {
        return Ok(Ended::Complete);
    }
    let mut tests: Vec<ExecutionTest> = candidates(driver)
        .into_iter()
        .map(|(pair, reason)| ExecutionTest { pair, reason, passes: Vec::new() })
        .collect();
    for pass in 0..PASSES {
        let began = driver.run.now();
        for test in &mut tests {
            // The passes took longer than expected. A test with fewer passes is invalid, so no test is kept.
            if driver.run.left() == Picos::ZERO {
                return Ok(Ended::Complete);
            }
            if driver.run.is_stopped() {
                return Ok(driver.run.ended_early());
            }
            test.passes.extend(try_pass(driver, test.pair, pass));
        }
        let spent = driver.run.now().saturating_sub(began);
        if spent < PASS_GAP && pass + 1 < PASSES {
            driver.pause(PASS_GAP - spent)?;
        }
    }
    driver.choices.execution = tests;
    driver.decide()?;
    Ok(Ended::Complete)
}

pub fn remaining(driver: &Driver<'_>) -> Picos {
    if driver.choices.execution.is_empty() { expected(driver) } else { Picos::ZERO }
}

fn is_requested(driver: &Driver<'_>) -> bool {
    driver.settings.counts == Counts::Adaptive && driver.settings.pairs == PairChoice::All
}

pub fn expected(driver: &Driver<'_>) -> Picos {
    if is_requested(driver) { Picos(PASS_GAP.0 * u64::from(PASSES)) } else { Picos::ZERO }
}

fn try_pass(driver: &mut Driver<'_>, pair: [CpuId; 2], pass: u32) -> Option<ExecutionPass> {
    let (spec, options) = (execution::trial(pair), Parameters::default());
    let key = driver.settings.seed ^ u64::from(pass) << 32;
    let order = TrialOrder { probe: &Execution, spec: &spec, options: &options, span: PASS, key, process: 0 };
    execution::pass_of(&driver.try_trial(&order)?)
}

/// The pairs to test. They are the nearest pair of some of the finest groups that the latencies show, and of some
/// reported cores. Without both they are the nearest pairs. The most distant pair is a control.
fn candidates(driver: &Driver<'_>) -> Vec<([CpuId; 2], TestReason)> {
    let latencies = map_latencies(driver);
    let known = |pair: &[CpuId; 2]| value(&latencies, *pair).is_some();
    let observed = latencies.map(|ns| ns.get().map(Observation::bare));
    let groups = infer(observed).ok().and_then(|structure| Some(structure.levels.first()?.groups.clone()));
    let cores = driver.topology.level(Level::Core).into_iter().map(|core| &core.cpus);
    let mut chosen: Vec<([CpuId; 2], TestReason)> = Vec::new();
    let mut add = |pairs: Vec<[CpuId; 2]>, reason| {
        for pair in pairs {
            if !chosen.iter().any(|(known, _)| *known == pair) {
                chosen.push((pair, reason));
            }
        }
    };
    let nearest_of = |group: &coretalk_model::CpuSet| nearest(&latencies, &group.iter().collect::<Vec<_>>());
    let closest: Vec<[CpuId; 2]> = groups.iter().flatten().filter_map(nearest_of).collect();
    let reported: Vec<[CpuId; 2]> = cores.filter_map(nearest_of).filter(known).collect();
    if closest.is_empty() && reported.is_empty() {
        add(nearest_disjoint(&latencies), TestReason::Closest);
    }
    add(spread(&closest), TestReason::Closest);
    add(spread(&reported), TestReason::Reported);
    if let Some(farthest) = farthest(&latencies) {
        add(vec![farthest], TestReason::Control);
    }
    chosen
}

/// Approximate latency of each pair: the median over the passes of the map with the first round-trip protocol and its
/// hint.
fn map_latencies(driver: &Driver<'_>) -> Matrix<OrNan<f64>> {
    let record = &driver.log.record;
    let chosen = driver.choices.hints.iter().find(|(protocol, _)| **protocol != Protocol::OneWay);
    let column =
        chosen.and_then(|(&protocol, chosen)| record.column(&KernelId::new(protocol, chosen.hint), 0));
    let mut scratch = Vec::new();
    let mut value = |cell: usize| {
        let passes = record.passes(cell)?;
        scratch.clear();
        let locations = (0..passes.len()).filter_map(|pass| passes.location(pass, column?));
        scratch.extend(locations.map(f64::from));
        stats::median_in_place(&mut scratch)
    };
    let cpus = &driver.settings.cpus;
    Matrix::symmetric(cpus.clone(), |row, column| value(row * (row - 1) / 2 + column).into())
}

fn value(latencies: &Matrix<OrNan<f64>>, [a, b]: [CpuId; 2]) -> Option<f64> {
    let position = |cpu| latencies.position(cpu);
    latencies.get(position(a)?, position(b)?)?.get()
}

/// The pair of these CPUs with the lowest latency, the lower number first.
fn nearest(latencies: &Matrix<OrNan<f64>>, cpus: &[CpuId]) -> Option<[CpuId; 2]> {
    let pairs =
        cpus.iter().enumerate().flat_map(|(at, &b)| cpus[..at].iter().map(move |&a| [a.min(b), a.max(b)]));
    let known = pairs.filter_map(|pair| Some((value(latencies, pair)?, pair)));
    known.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, pair)| pair)
}

fn nearest_disjoint(latencies: &Matrix<OrNan<f64>>) -> Vec<[CpuId; 2]> {
    let mut unpaired = latencies.cpus().to_vec();
    let mut pairs = Vec::new();
    while let Some(pair) = nearest(latencies, &unpaired).filter(|_| pairs.len() < NEAREST) {
        unpaired.retain(|cpu| !pair.contains(cpu));
        pairs.push(pair);
    }
    pairs
}

/// The most distant pair; `None` with fewer than three CPUs.
fn farthest(latencies: &Matrix<OrNan<f64>>) -> Option<[CpuId; 2]> {
    let cpus = latencies.cpus();
    let known = latencies.iter().filter_map(|(row, column, ns)| Some((ns.get()?, [row, column])));
    let (_, pair) = known.filter(|_| cpus.len() > 2).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let [a, b] = pair.map(|position| cpus[position]);
    Some([a.min(b), a.max(b)])
}

fn spread(pairs: &[[CpuId; 2]]) -> Vec<[CpuId; 2]> {
    let wanted = PAIRS.min(pairs.len());
    (0..wanted).map(|at| pairs[at * (pairs.len() - 1) / (wanted - 1).max(1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(ns: impl Fn(usize, usize) -> Option<f64>) -> Matrix<OrNan<f64>> {
        Matrix::symmetric((0..8).map(CpuId).collect(), |row, column| ns(row, column).into())
    }

    #[test]
    fn chosen_pairs_span_a_level_from_first_to_last() {
        let pairs: Vec<[CpuId; 2]> = (0..9).map(|at| [CpuId(at), CpuId(at + 9)]).collect();
        let chosen: Vec<u32> = spread(&pairs).iter().map(|pair| pair[0].0).collect();
        assert_eq!(chosen, [0, 4, 8]);
        assert_eq!(spread(&pairs[..1]), pairs[..1]);
        assert!(spread(&[]).is_empty());
    }

    #[test]
    fn nearest_pairs_are_disjoint_and_missing_cells_are_ignored() {
        // 6 and 7 are nearest, but their cell is missing.
        let latencies = matrix(|row, column| match (row, column) {
            (7, 6) => None,
            (row, column) => Some(10.0 + (row - column) as f64 + row as f64 * 0.1),
        });
        let pairs: Vec<[u32; 2]> =
            nearest_disjoint(&latencies).iter().map(|pair| pair.map(|cpu| cpu.0)).collect();
        assert_eq!(pairs, [[0, 1], [2, 3]]);
        assert_eq!(farthest(&latencies), Some([CpuId(0), CpuId(7)]));
        let nothing = matrix(|_, _| None);
        assert!(nearest_disjoint(&nothing).is_empty() && farthest(&nothing).is_none());
    }
}
