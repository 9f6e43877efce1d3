//! Trials on real threads: each pass ends, works and leaves no sleeping thread. Recording events allocates nothing.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod counting;

use coretalk_measure::counter;
use coretalk_measure::counters::catalogue::METHODS;
use coretalk_measure::host::HostMachine;
use coretalk_measure::probes::execution::{self, Execution};
use coretalk_measure::probes::latency_under_load::names as load;
use coretalk_measure::probes::spawn;
use coretalk_measure::series::{SeriesProbe, SeriesRequest, TrialOrder};
use coretalk_measure::tick_histogram::TickHistogram;
use coretalk_measure::{Machine, Stop, WorkerSettings, probes};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::wake::RanOn;
use coretalk_model::{CpuId, Flag, Picos, TrialFailure, contend, jitter, queue};
use counting::Allocated;
use std::time::Duration;

const STRATEGIES: &str =
    "busy,pause,pause:8,fence,yield,spin-futex:100,futex,backoff,umwait,tpause,mwaitx,wfe";
const PRIMITIVES: &str = "std-mutex,pthread-mutex,pthread-mutex-adaptive,pthread-mutex-pi,parking-lot-mutex,condvar-one,\
condvar-one-locked,condvar-all,condvar-all-locked,parking-lot-condvar,semaphore,sem-t,atomic-wait-set,\
atomic-wait-clear,atomic-wait-always,park,barrier,eventfd,pipe,tas,ttas,ticket,uncontended:std-mutex,uncontended:ticket,\
notify-idle:condvar-one,notify-idle:park,notify-idle:atomic-wait-set,\
notify-all:3,sleep-1ms";

struct Host {
    machine: HostMachine,
    cpus: Vec<CpuId>,
}

impl Host {
    fn with_workers(count: usize) -> Option<Host> {
        let host = Host::of_at_most(count);
        if host.cpus.len() < count {
            eprintln!("skipped: this needs {count} CPUs");
        }
        (host.cpus.len() == count).then_some(host)
    }

    fn of_at_most(count: usize) -> Host {
        let mut machine = HostMachine::open().unwrap();
        let allowance = machine.allowance();
        let cpus: Vec<CpuId> = allowance.mask.intersection(&allowance.cpuset).iter().take(count).collect();
        machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
        Host { machine, cpus }
    }

    /// The trials of a probe that this machine can perform, with neighbouring CPUs as pairs.
    fn trials(&self, probe: &str, options: &Parameters) -> Vec<TrialSpec> {
        let pairs: Vec<[CpuId; 2]> = self.cpus.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let request =
            SeriesRequest { topology: self.machine.topology(), cpus: &self.cpus, pairs: &pairs, options };
        let probe = probes::series_by_id(probe).unwrap();
        let all = probe.trials(&request).unwrap().into_iter();
        let all: Vec<TrialSpec> = all.filter(|trial| self.machine.lacks(probe, trial).is_none()).collect();
        assert!(!all.is_empty(), "nothing can be performed");
        all
    }

    fn pass(
        &mut self,
        spec: &TrialSpec,
        options: &Parameters,
        ms: u64,
        stop: &Stop,
    ) -> Result<PassOutcome, TrialFailure> {
        let probe = probes::series_by_id(&spec.probe).unwrap();
        self.machine.perform_trial(&order(probe, spec, options, ms), stop)
    }

    /// A pass of several milliseconds that must succeed.
    fn short_pass(&mut self, spec: &TrialSpec) -> PassOutcome {
        self.pass(spec, &Parameters::default(), 4, &Stop::new()).unwrap()
    }

    /// A short pass whose threads must not have migrated.
    fn bound_pass(&mut self, spec: &TrialSpec) -> PassOutcome {
        let outcome = self.short_pass(spec);
        assert_eq!(outcome.roles.len(), spec.placement.len(), "{}", spec.label());
        assert!(outcome.roles.iter().all(|role| !role.migrated), "{}", spec.label());
        outcome
    }
}

