//! That what placements are predicted to cost orders them as work on them does.

use crate::vocabulary::{builtin, run};
use coretalk_measure::{Machine, Stop, Work, WorkOrder};
use coretalk_model::advise::{CpuDistances, Graph, Pattern};
use coretalk_model::infer::{infer, observations};
use coretalk_model::place::{Placement, Workload, WorkloadKind};
use coretalk_model::stats::Key;
use coretalk_model::{CpuId, CpuSet, Picos};

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

/// Nanoseconds per hop of a ring on placements drawn at random: as the measured map predicts, and as the ring ran.
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
        Key::of(&[draw]).shuffle(&mut order);
        let said: f64 = graph.edges().map(|(a, b, weight)| weight * distances.ns(order[a], order[b])).sum();
        predicted.push(said / graph.total());
        let cpus: Vec<CpuId> = order[..threads].iter().map(|&cpu| distances.cpus()[cpu]).collect();
        let placement = Placement::bound("drawn", cpus);
        let order = WorkOrder {
            work: &work,
            placement: &placement,
            around: &around,
            threads,
            limit: Picos::from_ms(60_000),
            key: draw,
        };
        let outcome = run.machine.perform_work(&order, &Stop::new()).unwrap();
        let hops_per_s = outcome.observed.numbers.values[&*WorkloadKind::Ring.metrics()[0].name];
        ran.push(1e9 / hops_per_s);
    }
    [predicted, ran]
}

#[test]
fn placements_cost_in_the_order_that_was_predicted() {
    for (scenario, threads) in [("chiplet-16", 6), ("chiplet-16-smt", 8), ("hybrid", 5), ("mesh-64", 8)] {
        let [predicted, ran] = predicted_and_run(scenario, threads);
        let correlation = rank_correlation(&predicted, &ran);
        assert!(correlation >= 0.9, "{scenario}, {threads} threads: {correlation:.3}");
    }
}

#[test]
fn ranks_are_what_spearman_meant() {
    assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 200.0, 3e3]), 1.0);
    assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
    assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
}
