//! Comparisons of placements on simulated machines against the prices of their patterns.
use crate::vocabulary::{builtin, changed};
use coretalk_measure::session::place::{PlaceEnded, PlaceJob, run};
use coretalk_measure::{Machine, SimMachine, Stop, Work};
use coretalk_model::place::{
    Binding, Communication, PlaceOutcome, PlaceResult, PlaceSettings, Placement, PlacementComparison,
    PlacementReason, Preset, Why, Workload, WorkloadKind, derive, why,
};
use coretalk_model::quantity::Better;
use coretalk_model::{CpuId, Level, Picos};
use std::collections::BTreeSet;

const HOUR: Picos = Picos::from_ms(3_600_000);

/// Every workload whose threads have CPUs of their own; all of them have a simulated cost.
fn simulated_workloads() -> Vec<Workload> {
    WorkloadKind::ALL.into_iter().filter(|kind| kind.roles(1).is_some()).map(Workload::usual).collect()
}

fn open(name: &str) -> SimMachine {
    SimMachine::open(builtin(name), 1)
}

fn derived(machine: &SimMachine, presets: [Preset; 2], threads: usize) -> [Placement; 2] {
    presets.map(|preset| derive(preset, machine.topology(), threads).unwrap())
}

fn compare(
    machine: &mut SimMachine,
    workloads: &[Workload],
    placements: [Placement; 2],
    threads: usize,
    budget: Picos,
) -> (PlaceResult, PlaceEnded) {
    let usual = PlaceSettings::usual(workloads, threads, placements.to_vec(), 3);
    let settings = PlaceSettings { budget, ..usual };
    let works: Vec<Work> = workloads.iter().copied().map(Work::Workload).collect();
    let job = PlaceJob { settings: &settings, works: &works, hooks: None };
    run(machine, job, &mut (), &mut (), &Stop::new()).unwrap()
}

/// The first comparison of each work.
fn headlines(result: &PlaceResult) -> Vec<&PlacementComparison> {
    result.comparisons.chunk_by(|a, b| a.work == b.work).map(|of_work| &of_work[0]).collect()
}

/// By workload: the relative difference of the second placement, as found and in truth, with the outcome.
fn ratios(scenario: &str, presets: [Preset; 2], threads: usize) -> Vec<(Workload, f64, f64, PlaceOutcome)> {
    let mut machine = open(scenario);
    let placements = derived(&machine, presets, threads);
    let workloads = simulated_workloads();
    let (result, ended) = compare(&mut machine, &workloads, placements.clone(), threads, HOUR);
    assert_eq!(ended, PlaceEnded::Complete);
    let truth =
        |workload, placement: &Placement| machine.true_headline(workload, &placement.cpus, threads).unwrap();
    workloads
        .into_iter()
        .zip(headlines(&result))
        .map(|(workload, comparison)| {
            let found = comparison.pairs[0].share.unwrap().point;
            let true_share = truth(workload, &placements[1]) / truth(workload, &placements[0]) - 1.0;
            (workload, found, true_share, comparison.outcome.clone())
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
            // A reported winner must be the true one; without a relevant difference there is no winner.
            let is_right = match outcome {
                PlaceOutcome::Winner { winner, .. } => {
                    let better = workload.kind.metrics()[0].better == Better::Higher;
                    (winner == 1) == ((truth > 0.0) == better) && truth.abs() > 0.005
                }
                PlaceOutcome::Same { .. } | PlaceOutcome::CannotTell => truth.abs() < 0.02,
                PlaceOutcome::PerArm | PlaceOutcome::NotTested => false,
            };
            assert!(is_right, "{scenario}, {workload}: {outcome:?} for {truth}");
        }
    }
}

