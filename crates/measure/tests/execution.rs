//! The test for shared execution units on real threads: it ends, and what it says is possible.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::host::HostMachine;
use coretalk_measure::probes::execution::{self, Execution};
use coretalk_measure::series::TrialOrder;
use coretalk_measure::{Machine, Stop, WorkerSettings};
use coretalk_model::series::Parameters;
use coretalk_model::{CpuId, Picos, TrialFailure};

fn host() -> Option<(HostMachine, [CpuId; 2])> {
    let mut host = HostMachine::open().unwrap();
    let usable = host.allowance().mask.intersection(&host.allowance().cpuset);
    let cpus: Vec<CpuId> = usable.iter().take(2).collect();
    let Ok(pair) = <[CpuId; 2]>::try_from(cpus.clone()) else {
        eprintln!("skipped: this needs 2 CPUs");
        return None;
    };
    host.engage(&WorkerSettings { cpus, ..WorkerSettings::default() }).unwrap();
    Some((host, pair))
}

#[test]
fn work_of_two_cpus_is_held_against_work_of_one() {
    let Some((mut host, pair)) = host() else { return };
    let (spec, options) = (execution::trial(pair), Parameters::default());
    for key in 0..4 {
        let order =
            TrialOrder { probe: &Execution, spec: &spec, options: &options, span: Picos::from_ms(2), key };
        let outcome = host.perform_trial(&order, &Stop::new()).unwrap();
        let pass = execution::pass_of(&outcome.observed).unwrap();
        // Whatever else the machine does meanwhile: a rate is above nothing, and no partner makes it fly.
        assert!(pass.kept.iter().flatten().all(|kept| *kept > 0.0 && *kept < 100.0), "{pass:?}");
    }
}

#[test]
fn a_wish_to_end_is_heard() {
    let Some((mut host, pair)) = host() else { return };
    let (spec, options) = (execution::trial(pair), Parameters::default());
    let stop = Stop::new();
    stop.raise();
    let order =
        TrialOrder { probe: &Execution, spec: &spec, options: &options, span: Picos::from_ms(50), key: 1 };
    let outcome = host.perform_trial(&order, &stop);
    assert!(matches!(outcome, Ok(_) | Err(TrialFailure::Interrupted)), "{outcome:?}");
}
