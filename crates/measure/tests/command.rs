//! Monitoring of commands on this machine. The only timing condition is that a poll of the monitor falls into an event.
// A separate test program, since children of concurrent tests would be attributed to the command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

use coretalk_measure::Stop;
use coretalk_measure::host::affinity::current_mask;
use coretalk_measure::host::command::{Launch, RunFailure, Stay, run};
use coretalk_model::{CpuId, CpuSet};
use std::cell::Cell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Serialises the tests: children of this process are attributed to the running command.
static SERIAL: Mutex<()> = Mutex::new(());

fn launch<'a>(
    program: &'a OsString,
    arguments: &'a [OsString],
    cpus: &'a CpuSet,
    lost: &'a dyn Fn() -> Option<CpuId>,
) -> Launch<'a> {
    let limit = Duration::from_secs(60);
    Launch { program, arguments, environment: &[], cpus, watchdog: None, launcher: None, limit, lost }
}

/// A command that stays on the first allowed CPU; `ALL` stands for all allowed CPUs. `None` with one CPU or without
/// tool.
fn stay(script: &str) -> Option<Stay> {
    let _serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
    let all = current_mask().unwrap();
    let tools = ["taskset", "setsid"].iter().all(|tool| Path::new("/usr/bin").join(tool).exists());
    if all.len() < 2 || !tools {
        println!("skipped: this needs two CPUs, taskset and setsid");
        return None;
    }
    let cpus: CpuSet = all.first().into_iter().collect();
    let arguments = ["-c".into(), script.replace("ALL", &all.to_string()).into()];
    let program = "/bin/sh".into();
    let launch = launch(&program, &arguments, &cpus, &|| None);
    Some(run(&launch, &Stop::new()).unwrap().stay)
}

#[test]
fn a_program_ends_once_one_of_its_cpus_has_gone() {
    let _serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
    let cpus = current_mask().unwrap();
    let (program, arguments) = ("/bin/sleep".into(), ["600".into()]);
    let checks = Cell::new(0);
    let lost = || {
        checks.set(checks.get() + 1);
        (checks.get() == 3).then_some(CpuId(7))
    };
    let launch = launch(&program, &arguments, &cpus, &lost);
    let failure = run(&launch, &Stop::new()).unwrap_err();
    assert!(matches!(failure, RunFailure::LostCpu { cpu: CpuId(7) }), "{failure}");
    assert_eq!(checks.get(), 3);
}

/// Lifetimes of a child in seconds, in successive attempts: the monitor may be late on a busy machine.
const LIVES: [f64; 4] = [0.07, 0.2, 0.8, 3.0];

#[test]
fn commands_that_stay_are_not_reported_as_leaving() {
    for script in ["exit 0", "sleep 0.05 & sleep 0.05; wait"] {
        assert!(stay(script).is_none_or(|stay| !stay.left && !stay.narrowed), "{script}");
    }
    let is_counted =
        |life: f64| stay(&format!("sleep {life} & sleep {life}; wait")).is_none_or(|stay| stay.tasks >= 3);
    assert!(LIVES.into_iter().any(is_counted));
}

#[test]
fn orphans_that_leave_their_cpus_are_noticed() {
    // The parent exits at once, so that the process is no longer a descendant of the program.
    for command in ["taskset", "setsid taskset"] {
        let is_noticed = |life: f64| {
            let script = format!("({command} -c ALL sleep {} >/dev/null 2>&1 &); sleep {life}", 2.0 * life);
            stay(&script).is_none_or(|stay| stay.left)
        };
        assert!(LIVES.into_iter().any(is_noticed), "{command}");
    }
}

#[test]
fn children_that_live_shortly_and_leave_their_cpus_are_noticed() {
    let is_noticed =
        |life: f64| stay(&format!("taskset -c ALL sleep {life}; sleep 0.02")).is_none_or(|stay| stay.left);
    assert!(LIVES.into_iter().any(is_noticed));
}
