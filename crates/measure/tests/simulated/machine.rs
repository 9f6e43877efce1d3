//! The simulated machine meets its specification: it has the documented structure, measurements recover its true
//! latencies, and its results are reproducible.

use crate::vocabulary::{builtin, open, toml};
use coretalk_measure::{
    Assignment, Cost, HomeChoice, Kernel, Machine, MachineError, Round, RoundOutcome, Sampling, Scenario,
    SimMachine, SpanOrder, Spin, Stop, Walk, WorkerSettings,
};
use coretalk_model::latency::one_way::{Direction, OneWay};
use coretalk_model::{CpuId, Home, KernelId, Level, Matrix, Picos, Relation, Samples, Span, TrialFailure};
use std::borrow::Cow;

pub static CAS: Kernel = Kernel::ping_pong(("cas", "cas"), &[], (1.0, Spin::Eager), 1);
static CAS_PAUSE: Kernel = Kernel::ping_pong(("cas+pause", "cas+pause"), &[], (1.0, Spin::Hinted), 1);
static MSG: Kernel = Kernel::ping_pong(("msg", "msg"), &[], (2.0, Spin::Hinted), 2);
static XFER: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("xfer")),
    roles: &[],
    cost: Cost::Chase { transfers_per_read: 1.0 },
    lines_per_place: 1,
    symbol: "xfer",
};
static ONE_WAY: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("one-way")),
    roles: &[],
    cost: Cost::Stamp { transfers_per_message: 1.0 },
    lines_per_place: 1,
    symbol: "one-way",
};

/// Two CPUs, their relation, and their half round trip.
type Pair = (u32, u32, Relation, f64);

/// The scenario without noise, drift and stalls.
fn noiseless(name: &str) -> Scenario {
    toml(&format!(
        "based_on = '{name}'\nstalls = []\n[noise]\nbatch_sd = 0\nevent_sd = 0\nspike_share = 0\nbad_share = 0\n\
         parallel_bias = 0\n[core_clock]\ndrift_sd = 0\n[counter]\ncost_ns = 0\n"
    ))
}

pub fn order(kernel: &'static Kernel) -> SpanOrder {
    SpanOrder {
        kernel,
        home: HomeChoice::OfRole(0),
        lines: 32,
        walk: Walk::FreshRuns,
        warm_up: 100,
        sampling: Sampling::Batches { visits: 8, round_trips: 64 },
    }
}

pub fn trial(a: u32, b: u32, key: u64, orders: Vec<SpanOrder>) -> Assignment {
    Assignment { placement: [CpuId(a), CpuId(b)], orders: orders.into(), key }
}

pub fn round(assignments: Vec<Assignment>) -> Round {
    Round { assignments }
}

pub fn perform(machine: &mut SimMachine, batch: &[Round]) -> Vec<RoundOutcome> {
    machine.perform(batch, &Stop::new()).unwrap()
}

/// The spans of one trial that runs alone.
fn spans(machine: &mut SimMachine, assignment: Assignment) -> Vec<Span> {
    perform(machine, &[round(vec![assignment])]).remove(0).trials.remove(0).unwrap().spans
}

/// Half a round trip of a span in ns: mean over lines of the medians within a line.
fn half_ns(machine: &SimMachine, span: &Span) -> f64 {
    let Samples::Batches { visits, ticks } = &span.samples else { panic!("no batches") };
    let medians = ticks.chunks(*visits as usize).map(|line| {
        let mut line = line.to_vec();
        line.sort_unstable();
        f64::from(line[(line.len() - 1) / 2] + line[line.len() / 2]) / 2.0
    });
    let lines = ticks.len() as f64 / f64::from(*visits);
    machine.rate().ns(medians.sum::<f64>() / lines) / f64::from(span.round_trips) / 2.0
}

