//! Checks of the counter that measures.

use super::{LiveFacts, Report};
use crate::host::clock::Spread;
use crate::host::facts::{CpuInfo, Platform};
use crate::host::root::SystemRoot;
use coretalk_model::Verdict;

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

/// Kernel clock sources that are the counter which measures, on x86, Arm, RISC-V and POWER.
const COUNTERS: &[&str] = &["tsc", "arch_sys_counter", "riscv_clocksource", "timebase"];

pub(super) fn source(root: &SystemRoot, live: &LiveFacts) -> Report {
    let named = root.peek(&format!("{SOURCES}/current_clocksource"));
    let Some(source) = named.or_else(|| live.clock?.kernel_source.clone()) else {
        return Report::new(Verdict::CannotTell, "the kernel does not report its clock source");
    };
    if COUNTERS.contains(&source.as_str()) {
        return Report::new(
            Verdict::Ok,
            format!("the kernel's clock source is {source}, the counter used for measuring"),
        );
    }
    let text =
        format!("the kernel's clock source is {source}; it may distrust the counter used for measuring");
    let report = Report::new(Verdict::Warn, text);
    let available = root.peek(&format!("{SOURCES}/available_clocksource")).unwrap_or_default();
    match available.split_whitespace().find(|name| COUNTERS.contains(name)) {
        Some(counter) => report.fix(format!("echo {counter} | sudo tee {SOURCES}/current_clocksource")),
        None => report,
    }
}

pub(super) fn invariant(root: &SystemRoot, live: &LiveFacts) -> Report {
    // Arm's system counter runs at a fixed rate in every power state by definition (Arm ARM, "The system counter").
    let is_arm_counter = live.clock.is_some_and(|clock| clock.source == "cntvct");
    let stated = live.clock.and_then(|clock| clock.invariant);
    match stated.or(is_arm_counter.then_some(true)).or_else(|| by_flags(root)) {
        None => Report::new(
            Verdict::CannotTell,
            "the processor does not report whether its counter keeps its rate",
        ),
        Some(true) => Report::new(Verdict::Ok, "the counter keeps its rate in every power state"),
        Some(false) if Platform::read(root).hypervisor.is_some() => Report::new(
            Verdict::Warn,
            "the host does not guarantee a constant counter rate: migration to another machine would change it",
        ),
        Some(false) => Report::new(
            Verdict::Fail,
            "the counter stops or changes rate with the core clock: ns would be wrong",
        ),
    }
}

fn by_flags(root: &SystemRoot) -> Option<bool> {
    let cpuinfo = CpuInfo::read(root);
    Some(cpuinfo.has_flag("constant_tsc")? && cpuinfo.has_flag("nonstop_tsc")?)
}

/// Offsets are known to about half a round trip, which between sockets is some hundred nanoseconds at most.
const SYNCHRONOUS_NS: f64 = 100.0;

/// Far beyond any error of the estimate, and beyond the margin of a common start.
const APART_NS: f64 = 1e6;

pub(super) fn sync(_: &SystemRoot, live: &LiveFacts) -> Report {
    let Some(Spread { pairs, largest_ns, bound_ns }) = live.offsets.filter(Spread::is_known) else {
        return Report::new(Verdict::CannotTell, "the counters of different CPUs were not compared");
    };
    let compared = if pairs == 1 { "two CPUs".to_owned() } else { format!("{} CPUs", pairs + 1) };
    if largest_ns <= SYNCHRONOUS_NS {
        let text = if largest_ns <= bound_ns {
            format!("the counters of {compared} agree within the error of ± {bound_ns:.0} ns")
        } else {
            format!("the counters of {compared} are at most {largest_ns:.0} ± {bound_ns:.0} ns apart")
        };
        return Report::new(Verdict::Ok, text);
    }
    if largest_ns <= APART_NS {
        let text = format!(
            "counters are up to {largest_ns:.0} ns apart (± {bound_ns:.0}): `one-way` is flagged, round trips are unaffected"
        );
        return Report::new(Verdict::Warn, text);
    }
    let text =
        format!("counters are {:.1} ms apart: `one-way` and a common start are impossible", largest_ns / 1e6);
    Report::new(Verdict::Fail, text)
}
