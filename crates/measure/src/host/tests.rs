//! Tests of the real machine with small counts: termination, results, and failures of roles.

use super::HostMachine;
use super::affinity::current_mask;
use crate::kernel::{Kernel, RoleFn, Spin};
use crate::kernel_context::{Halt, KernelContext, Recorder};
use crate::machine::{
    Assignment, HomeChoice, Machine, MachineError, Round, RoundOutcome, Sampling, SpanOrder, Walk,
    WorkerSettings,
};
use crate::stop::Stop;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use coretalk_model::{CpuId, Disturbance, Picos, Recording, Samples, TrialFailure};
use std::time::{Duration, Instant};

/// The roles increment one word in turns: even values belong to role 0.
static TURNS: Kernel = kernel("turns", &[FIRST, |context| turns(context, 1)]);
/// The second role never answers, but checks the guard.
static SILENT: Kernel = kernel(
    "silent",
    &[FIRST, |context| {
        loop {
            context.guard.check()?;
            std::hint::spin_loop();
        }
    }],
);
static HASTY: Kernel = kernel("hasty", &[FIRST, |_| Ok(())]);
static FAULTY: Kernel = kernel("faulty", &[FIRST, |_| panic!("on purpose")]);
static LYING: Kernel = kernel(
    "lying",
    &[FIRST, |context| {
        turns(context, 1)?;
        context.verified += 1;
        Ok(())
    }],
);
/// The second role returns late and does not check the guard.
static DEAF: Kernel = kernel(
    "deaf",
    &[FIRST, |_| {
        std::thread::sleep(Duration::from_secs(6));
        Ok(())
    }],
);

/// The second role loses its affinity during the trial, as after a hot-unplug.
static UPROOTED: Kernel = kernel(
    "uprooted",
    &[FIRST, |context| {
        super::affinity::set_mask(&super::HostMachine::open().unwrap().allowance().cpuset).unwrap();
        turns(context, 1)
    }],
);

const FIRST: RoleFn = |context| turns(context, 0);
const BATCHES: Sampling = Sampling::Batches { visits: 2, round_trips: 5 };
const ENDLESS: Sampling = Sampling::Batches { visits: 1, round_trips: 2_000_000_000 };

const fn kernel(name: &'static str, roles: &'static [RoleFn]) -> Kernel {
    Kernel::ping_pong((name, "turns"), roles, (1.0, Spin::Eager), 1)
}

fn turns(context: &mut KernelContext<'_>, role: u64) -> Result<(), Halt> {
    let places = context.lines.len() as u64;
    let (mut trips, mut samples) = match &mut context.recorder {
        Recorder::Batches { visits, round_trips, ticks } => {
            (u64::from(*visits) * u64::from(*round_trips), ticks.iter_mut())
        }
        Recorder::Events { round_trips, buckets, beyond } => {
            // The first event of every place is long.
            if role == 0 {
                buckets[5] += *round_trips as u32 - 1;
                beyond.push(1 << 40);
            }
            (*round_trips / places, [].iter_mut())
        }
    };
    for (place, line) in context.lines.iter().enumerate() {
        let word = &line.words[0];
        assert!(role == 1 || word.load(Relaxed) == 0, "a line was not prepared");
        trips += if place == 0 { u64::from(context.warm_up) } else { 0 };
        for trip in 0..trips {
            let mine = 2 * trip + role;
            while word.compare_exchange(mine, mine + 1, AcqRel, Relaxed).is_err() {
                context.guard.check()?;
            }
            context.verified += 1;
        }
        while word.load(Acquire) < 2 * trips {
            context.guard.check()?;
        }
        trips -= if place == 0 { u64::from(context.warm_up) } else { 0 };
    }
    samples.by_ref().for_each(|slot| *slot = 7);
    Ok(())
}

fn pair() -> Option<[CpuId; 2]> {
    let cpus: Vec<CpuId> = current_mask().unwrap().iter().take(2).collect();
    let pair = <[CpuId; 2]>::try_from(cpus).ok();
    if pair.is_none() {
        eprintln!("skipped: fewer than two CPUs are allowed");
    }
    pair
}

fn settings(cpus: &[CpuId]) -> WorkerSettings {
    WorkerSettings { cpus: cpus.to_vec(), ..WorkerSettings::default() }
}

fn engaged() -> Option<(HostMachine, [CpuId; 2])> {
    let pair = pair()?;
    let mut machine = HostMachine::open().unwrap();
    machine.engage(&settings(&pair)).unwrap();
    Some((machine, pair))
}