#[test]
fn an_unbound_placement_fills_cores_before_their_second_threads() {
    let mut machine = open("chiplet-16-smt");
    let placements = derived(&machine, [Preset::SmtPacked, Preset::None], 6);
    assert_eq!(placements[1].binding, Binding::Free);
    let queens = Workload::usual(WorkloadKind::NQueens);
    let (result, _) = compare(&mut machine, &[queens], placements, 6, Picos::from_ms(60_000));
    assert!(matches!(result.comparisons[0].outcome, PlaceOutcome::Winner { winner: 1, .. }));
}

#[test]
fn independent_work_runs_better_on_fast_cores_by_the_ratio_of_their_clocks() {
    for (workload, found, truth, outcome) in ratios("hybrid", [Preset::PCores, Preset::ECores], 6) {
        if matches!(workload.kind, WorkloadKind::NQueens | WorkloadKind::Integer) {
            assert!((truth - (3.6 / 4.9 - 1.0)).abs() < 1e-9, "{workload}: {truth}");
            assert!((found - truth).abs() < 0.02, "{workload}: {found} for {truth}");
            assert!(matches!(outcome, PlaceOutcome::Winner { winner: 0, .. }), "{workload}: {outcome:?}");
        }
    }
}

#[test]
fn a_too_short_budget_reports_the_needed_time() {
    let mut machine = open("chiplet-16");
    let ring = Workload::usual(WorkloadKind::Ring);
    let mut compare_in = |budget| {
        let placements = derived(&machine, [Preset::OneL3, Preset::AcrossL3], 4);
        compare(&mut machine, &[ring], placements, 4, budget)
    };
    // Two warm-up runs of 250 ms each leave no time for a repetition.
    let (result, ended) = compare_in(Picos::from_ms(700));
    let PlaceEnded::TooShort { needed, unfinished: None } = ended else { panic!("{ended:?}") };
    assert!(result.complete && result.budget_ended);
    let mut arms = result.comparisons.iter().flat_map(|comparison| &comparison.arms);
    assert!(arms.all(|arm| arm.runs.is_empty()));
    // A warm-up and ten runs of 250 ms per placement, with pauses.
    assert_eq!(needed, Picos::from_ms(2 * 11 * (250 + 20)));
    let (result, _) = compare_in(needed);
    assert!(result.comparisons[0].arms.iter().all(|arm| arm.runs.len() >= 10), "{result:?}");
}

/// Duration of a message between two CPUs, as in a ring of two.
fn message_ns(machine: &SimMachine, (a, b): (CpuId, CpuId)) -> f64 {
    let hops = || machine.true_headline(Workload::usual(WorkloadKind::Ring), &[a, b], 2).unwrap();
    if a == b { 0.0 } else { 1e9 / hops() }
}

/// Duration of the messages of a workload: the sum over phases of the longest concurrent message.
fn messages_ns(machine: &SimMachine, communication: Communication, roles: &[CpuId]) -> f64 {
    let phases = communication.communicating_pairs(roles);
    let each = |pairs: &Vec<(CpuId, CpuId)>| -> Vec<f64> {
        pairs.iter().map(|pair| message_ns(machine, *pair)).collect()
    };
    let longest = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
    match communication {
        Communication::Along => longest(phases.iter().flat_map(each).collect()),
        _ => longest(phases.iter().map(|pairs| each(pairs).into_iter().sum()).collect()),
    }
}

