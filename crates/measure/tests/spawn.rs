//! Every kind of `spawn` on real threads and processes, and on simulated machines.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::pricing::Pricing;
use coretalk_measure::probes::spawn::{Config, cost};
use coretalk_measure::series::{SeriesRequest, TrialOrder, representative_pairs};
use coretalk_measure::sim::spawn::price;
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings, probes};
use coretalk_model::series::{Parameters, PassOutcome, TrialSpec};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Picos, TrialFailure};

fn trials(machine: &dyn Machine, cpus: &[CpuId]) -> Vec<TrialSpec> {
    let topology = machine.topology();
    let pairs = representative_pairs(topology, cpus);
    let options = Parameters::default();
    let request = SeriesRequest { topology, cpus, pairs: &pairs, options: &options };
    let probe = probes::series_by_id("spawn").unwrap();
    let all = probe.trials(&request).unwrap();
    all.into_iter().filter(|trial| machine.lacks(probe, trial).is_none()).collect()
}

fn pass(
    machine: &mut dyn Machine,
    spec: &TrialSpec,
    ms: u64,
    key: u64,
    stop: &Stop,
) -> Result<PassOutcome, TrialFailure> {
    let options = Parameters::default();
    let probe = probes::series_by_id("spawn").unwrap();
    machine.perform_trial(&TrialOrder { probe, spec, options: &options, span: Picos::from_ms(ms), key }, stop)
}

#[cfg(target_os = "linux")]
#[test]
fn every_kind_is_created_runs_and_ends() {
    let mut host = coretalk_measure::host::HostMachine::open().unwrap();
    let cpus: Vec<CpuId> =
        host.allowance().mask.intersection(&host.allowance().cpuset).iter().take(2).collect();
    host.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    for spec in trials(&host, &cpus) {
        let outcome = pass(&mut host, &spec, 4, 1, &Stop::new()).unwrap();
        let observed = &outcome.observed;
        assert!(observed.numbers.counts["samples"] >= 3, "{}", spec.label());
        let p50 = |name: &str| observed.numbers.histograms[name].percentile_ns(0.5).unwrap();
        assert!(p50("latency") > 0.0 && p50("join") >= p50("cost"), "{}", spec.label());
        assert_eq!(observed.numbers.histograms["first"].count(), 1);
        let process = Config::of(&spec).unwrap().kind.is_process();
        assert_eq!(observed.numbers.values.contains_key("parent_rss_mib"), process, "{}", spec.label());
        assert!(outcome.roles.iter().all(|role| !role.migrated), "{}", spec.label());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_raised_stop_ends_creator_and_helper() {
    let mut host = coretalk_measure::host::HostMachine::open().unwrap();
    let cpus: Vec<CpuId> =
        host.allowance().mask.intersection(&host.allowance().cpuset).iter().take(1).collect();
    host.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
    for spec in trials(&host, &cpus) {
        let stop = Stop::new();
        let raiser = stop.clone();
        let raising = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(10));
            raiser.raise();
        });
        let ended = pass(&mut host, &spec, 60_000, 1, &stop);
        assert_eq!(ended.unwrap_err(), TrialFailure::Interrupted, "{}", spec.label());
        raising.join().unwrap();
    }
}

#[test]
fn creations_are_recovered_within_three_percent() {
    for scenario in ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"] {
        let mut machine = SimMachine::open(Scenario::builtin(scenario).unwrap(), 1);
        let cpus = machine.topology().order(machine.topology().cpus());
        machine.engage(&WorkerSettings { cpus: cpus.clone(), ..WorkerSettings::default() }).unwrap();
        let mut off = Vec::<String>::new();
        for spec in trials(&machine, &cpus) {
            let config = Config::of(&spec).unwrap();
            let passes: Vec<PassOutcome> =
                (0..8).map(|key| pass(&mut machine, &spec, 60, key, &Stop::new()).unwrap()).collect();
            let stage = machine.bare_stage(&spec.placement);
            let truth = price(&stage, &cost(config.kind), config.pause_ns);
            for (name, truth) in
                [("cost", truth.cost_ns), ("latency", truth.latency_ns), ("join", truth.join_ns)]
            {
                let medians: Vec<f64> = passes
                    .iter()
                    .filter_map(|pass| pass.observed.numbers.histograms[name].percentile_ns(0.5))
                    .collect();
                let found = median(&medians).unwrap() - stage.clock_ns();
                if (found / truth - 1.0).abs() >= 0.03 {
                    off.push(format!("{scenario} {} {name}: {found} of {truth}", spec.label()));
                }
            }
        }
        assert!(off.is_empty(), "{}", off.join("\n"));
    }
}
