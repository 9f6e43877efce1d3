//! Comparisons on simulated machines against what their patterns say.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::session::place::{PlaceEnded, PlaceJob, run};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, Work};
use coretalk_model::Picos;
use coretalk_model::place::{
    Binding, Outcome, PlaceSettings, Placement, Preset, Workload, WorkloadKind, derive,
};

const PATTERNS: [WorkloadKind; 7] = [
    WorkloadKind::NQueens,
    WorkloadKind::Integer,
    WorkloadKind::Barrier,
    WorkloadKind::Ring,
    WorkloadKind::AllToAll,
    WorkloadKind::Pipeline,
    WorkloadKind::SharedCounter,
];

/// The share by which the second placement differs from the first, by workload: as found, and the truth.
fn ratios(scenario: &str, presets: [Preset; 2], threads: usize) -> Vec<(Workload, f64, f64, Outcome)> {
    let mut machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), 3);
    let placements = presets.map(|preset| derive(preset, machine.topology(), threads).unwrap()).to_vec();
    let workloads = PATTERNS.map(Workload::usual);
    let settings = PlaceSettings::usual(&workloads, threads, placements.clone(), 3);
    let works = workloads.map(Work::Workload);
    let job = PlaceJob { settings: &settings, works: &works };
    let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    assert_eq!(ended, PlaceEnded::Complete);
    let truth =
        |workload, placement: &Placement| machine.work_truth(workload, &placement.cpus, threads).unwrap();
    workloads
        .into_iter()
        .zip(result.comparisons)
        .map(|(workload, comparison)| {
            let found = comparison.pairs[0].share.unwrap().point;
            let true_share = truth(workload, &placements[1]) / truth(workload, &placements[0]) - 1.0;
            (workload, found, true_share, comparison.outcome)
        })
        .collect()
}

#[test]
fn ratios_of_placements_are_recovered_within_five_percent_on_16_and_192_cpus() {
    for (scenario, presets, threads) in [
        ("chiplet-16", [Preset::OneL3, Preset::AcrossL3], 8),
        ("chiplet-16-smt", [Preset::AcrossL3, Preset::SmtPacked], 6),
        ("epyc-2s-192", [Preset::OneL3, Preset::Spread], 8),
        ("epyc-2s-192", [Preset::OneNode, Preset::Spread], 48),
    ] {
        for (workload, found, truth, outcome) in ratios(scenario, presets, threads) {
            let error = (1.0 + found) / (1.0 + truth) - 1.0;
            assert!(error.abs() < 0.05, "{scenario}, {workload}: {found} for {truth}");
            // Who wins is who should, and nobody where nothing differs by what matters.
            let right = match outcome {
                Outcome::Winner { winner, .. } => (winner == 1) == (truth > 0.0) && truth.abs() > 0.005,
                Outcome::Same { .. } | Outcome::CannotTell => truth.abs() < 0.02,
                Outcome::Told => false,
            };
            assert!(right, "{scenario}, {workload}: {outcome:?} for {truth}");
        }
    }
}

#[test]
fn a_system_that_may_choose_fills_cores_before_their_second_threads() {
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
    let [packed, free] =
        [Preset::SmtPacked, Preset::None].map(|preset| derive(preset, machine.topology(), 6).unwrap());
    assert_eq!(free.binding, Binding::Free);
    let queens = Workload::usual(WorkloadKind::NQueens);
    let settings = PlaceSettings::usual(&[queens], 6, vec![packed, free], 1);
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(queens)] };
    let (result, _) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    assert!(matches!(result.comparisons[0].outcome, Outcome::Winner { winner: 1, .. }));
}

#[test]
fn independent_work_runs_better_on_fast_cores_by_the_ratio_of_their_clocks() {
    for (workload, found, truth, outcome) in ratios("hybrid", [Preset::PCores, Preset::ECores], 6) {
        if matches!(workload.kind, WorkloadKind::NQueens | WorkloadKind::Integer) {
            assert!((truth - (3.6 / 4.9 - 1.0)).abs() < 1e-9, "{workload}: {truth}");
            assert!((found - truth).abs() < 0.02, "{workload}: {found} for {truth}");
            assert!(matches!(outcome, Outcome::Winner { winner: 0, .. }), "{workload}: {outcome:?}");
        }
    }
}

#[test]
fn a_budget_that_is_too_short_says_what_is_needed_and_blames_nobody() {
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16").unwrap(), 3);
    let placements =
        [Preset::OneL3, Preset::AcrossL3].map(|preset| derive(preset, machine.topology(), 4).unwrap());
    let ring = Workload::usual(WorkloadKind::Ring);
    // A warm-up run on each takes 250 ms: nothing is left for a repetition.
    let budget = Picos::from_ms(700);
    let settings = PlaceSettings { budget, ..PlaceSettings::usual(&[ring], 4, placements.to_vec(), 3) };
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)] };
    let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    let PlaceEnded::TooShort { needed, unfinished: None } = ended else { panic!("{ended:?}") };
    assert!(result.complete && result.budget_ended);
    assert!(
        result.comparisons.iter().all(|comparison| comparison.arms.iter().all(|arm| arm.runs.is_empty()))
    );
    // A warm-up and ten runs of 250 ms on each, and the pauses between.
    assert_eq!(needed, Picos::from_ms(2 * 11 * (250 + 20)));
    let budget = needed;
    let settings = PlaceSettings { budget, ..settings };
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)] };
    let (result, _) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    assert!(result.comparisons[0].arms.iter().all(|arm| arm.runs.len() >= 10), "{result:?}");
}