/// Whether a reason is true of two placements on this machine, and favours the first.
fn is_true(machine: &SimMachine, reason: &PlacementReason, sides: [&[CpuId]; 2]) -> bool {
    let topology = machine.topology();
    let groups = |level: Level, roles: &[CpuId]| {
        let mut firsts: Vec<_> =
            roles.iter().map(|cpu| topology.domain_of(*cpu, level).map(|it| it.cpus.clone())).collect();
        firsts.sort_by_key(|set| set.as_ref().and_then(|set| set.first()));
        firsts.dedup();
        firsts.len()
    };
    let distinct = |roles: &[CpuId]| roles.iter().collect::<BTreeSet<_>>().len();
    let more = |count: &dyn Fn(&[CpuId]) -> usize, mine: usize, theirs: usize| {
        mine > theirs && [count(sides[0]), count(sides[1])] == [mine, theirs]
    };
    match *reason {
        PlacementReason::MoreCpus { mine, theirs } => more(&distinct, mine, theirs),
        PlacementReason::FewerCpus { mine, .. } => distinct(sides[0]) == mine && distinct(sides[1]) > mine,
        PlacementReason::Cores { mine, theirs } => {
            // Two threads do less on one core than on two. Slower cores may outweigh that, but are another reason.
            more(&|roles| topology.one_per_core(&roles.iter().copied().collect()).len(), mine, theirs)
        }
        PlacementReason::Crossings { level, communication, mine, theirs, of } => {
            let apart = |(a, b): &(CpuId, CpuId)| {
                let group = |cpu| topology.domain_of(cpu, level).map(|domain| domain.cpus.clone());
                a != b && (group(*a) != group(*b) || group(*a).is_none())
            };
            let counts = sides.map(|roles| {
                let phases = communication.communicating_pairs(roles);
                assert!(phases.iter().all(|pairs| pairs.len() == of), "{reason:?}");
                phases.iter().map(|pairs| pairs.iter().filter(|pair| apart(pair)).count()).max()
            });
            let [near, far] = sides.map(|roles| messages_ns(machine, communication, roles));
            counts == [Some(mine), Some(theirs)] && mine < theirs && near < far
        }
        PlacementReason::Groups { .. } => false,
        PlacementReason::Room { level, mine, theirs } => more(&|roles| groups(level, roles), mine, theirs),
        PlacementReason::Faster { kind, mine, theirs } => {
            let classes = topology.classes();
            let fast = |roles: &[CpuId]| {
                let cpus: BTreeSet<CpuId> = roles.iter().copied().collect();
                cpus.into_iter().filter(|cpu| topology.class_of(*cpu) == Some(classes[kind])).count()
            };
            kind + 1 == classes.len() && more(&fast, mine, theirs)
        }
    }
}

/// Checks the reasons for every winner between two placements of a machine; counts winners with and without a reason.
fn reasons_of(scenario: &str, threads: usize) -> [usize; 2] {
    let mut machine = open(scenario);
    let presets = Preset::ALL.into_iter();
    let mut placements: Vec<Placement> =
        presets.filter_map(|preset| derive(preset, machine.topology(), threads).ok()).collect();
    // The same CPUs in reverse order, and half of the CPUs for all threads.
    let first = placements[0].cpus.clone();
    let reversed = first.iter().rev().copied().collect();
    placements.push(Placement::bound("turned", reversed));
    placements.push(Placement::bound("half", first[..threads.div_ceil(2)].to_vec()));
    let workloads = simulated_workloads();
    let mut counts = [0, 0];
    for a in 0..placements.len() {
        for b in a + 1..placements.len() {
            let pair = [placements[a].clone(), placements[b].clone()];
            let (result, _) = compare(&mut machine, &workloads, pair, threads, HOUR);
            for (workload, headline) in workloads.iter().zip(headlines(&result)) {
                let PlaceOutcome::Winner { winner, runner_up, .. } = headline.outcome else { continue };
                let sides = [winner, runner_up].map(|arm| &headline.arms[arm].placement);
                let behaviour = workload.kind.behaviour(threads);
                let roles = sides.map(|side| side.roles(behaviour.roles.unwrap()));
                let reasons = match why(machine.topology(), &behaviour, sides[0], sides[1]) {
                    Why::Could(reasons) => {
                        assert!(!reasons.is_empty());
                        reasons
                    }
                    Why::Nothing => Vec::new(),
                    Why::Unbound => {
                        assert!(sides.iter().any(|side| side.binding == Binding::Free));
                        Vec::new()
                    }
                };
                for reason in &reasons {
                    assert!(
                        is_true(&machine, reason, [&roles[0], &roles[1]]),
                        "{scenario}, {workload}, {threads} threads: {sides:?} because {reason:?}"
                    );
                }
                counts[usize::from(reasons.is_empty())] += 1;
            }
        }
    }
    counts
}

