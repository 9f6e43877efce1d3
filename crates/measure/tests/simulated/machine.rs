//! The simulated machine meets its specification: it has the documented structure, measurements recover its true
//! latencies, and its results are reproducible.

use crate::vocabulary::{builtin, changed, noiseless, open, toml};
use coretalk_measure::{
    Assignment, Cost, HomeChoice, Kernel, Machine, MachineError, Round, RoundOutcome, Sampling, Scenario,
    SimMachine, SpanOrder, Spin, Stop, Walk, WorkerSettings,
};
use coretalk_model::latency::one_way::{Direction, OneWay};
use coretalk_model::stats::{mean, median};
use coretalk_model::{
    CpuId, Home, KernelId, Level, Matrix, Picos, Recording, Relation, Samples, Span, TrialFailure,
};
use std::borrow::Cow;

pub static CAS: Kernel = Kernel::ping_pong(("cas", "cas"), &[], (1.0, Spin::Eager), 1);
static CAS_PAUSE: Kernel = Kernel::ping_pong(("cas+pause", "cas+pause"), &[], (1.0, Spin::Hinted), 1);
static MSG: Kernel = Kernel::ping_pong(("msg", "msg"), &[], (2.0, Spin::Hinted), 2);
static XFER: Kernel = kernel("xfer", Cost::Chase { transfers_per_read: 1.0 });
static ONE_WAY: Kernel = kernel("one-way", Cost::Stamp { transfers_per_message: 1.0 });

const fn kernel(id: &'static str, cost: Cost) -> Kernel {
    Kernel { id: KernelId(Cow::Borrowed(id)), roles: &[], cost, lines_per_place: 1, symbol: id }
}

/// Two CPUs, their relation, and their half round trip.
type Pair = (u32, u32, Relation, f64);

/// A machine whose measurements are exact.
fn exact(base: &str) -> SimMachine {
    open(noiseless(base, "[counter]\ncost_ns = 0"), 1)
}

/// An exact machine with a changed setting.
fn exact_but(base: &str, setting: &str, value: &str) -> SimMachine {
    let text = noiseless(base, "[counter]\ncost_ns = 0").to_toml();
    assert!(text.contains(setting), "{text}");
    open(toml(&text.replace(setting, value)), 1)
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

/// A trial of `cas`.
fn cas(a: u32, b: u32, key: u64) -> Assignment {
    trial(a, b, key, vec![order(&CAS)])
}

pub fn round(assignments: Vec<Assignment>) -> Round {
    Round { assignments }
}

pub fn perform(machine: &mut SimMachine, batch: &[Round]) -> Vec<RoundOutcome> {
    machine.perform(batch, &Stop::new()).unwrap()
}

fn perform_round(machine: &mut SimMachine, assignments: Vec<Assignment>) -> RoundOutcome {
    perform(machine, &[round(assignments)]).remove(0)
}

fn perform_alone(machine: &mut SimMachine, assignment: Assignment) -> Recording {
    perform_round(machine, vec![assignment]).trials.remove(0).unwrap()
}

fn batches(span: &Span) -> &[u32] {
    let Samples::Batches { ticks, .. } = &span.samples else { panic!("no batches") };
    ticks
}

fn counts(span: &Span) -> &[(u64, u64)] {
    let Samples::Counts { counts } = &span.samples else { panic!("no counts") };
    counts
}

/// Half a round trip of a span in ns: mean over lines of the medians within a line.
fn half_ns(machine: &SimMachine, span: &Span) -> f64 {
    let Samples::Batches { visits, ticks } = &span.samples else { panic!("no batches") };
    let ticks: Vec<f64> = ticks.iter().map(|&ticks| f64::from(ticks)).collect();
    let medians: Option<Vec<f64>> = ticks.chunks(*visits as usize).map(median).collect();
    machine.rate().ns(mean(&medians.unwrap()).unwrap()) / f64::from(span.round_trips) / 2.0
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
            let homes = [0, 1, 2, 3].map(|node| machine.true_ns(a, b, &CAS_PAUSE, Home(node)));
            let best = homes.into_iter().fold(f64::INFINITY, f64::min);
            assert!((best / ns - 1.0).abs() < 0.09, "{name}: {a} and {b} at {best} ns");
        }
    }
    assert_eq!(Scenario::names().len(), 9);
    assert!(Scenario::builtin("cray-1").is_none());
}