fn order<'a>(
    probe: &'static dyn SeriesProbe,
    spec: &'a TrialSpec,
    options: &'a Parameters,
    ms: u64,
) -> TrialOrder<'a> {
    TrialOrder { probe, spec, options, span: Picos::from_ms(ms), key: 1, process: 0 }
}

fn raised() -> Stop {
    let stop = Stop::new();
    stop.raise();
    stop
}

fn count_of(outcome: &PassOutcome, name: &str) -> u64 {
    outcome.observed.numbers.counts.get(name).copied().unwrap_or(0)
}

/// The primitives with short gaps; the longest gap would test nothing more.
fn wake_ups(host: &Host, names: &str) -> Vec<TrialSpec> {
    let mut all = host.trials("wake", &Parameters::default().with("primitive", names));
    all.retain(|trial| trial.parameters.number("gap_ns").is_none_or(|gap_ns| gap_ns < 2e6));
    all
}

/// Trials of gaps, loads, distances and broadcasts. On two CPUs the loads share them with the pair, and must still end.
fn line_trials(host: &Host) -> Vec<TrialSpec> {
    let options = Parameters::default().with(load::GAP_NS, "1000,1000000").with(load::LOAD, "none");
    let mut all = host.trials("latency", &options);
    all.extend(["sharing", "broadcast"].iter().flat_map(|id| host.trials(id, &Parameters::default())));
    all.extend(["compute", "pingpong", "stream"].map(|kind| TrialSpec {
        probe: "latency".into(),
        parameters: Parameters::default().with(load::LOAD, kind),
        placement: [&host.cpus[..], &host.cpus[..]].concat(),
    }));
    all
}

#[test]
fn every_way_of_waiting_hands_over_in_every_mode() {
    let Some(mut host) = Host::with_workers(2) else { return };
    for mode in [None, Some("no-clock"), Some("alternate"), Some("cost")] {
        let names = match mode {
            None => format!("clock,{STRATEGIES}"),
            Some("alternate") => STRATEGIES.replace("busy,", ""),
            Some(_) => STRATEGIES.to_owned(),
        };
        let options = Parameters::default().with("strategy", names).with_some("mode", mode);
        for spec in host.trials("wait", &options) {
            let outcome = host.bound_pass(&spec);
            assert!(count_of(&outcome, "samples") > 0, "{}", spec.label());
            assert!(!outcome.observed.flags.contains(Flag::Invalid), "{}", spec.label());
            let mut values = outcome.observed.numbers.values.values();
            assert!(values.all(|value| value.is_finite()), "{}", spec.label());
        }
    }
}

#[test]
fn sides_may_wait_differently_and_requested_counts_are_met() {
    let Some(mut host) = Host::with_workers(2) else { return };
    let asym = "pause:futex,futex:busy,backoff:yield";
    let options = Parameters::default().with("asym", asym).with("samples", 8e3);
    let trials = host.trials("wait", &options);
    assert_eq!(trials.len(), 3);
    for spec in trials {
        let outcome = host.pass(&spec, &options, 60_000, &Stop::new()).unwrap();
        // An eighth of the requested number, on sixteen lines.
        assert_eq!(count_of(&outcome, "samples"), 1_008, "{}", spec.label());
        assert!(!outcome.observed.flags.contains(Flag::Invalid), "{}", spec.label());
    }
}

#[test]
fn roles_that_share_a_cpu_hand_over_and_spinning_is_flagged() {
    let Some(mut host) = Host::with_workers(1) else { return };
    let options = Parameters::default().with("strategy", "busy,pause,yield,futex,backoff");
    for spec in host.trials("wait", &options) {
        let outcome = host.bound_pass(&spec);
        assert!(count_of(&outcome, "samples") > 0, "{}", spec.label());
        let keeps_cpu = ["busy", "pause"].contains(&spec.parameters.text("strategy").unwrap());
        assert_eq!(outcome.observed.flags.contains(Flag::SharedSpin), keeps_cpu, "{}", spec.label());
    }
}