#[test]
fn every_builtin_has_the_structure_and_latencies_of_the_table() {
    use Relation::{Cluster, Die, L3, Machine as Far, Node, Package, Smt};
    let table: [(&str, usize, &[Pair]); 8] = [
        ("laptop-smt", 8, &[(0, 4, Smt, 6.0), (0, 1, L3, 24.0)]),
        ("chiplet-16", 16, &[(0, 7, L3, 18.0), (0, 8, Package, 85.0)]),
        ("chiplet-16-smt", 32, &[(3, 19, Smt, 7.5), (0, 23, L3, 18.0), (0, 24, Package, 85.0)]),
        ("epyc-2s-192", 192, &[(0, 7, L3, 23.0), (0, 8, Node, 105.0), (0, 96, Far, 200.0)]),
        (
            "hybrid",
            20,
            &[
                (0, 1, Smt, 5.0),
                (0, 2, L3, 36.0),
                (0, 12, L3, 44.0),
                (12, 16, L3, 44.0),
                (12, 15, Cluster, 52.0),
            ],
        ),
        ("mesh-64", 64, &[(0, 1, L3, 30.0), (0, 63, L3, 58.0)]),
        ("arm-coarse-clock", 16, &[(0, 3, Cluster, 36.0), (0, 4, Package, 80.0)]),
        (
            "huge-1024",
            1024,
            &[(0, 7, L3, 20.0), (0, 8, Die, 60.0), (0, 32, Node, 120.0), (0, 256, Far, 300.0)],
        ),
    ];
    for (name, cpus, pairs) in table {
        let machine = open(builtin(name), 1);
        assert_eq!(machine.topology().cpus().len(), cpus, "{name}");
        assert_eq!(machine.environment().simulated.as_deref(), Some(name));
        for &(a, b, relation, ns) in pairs {
            let (a, b) = (CpuId(a), CpuId(b));
            assert_eq!(machine.topology().relation(a, b), relation, "{name}: {a} and {b}");
            let best = [0, 1, 2, 3]
                .map(|node| machine.true_ns(a, b, &CAS_PAUSE, Home(node)))
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!((best / ns - 1.0).abs() < 0.09, "{name}: {a} and {b} at {best} ns");
        }
    }
    assert_eq!(Scenario::names().len(), 9);
    assert!(Scenario::builtin("cray-1").is_none());
}

#[test]
fn the_guest_reports_one_cache_and_its_hypervisor() {
    let mut machine = open(builtin("noisy-vm"), 1);
    assert_eq!(machine.topology().relation(CpuId(0), CpuId(1)), Relation::L3);
    assert_eq!(machine.topology().level(Level::L3).len(), 1);
    assert_eq!(machine.environment().hypervisor.as_deref(), Some("kvm"));
    assert_eq!(machine.states(), ["near", "far", "sibling"]);
    assert!(
        machine
            .examine(&[CpuId(0), CpuId(1)].into_iter().collect(), None)
            .iter()
            .any(|finding| finding.id == "simulated")
    );
    let far = machine.true_ns_in(1, CpuId(0), CpuId(1), &CAS_PAUSE, Home(0));
    let near = machine.true_ns(CpuId(0), CpuId(1), &CAS_PAUSE, Home(0));
    assert!((4.8..5.5).contains(&(far / near)), "{far} against {near}");
    let sibling = |kernel| machine.true_ns_in(2, CpuId(0), CpuId(1), kernel, Home(0));
    assert_eq!(sibling(&CAS_PAUSE), near);
    assert!(sibling(&CAS) < 0.7 * near);
}

