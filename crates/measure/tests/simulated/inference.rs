//! Inference from a map: groups after a second measurement of outliers, the structure of the few CPUs of a container,
//! and the order of the predicted costs of placements.

use crate::vocabulary::{builtin, changed, run};
use coretalk_measure::{Kernel, Machine, SimMachine, Spin, Stop, Work, WorkOrder};
use coretalk_model::advise::{CpuDistances, Graph, Pattern};
use coretalk_model::infer::{Observation, Structure, ValueShape, infer, observations};
use coretalk_model::place::{Placement, Workload, WorkloadKind};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Home, Level, Matrix, Picos};
use std::collections::BTreeSet;

fn groups_found(scenario: &str, bad_share: f64, seed: u64) -> Vec<Vec<CpuSet>> {
    let changes = format!("reported = 'nothing'\n[noise]\nbad_share = {bad_share}");
    let run = run(changed(scenario, &changes), seed, |_| ());
    let structure = infer(observations(&run.result.maps[0])).unwrap();
    structure.levels.into_iter().map(|level| level.groups).collect()
}

#[test]
fn disturbed_cells_hide_no_group_without_reported_structure() {
    for scenario in ["chiplet-16", "laptop-smt", "chiplet-16-smt"] {
        let truth = groups_found(scenario, 0.0, 1);
        assert!(!truth.is_empty(), "{scenario}");
        for seed in 0..8 {
            assert_eq!(groups_found(scenario, 0.1, seed), truth, "{scenario}, seed {seed}");
        }
    }
}

static CAS: Kernel = Kernel::ping_pong(("cas+pause", "cas+pause"), &[], (1.0, Spin::Hinted), 1);

const MACHINES: [(&str, &[Level]); 6] = [
    ("chiplet-16", &[Level::L3]),
    ("chiplet-16-smt", &[Level::Core, Level::L3]),
    ("epyc-2s-192", &[Level::L3, Level::Package]),
    ("huge-1024", &[Level::L3, Level::Die, Level::Package]),
    ("arm-coarse-clock", &[Level::Cluster]),
    ("hybrid", &[Level::Core]),
];

/// Deviation of a measured cell from the truth, in addition to the machine's own differences between pairs.
const NOISE: f64 = 0.01;

/// Two to twelve CPUs: anywhere, or neighbours and some elsewhere, or a few at each of several places.
fn random_cpus(all: &[CpuId], key: Key) -> Vec<CpuId> {
    let random_index = |at: u64| key.with(1).below(at, all.len() as u64) as usize;
    let count = 2 + key.with(2).below(0, 11);
    let picked = |at: u64| match key.with(3).below(0, 3) {
        0 => random_index(at),
        1 if at * 2 < count => random_index(0) + at as usize,
        1 => random_index(at),
        _ => random_index(at % (1 + count / 3)) + at as usize / 3,
    };
    let chosen: BTreeSet<CpuId> = (0..count).map(|at| all[picked(at) % all.len()]).collect();
    chosen.into_iter().collect()
}

fn noisy_map(machine: &SimMachine, cpus: &[CpuId], key: Key) -> Matrix<Option<Observation>> {
    let topology = machine.topology();
    Matrix::symmetric(cpus.to_vec(), |row, column| {
        let (a, b) = (cpus[row], cpus[column]);
        let homes = [a, b].map(|cpu| Home(topology.node_of(cpu).unwrap_or(0)));
        let truth = homes.map(|home| machine.true_ns(a, b, &CAS, home));
        let noise = NOISE * key.normal((row * cpus.len() + column) as u64);
        Some(Observation::bare(truth[0].min(truth[1]) * (1.0 + noise)))
    })
}

/// The groups of a level among the chosen CPUs, without groups of one.
fn groups_of(machine: &SimMachine, level: Level, chosen: &CpuSet) -> Vec<CpuSet> {
    let domains = machine.topology().level(level);
    let mut groups: Vec<CpuSet> = domains.iter().map(|domain| domain.cpus.intersection(chosen)).collect();
    groups.retain(|group| group.len() > 1);
    groups.sort_by_key(CpuSet::first);
    groups
}

/// The groups of each level that latency shows, and the groups of all CPUs but one.
struct Expected {
    by_level: Vec<Vec<CpuSet>>,
    all_but_one: Vec<CpuSet>,
}

impl Expected {
    fn new(machine: &SimMachine, levels: &[Level], chosen: &CpuSet) -> Expected {
        let mut expected = Expected { by_level: Vec::new(), all_but_one: Vec::new() };
        for &level in levels {
            let groups = groups_of(machine, level, chosen);
            match &groups[..] {
                [] => {}
                [all] if all == chosen => {}
                [group] if group.len() + 1 == chosen.len() => expected.all_but_one.push(group.clone()),
                _ if expected.by_level.contains(&groups) => {}
                _ => expected.by_level.push(groups),
            }
        }
        expected.all_but_one.dedup();
        expected
    }