#[test]
fn the_guest_reports_one_cache_and_its_hypervisor() {
    let mut machine = open(builtin("noisy-vm"), 1);
    let [a, b] = [CpuId(0), CpuId(1)];
    assert_eq!(machine.topology().relation(a, b), Relation::L3);
    assert_eq!(machine.topology().level(Level::L3).len(), 1);
    assert_eq!(machine.environment().hypervisor.as_deref(), Some("kvm"));
    assert_eq!(machine.states(), ["near", "far", "sibling"]);
    let findings = machine.examine(&[a, b].into_iter().collect(), None);
    assert!(findings.iter().any(|finding| finding.id == "simulated"));
    let near = machine.true_ns(a, b, &CAS_PAUSE, Home(0));
    let [far, sibling] = [1, 2].map(|state| machine.true_ns_in(state, a, b, &CAS_PAUSE, Home(0)));
    assert!((4.8..5.5).contains(&(far / near)), "{far} against {near}");
    assert_eq!(sibling, near);
    assert!(machine.true_ns_in(2, a, b, &CAS, Home(0)) < 0.7 * near);
}

#[test]
fn medians_come_close_to_the_truth_on_every_quiet_machine() {
    for name in Scenario::names().iter().filter(|name| **name != "noisy-vm") {
        let mut machine = open(builtin(name), 5);
        let last = machine.topology().cpus().last().unwrap().0;
        for kernel in [&CAS, &CAS_PAUSE, &MSG, &XFER] {
            for (key, b) in [(1, 1), (2, last)] {
                let sampling = Sampling::Batches { visits: 8, round_trips: 256 };
                let order = SpanOrder { lines: 64, sampling, ..order(kernel) };
                let assignment = trial(0, b, key, vec![order]);
                if machine.contamination(&assignment).is_some() {
                    continue;
                }
                let span = &perform_alone(&mut machine, assignment).spans[0];
                let truth = machine.true_ns(CpuId(0), CpuId(b), kernel, span.home);
                let factor = if matches!(kernel.cost, Cost::Chase { .. }) { 2.0 } else { 1.0 };
                let ratio = half_ns(&machine, span) * factor / truth;
                assert!((0.98..1.02).contains(&ratio), "{name}, {}, CPU 0 and {b}: {ratio}", kernel.id);
            }
        }
    }
}

#[test]
fn an_aligned_run_hits_every_slice_once() {
    let mut machine = exact("chiplet-16");
    let mut slices = machine.slices(CpuId(0), CpuId(9), Home(0)).to_vec();
    assert!((slices.iter().sum::<f64>() - 16.0).abs() < 1e-9);
    let sampling = Sampling::Batches { visits: 1, round_trips: 100_000 };
    let run = SpanOrder { lines: 16, sampling, ..order(&CAS_PAUSE) };
    let one = SpanOrder { walk: Walk::OnePlace, lines: 4, ..run.clone() };
    let spans = perform_alone(&mut machine, trial(0, 9, 3, vec![run, one])).spans;
    let truth = machine.true_ns(CpuId(0), CpuId(9), &CAS_PAUSE, Home(0));
    assert!((half_ns(&machine, &spans[0]) / truth - 1.0).abs() < 1e-4);
    let share = |&ticks: &u32| machine.rate().ns(f64::from(ticks)) / 2e5 / truth;
    let mut seen: Vec<f64> = batches(&spans[0]).iter().map(share).collect();
    seen.sort_by(f64::total_cmp);
    slices.sort_by(f64::total_cmp);
    assert!(seen.iter().zip(&slices).all(|(a, b)| (a - b).abs() < 1e-3), "{seen:?} {slices:?}");
    let ticks = batches(&spans[1]);
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
    let sampling = Sampling::Batches { visits: 16, round_trips: 16 };
    let large = SpanOrder { lines: 64, sampling, ..order(&CAS) };
    for (name, order) in [("huge-1024", &large), ("epyc-2s-192", &large), ("chiplet-16-smt", &order(&CAS))] {
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
    let rounds = tournament(4, 8, order(&CAS));
    let [mut whole, mut cut, mut reordered] = [(); 3].map(|()| open(builtin("noisy-vm"), 2));
    let together = perform(&mut whole, &rounds);
    let apart: Vec<RoundOutcome> = rounds.chunks(3).flat_map(|part| perform(&mut cut, part)).collect();
    assert_eq!((&together, whole.now()), (&apart, cut.now()));
    let backwards = rounds[0].assignments.iter().rev().cloned().collect();
    let mut outcome = perform_round(&mut reordered, backwards);
    outcome.trials.reverse();
    assert_eq!(outcome, together[0]);
}

#[test]
fn the_seed_determines_the_noise_and_the_hardware_seed_the_machine() {
    let samples = |scenario: Scenario, seed| {
        let mut machine = open(scenario, seed);
        let truth = machine.true_ns(CpuId(0), CpuId(9), &CAS, Home(0));
        (truth, perform_alone(&mut machine, cas(0, 9, 1)).spans)
    };
    let one = samples(builtin("chiplet-16"), 1);
    assert_eq!(samples(builtin("chiplet-16"), 1), one);
    let other = samples(builtin("chiplet-16"), 2);
    assert!(one.0 == other.0 && one.1 != other.1);
    assert_ne!(samples(changed("chiplet-16", "hardware_seed = 99"), 1).0, one.0);
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
        let is_near = |(share, expected): (&f64, f64)| (share / expected - 1.0).abs() < 0.15;
        assert!(share.iter().zip(expected).all(is_near), "{share:?}");
    }
}

