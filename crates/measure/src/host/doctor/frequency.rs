//! Checks of how fast cores run and how deep they sleep.

use super::{LiveFacts, Report};
use crate::host::facts;
use crate::host::root::SystemRoot;
use coretalk_model::Verdict;

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn governor(root: &SystemRoot, _: &LiveFacts) -> Report {
    match facts::distinct(root, "scaling_governor") {
        None => Report::new(
            Verdict::CannotTell,
            "no frequency driver is visible: clocks may change; the core clock of each pass shows it",
        ),
        Some(governor) if governor == "performance" => {
            Report::new(Verdict::Ok, "governor performance: clocks stay high")
        }
        Some(governor) => Report::new(
            Verdict::Warn,
            format!("governor {governor}: clocks rise only under load and drop between passes"),
        )
        .fix("sudo cpupower frequency-set -g performance"),
    }
}

pub(super) fn boost(root: &SystemRoot, _: &LiveFacts) -> Report {
    match facts::boost(root) {
        None => Report::new(Verdict::CannotTell, "the system does not report whether boost is on"),
        Some(true) => Report::new(
            Verdict::Ok,
            "boost on: clocks vary with temperature and load, so compare runs in core cycles",
        ),
        Some(false) => {
            Report::new(Verdict::Warn, "boost off: clocks are steady, but slower than the hardware allows")
                .fix(boost_command(root))
        }
    }
}

fn boost_command(root: &SystemRoot) -> String {
    let (value, path) = if root.peek(&format!("{CPU}/cpufreq/boost")).is_some() {
        ("1", format!("{CPU}/cpufreq/boost"))
    } else if root.peek(&format!("{CPU}/intel_pstate/no_turbo")).is_some() {
        ("0", format!("{CPU}/intel_pstate/no_turbo"))
    } else {
        ("1", format!("{CPU}/cpufreq/policy*/boost"))
    };
    format!("echo {value} | sudo tee {path}")
}

/// A futex wake-up of a CPU that did not sleep takes 1 to 5 µs; a state that takes longer to leave than a few of
/// them dominates what wake-up probes see.
const DEEP_US: u64 = 20;

pub(super) fn kernel_idle(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Some(driver) = root.peek(&format!("{CPU}/cpuidle/current_driver")) else {
        return Report::new(Verdict::CannotTell, "the system does not report its idle states");
    };
    if driver == "none" {
        return Report::new(Verdict::Ok, "no idle driver: idle CPUs only halt");
    }
    match deepest_state(root) {
        None => Report::new(Verdict::CannotTell, format!("idle driver {driver} lists no states")),
        Some((name, latency_us)) if latency_us > DEEP_US => Report::new(
            Verdict::Warn,
            format!("idle state {name} takes {latency_us} µs to leave: this delays wake-ups, but not spinning threads"),
        )
        .fix(format!("sudo cpupower idle-set --disable-by-latency {DEEP_US}")),
        Some((name, latency_us)) => {
            Report::new(Verdict::Ok, format!("the deepest idle state ({name}) takes {latency_us} µs to leave, according to its driver"))
        }
    }
}

/// Name and exit latency in microseconds of the slowest state that some CPU may enter.
fn deepest_state(root: &SystemRoot) -> Option<(String, u64)> {
    let mut deepest: Option<(String, u64)> = None;
    for cpu in root.numbered(CPU, "cpu") {
        let directory = format!("{CPU}/cpu{cpu}/cpuidle");
        for state in root.numbered(&directory, "state") {
            let file = |name: &str| format!("{directory}/state{state}/{name}");
            let Some(latency_us) = root.number(&file("latency")) else { continue };
            let is_off = root.peek(&file("disable")).as_deref() == Some("1");
            if !is_off && deepest.as_ref().is_none_or(|(_, longest)| latency_us > *longest) {
                let name = root.peek(&file("name")).unwrap_or_else(|| state.to_string());
                deepest = Some((name, latency_us));
            }
        }
    }
    deepest
}