    fn contradicts(&self, structure: &Structure, name: &str) -> bool {
        let Expected { by_level, all_but_one } = self;
        let is_wrong = structure.levels.iter().any(|level| !by_level.contains(&level.groups));
        // A group of all CPUs but one may be the rest of a level with many disturbed cells.
        let is_true = |group| by_level.iter().flatten().chain(all_but_one).any(|known| known == group);
        let has_false_hint = structure.all_but_one().any(|(hint, _)| !is_true(&hint.cpus));
        let is_misread = match structure.shape {
            ValueShape::Grouped | ValueShape::TooFew => false,
            ValueShape::Uniform { .. } => !by_level.is_empty() || !all_but_one.is_empty(),
            ValueShape::Continuous { .. } => true,
        };
        // On hybrid machines the distances of the two kinds of cores overlap, as on a mesh.
        is_wrong || name != "hybrid" && (has_false_hint || is_misread)
    }
}

#[test]
fn structure_of_few_cpus_is_reported_correctly_or_not_at_all() {
    let (mut all, mut level_counts, mut group_counts, mut faults) = (0, [0, 0], [0, 0], Vec::new());
    for (index, (name, visible)) in MACHINES.into_iter().enumerate() {
        let machine = SimMachine::open(builtin(name), 1);
        let cpus: Vec<CpuId> = machine.topology().cpus().iter().collect();
        for trial in 0..200 {
            let key = Key::from_words(&[31, index as u64, trial]);
            let chosen = random_cpus(&cpus, key.with(1));
            let set: CpuSet = chosen.iter().copied().collect();
            let expected = Expected::new(&machine, visible, &set);
            let structure = match infer(noisy_map(&machine, &chosen, key.with(2))) {
                Ok(structure) => structure,
                Err(_) if chosen.len() < 3 => continue,
                Err(error) => panic!("{name}, CPUs {set}: {error:?}"),
            };
            all += 1;
            level_counts[1] += expected.by_level.len();
            level_counts[0] += structure.levels.len();
            group_counts[1] += expected.all_but_one.len();
            let is_found = |group: &&CpuSet| structure.all_but_one().any(|(hint, _)| hint.cpus == **group);
            group_counts[0] += expected.all_but_one.iter().filter(is_found).count();
            if expected.contradicts(&structure, name) {
                let Expected { by_level, all_but_one } = expected;
                faults
                    .push(format!("{name}, {set}: {by_level:?} beside {all_but_one:?}, found {structure:?}"));
            }
        }
    }
    println!("{all} choices, {level_counts:?} levels, {group_counts:?} groups beside one CPU");
    assert!(faults.is_empty(), "{} of {all}: {faults:#?}", faults.len());
    // Structure that latency cannot distinguish is not reported; such structure must be rare.
    assert!(level_counts[0] * 100 >= level_counts[1] * 95, "{level_counts:?}");
    assert!(group_counts[0] * 100 >= group_counts[1] * 95, "{group_counts:?}");
}

/// Spearman's rank correlation (1904); ties share their mean rank.
fn rank_correlation(x: &[f64], y: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
        let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
        values.iter().map(|&value| below(value) + (equal(value) - 1.0) / 2.0).collect()
    };
    let (x, y) = (ranks(x), ranks(y));
    let mean = (x.len() as f64 - 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    sum(&x, &y) / (sum(&x, &x) * sum(&y, &y)).sqrt()
}

/// Nanoseconds per hop of a ring on random placements: as predicted from the measured map, and as the ring ran.
fn predicted_and_run(scenario: &str, threads: usize) -> [Vec<f64>; 2] {
    let mut run = run(builtin(scenario), 4, |_| ());
    let observed = observations(&run.result.maps[0]);
    let structure = infer(&observed).unwrap();
    let groups: Vec<_> = structure.levels.iter().rev().map(|level| level.groups.clone()).collect();
    let distances = CpuDistances::of_observations(observed.cpus().to_vec(), &observed, &groups);
    let graph = Graph::of_pattern(Pattern::Ring, threads);
    let work = Work::Workload(Workload::usual(WorkloadKind::Ring));
    let around: CpuSet = distances.cpus().iter().copied().collect();
    let (mut predicted, mut ran) = (Vec::new(), Vec::new());
    for draw in 0..60 {
        let mut order: Vec<usize> = (0..distances.len()).collect();
        Key::from_words(&[draw]).shuffle(&mut order);
        let cost: f64 = graph.edges().map(|(a, b, weight)| weight * distances.ns(order[a], order[b])).sum();
        predicted.push(cost / graph.total());
        let cpus: Vec<CpuId> = order[..threads].iter().map(|&cpu| distances.cpus()[cpu]).collect();
        let placement = &Placement::bound("drawn", cpus);
        let (work, around, limit) = (&work, &around, Picos::from_ms(60_000));
        let order = WorkOrder { work, placement, around, threads, limit, key: draw, padding: 0 };
        let outcome = run.machine.perform_work(&order, &Stop::new()).unwrap();
        let hops_per_s = outcome.observed.numbers.values[&*WorkloadKind::Ring.metrics()[0].name];
        ran.push(1e9 / hops_per_s);
    }
    [predicted, ran]
}

#[test]
fn costs_of_placements_have_the_predicted_order() {
    for (scenario, threads) in [("chiplet-16", 6), ("chiplet-16-smt", 8), ("hybrid", 5), ("mesh-64", 8)] {
        let [predicted, ran] = predicted_and_run(scenario, threads);
        let correlation = rank_correlation(&predicted, &ran);
        assert!(correlation >= 0.9, "{scenario}, {threads} threads: {correlation:.3}");
    }
}

#[test]
fn rank_correlation_has_known_values() {
    assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 200.0, 3e3]), 1.0);
    assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
    assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
}