#[test]
fn a_guest_moves_between_its_states_and_leaves_evidence() {
    let mut machine = open(builtin("noisy-vm"), 3);
    let (mut seen, mut switches) = ([0; 3], 0);
    for key in 0..1200 {
        machine.pause(Picos::from_ms(50), &Stop::new());
        let recording = perform_alone(&mut machine, cas(0, 1, key));
        switches += recording.disturbance.involuntary_switches.unwrap();
        let half = half_ns(&machine, &recording.spans[0]);
        let [before, after] =
            [Picos::ZERO, recording.elapsed].map(|at| machine.state_at(recording.started + at));
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
    let mut machine = exact("arm-coarse-clock");
    let events = SpanOrder { lines: 16, sampling: Sampling::Events { round_trips: 40_000 }, ..order(&CAS) };
    let span = &perform_alone(&mut machine, trial(0, 1, 1, vec![events])).spans[0];
    let counts = counts(span);
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 40_000);
    assert!(counts.len() <= 4, "{counts:?}");
    let sum: f64 = counts.iter().map(|&(ticks, count)| ticks as f64 * count as f64).sum();
    let truth = machine.true_ns(CpuId(0), CpuId(1), &CAS, Home(0));
    assert!((machine.rate().ns(sum / 40_000.0) / 2.0 / truth - 1.0).abs() < 0.01);
}

#[test]
fn clock_offsets_cancel_in_the_sum_of_both_directions() {
    let scenario = noiseless("chiplet-16", "[counter]\ncost_ns = 0\noffset_sd_ns = 500");
    let mut machine = open(scenario, 1);
    let sampling = Sampling::Events { round_trips: 16_000 };
    let stamps = SpanOrder { lines: 16, sampling, ..order(&ONE_WAY) };
    let span = &perform_alone(&mut machine, trial(0, 9, 1, vec![stamps])).spans[0];
    let [there, back] = [Direction::Out, Direction::Back].map(|way| {
        let of_way = counts(span).iter().map(|&(code, count)| (OneWay::unpack(code), count));
        let of_way = of_way.filter(|(message, _)| message.way == way);
        of_way.map(|(message, count)| message.ticks as f64 * count as f64).sum::<f64>() / 16_000.0
    });
    assert!(there.min(back) < 0.0, "no clock lags: {there}, {back}");
    let sum = machine.rate().ns(there + back);
    let truth = 2.0 * machine.true_ns(CpuId(0), CpuId(9), &CAS_PAUSE, Home(0));
    assert!((sum / truth - 1.0).abs() < 0.01, "{sum} against {truth}");
}

#[test]
fn homes_affect_latencies_and_unknown_homes_are_refused() {
    let mut machine = open(builtin("epyc-2s-192"), 1);
    let truth = |a, b, node| machine.true_ns(CpuId(a), CpuId(b), &CAS_PAUSE, Home(node));
    let (left, right) = (truth(0, 96, 0), truth(0, 96, 1));
    assert!((left.max(right) / left.min(right) - 1.15).abs() < 1e-9);
    assert!(truth(0, 8, 1) > 1.8 * truth(0, 8, 0));
    let nowhere = SpanOrder { home: HomeChoice::Node(Home(7)), ..order(&CAS) };
    let error = machine.perform(&[round(vec![trial(0, 1, 1, vec![nowhere])])], &Stop::new()).unwrap_err();
    assert!(matches!(error, MachineError::Memory { node: 7, .. }), "{error}");
}

#[test]
fn parallel_pairs_slow_each_other_as_stated() {
    let mut machine = exact_but("chiplet-16", "parallel_bias = 0.0", "parallel_bias = 0.01");
    let mut half_among = |pairs: u32| {
        let outcome = perform_round(&mut machine, (0..pairs).map(|k| cas(k, k + 8, 1)).collect());
        half_ns(&machine, &outcome.trials[0].as_ref().unwrap().spans[0])
    };
    let (alone, together) = (half_among(1), half_among(8));
    assert!((together / alone - 1.07).abs() < 1e-3);
}