#[test]
fn medians_come_close_to_the_truth_on_every_quiet_machine() {
    for name in Scenario::names().iter().filter(|name| **name != "noisy-vm") {
        let mut machine = open(builtin(name), 5);
        let last = machine.topology().cpus().last().unwrap().0;
        for kernel in [&CAS, &CAS_PAUSE, &MSG, &XFER] {
            for (key, b) in [(1, 1), (2, last)] {
                let order = SpanOrder {
                    lines: 64,
                    sampling: Sampling::Batches { visits: 8, round_trips: 256 },
                    ..order(kernel)
                };
                let assignment = trial(0, b, key, vec![order]);
                if machine.contamination(&assignment).is_some() {
                    continue;
                }
                let span = spans(&mut machine, assignment).remove(0);
                let truth = machine.true_ns(CpuId(0), CpuId(b), kernel, span.home);
                let factor = if matches!(kernel.cost, Cost::Chase { .. }) { 2.0 } else { 1.0 };
                let ratio = half_ns(&machine, &span) * factor / truth;
                assert!((0.98..1.02).contains(&ratio), "{name}, {}, CPU 0 and {b}: {ratio}", kernel.id);
            }
        }
    }
}

#[test]
fn an_aligned_run_hits_every_slice_once() {
    let mut machine = open(noiseless("chiplet-16"), 1);
    let slices = machine.slices(CpuId(0), CpuId(9), Home(0));
    assert!((slices.iter().sum::<f64>() - 16.0).abs() < 1e-9);
    let sampling = Sampling::Batches { visits: 1, round_trips: 100_000 };
    let run = SpanOrder { lines: 16, sampling, ..order(&CAS_PAUSE) };
    let one = SpanOrder { walk: Walk::OnePlace, lines: 4, ..run.clone() };
    let spans = spans(&mut machine, trial(0, 9, 3, vec![run, one]));
    let truth = machine.true_ns(CpuId(0), CpuId(9), &CAS_PAUSE, Home(0));
    assert!((half_ns(&machine, &spans[0]) / truth - 1.0).abs() < 1e-4);
    let Samples::Batches { ticks, .. } = &spans[0].samples else { panic!() };
    let mut seen: Vec<f64> = ticks.iter().map(|&t| machine.rate().ns(f64::from(t)) / 2e5 / truth).collect();
    let mut expected = slices.to_vec();
    seen.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    assert!(seen.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3), "{seen:?} {expected:?}");
    let Samples::Batches { ticks, .. } = &spans[1].samples else { panic!() };
    assert!(ticks.iter().all(|&t| t.abs_diff(ticks[0]) <= 1), "one place moved: {ticks:?}");
}

fn tournament(cpus: u32, rounds: u32, order: SpanOrder) -> Vec<Round> {
    let other_home = SpanOrder { home: HomeChoice::OfRole(1), kernel: &CAS_PAUSE, ..order.clone() };
    let pair = |r: u32, k: u32| {
        let orders = vec![order.clone(), other_home.clone()];
        trial(k, cpus - 1 - (k + r) % (cpus / 2), u64::from(r * cpus + k), orders)
    };
    (0..rounds).map(|r| round((0..cpus / 2).map(|k| pair(r, k)).collect())).collect()
}

#[test]
fn the_number_of_threads_does_not_change_results() {
    // Large enough to give work to 16 threads.
    let large_order =
        SpanOrder { lines: 64, sampling: Sampling::Batches { visits: 16, round_trips: 16 }, ..order(&CAS) };
    for (name, order) in
        [("huge-1024", &large_order), ("epyc-2s-192", &large_order), ("chiplet-16-smt", &order(&CAS))]
    {
        let outcomes_with = |threads| {
            let mut machine = open(builtin(name), 11).with_threads(threads);
            let cpus = machine.topology().cpus().len() as u32;
            let outcomes = perform(&mut machine, &tournament(cpus, 2, order.clone()));
            (outcomes, machine.now())
        };
        let one = outcomes_with(1);
        assert!(outcomes_with(4) == one && outcomes_with(16) == one, "{name}");
    }
}

#[test]
fn splitting_a_batch_and_reordering_a_round_change_nothing() {
    let rounds: Vec<Round> = tournament(4, 8, order(&CAS));
    let (mut whole, mut cut) = (open(builtin("noisy-vm"), 2), open(builtin("noisy-vm"), 2));
    let together = perform(&mut whole, &rounds);
    let apart: Vec<RoundOutcome> = rounds.chunks(3).flat_map(|part| perform(&mut cut, part)).collect();
    assert_eq!(together, apart);
    assert_eq!(whole.now(), cut.now());
    let mut reordered = open(builtin("noisy-vm"), 2);
    let backwards: Vec<Assignment> = rounds[0].assignments.iter().rev().cloned().collect();
    let mut outcome = perform(&mut reordered, &[round(backwards)]).remove(0);
    outcome.trials.reverse();
    assert_eq!(outcome, together[0]);
}