#[test]
fn every_reason_is_true_and_favours_the_winner() {
    let [mut explained, mut unexplained] = [0, 0];
    for (scenario, threads) in [
        ("laptop-smt", 4),
        ("chiplet-16", 6),
        ("chiplet-16-smt", 2),
        ("chiplet-16-smt", 6),
        ("epyc-2s-192", 12),
        ("hybrid", 4),
        ("hybrid", 6),
        ("mesh-64", 4),
        ("noisy-vm", 2),
        ("arm-coarse-clock", 2),
        ("arm-coarse-clock", 6),
        ("huge-1024", 6),
    ] {
        let counts = reasons_of(scenario, threads);
        explained += counts[0];
        unexplained += counts[1];
    }
    // Most winners have a reason.
    assert!(explained > unexplained && explained > 250, "{explained} and {unexplained}");
}

#[test]
fn the_order_of_threads_and_clusters_are_reasons() {
    let crossings = |level, mine, theirs, of| {
        let communication = Communication::Round;
        Why::Could(vec![PlacementReason::Crossings { level, communication, mine, theirs, of }])
    };
    let cores = Why::Could(vec![PlacementReason::Cores { mine: 6, theirs: 3 }]);
    use WorkloadKind::{Integer, Ring};
    for (kind, scenario, presets, threads, expected) in [
        (Ring, "chiplet-16-smt", [Preset::AcrossL3, Preset::Spread], 6, crossings(Level::L3, 2, 6, 6)),
        (Ring, "arm-coarse-clock", [Preset::Compact, Preset::Spread], 4, crossings(Level::Cluster, 0, 4, 4)),
        // The positions of unbound threads are unknown: they may all have been in one cache.
        (Ring, "chiplet-16-smt", [Preset::OneL3, Preset::None], 6, Why::Unbound),
        // Slow cores are no reason for a win.
        (Integer, "hybrid", [Preset::ECores, Preset::Compact], 6, cores),
    ] {
        let machine = open(scenario);
        let [winner, next] = derived(&machine, presets, threads);
        let found = why(machine.topology(), &kind.behaviour(threads), &winner, &next);
        assert_eq!(found, expected, "{scenario} {presets:?}");
    }
}

#[test]
fn work_on_a_briefly_lost_cpu_is_repeated() {
    let compare_with = |failures: &str| {
        let scenario = changed("laptop-smt", &format!("[failures]\n{failures}"));
        let mut machine = SimMachine::open(scenario, 3);
        let placements =
            [[0, 1], [2, 3]].map(|cpus| Placement::bound(format!("{cpus:?}"), cpus.map(CpuId).to_vec()));
        let ring = Workload::usual(WorkloadKind::Ring);
        let (result, ended) = compare(&mut machine, &[ring], placements, 2, HOUR);
        assert_eq!(ended, PlaceEnded::Complete);
        (result.comparisons[0].arms.iter().map(|arm| arm.runs.len()).collect::<Vec<_>>(), machine.now())
    };
    let (runs, undisturbed) = compare_with("");
    let (repeated, disturbed) = compare_with(
        "departures = [{ cpu = 1, at_ms = 400, back_ms = 401 }, { cpu = 3, at_ms = 400, back_ms = 401 }]",
    );
    assert_eq!(repeated, runs, "nothing is missing");
    assert!(disturbed > undisturbed, "it was away while work ran there");
    // One run was aborted and repeated, after half a second of queries about the CPU.
    assert!(disturbed < undisturbed + Picos::from_ms(750), "{disturbed} instead of {undisturbed}");
}