fn order(kernel: &'static Kernel, walk: Walk, sampling: Sampling) -> SpanOrder {
    SpanOrder { kernel, home: HomeChoice::OfRole(0), lines: 4, walk, warm_up: 3, sampling }
}

fn round(pair: [CpuId; 2], kernel: &'static Kernel) -> Round {
    round_of(pair, vec![order(kernel, Walk::FreshRuns, BATCHES)])
}

fn round_of(pair: [CpuId; 2], orders: Vec<SpanOrder>) -> Round {
    Round { assignments: vec![Assignment { placement: pair, orders: orders.into(), key: 11 }] }
}

fn failure(outcomes: &[RoundOutcome]) -> &TrialFailure {
    outcomes[0].trials[0].as_ref().unwrap_err()
}

#[test]
fn outcomes_are_in_order_and_have_every_span() {
    let Some((mut machine, [a, b])) = engaged() else { return };
    let orders = vec![
        order(&TURNS, Walk::FreshRuns, BATCHES),
        order(&TURNS, Walk::OnePlace, BATCHES),
        order(&TURNS, Walk::FreshRuns, Sampling::Events { round_trips: 40 }),
    ];
    let batch: Vec<Round> =
        (0..5).map(|n| round_of(if n % 2 == 0 { [a, b] } else { [b, a] }, orders.clone())).collect();
    let outcomes = machine.perform(&batch, &Stop::new()).unwrap();
    assert_eq!(outcomes.len(), 5);
    assert!(
        outcomes.windows(2).all(|two| two[0].started + two[0].elapsed <= two[1].started + Picos::from_us(1))
    );
    for outcome in &outcomes {
        let [Ok(recording)] = &outcome.trials[..] else { panic!("{:?}", outcome.trials) };
        assert_eq!(recording.spans.len(), 3);
        for span in &recording.spans[..2] {
            assert_eq!(span.samples, Samples::Batches { visits: 2, ticks: vec![7; 8] });
            assert_eq!((span.kernel.as_str(), span.round_trips), ("turns", 5));
        }
        assert_eq!(recording.spans[2].samples, Samples::Counts { counts: vec![(5, 39), (1 << 40, 1)] });
        assert!(!recording.disturbance.migrated && recording.disturbance.involuntary_switches.is_some());
        assert_eq!(recording.core_ghz.len(), 2);
        assert!(recording.elapsed > Picos::ZERO && recording.started <= machine.now());
    }
    assert!(machine.environment().priority.is_some());
}

#[test]
fn every_kernel_of_the_registry_runs() {
    let Some((mut machine, [a, b])) = engaged() else { return };
    for kernel in crate::probes::REGISTRY.iter().flat_map(|probe| probe.kernels()) {
        let id = &kernel.id;
        for sampling in
            [Sampling::Batches { visits: 2, round_trips: 4 }, Sampling::Events { round_trips: 40 }]
        {
            let orders = [Walk::FreshRuns, Walk::OnePlace].map(|walk| order(kernel, walk, sampling)).to_vec();
            let outcomes = machine.perform(&[round_of([a, b], orders)], &Stop::new()).unwrap();
            let recording =
                outcomes[0].trials[0].as_ref().unwrap_or_else(|failure| panic!("{id}: {failure}"));
            for span in &recording.spans {
                let enough = match &span.samples {
                    Samples::Batches { ticks, .. } => ticks.len() == 8 && ticks.iter().all(|&t| t > 0),
                    Samples::Counts { counts } => counts.iter().map(|count| count.1).sum::<u64>() >= 40,
                    Samples::Events { .. } => false,
                };
                assert!(enough, "{id}: {:?}", span.samples);
            }
        }
    }
}

#[test]
fn a_round_without_trials_and_one_that_cannot_be_run_have_outcomes() {
    let Some((mut machine, [a, b])) = engaged() else { return };
    let [absent, twice, usual] = [[a, CpuId(4000)], [a, a], [a, b]].map(|pair| round(pair, &TURNS));
    let nothing = Round { assignments: vec![] };
    let batch = [nothing.clone(), absent, twice, usual, nothing];
    let outcomes = machine.perform(&batch, &Stop::new()).unwrap();
    assert_eq!(outcomes.len(), 5);
    assert!(outcomes[0].trials.is_empty() && outcomes[4].trials.is_empty());
    assert!(matches!(outcomes[1].trials[0], Err(TrialFailure::NotPinned { cpu: CpuId(4000), .. })));
    assert!(matches!(outcomes[2].trials[0], Err(TrialFailure::NotPinned { .. })));
    assert!(outcomes[3].trials[0].is_ok());
}