#[test]
fn the_seed_determines_the_noise_and_the_hardware_seed_the_machine() {
    let samples = |scenario: Scenario, seed| {
        let mut machine = open(scenario, seed);
        let truth = machine.true_ns(CpuId(0), CpuId(9), &CAS, Home(0));
        (truth, spans(&mut machine, trial(0, 9, 1, vec![order(&CAS)])))
    };
    let (one, again, other) = (
        samples(builtin("chiplet-16"), 1),
        samples(builtin("chiplet-16"), 1),
        samples(builtin("chiplet-16"), 2),
    );
    assert_eq!(one, again);
    assert!(one.0 == other.0 && one.1 != other.1);
    let moved = samples(toml("based_on = 'chiplet-16'\nhardware_seed = 99"), 1);
    assert!(moved.0 != one.0);
}

#[test]
fn states_take_their_shares_of_time() {
    for seed in 0..3 {
        let machine = open(builtin("noisy-vm"), seed);
        let mut seen = [0; 3];
        for step in 0..400_000 {
            seen[machine.state_at(Picos::from_ms(10 * step))] += 1;
        }
        // Weights are 4, 2 and 3, dwell times are 4, 2 and 0.12 s: a jump chain without repetition visits in proportion
        // to w × (sum − w), here 20, 14 and 18.
        let share = seen.map(|n| n as f64 / 400_000.0);
        let expected = [80.0 / 110.16, 28.0 / 110.16, 2.16 / 110.16];
        assert!(
            share.iter().zip(expected).all(|(share, expected)| (share / expected - 1.0).abs() < 0.15),
            "{share:?}"
        );
    }
}

#[test]
fn a_guest_moves_between_its_states_and_leaves_evidence() {
    let mut machine = open(builtin("noisy-vm"), 3);
    let (mut seen, mut switches) = ([0; 3], 0);
    for key in 0..1200 {
        machine.pause(Picos::from_ms(50), &Stop::new());
        let outcome = perform(&mut machine, &[round(vec![trial(0, 1, key, vec![order(&CAS)])])]).remove(0);
        let recording = outcome.trials[0].as_ref().unwrap();
        switches += recording.disturbance.involuntary_switches.unwrap();
        let half = half_ns(&machine, &recording.spans[0]);
        let (before, after) =
            (machine.state_at(recording.started), machine.state_at(recording.started + recording.elapsed));
        if before == after && !recording.disturbance.sibling_busy {
            let truth = machine.true_ns_in(before, CpuId(0), CpuId(1), &CAS, Home(0));
            seen[before] += usize::from((0.85..1.18).contains(&(half / truth)));
        }
    }
    assert!(seen[0] > 200 && seen[1] > 50 && seen[2] > 3, "{seen:?}");
    assert!(switches > 0);
    assert!(machine.now() > Picos::from_secs(30.0));
}

#[test]
fn a_coarse_clock_shows_whole_steps_with_a_true_mean() {
    let mut machine = open(noiseless("arm-coarse-clock"), 1);
    let events = SpanOrder { lines: 16, sampling: Sampling::Events { round_trips: 40_000 }, ..order(&CAS) };
    let span = spans(&mut machine, trial(0, 1, 1, vec![events])).remove(0);
    let Samples::Counts { counts } = &span.samples else { panic!("no counts") };
    let n: u64 = counts.iter().map(|(_, count)| count).sum();
    let mean = counts.iter().map(|&(ticks, count)| ticks as f64 * count as f64).sum::<f64>() / n as f64;
    let truth = machine.true_ns(CpuId(0), CpuId(1), &CAS, Home(0));
    assert_eq!(n, 40_000);
    assert!(counts.len() <= 4, "{counts:?}");
    assert!((machine.rate().ns(mean) / 2.0 / truth - 1.0).abs() < 0.01);
}

