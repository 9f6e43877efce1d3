//! Comparisons of runs on one simulated machine: other seeds show no difference, and planted changes are found.

use crate::is_acceptance;
use crate::vocabulary::{Run, builtin, run_briefly};
use coretalk_measure::Machine;
use coretalk_model::compare::{
    Alignment, CellDifference, Comparison, LeastEffect, Levels, ReadingKey, Side, Verdict, compare,
    of_latency,
};
use coretalk_model::latency::PairOutcome;
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Relation};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
struct Tally {
    levels: u64,
    different: u64,
    with_any: u64,
    same: u64,
    cannot_tell: u64,
}

fn run(name: &str, seed: u64) -> Run {
    run_briefly(builtin(name), seed, |settings| settings.ladder = false)
}

fn side(run: &Run) -> Side {
    of_latency(run.machine.environment(), run.machine.topology(), &run.settings, &run.result)
}

fn compare_runs(a: &Run, b: &Run) -> Comparison {
    let alignment = Alignment::by_number(Levels::reported(a.machine.topology().clone()));
    compare(&side(a), &side(b), &alignment, LeastEffect::DEFAULT)
}

/// Multiplies cells of a run by a factor, as if the machine had changed.
fn change(run: &mut Run, factor: impl Fn([CpuId; 2]) -> f64) {
    for map in &mut run.result.maps {
        let cpus = map.cells.cpus().to_vec();
        for row in 0..cpus.len() {
            for column in 0..row {
                if let Some(PairOutcome::Measured(value)) = map.cells.get_mut(row, column) {
                    let factor = factor([cpus[column], cpus[row]]);
                    value.latency_ns = value.latency_ns.scaled(factor);
                    value.cycles = value.cycles.map(|cycles| cycles.scaled(factor));
                }
            }
        }
    }
}

fn alike(name: &str, pairs: u64) -> Tally {
    let mut tally = Tally::default();
    for pair in 0..pairs {
        let comparison = compare_runs(&run(name, 10_000 + 2 * pair), &run(name, 10_001 + 2 * pair));
        let mut found_any = false;
        for dataset in &comparison.datasets {
            for level in &dataset.levels {
                tally.levels += 1;
                match level.difference.verdict {
                    Verdict::Same => tally.same += 1,
                    Verdict::CannotTell => tally.cannot_tell += 1,
                    Verdict::Faster | Verdict::Slower => {
                        println!("{name} pair {pair}: {level:?}");
                        tally.different += 1;
                        found_any = true;
                    }
                }
            }
            let is_alarm = |cell: &&CellDifference| cell.difference.verdict.is_different() || cell.departs;
            for cell in dataset.cells.iter().filter(is_alarm) {
                println!("{name} pair {pair}: {cell:?}");
                found_any = true;
            }
        }
        tally.with_any += u64::from(found_any);
    }
    tally
}

/// By level: the number of pairs of runs in which its shift was found, and in which another level was reported.
fn shifted_level(name: &str, factor: f64, pairs: u64) -> Vec<(Relation, u64, u64)> {
    let mut found: BTreeMap<Relation, (u64, u64)> = BTreeMap::new();
    for pair in 0..pairs {
        let a = run(name, 20_000 + 2 * pair);
        let relations: BTreeSet<Relation> =
            a.values().into_iter().map(|(pair, _)| a.relation(pair)).collect();
        let mut b = run(name, 20_001 + 2 * pair);
        let plain = b.result.clone();
        for relation in relations {
            b.result = plain.clone();
            change(&mut b, |pair| if a.relation(pair) == relation { factor } else { 1.0 });
            let comparison = compare_runs(&a, &b);
            let tally = found.entry(relation).or_default();
            for level in &comparison.datasets[0].levels {
                let verdict = level.difference.verdict;
                if level.level == relation.name() {
                    tally.0 += u64::from(verdict == Verdict::Slower);
                } else {
                    tally.1 += u64::from(verdict.is_different());
                }
            }
        }
    }
    found.into_iter().map(|(relation, (found, others))| (relation, found, others)).collect()
}

/// Changes a share of the cells; returns the number of changed cells, of those found, and of wrongly reported others.
fn changed_cells(name: &str, share: f64, factor: f64, pairs: u64) -> (u64, u64, u64) {
    let (mut changed, mut found, mut wrong) = (0, 0, 0);
    for pair in 0..pairs {
        let a = run(name, 30_000 + 2 * pair);
        let mut b = run(name, 30_001 + 2 * pair);
        let key = Key::from_words(&[77, pair]);
        let chosen = |[x, y]: [CpuId; 2]| key.uniform(u64::from(x.0) << 32 | u64::from(y.0)) < share;
        change(&mut b, |pair| if chosen(pair) { factor } else { 1.0 });
        for cell in &compare_runs(&a, &b).datasets[0].cells {
            let ReadingKey::Pair(pair) = cell.key else { continue };
            let different = cell.difference.verdict.is_different();
            changed += u64::from(chosen(pair));
            found += u64::from(chosen(pair) && different);
            wrong += u64::from(!chosen(pair) && different);
        }
    }
    (changed, found, wrong)
}

fn scaled_pairs(whole: u64, reduced: u64) -> u64 {
    if is_acceptance() { whole } else { reduced }
}

#[test]
fn two_runs_on_one_machine_are_not_different() {
    let mut missed = Vec::new();
    for (name, whole, reduced) in [
        ("chiplet-16", 1_000, 12),
        ("noisy-vm", 1_000, 20),
        ("laptop-smt", 1_000, 15),
        ("chiplet-16-smt", 100, 0),
    ] {
        let pairs = scaled_pairs(whole, reduced);
        let tally = alike(name, pairs);
        println!("{name}, {pairs} pairs: {tally:?}");
        // At most one in a thousand levels and one in a hundred pairs, so none in a reduced run.
        if tally.different > tally.levels / 1_000 || tally.with_any > pairs / 100 {
            missed.push(format!("{name}, {pairs} pairs: {tally:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_shift_of_five_percent_is_found_at_every_level() {
    let mut missed = Vec::new();
    for name in ["chiplet-16", "chiplet-16-smt", "hybrid", "arm-coarse-clock", "epyc-2s-192"] {
        let is_large = name == "epyc-2s-192";
        let runs = if is_large { scaled_pairs(20, 0) } else { scaled_pairs(200, 3) };
        for (level, found, others) in shifted_level(name, 1.05, runs) {
            println!("{name} {level}: {found} of {runs} found, {others} others");
            let found = found as f64 / runs.max(1) as f64;
            if runs > 0 && found < 0.95 || others as f64 > 0.01 * runs as f64 {
                missed.push(format!("{name} {level}: {found} of {runs}, {others} others"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn few_cells_are_wrongly_reported_as_different() {
    for (name, whole, reduced) in [("mesh-64", 40, 1), ("chiplet-16", 300, 5)] {
        let runs = scaled_pairs(whole, reduced);
        let (changed, found, wrong) = changed_cells(name, 0.02, 1.05, runs);
        let rate = wrong as f64 / (found + wrong).max(1) as f64;
        println!("{name}, {runs} pairs: {found} of {changed} changed cells, {wrong} others, FDR {rate:.4}");
        let most = if is_acceptance() { 0.06 } else { 0.15 };
        assert!(rate <= most, "{name}: {wrong} of {} are wrong", found + wrong);
        assert!(3 * found >= changed, "{name}: {found} of {changed} changed cells were found");
    }
}