#[test]
fn a_failed_role_does_not_affect_the_next_trial() {
    let Some((mut machine, pair)) = engaged() else { return };
    let stop = Stop::new();
    let begun = Instant::now();
    let mut fail = |kernel| {
        let outcomes = machine.perform(&[round(pair, kernel), round(pair, &TURNS)], &stop).unwrap();
        assert!(outcomes[1].trials[0].is_ok(), "after {:?}: {:?}", outcomes[0].trials, outcomes[1].trials);
        failure(&outcomes).clone()
    };
    assert!(matches!(fail(&SILENT), TrialFailure::TimedOut { .. }));
    assert!(matches!(fail(&HASTY), TrialFailure::Unverified { received: 0, .. }));
    assert_eq!(fail(&FAULTY), TrialFailure::PartnerLost { cpu: pair[1] });
    assert_eq!(fail(&LYING), TrialFailure::Unverified { sent: 43, received: 44 });
    // The coordinator may see that the CPU is lost, and then gives up all trials on it, so the next one is in a new batch.
    let outcomes = machine.perform(&[round(pair, &UPROOTED)], &stop).unwrap();
    assert_eq!(failure(&outcomes), &TrialFailure::CpuLost { cpu: pair[1] });
    let outcomes = machine.perform(&[round(pair, &TURNS)], &stop).unwrap();
    assert!(outcomes[0].trials[0].is_ok(), "{:?}", outcomes[0].trials);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_stuck_worker_is_dropped_and_reused_once_it_returns() {
    let Some((mut machine, pair)) = engaged() else { return };
    let stop = Stop::new();
    let outcomes = machine.perform(&[round(pair, &DEAF), round(pair, &TURNS)], &stop).unwrap();
    assert_eq!(outcomes.len(), 2);
    let lost = TrialFailure::PartnerLost { cpu: pair[1] };
    assert_eq!(failure(&outcomes), &lost);
    assert_eq!(failure(&outcomes[1..]), &lost, "its CPU cannot be measured meanwhile");
    let deadline = Instant::now() + Duration::from_secs(30);
    while machine.perform(&[round(pair, &TURNS)], &stop).unwrap()[0].trials[0].is_err() {
        assert!(Instant::now() < deadline, "the thread came back, and is not used");
        machine.pause(Picos::from_ms(100), &stop);
    }
}

#[test]
fn a_long_round_that_loses_a_cpu_ends_long_before_its_limit() {
    let Some((mut machine, pair)) = engaged() else { return };
    let uprooted = round_of(pair, vec![order(&UPROOTED, Walk::FreshRuns, ENDLESS)]);
    // The limit is hours: without detection, the stop after 20 s ends the run without an outcome.
    let stop = Stop::new();
    let (raiser, (done, waits)) = (stop.clone(), std::sync::mpsc::channel::<()>());
    let thread = std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(20)).is_err() {
            raiser.raise();
        }
    });
    let outcomes = machine.perform(&[uprooted], &stop).unwrap();
    done.send(()).unwrap();
    thread.join().unwrap();
    assert_eq!(failure(&outcomes), &TrialFailure::CpuLost { cpu: pair[1] });
}