#[test]
fn clock_offsets_cancel_in_the_sum_of_both_directions() {
    let text = "based_on = 'chiplet-16'\nstalls = []\n[noise]\nbatch_sd = 0\nevent_sd = 0\nspike_share = 0\nbad_share = 0\n\
                [core_clock]\ndrift_sd = 0\n[counter]\ncost_ns = 0\noffset_sd_ns = 500\n";
    let mut machine = open(toml(text), 1);
    let mut signed = |a, b| {
        let sampling = Sampling::Events { round_trips: 16_000 };
        let span =
            spans(&mut machine, trial(a, b, 1, vec![SpanOrder { lines: 16, sampling, ..order(&ONE_WAY) }]))
                .remove(0);
        let Samples::Counts { counts } = span.samples else { panic!("no counts") };
        [Direction::Out, Direction::Back].map(|way| {
            let of_way = counts.iter().map(|&(code, count)| (OneWay::unpack(code), count));
            let of_way = of_way.filter(|(message, _)| message.way == way);
            of_way.map(|(message, count)| message.ticks as f64 * count as f64).sum::<f64>() / 16_000.0
        })
    };
    let [there, back] = signed(0, 9);
    assert!(there.min(back) < 0.0, "no clock lags: {there}, {back}");
    let sum = machine.rate().ns(there + back);
    let truth = 2.0 * machine.true_ns(CpuId(0), CpuId(9), &CAS_PAUSE, Home(0));
    assert!((sum / truth - 1.0).abs() < 0.01, "{sum} against {truth}");
}

#[test]
fn homes_affect_latencies_and_unknown_homes_are_refused() {
    let machine = open(builtin("epyc-2s-192"), 1);
    let truth = |a, b, node| machine.true_ns(CpuId(a), CpuId(b), &CAS_PAUSE, Home(node));
    let (left, right) = (truth(0, 96, 0), truth(0, 96, 1));
    assert!((left.max(right) / left.min(right) - 1.15).abs() < 1e-9);
    assert!(truth(0, 8, 1) > 1.8 * truth(0, 8, 0));
    let mut machine = machine;
    let nowhere = SpanOrder { home: HomeChoice::Node(Home(7)), ..order(&CAS) };
    let error = machine.perform(&[round(vec![trial(0, 1, 1, vec![nowhere])])], &Stop::new()).unwrap_err();
    assert!(matches!(error, MachineError::Memory { node: 7, .. }), "{error}");
}

#[test]
fn parallel_pairs_slow_each_other_as_stated() {
    let scenario =
        toml(&noiseless("chiplet-16").to_toml().replace("parallel_bias = 0.0", "parallel_bias = 0.01"));
    let mut machine = open(scenario, 1);
    let outcomes = perform(
        &mut machine,
        &[
            round(vec![trial(0, 8, 1, vec![order(&CAS)])]),
            round((0..8).map(|k| trial(k, k + 8, 1, vec![order(&CAS)])).collect()),
        ],
    );
    let half = |outcome: &RoundOutcome| half_ns(&machine, &outcome.trials[0].as_ref().unwrap().spans[0]);
    assert!((half(&outcomes[1]) / half(&outcomes[0]) - 1.07).abs() < 1e-3);
}

