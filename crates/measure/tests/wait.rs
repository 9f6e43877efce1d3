//! Every way of waiting on real threads: each pass ends, both sides agree on what was handed over, and nobody is left
//! asleep.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::host::HostMachine;
use coretalk_measure::series::{SeriesRequest, TrialOrder};
use coretalk_measure::{Machine, Stop, WorkerSettings, probes};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::{CpuId, Flag, Picos, TrialFailure};

const NAMES: &str =
    "clock,busy,pause,pause:8,fence,yield,spin-futex:100,futex,backoff,umwait,tpause,mwaitx,wfe";

fn host(cpus: usize) -> Option<(HostMachine, Vec<CpuId>)> {
    let mut host = HostMachine::open().unwrap();
    let usable: Vec<CpuId> =
        host.allowance().mask.intersection(&host.allowance().cpuset).iter().take(cpus).collect();
    if usable.len() < cpus {
        eprintln!("skipped: this needs {cpus} CPUs");
        return None;
    }
    host.engage(&WorkerSettings { cpus: usable.clone(), ..WorkerSettings::default() }).unwrap();
    Some((host, usable))
}

/// What this machine can perform.
fn trials(host: &HostMachine, cpus: &[CpuId], options: &Parameters) -> Vec<TrialSpec> {
    let pairs: Vec<[CpuId; 2]> = cpus.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let request = SeriesRequest { topology: host.topology(), cpus, pairs: &pairs, options };
    let probe = probes::series_by_id("wait").unwrap();
    let trials = probe.trials(&request).unwrap();
    trials.into_iter().filter(|trial| probe.lacks(trial).is_none()).collect()
}

fn pass(
    host: &mut HostMachine,
    spec: &TrialSpec,
    options: &Parameters,
    ms: u64,
    stop: &Stop,
) -> Result<PassOutcome, TrialFailure> {
    let probe = probes::series_by_id("wait").unwrap();
    host.perform_trial(&TrialOrder { probe, spec, options, span: Picos::from_ms(ms), key: 1 }, stop)
}

#[test]
fn every_strategy_hands_over_in_every_mode_and_every_pass_ends() {
    let Some((mut host, cpus)) = host(2) else { return };
    for mode in [None, Some("no-clock"), Some("alternate"), Some("cost")] {
        let names = match mode {
            None => NAMES.to_owned(),
            Some("alternate") => NAMES.replace("clock,busy,", ""),
            Some(_) => NAMES.replace("clock,", ""),
        };
        let options = Parameters::default().with("strategy", names).with_some("mode", mode);
        for spec in trials(&host, &cpus, &options) {
            let outcome = pass(&mut host, &spec, &options, 3, &Stop::new()).unwrap();
            let observed = &outcome.observed;
            assert!(observed.numbers.counts["samples"] > 0, "{}", spec.label());
            assert!(!observed.flags.contains(Flag::Invalid), "{}", spec.label());
            assert!(outcome.roles.iter().all(|role| !role.migrated), "{}", spec.label());
            assert!(observed.numbers.values.values().all(|value| value.is_finite()), "{}", spec.label());
        }
    }
}

#[test]
fn sides_that_wait_differently_and_counts_that_were_asked_for() {
    let Some((mut host, cpus)) = host(2) else { return };
    let options =
        Parameters::default().with("asym", "pause:futex,futex:busy,backoff:yield").with("samples", 8e3);
    let trials = trials(&host, &cpus, &options);
    assert_eq!(trials.len(), 3);
    for spec in trials {
        let outcome = pass(&mut host, &spec, &options, 60_000, &Stop::new()).unwrap();
        // An eighth of what was asked for, on sixteen lines.
        assert_eq!(outcome.observed.numbers.counts["samples"], 1_008, "{}", spec.label());
        assert!(!outcome.observed.flags.contains(Flag::Invalid), "{}", spec.label());
    }
}

#[test]
fn roles_that_share_a_cpu_hand_over_and_those_that_keep_it_say_so() {
    let Some((mut host, cpus)) = host(1) else { return };
    let options = Parameters::default().with("strategy", "busy,pause,yield,futex,backoff");
    for spec in trials(&host, &cpus, &options) {
        let outcome = pass(&mut host, &spec, &options, 3, &Stop::new()).unwrap();
        assert!(outcome.observed.numbers.counts["samples"] > 0, "{}", spec.label());
        let keeps = ["busy", "pause"].contains(&spec.parameters.text("strategy").unwrap());
        assert_eq!(outcome.observed.flags.contains(Flag::SharedSpin), keeps, "{}", spec.label());
    }
}

#[test]
fn a_raised_stop_leaves_nobody_asleep() {
    let Some((mut host, cpus)) = host(2) else { return };
    let options = Parameters::default().with("strategy", NAMES);
    for spec in trials(&host, &cpus, &options) {
        let stop = Stop::new();
        let raiser = stop.clone();
        let raising = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            raiser.raise();
        });
        // Reading the clock ends by itself.
        let patience = if spec.parameters.text("mode") == Some("clock") { 1 } else { 60_000 };
        let ended = pass(&mut host, &spec, &options, patience, &stop);
        assert!(patience == 1 || ended == Err(TrialFailure::Interrupted), "{}: {ended:?}", spec.label());
        raising.join().unwrap();
    }
}