#[test]
fn contaminated_trials_are_as_rare_and_as_slow_as_stated() {
    let mut machine = exact_but("chiplet-16", "bad_share = 0.0", "bad_share = 0.1");
    let mut bad = 0;
    for key in 0..2000 {
        let assignment = cas(0, 9, key);
        let contamination = machine.contamination(&assignment);
        bad += usize::from(contamination.is_some());
        if key < 200 {
            let span = &perform_alone(&mut machine, assignment).spans[0];
            let ratio = half_ns(&machine, span) / machine.true_ns(CpuId(0), CpuId(9), &CAS, Home(0));
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
    let mut machine = exact("chiplet-16");
    let outcome = perform_round(&mut machine, vec![cas(0, 1, 1), cas(2, 9, 1)]);
    let far = outcome.trials[1].as_ref().unwrap();
    assert_eq!((outcome.elapsed, machine.now()), (far.elapsed, far.elapsed));
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
    let with = |failures: &str| changed("laptop-smt", &format!("[failures]\n{failures}\n"));
    let first = |failures: &str| {
        let mut machine = open(with(failures), 1);
        machine.pause(Picos::from_ms(5), &Stop::new());
        let mut trials = perform_round(&mut machine, vec![cas(0, 1, 1), cas(2, 3, 1)]).trials;
        assert!(trials[1].is_ok(), "{failures} hit the wrong pair");
        trials.remove(0)
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
    let workers = |cpus: &[u32]| {
        let cpus = cpus.iter().map(|&id| CpuId(id)).collect();
        WorkerSettings { cpus, ..WorkerSettings::default() }
    };
    for cpu in [3, 8] {
        let error = refusing.engage(&workers(&[cpu])).unwrap_err();
        assert!(matches!(error, MachineError::Pin { cpu: refused, .. } if refused.0 == cpu), "{error}");
        refusing.engage(&workers(&[0, cpu])).unwrap();
        let absent = refusing.absent(&[CpuId(0), CpuId(cpu)].into_iter().collect());
        assert_eq!(absent.iter().map(|(cpu, _)| cpu.0).collect::<Vec<_>>(), [cpu]);
    }
    refusing.engage(&workers(&[0, 1])).unwrap();
    let outcome = perform_round(&mut refusing, vec![cas(0, 2, 1)]);
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
    let jump = "[failures]\nclock_step = { at_ms = 1, by_us = 9000 }";
    let mut machine = exact_but("laptop-smt", "[failures]", jump);
    let order = SpanOrder { lines: 64, ..order(&CAS) };
    let span = &perform_alone(&mut machine, trial(0, 1, 1, vec![order])).spans[0];
    let is_long = |&&ticks: &&u32| machine.rate().ns(f64::from(ticks)) > 8e6;
    assert_eq!(batches(span).iter().filter(is_long).count(), 1);
}

#[test]
fn invalid_rounds_are_refused() {
    let mut machine = open(builtin("laptop-smt"), 1);
    for assignments in [vec![cas(0, 0, 1)], vec![cas(0, 1, 1), cas(1, 2, 1)]] {
        let error = machine.perform(&[round(assignments)], &Stop::new()).unwrap_err();
        assert!(matches!(error, MachineError::Scenario { .. }), "{error}");
    }
}

#[test]
fn a_machine_from_a_matrix_has_its_latencies() {
    let cells = [[None, Some(20.0), None], [Some(30.0), None, None], [Some(50.0), None, None]];
    let matrix = Matrix::directed([0, 2, 5].map(CpuId).to_vec(), |row, column| cells[row][column]);
    let scenario = Scenario::from_matrix("found.csv", matrix).unwrap();
    assert_eq!(toml(&scenario.to_toml()), scenario);
    let mut machine = open(scenario, 1);
    assert!(machine.topology().domains().is_empty());
    let truth = |a, b| machine.true_ns(CpuId(a), CpuId(b), &CAS, Home(0));
    assert_eq!((truth(0, 2), truth(2, 0), truth(0, 5), truth(2, 5)), (20.0, 30.0, 50.0, 30.0));
    let span = &perform_alone(&mut machine, cas(2, 0, 1)).spans[0];
    assert!((half_ns(&machine, span) / 30.0 - 1.0).abs() < 0.03);
    let refused = |ns| {
        let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(1)], |_, _| ns);
        Scenario::from_matrix("x", matrix).unwrap_err().to_string()
    };
    assert!(refused(None).contains("no value off the diagonal"));
    assert!(refused(Some(0.0)).contains("CPU 1 and CPU 0"));
}