#[test]
fn every_primitive_wakes_across_cpus_and_on_one() {
    let Some(mut host) = Host::with_workers(2) else { return };
    let mut all = wake_ups(&host, PRIMITIVES);
    for mut spec in wake_ups(&host, "semaphore,pipe,std-mutex") {
        spec.placement = vec![host.cpus[0]; 2];
        all.push(spec);
    }
    for spec in all {
        // A hand-off by a spinning lock that is shorter than the offset of the counters is counted as negative.
        let outcome = host.bound_pass(&spec);
        assert!(count_of(&outcome, "samples") + count_of(&outcome, "negative") > 0, "{}", spec.label());
    }
}

#[test]
fn unbound_waiters_report_where_they_run() {
    let Some(mut host) = Host::with_workers(2) else { return };
    let options = Parameters::default().with("primitive", "semaphore,pipe,std-mutex,ttas");
    for spec in host.trials("wake", &options.with("gap_ns", "20000").with("unpinned", 1.0)) {
        let values = host.bound_pass(&spec).observed.numbers.values;
        let shares: Vec<f64> =
            RanOn::ALL.iter().filter_map(|place| values.get(place.share()).copied()).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
    }
}

#[test]
fn line_trials_yield_valid_samples() {
    let Some(mut host) = Host::with_workers(2) else { return };
    for spec in line_trials(&host) {
        let outcome = host.short_pass(&spec);
        assert!(count_of(&outcome, "samples") + count_of(&outcome, "negative") > 0, "{}", spec.label());
        assert!(!outcome.observed.flags.contains(Flag::Invalid), "{} {}", spec.probe, spec.label());
    }
}

#[test]
fn every_kind_is_created_runs_and_ends() {
    let mut host = Host::of_at_most(2);
    for spec in host.trials("spawn", &Parameters::default()) {
        let outcome = host.bound_pass(&spec);
        let numbers = &outcome.observed.numbers;
        assert!(count_of(&outcome, "samples") >= 3, "{}", spec.label());
        let p50 = |name: &str| numbers.histograms[name].percentile_ns(0.5).unwrap();
        assert!(p50("latency") > 0.0 && p50("join") >= p50("cost"), "{}", spec.label());
        assert_eq!(numbers.histograms["first"].count(), 1);
        let process = spawn::CreationConfig::from_spec(&spec).unwrap().kind.is_process();
        assert_eq!(numbers.values.contains_key("parent_rss_mib"), process, "{}", spec.label());
    }
}

#[test]
fn every_method_is_exact() {
    let mut host = Host::of_at_most(2);
    let methods = METHODS.iter().map(|method| method.id).collect::<Vec<_>>().join(",");
    let options =
        Parameters::default().with("method", methods).with("threads", "1,3").with("read_share", 0.5);
    for mut spec in host.trials("contend", &options) {
        let cpus = host.cpus.iter().cycle();
        spec.placement.iter_mut().zip(cpus).for_each(|(cpu, other)| *cpu = *other);
        let outcome = host.short_pass(&spec);
        let (made, found) =
            (count_of(&outcome, contend::names::EXPECTED), count_of(&outcome, contend::names::FINAL));
        assert!(made > 0, "{}", spec.label());
        match spec.parameters.text("method") {
            Some("racy") => assert!(found <= made, "{}", spec.label()),
            _ => assert_eq!(found, made, "{}", spec.label()),
        }
        assert!(outcome.observed.numbers.values[contend::names::WALL_NS] > 0.0, "{}", spec.label());
    }
}

#[test]
fn every_cpu_is_watched_and_its_causes_add_up() {
    let mut host = Host::of_at_most(usize::MAX);
    let spec = host.trials("jitter", &Parameters::default()).remove(0);
    let observed = host.pass(&spec, &Parameters::default(), 20, &Stop::new()).unwrap().observed;
    for role in 0..host.cpus.len() {
        let numbers = &observed.by_role[&role];
        let lost = numbers.values[jitter::names::LOST];
        assert!((0.0..=1.0).contains(&lost) && numbers.values[jitter::names::LOOK_NS] > 0.0);
        let causes: f64 =
            jitter::names::CAUSES.iter().filter_map(|(name, _)| numbers.values.get(*name)).sum();
        assert!((causes - lost).abs() < 1e-9, "{causes} of {lost}");
        assert!(numbers.counts[jitter::names::WATCHED] >= 15);
    }
}

