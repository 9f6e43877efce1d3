//! Every primitive on real threads: each pass ends, did its work, and leaves nobody asleep.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::host::HostMachine;
use coretalk_measure::series::{SeriesRequest, TrialOrder};
use coretalk_measure::{Machine, Stop, WorkerSettings, probes};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::{CpuId, Picos, TrialFailure};

const NAMES: &str = "std-mutex,pthread-mutex,pthread-mutex-adaptive,pthread-mutex-pi,parking-lot-mutex,condvar-one,\
condvar-one-locked,condvar-all,condvar-all-locked,parking-lot-condvar,semaphore,sem-t,atomic-wait-set,\
atomic-wait-clear,atomic-wait-always,park,barrier,eventfd,pipe,tas,ttas,ticket,uncontended:std-mutex,uncontended:ticket,\
notify-idle:condvar-one,notify-idle:park,notify-idle:atomic-wait-set,\
notify-all:3,sleep-1ms";

fn host() -> Option<(HostMachine, Vec<CpuId>)> {
    let mut host = HostMachine::open().unwrap();
    let cpus: Vec<CpuId> =
        host.allowance().mask.intersection(&host.allowance().cpuset).iter().take(2).collect();
    if cpus.len() < 2 {
        eprintln!("skipped: this needs two CPUs");
        return None;
    }
    host.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    Some((host, cpus))
}

fn trials(host: &HostMachine, cpus: &[CpuId], names: &str) -> Vec<TrialSpec> {
    let options = Parameters::default().with("primitive", names);
    let pairs = [[cpus[0], cpus[1]]];
    let request = SeriesRequest { topology: host.topology(), cpus, pairs: &pairs, options: &options };
    let trials = probes::series_by_id("wake").unwrap().trials(&request).unwrap();
    // The shortest gap says that it ends as well as the others.
    trials
        .into_iter()
        .filter(|trial| trial.parameters.number("gap_ns").is_none_or(|gap_ns| gap_ns < 2e6))
        .collect()
}

fn pass(host: &mut HostMachine, spec: &TrialSpec, ms: u64, stop: &Stop) -> Result<PassOutcome, TrialFailure> {
    let probe = probes::series_by_id("wake").unwrap();
    let options = Parameters::default();
    host.perform_trial(&TrialOrder { probe, spec, options: &options, span: Picos::from_ms(ms), key: 1 }, stop)
}

#[test]
fn every_primitive_wakes_and_every_pass_ends() {
    let Some((mut host, cpus)) = host() else { return };
    for spec in trials(&host, &cpus, NAMES) {
        let outcome = pass(&mut host, &spec, 3, &Stop::new()).unwrap();
        // A hand-over by a spinning lock may take less than the counters lie apart: then it is counted as negative.
        let negative = outcome.observed.numbers.counts.get("negative").copied().unwrap_or(0);
        assert!(outcome.observed.numbers.counts["samples"] + negative > 0, "{}", spec.label());
        assert_eq!(outcome.roles.len(), spec.placement.len(), "{}", spec.label());
        assert!(outcome.roles.iter().all(|role| !role.migrated), "{}", spec.label());
    }
}

#[test]
fn roles_that_share_a_cpu_wake_each_other_too() {
    let Some((mut host, cpus)) = host() else { return };
    for mut spec in trials(&host, &cpus, "semaphore,pipe,std-mutex") {
        spec.placement = vec![cpus[0]; 2];
        let outcome = pass(&mut host, &spec, 3, &Stop::new()).unwrap();
        assert!(outcome.observed.numbers.counts["samples"] > 0, "{}", spec.label());
    }
}

#[test]
fn a_raised_stop_leaves_nobody_asleep() {
    let Some((mut host, cpus)) = host() else { return };
    for spec in trials(&host, &cpus, NAMES) {
        let stop = Stop::new();
        let raiser = stop.clone();
        let raising = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            raiser.raise();
        });
        let ended = pass(&mut host, &spec, 60_000, &stop);
        assert_eq!(ended.unwrap_err(), TrialFailure::Interrupted, "{}", spec.label());
        raising.join().unwrap();
    }
}