#[test]
fn contaminated_trials_are_as_rare_and_as_slow_as_stated() {
    let text = noiseless("chiplet-16").to_toml().replace("bad_share = 0.0", "bad_share = 0.1");
    let mut machine = open(toml(&text), 4);
    let mut bad = 0;
    for key in 0..2000 {
        let assignment = trial(0, 9, key, vec![order(&CAS)]);
        let contamination = machine.contamination(&assignment);
        bad += usize::from(contamination.is_some());
        if key < 200 {
            let span = spans(&mut machine, assignment).remove(0);
            let ratio = half_ns(&machine, &span) / machine.true_ns(CpuId(0), CpuId(9), &CAS, Home(0));
            let expected = contamination.map_or(1.0, |c| {
                assert!((1.3..=4.0).contains(&c.factor));
                if c.run.is_some() { (1.0 + c.factor) / 2.0 } else { c.factor }
            });
            assert!((ratio / expected - 1.0).abs() < 0.01, "key {key}: {ratio} for {contamination:?}");
        }
    }
    assert!((150..250).contains(&bad), "{bad} of 2000");
}

#[test]
fn a_round_lasts_as_long_as_its_slowest_trial_in_simulated_time() {
    let mut machine = open(noiseless("chiplet-16"), 1);
    let outcome = perform(
        &mut machine,
        &[round(vec![trial(0, 1, 1, vec![order(&CAS)]), trial(2, 9, 1, vec![order(&CAS)])])],
    )
    .remove(0);
    let far = outcome.trials[1].as_ref().unwrap();
    assert_eq!(outcome.elapsed, far.elapsed);
    assert_eq!(machine.now(), outcome.elapsed);
    let trips = 100.0 + 32.0 * 8.0 * 64.0;
    let expected = 26_000.0 + 32.0 * 30.0 + trips * 2.0 * machine.true_ns(CpuId(2), CpuId(9), &CAS, Home(0));
    // The warm-up stays on one line, whose slice may differ.
    assert!((far.elapsed.ns() / expected - 1.0).abs() < 0.01, "{} against {expected}", far.elapsed.ns());
    machine.pause(Picos::from_secs(1000.0), &Stop::new());
    assert!(machine.now() > Picos::from_secs(1000.0));
    let stopped = Stop::new();
    stopped.raise();
    let now = machine.now();
    machine.pause(Picos::from_secs(1.0), &stopped);
    assert!(machine.perform(&tournament(16, 2, order(&CAS)), &stopped).unwrap().is_empty());
    assert_eq!(machine.now(), now);
}

#[test]
fn every_failure_affects_only_its_trial_or_workers() {
    let with = |failures: &str| toml(&format!("based_on = 'laptop-smt'\n[failures]\n{failures}\n"));
    let first = |failures: &str| {
        let mut machine = open(with(failures), 1);
        machine.pause(Picos::from_ms(5), &Stop::new());
        let outcome = perform(
            &mut machine,
            &[round(vec![trial(0, 1, 1, vec![order(&CAS)]), trial(2, 3, 1, vec![order(&CAS)])])],
        )
        .remove(0);
        assert!(outcome.trials[1].is_ok(), "{failures} hit the wrong pair");
        outcome.trials[0].clone()
    };
    let limit = Picos::from_ms(40);
    for (failures, failure) in [
        ("hang = '1'\nhang_limit_ms = 40", TrialFailure::TimedOut { limit }),
        ("die = '1'", TrialFailure::PartnerLost { cpu: CpuId(1) }),
        ("miscount = '0'", TrialFailure::Unverified { sent: 1000, received: 999 }),
        ("departures = [{ cpu = 1, at_ms = 5 }]", TrialFailure::CpuLost { cpu: CpuId(1) }),
    ] {
        assert_eq!(first(failures), Err(failure));
    }
    assert!(first("departures = [{ cpu = 1, at_ms = 500 }]").is_ok());
    let mut refusing = SimMachine::open(with("refuse_pin = '3'"), 1);
    let workers = |cpus: &[u32]| WorkerSettings {
        cpus: cpus.iter().map(|&id| CpuId(id)).collect(),
        ..WorkerSettings::default()
    };
    for cpu in [3, 8] {
        let error = refusing.engage(&workers(&[cpu])).unwrap_err();
        assert!(matches!(error, MachineError::Pin { cpu: refused, .. } if refused.0 == cpu), "{error}");
        refusing.engage(&workers(&[0, cpu])).unwrap();
        let absent = refusing.absent(&[CpuId(0), CpuId(cpu)].into_iter().collect());
        assert_eq!(absent.iter().map(|(cpu, _)| cpu.0).collect::<Vec<_>>(), [cpu]);
    }
    refusing.engage(&workers(&[0, 1])).unwrap();
    let outcome = perform(&mut refusing, &[round(vec![trial(0, 2, 1, vec![order(&CAS)])])]).remove(0);
    assert_eq!(outcome.trials[0], Err(TrialFailure::NotPinned { cpu: CpuId(2), errno: 22 }));
    let stop = Stop::new();
    let mut stopping = open(with("stop_at_ms = 3"), 1);
    let done = stopping.perform(&tournament(8, 200, order(&CAS)), &stop).unwrap();
    assert!(stop.is_raised() && !done.is_empty() && done.len() < 200);
    let settings = WorkerSettings { realtime: Some(10), ..workers(&[0, 1]) };
    let refused = SimMachine::open(with("refuse_priority = true"), 1).engage(&settings);
    assert!(matches!(refused, Err(MachineError::Priority { .. })));
    assert_eq!(open(with("busy = true"), 1).is_busy(), Some(true));
    assert_eq!(open(builtin("laptop-smt"), 1).is_busy(), Some(false));
}