#[test]
fn a_stop_ends_a_batch_soon() {
    let Some((mut machine, pair)) = engaged() else { return };
    let stop = Stop::new();
    let raiser = stop.clone();
    let thread = std::thread::spawn(move || {
        // Long enough for the first round, even while other tests run.
        std::thread::sleep(Duration::from_secs(1));
        raiser.raise();
        Instant::now()
    });
    let endless = round_of(pair, vec![order(&TURNS, Walk::FreshRuns, ENDLESS)]);
    let batch = [round(pair, &TURNS), endless, round(pair, &TURNS)];
    let outcomes = machine.perform(&batch, &stop).unwrap();
    let raised = thread.join().unwrap();
    assert!(raised.elapsed() < Duration::from_secs(3), "{:?}", raised.elapsed());
    assert_eq!(outcomes.len(), 1, "completed rounds only");
    assert!(outcomes[0].trials[0].is_ok());
    assert!(machine.perform(&batch, &stop).unwrap().is_empty(), "the request lasts");
    let begun = Instant::now();
    machine.pause(Picos::from_secs(60.0), &stop);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_cpu_that_does_not_exist_cannot_be_engaged() {
    let mut machine = HostMachine::open().unwrap();
    let error = machine.engage(&settings(&[CpuId(4000)])).unwrap_err();
    assert!(matches!(error, MachineError::Pin { cpu: CpuId(4000), .. }), "{error}");
}

#[test]
fn dropping_the_machine_ends_its_threads() {
    let Some((mut machine, pair)) = engaged() else { return };
    // Other tests also have threads, so only the threads of this machine are counted.
    let workers = machine.threads();
    assert_eq!(workers.len(), 2);
    let is_alive = |id: &&_| std::path::Path::new(&format!("/proc/self/task/{id}")).exists();
    let alive = || workers.iter().filter(is_alive).count();
    assert_eq!(alive(), 2);
    machine.perform(&[round(pair, &TURNS)], &Stop::new()).unwrap();
    drop(machine);
    // A joined thread leaves /proc a moment later; in an emulated machine that takes long.
    let begun = Instant::now();
    while alive() > 0 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(alive(), 0);
}

#[test]
fn offsets_between_engaged_cpus_are_measured() {
    let Some((mut machine, [a, b])) = engaged() else { return };
    let (now, far) = (Instant::now(), Instant::now() + Duration::from_secs(600));
    let report = machine.measure_offsets(&[(a, b), (b, a)], far, &Stop::new());
    assert_eq!(report.offsets.len(), 2);
    let report = machine.measure_offsets(&[(a, b)], now, &Stop::new());
    assert!(report.offsets.is_empty() && report.spread().is_none());
    let report = machine.measure_offsets(&[(a, b)], far, &Stop::new());
    let offset = report.offset(a, b).unwrap();
    assert_eq!(report.offset(b, a).unwrap().ticks, -offset.ticks);
    assert_eq!(offset.bound_ticks, offset.round_trip_ticks as f64 / 2.0 + report.step_ticks as f64);
    assert!(machine.is_busy().is_some());
    let findings = machine.examine(&[a, b].into_iter().collect(), None);
    assert!(findings.iter().any(|finding| finding.id == "tsc-sync"));
}

#[test]
fn a_machine_is_examined_for_a_part_of_the_budget() {
    let examined_ms = |budget: Option<u64>| super::machine::examined(budget.map(Picos::from_ms)).as_millis();
    assert_eq!([Some(1_000), Some(40_000), Some(600_000), None].map(examined_ms), [50, 2_000, 3_000, 3_000]);
}

#[test]
fn a_cpu_quota_is_reported_for_values_and_for_failures() {
    let (zero, disturbance) = (Picos::ZERO, Disturbance::default());
    let measured = Recording { started: zero, elapsed: zero, spans: vec![], core_ghz: vec![], disturbance };
    let trials = vec![
        Ok(measured),
        Err(TrialFailure::TimedOut { limit: Picos::from_ms(2_000) }),
        Err(TrialFailure::PartnerLost { cpu: CpuId(8) }),
        Err(TrialFailure::CpuLost { cpu: CpuId(8) }),
    ];
    let mut round = RoundOutcome { started: zero, elapsed: zero, trials };
    super::machine::blame_quota(&mut round);
    let message = |trial: usize| round.trials[trial].as_ref().unwrap_err().to_string();
    assert!(round.trials[0].as_ref().unwrap().disturbance.quota);
    let stopped = "; the CPU quota stopped this process meanwhile";
    assert_eq!(message(1), format!("the threads did not finish within 2.00 s{stopped}"));
    assert_eq!(message(2), format!("the thread on CPU 8 stopped responding{stopped}"));
    assert_eq!(message(3), "CPU 8 was taken away during the run");
}

#[test]
fn the_coordinator_leaves_measured_cores_if_possible_and_restores_its_mask() {
    let Some([_, b]) = pair() else { return };
    let before = current_mask().unwrap();
    let mut machine = HostMachine::open().unwrap();
    let granted = machine.engage(&settings(&[b])).unwrap();
    let measured = machine.topology().siblings(b);
    assert_eq!(granted.coordinator_apart, !before.difference(&measured).is_empty());
    assert_eq!(granted.coordinator_apart, current_mask().unwrap().intersection(&measured).is_empty());
    drop(machine);
    assert_eq!(current_mask().unwrap(), before);
}

#[test]
fn real_time_on_every_cpu_is_refused_with_a_reason() {
    let mut machine = HostMachine::open().unwrap();
    let cpus: Vec<CpuId> = machine.topology().cpus().iter().collect();
    let error = machine.engage(&WorkerSettings { realtime: Some(1), ..settings(&cpus) }).unwrap_err();
    assert!(matches!(error, MachineError::Priority { .. }), "{error}");
}
