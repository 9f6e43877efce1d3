//! Comparisons of placements on simulated machines against the prices of their patterns.
use coretalk_measure::session::place::{PlaceEnded, PlaceJob, run};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, Work};
use coretalk_model::place::{
    Binding, Communication, Comparison, Outcome, PlaceResult, PlaceSettings, Placement, PlacementReason,
    Preset, Why, Workload, WorkloadKind, derive, why,
};
use coretalk_model::quantity::Better;
use coretalk_model::{CpuId, Level, Picos};

const HOUR: Picos = Picos::from_ms(3_600_000);

/// Every workload whose threads have CPUs of their own; all of them have a simulated cost.
fn simulated_workloads() -> Vec<Workload> {
    WorkloadKind::ALL.into_iter().filter(|kind| kind.roles(1).is_some()).map(Workload::usual).collect()
}

fn headlines(result: &PlaceResult) -> Vec<&Comparison> {
    let mut headlines: Vec<&Comparison> = Vec::new();
    for comparison in &result.comparisons {
        if headlines.last().is_none_or(|last| last.work != comparison.work) {
            headlines.push(comparison);
        }
    }
    headlines
}

/// By workload: the relative difference of the second placement, as found and in truth, with the outcome.
fn ratios(scenario: &str, presets: [Preset; 2], threads: usize) -> Vec<(Workload, f64, f64, Outcome)> {
    let mut machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), 3);
    let placements = presets.map(|preset| derive(preset, machine.topology(), threads).unwrap()).to_vec();
    let workloads = simulated_workloads();
    let settings =
        PlaceSettings { budget: HOUR, ..PlaceSettings::usual(&workloads, threads, placements.clone(), 3) };
    let works: Vec<Work> = workloads.iter().copied().map(Work::Workload).collect();
    let job = PlaceJob { settings: &settings, works: &works, hooks: None };
    let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
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
                Outcome::Winner { winner, .. } => {
                    let better = workload.kind.metrics()[0].better == Better::Higher;
                    (winner == 1) == ((truth > 0.0) == better) && truth.abs() > 0.005
                }
                Outcome::Same { .. } | Outcome::CannotTell => truth.abs() < 0.02,
                Outcome::PerArm | Outcome::NotTested => false,
            };
            assert!(is_right, "{scenario}, {workload}: {outcome:?} for {truth}");
        }
    }
}

#[test]
fn an_unbound_placement_fills_cores_before_their_second_threads() {
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16-smt").unwrap(), 1);
    let [packed, free] =
        [Preset::SmtPacked, Preset::None].map(|preset| derive(preset, machine.topology(), 6).unwrap());
    assert_eq!(free.binding, Binding::Free);
    let queens = Workload::usual(WorkloadKind::NQueens);
    let settings = PlaceSettings::usual(&[queens], 6, vec![packed, free], 1);
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(queens)], hooks: None };
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
fn a_too_short_budget_reports_the_needed_time() {
    let mut machine = SimMachine::open(Scenario::builtin("chiplet-16").unwrap(), 3);
    let placements =
        [Preset::OneL3, Preset::AcrossL3].map(|preset| derive(preset, machine.topology(), 4).unwrap());
    let ring = Workload::usual(WorkloadKind::Ring);
    // Two warm-up runs of 250 ms each leave no time for a repetition.
    let budget = Picos::from_ms(700);
    let settings = PlaceSettings { budget, ..PlaceSettings::usual(&[ring], 4, placements.to_vec(), 3) };
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)], hooks: None };
    let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
    let PlaceEnded::TooShort { needed, unfinished: None } = ended else { panic!("{ended:?}") };
    assert!(result.complete && result.budget_ended);
    assert!(
        result.comparisons.iter().all(|comparison| comparison.arms.iter().all(|arm| arm.runs.is_empty()))
    );
    // A warm-up and ten runs of 250 ms per placement, with pauses.
    assert_eq!(needed, Picos::from_ms(2 * 11 * (250 + 20)));
    let budget = needed;
    let settings = PlaceSettings { budget, ..settings };
    let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)], hooks: None };
    let (result, _) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
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
    let distinct = |roles: &[CpuId]| roles.iter().copied().collect::<std::collections::BTreeSet<_>>().len();
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
                let cpus: std::collections::BTreeSet<CpuId> = roles.iter().copied().collect();
                cpus.into_iter().filter(|cpu| topology.class_of(*cpu) == Some(classes[kind])).count()
            };
            kind + 1 == classes.len() && more(&fast, mine, theirs)
        }
    }
}

