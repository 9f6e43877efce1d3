//! `jitter` on real threads and on simulated machines.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::series::{SeriesRequest, TrialOrder};
use coretalk_measure::{Machine, Scenario, SimMachine, Stop, WorkerSettings, probes};
use coretalk_model::jitter::names;
use coretalk_model::series::{Observed, Parameters};
use coretalk_model::{CpuId, Picos};

fn pass(machine: &mut dyn Machine, cpus: &[CpuId], ms: u64, key: u64) -> Observed {
    machine.engage(&WorkerSettings { cpus: cpus.to_vec(), ..WorkerSettings::default() }).unwrap();
    let probe = probes::series_by_id("jitter").unwrap();
    let options = Parameters::default();
    let request = SeriesRequest { topology: machine.topology(), cpus, pairs: &[], options: &options };
    let spec = probe.trials(&request).unwrap().remove(0);
    let order = TrialOrder { probe, spec: &spec, options: &options, span: Picos::from_ms(ms), key };
    machine.perform_trial(&order, &Stop::new()).unwrap().observed
}

fn of(observed: &Observed, name: &str, role: usize) -> f64 {
    observed.by_role[&role].values[name]
}

#[cfg(target_os = "linux")]
#[test]
fn every_cpu_is_watched_and_its_causes_add_up() {
    let mut host = coretalk_measure::host::HostMachine::open().unwrap();
    let cpus: Vec<CpuId> = host.allowance().mask.intersection(&host.allowance().cpuset).iter().collect();
    let observed = pass(&mut host, &cpus, 20, 1);
    for role in 0..cpus.len() {
        let lost = of(&observed, names::LOST, role);
        assert!((0.0..=1.0).contains(&lost) && of(&observed, names::LOOK_NS, role) > 0.0);
        let said = &observed.by_role[&role];
        let causes: f64 = names::CAUSES.iter().filter_map(|(name, _)| said.values.get(*name)).sum();
        assert!((causes - lost).abs() < 1e-9, "{causes} of {lost}");
        assert!(said.counts[names::WATCHED] >= 15);
    }
}

#[test]
fn what_the_scenario_takes_is_found_with_its_cause() {
    for scenario in ["chiplet-16", "chiplet-16-smt", "epyc-2s-192"] {
        let more = "[[stalls]]\nname = 'tick'\nper_second = 250.0\nus = [1.0, 3.0]\nrhythm = 'periodic'\nseen_as = 'nothing'\n\
                    [[stalls]]\nname = 'others'\nper_second = 40.0\nus = [20.0, 30.0]\nrhythm = 'random'\nseen_as = 'switch'\n";
        let scenario = Scenario::from_toml(&format!("based_on = '{scenario}'\n{more}")).unwrap();
        let mut machine = SimMachine::open(scenario, 1);
        let cpus = machine.topology().order(machine.topology().cpus());
        // What comes by chance comes ten thousand times.
        let count = (1536 / cpus.len() as u64).max(8);
        let passes: Vec<Observed> = (0..count).map(|key| pass(&mut machine, &cpus, 250, key)).collect();
        let mean = |name: &str| -> f64 {
            let all = passes.iter().flat_map(|pass| (0..cpus.len()).map(move |role| of(pass, name, role)));
            all.sum::<f64>() / (passes.len() * cpus.len()) as f64
        };
        // How long they last is spread evenly over its logarithm.
        let mean_us = |[low, high]: [f64; 2]| (high - low) / (high / low).ln();
        for (name, truth) in [
            (names::TICK, 250.0 * mean_us([1.0, 3.0]) * 1e-6),
            (names::SWITCH, 40.0 * mean_us([20.0, 30.0]) * 1e-6),
            (names::RATE, 290.0),
        ] {
            let found = mean(name);
            assert!((found / truth - 1.0).abs() < 0.03, "{name}: {found} of {truth}");
        }
        assert!(mean(names::UNEXPLAINED) < 1e-9);
    }
}