#[test]
fn a_clock_jump_affects_one_sample() {
    let text = noiseless("laptop-smt")
        .to_toml()
        .replace("[failures]", "[failures]\nclock_step = { at_ms = 1, by_us = 9000 }");
    let mut machine = open(toml(&text), 1);
    let spans = spans(&mut machine, trial(0, 1, 1, vec![SpanOrder { lines: 64, ..order(&CAS) }]));
    let Samples::Batches { ticks, .. } = &spans[0].samples else { panic!() };
    let long = ticks.iter().filter(|&&t| machine.rate().ns(f64::from(t)) > 8e6).count();
    assert_eq!(long, 1);
}

#[test]
fn invalid_rounds_are_refused() {
    let mut machine = open(builtin("laptop-smt"), 1);
    for assignments in [
        vec![trial(0, 0, 1, vec![order(&CAS)])],
        vec![trial(0, 1, 1, vec![order(&CAS)]), trial(1, 2, 1, vec![order(&CAS)])],
    ] {
        let error = machine.perform(&[round(assignments)], &Stop::new()).unwrap_err();
        assert!(matches!(error, MachineError::Scenario { .. }), "{error}");
    }
}

#[test]
fn a_machine_from_a_matrix_has_its_latencies() {
    let cpus: Vec<CpuId> = [0, 2, 5].map(CpuId).to_vec();
    let cells = [[None, Some(20.0), None], [Some(30.0), None, None], [Some(50.0), None, None]];
    let matrix = Matrix::directed(cpus, |row, column| cells[row][column]);
    let scenario = Scenario::from_matrix("found.csv", matrix).unwrap();
    assert_eq!(toml(&scenario.to_toml()), scenario);
    let mut machine = open(scenario, 1);
    assert!(machine.topology().domains().is_empty());
    let truth = |a, b| machine.true_ns(CpuId(a), CpuId(b), &CAS, Home(0));
    assert_eq!((truth(0, 2), truth(2, 0), truth(0, 5), truth(2, 5)), (20.0, 30.0, 50.0, 30.0));
    let span = spans(&mut machine, trial(2, 0, 1, vec![order(&CAS)])).remove(0);
    assert!((half_ns(&machine, &span) / 30.0 - 1.0).abs() < 0.03);
    let empty = Matrix::symmetric(vec![CpuId(0), CpuId(1)], |_, _| None);
    assert!(Scenario::from_matrix("x", empty).is_err());
    let zero = Matrix::symmetric(vec![CpuId(0), CpuId(1)], |_, _| Some(0.0));
    assert!(Scenario::from_matrix("x", zero).unwrap_err().to_string().contains("CPU 1 and CPU 0"));
}