/// Checks the reasons for every winner between two placements of a machine; counts winners with and without a reason.
fn reasons_of(scenario: &str, threads: usize, seed: u64) -> (usize, usize) {
    let mut machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), seed);
    let presets =
        Preset::ALL.into_iter().filter_map(|preset| derive(preset, machine.topology(), threads).ok());
    let mut placements: Vec<Placement> = presets.collect();
    // The same CPUs in reverse order, and half of the CPUs for all threads.
    let first = placements[0].cpus.clone();
    let reversed = first.iter().rev().copied().collect();
    placements.push(Placement::bound("turned", reversed));
    placements.push(Placement::bound("half", first[..threads.div_ceil(2)].to_vec()));
    let workloads = simulated_workloads();
    let works: Vec<Work> = workloads.iter().copied().map(Work::Workload).collect();
    let (mut explained, mut unexplained) = (0, 0);
    for a in 0..placements.len() {
        for b in a + 1..placements.len() {
            let pair = vec![placements[a].clone(), placements[b].clone()];
            let settings =
                PlaceSettings { budget: HOUR, ..PlaceSettings::usual(&workloads, threads, pair, seed) };
            let job = PlaceJob { settings: &settings, works: &works, hooks: None };
            let (result, _) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
            for (workload, headline) in workloads.iter().zip(headlines(&result)) {
                let Outcome::Winner { winner, runner_up, .. } = headline.outcome else { continue };
                let sides = [winner, runner_up].map(|arm| &headline.arms[arm].placement);
                let behaviour = workload.kind.behaviour(threads);
                let roles = sides.map(|side| side.roles(behaviour.roles.unwrap()));
                match why(machine.topology(), &behaviour, sides[0], sides[1]) {
                    Why::Could(reasons) => {
                        assert!(!reasons.is_empty());
                        for reason in &reasons {
                            assert!(
                                is_true(&machine, reason, [&roles[0], &roles[1]]),
                                "{scenario}, {workload}, {threads} threads: {} beats {} because {reason:?}",
                                sides[0].name,
                                sides[1].name
                            );
                        }
                        explained += 1;
                    }
                    Why::Nothing => unexplained += 1,
                    Why::Unbound => {
                        assert!(sides.iter().any(|side| side.binding == Binding::Free));
                        unexplained += 1;
                    }
                }
            }
        }
    }
    (explained, unexplained)
}

#[test]
fn every_reason_is_true_and_favours_the_winner() {
    let (mut explained, mut unexplained) = (0, 0);
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
        let (with_reason, without_reason) = reasons_of(scenario, threads, 1);
        explained += with_reason;
        unexplained += without_reason;
    }
    // Most winners have a reason.
    assert!(explained > unexplained && explained > 250, "{explained} and {unexplained}");
}

#[test]
fn the_order_of_threads_and_clusters_are_reasons() {
    let why_ring = |scenario, [a, b]: [Preset; 2], threads| {
        let machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), 1);
        let [winner, next] = [a, b].map(|preset| derive(preset, machine.topology(), threads).unwrap());
        why(machine.topology(), &WorkloadKind::Ring.behaviour(threads), &winner, &next)
    };
    let crossings = |level, mine, theirs, of| {
        Why::Could(vec![PlacementReason::Crossings {
            level,
            communication: Communication::Round,
            mine,
            theirs,
            of,
        }])
    };
    let found = why_ring("chiplet-16-smt", [Preset::AcrossL3, Preset::Spread], 6);
    assert_eq!(found, crossings(Level::L3, 2, 6, 6));
    let found = why_ring("arm-coarse-clock", [Preset::Compact, Preset::Spread], 4);
    assert_eq!(found, crossings(Level::Cluster, 0, 4, 4));
    // The positions of unbound threads are unknown: they may all have been in one cache.
    assert_eq!(why_ring("chiplet-16-smt", [Preset::OneL3, Preset::None], 6), Why::Unbound);
    // Slow cores are no reason for a win.
    let hybrid = SimMachine::open(Scenario::builtin("hybrid").unwrap(), 1);
    let [slow, packed] =
        [Preset::ECores, Preset::Compact].map(|preset| derive(preset, hybrid.topology(), 6).unwrap());
    let found = why(hybrid.topology(), &WorkloadKind::Integer.behaviour(6), &slow, &packed);
    assert_eq!(found, Why::Could(vec![PlacementReason::Cores { mine: 6, theirs: 3 }]));
}

#[test]
fn work_on_a_briefly_lost_cpu_is_repeated() {
    let compare_with = |failures: &str| {
        let text = format!("based_on = 'laptop-smt'\n[failures]\n{failures}");
        let mut machine = SimMachine::open(Scenario::from_toml(&text).unwrap(), 3);
        let ring: Workload = "ring".parse().unwrap();
        let placements = [("a", [0, 1]), ("b", [2, 3])]
            .map(|(name, cpus)| Placement::bound(name, cpus.map(CpuId).to_vec()))
            .to_vec();
        let settings = PlaceSettings { budget: HOUR, ..PlaceSettings::usual(&[ring], 2, placements, 3) };
        let job = PlaceJob { settings: &settings, works: &[Work::Workload(ring)], hooks: None };
        let (result, ended) = run(&mut machine, job, &mut (), &mut (), &Stop::new()).unwrap();
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
