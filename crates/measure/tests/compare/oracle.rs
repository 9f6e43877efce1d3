//! Pairs of runs, and what a comparison says of them.

use crate::vocabulary::{Run, builtin, defaults, measure_briefly, open};
use coretalk_measure::Machine;
use coretalk_model::compare::of_latency::of_latency;
use coretalk_model::compare::{
    Alignment, Comparison, LeastEffect, Levels, ReadingKey, Side, Verdict, compare,
};
use coretalk_model::latency::Cell;
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, Relation};
use std::collections::BTreeMap;

/// What comparisons of equal machines said.
#[derive(Debug, Default)]
pub struct Tally {
    pub pairs: u64,
    pub levels: u64,
    pub different: u64,
    pub with_any: u64,
    pub same: u64,
    pub cannot_tell: u64,
}

fn run(name: &str, seed: u64) -> Run {
    let machine = open(builtin(name), seed);
    let mut settings = defaults(&machine, seed);
    settings.ladder = false;
    measure_briefly(machine, settings)
}

fn side(run: &Run) -> Side {
    of_latency(run.machine.environment(), run.machine.topology(), &run.settings, &run.result)
}

fn against(a: &Run, b: &Run) -> Comparison {
    let alignment = Alignment::by_number(Levels::reported(a.machine.topology().clone()));
    compare(&side(a), &side(b), &alignment, LeastEffect::DEFAULT)
}

/// Multiplies the cells of a run that a rule names, as if the machine had changed there.
fn change(run: &mut Run, factor: impl Fn([CpuId; 2]) -> f64) {
    for map in &mut run.result.maps {
        let cpus = map.cells.cpus().to_vec();
        for row in 0..cpus.len() {
            for column in 0..row {
                if let Some(Cell::Measured(value)) = map.cells.get_mut(row, column) {
                    let factor = factor([cpus[column], cpus[row]]);
                    value.latency_ns = value.latency_ns.scaled(factor);
                    value.cycles = value.cycles.map(|cycles| cycles.scaled(factor));
                }
            }
        }
    }
}

/// Runs on equal machines that differ in their seed.
pub fn alike(name: &str, pairs: u64) -> Tally {
    let mut tally = Tally { pairs, ..Tally::default() };
    for pair in 0..pairs {
        let comparison = against(&run(name, 10_000 + 2 * pair), &run(name, 10_001 + 2 * pair));
        let mut any = false;
        for dataset in &comparison.datasets {
            for level in &dataset.levels {
                tally.levels += 1;
                match level.difference.verdict {
                    Verdict::Same => tally.same += 1,
                    Verdict::CannotTell => tally.cannot_tell += 1,
                    Verdict::Faster | Verdict::Slower => {
                        println!("{name} pair {pair}: {level:?}");
                        tally.different += 1;
                        any = true;
                    }
                }
            }
            for cell in dataset.cells.iter().filter(|cell| cell.difference.verdict.is_different()) {
                println!("{name} pair {pair}: {cell:?}");
                any = true;
            }
        }
        tally.with_any += u64::from(any);
    }
    tally
}

/// For each level: in how many pairs of runs its shift was found, and in how many another level was called different.
pub fn shifted_level(name: &str, factor: f64, pairs: u64) -> Vec<(Relation, u64, u64)> {
    let mut found: BTreeMap<Relation, (u64, u64)> = BTreeMap::new();
    for pair in 0..pairs {
        let a = run(name, 20_000 + 2 * pair);
        let topology = a.machine.topology().clone();
        let relations: Vec<Relation> = {
            let values = a.values();
            let mut relations: Vec<Relation> =
                values.iter().map(|([a, b], _)| topology.relation(*a, *b)).collect();
            relations.sort_unstable();
            relations.dedup();
            relations
        };
        let mut b = run(name, 20_001 + 2 * pair);
        let plain = b.result.clone();
        for &relation in &relations {
            b.result = plain.clone();
            let of_level = |[x, y]: [CpuId; 2]| topology.relation(x, y) == relation;
            change(&mut b, |pair| if of_level(pair) { factor } else { 1.0 });
            let comparison = against(&a, &b);
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

/// A share of the cells is changed: how many were, how many of those were found, and how many others were named.
pub fn changed_cells(name: &str, share: f64, factor: f64, pairs: u64) -> (u64, u64, u64) {
    let (mut changed, mut found, mut wrong) = (0, 0, 0);
    for pair in 0..pairs {
        let a = run(name, 30_000 + 2 * pair);
        let mut b = run(name, 30_001 + 2 * pair);
        let key = Key::of(&[77, pair]);
        let chosen = |[x, y]: [CpuId; 2]| key.uniform(u64::from(x.0) << 32 | u64::from(y.0)) < share;
        change(&mut b, |pair| if chosen(pair) { factor } else { 1.0 });
        for cell in &against(&a, &b).datasets[0].cells {
            let ReadingKey::Pair(pair) = cell.key else { continue };
            let different = cell.difference.verdict.is_different();
            changed += u64::from(chosen(pair));
            found += u64::from(chosen(pair) && different);
            wrong += u64::from(!chosen(pair) && different);
        }
    }
    (changed, found, wrong)
}