#[test]
fn work_of_two_cpus_is_compared_with_work_of_one() {
    let Some(mut host) = Host::with_workers(2) else { return };
    let (spec, options) = (execution::trial([host.cpus[0], host.cpus[1]]), Parameters::default());
    for _ in 0..4 {
        let outcome =
            host.machine.perform_trial(&order(&Execution, &spec, &options, 2), &Stop::new()).unwrap();
        let pass = execution::pass_of(&outcome.observed).unwrap();
        // Independently of other load: a rate is positive, and no partner raises it much.
        assert!(pass.kept.iter().flatten().all(|kept| *kept > 0.0 && *kept < 100.0), "{pass:?}");
    }
    let outcome = host.machine.perform_trial(&order(&Execution, &spec, &options, 50), &raised());
    assert!(matches!(outcome, Ok(_) | Err(TrialFailure::Interrupted)), "{outcome:?}");
}

#[test]
fn a_raised_stop_ends_every_role() {
    let Some(mut host) = Host::with_workers(2) else { return };
    let options = Parameters::default().with("strategy", STRATEGIES);
    let all = [host.trials("wait", &options), wake_ups(&host, PRIMITIVES), line_trials(&host)].concat();
    for spec in [all, host.trials("spawn", &Parameters::default())].concat() {
        let stop = Stop::new();
        let raiser = stop.clone();
        let raising = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            raiser.raise();
        });
        let ended = host.pass(&spec, &Parameters::default(), 60_000, &stop);
        assert_eq!(ended.unwrap_err(), TrialFailure::Interrupted, "{} {}", spec.probe, spec.label());
        raising.join().unwrap();
    }
}

#[test]
fn two_trials_end_together_and_every_message_arrives() {
    let mut host = Host::of_at_most(2);
    let options = Parameters::default();
    let spec = |&cpu: &_| TrialSpec {
        probe: "queue".into(),
        parameters: Parameters::default().with("queue", "semaphore").with("capacity", 10.0),
        placement: vec![cpu, cpu],
    };
    let specs: Vec<TrialSpec> = host.cpus.iter().map(spec).collect();
    let probe = probes::series_by_id("queue").unwrap();
    let orders = |ms| specs.iter().map(|spec| order(probe, spec, &options, ms)).collect::<Vec<_>>();
    let outcomes = host.machine.perform_trials(&orders(20), &Stop::new());
    assert_eq!(outcomes.len(), specs.len());
    for outcome in outcomes {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.concurrent as usize, specs.len() - 1);
        assert!(count_of(&outcome, queue::names::MESSAGES) > 0);
        assert!(outcome.observed.numbers.values[queue::names::RATE] > 0.0);
        assert!(outcome.observed.flags.is_empty(), "{:?}", outcome.observed.flags);
    }
    let stopped = host.machine.perform_trials(&orders(60_000), &raised());
    assert!(stopped.iter().all(|outcome| *outcome == Err(TrialFailure::Interrupted)), "{stopped:?}");
}

#[test]
fn counting_an_event_allocates_nothing() {
    const EVENTS: u64 = 2_000_000;
    let mut tally = TickHistogram::new();
    let before = Allocated::by_this_thread();
    let began = counter::start();
    for event in 0..EVENTS {
        // Values over the whole range in a cache-unfriendly order.
        tally.count(event.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (20 + event % 40));
    }
    let ticks = counter::stop() - began;
    assert_eq!(Allocated::by_this_thread(), before);
    assert_eq!(tally.len(), EVENTS);
    eprintln!("{:.1} ticks an event", ticks as f64 / EVENTS as f64);
}
