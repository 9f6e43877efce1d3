//! Checks of core clocks, idle states and the counter.

use super::{LiveFacts, Report, cannot_tell, fail, ok, warn};
use crate::host::facts;
use crate::host::facts::{CpuInfo, Platform};
use crate::host::root::SystemRoot;
use crate::host::spread::Spread;

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn governor(root: &SystemRoot, _: &LiveFacts) -> Report {
    match facts::distinct(root, "scaling_governor") {
        None => cannot_tell(
            "no frequency driver is visible: clocks may change, which the core clock of each pass shows",
        ),
        Some(governor) if governor == "performance" => ok("governor performance: clocks stay high"),
        Some(governor) => {
            warn(format!("governor {governor}: clocks rise only under load and drop between passes"))
                .fix("sudo cpupower frequency-set -g performance")
        }
    }
}

pub(super) fn boost(root: &SystemRoot, _: &LiveFacts) -> Report {
    match facts::boost(root) {
        None => cannot_tell("the system does not report whether boost is on"),
        Some(true) => ok("boost on: clocks vary with temperature and load, so compare runs in core cycles"),
        Some(false) => {
            warn("boost off: clocks are steady, but slower than the hardware allows").fix(boost_command(root))
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

/// Exit latency that dominates `wake`: several times a futex wake-up of an awake CPU (1 to 5 µs).
const DEEP_US: u64 = 20;

pub(super) fn kernel_idle(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Some(driver) = root.peek(&format!("{CPU}/cpuidle/current_driver")) else {
        return cannot_tell("the system does not report its idle states");
    };
    if driver == "none" {
        return ok("no idle driver: idle CPUs only halt");
    }
    match deepest_state(root) {
        None => cannot_tell(format!("idle driver {driver} lists no states")),
        Some((name, latency_us)) if latency_us > DEEP_US => warn(format!(
            "idle state {name} takes {latency_us} µs to leave: this delays wake-ups, but not spinning threads"
        ))
        .fix(format!("sudo cpupower idle-set --disable-by-latency {DEEP_US}")),
        Some((name, latency_us)) => ok(format!(
            "the deepest idle state ({name}) takes {latency_us} µs to leave, according to its driver"
        )),
    }
}

/// Name and exit latency in microseconds of the slowest enabled state of any CPU.
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

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

/// Counter names of this tool and of the kernel. Under a user-mode emulator, the kernel uses the counter of another
/// processor.
const COUNTERS: [(&str, &str); 2] = [("tsc", "tsc"), ("cntvct", "arch_sys_counter")];

pub(super) fn source(root: &SystemRoot, live: &LiveFacts) -> Report {
    if let Some(Err(reason)) = live.clock {
        return fail(format!("the counter cannot be used ({reason}): nothing can be measured"));
    }
    let clock = live.usable_clock();
    let named = root.peek(&format!("{SOURCES}/current_clocksource"));
    let Some(source) = named.or_else(|| clock?.kernel_source.clone()) else {
        return cannot_tell("the kernel does not report its clock source");
    };
    let is_counter = |name: &str| match clock {
        Some(clock) => COUNTERS.contains(&(clock.source.as_str(), name)),
        None => COUNTERS.iter().any(|(_, of_kernel)| *of_kernel == name),
    };
    if is_counter(&source) {
        return ok(format!("the kernel's clock source is {source}, the counter used for measuring"));
    }
    if let Some(clock) = clock.filter(|_| COUNTERS.iter().any(|(_, of_kernel)| *of_kernel == source)) {
        return warn(format!(
            "the kernel's clock source is {source}, the counter of another processor than the {} used for measuring",
            clock.source
        ));
    }
    let text =
        format!("the kernel's clock source is {source}; it may distrust the counter used for measuring");
    let report = warn(text);
    let available = root.peek(&format!("{SOURCES}/available_clocksource")).unwrap_or_default();
    match available.split_whitespace().find(|name| is_counter(name)) {
        Some(counter) => report.fix(format!("echo {counter} | sudo tee {SOURCES}/current_clocksource")),
        None => report,
    }
}

pub(super) fn invariant(root: &SystemRoot, live: &LiveFacts) -> Report {
    // Arm's system counter has a fixed rate in every power state by definition (Arm ARM, "The system counter").
    let clock = live.usable_clock();
    let is_arm_counter = clock.is_some_and(|clock| clock.source == "cntvct");
    let stated = clock.and_then(|clock| clock.invariant);
    match stated.or(is_arm_counter.then_some(true)).or_else(|| by_flags(root)) {
        None => cannot_tell("the processor does not report whether its counter keeps its rate"),
        Some(true) => ok("the counter keeps its rate in every power state"),
        Some(false) if Platform::read(root).hypervisor.is_some() => warn(
            "the host does not guarantee a constant counter rate: migration to another machine would change it",
        ),
        Some(false) => fail("the counter stops or changes rate with the core clock: ns would be wrong"),
    }
}

fn by_flags(root: &SystemRoot) -> Option<bool> {
    let cpuinfo = CpuInfo::read(root);
    Some(cpuinfo.has_flag("constant_tsc")? && cpuinfo.has_flag("nonstop_tsc")?)
}

/// Maximum offset of synchronous counters. Its error is about half a round trip, at most some 100 ns between sockets.
const SYNCHRONOUS_NS: f64 = 100.0;

/// Error that can hide an offset large enough to reorder the events of a run.
const BLURRED_NS: f64 = 1_000.0;

/// Offset far above any error of the estimate, and above the margin of a common start.
const APART_NS: f64 = 1e6;

pub(super) fn sync(_: &SystemRoot, live: &LiveFacts) -> Report {
    let Some(Spread { pairs, largest_ns, bound_ns }) = live.offsets.filter(Spread::is_known) else {
        return cannot_tell("the counters of different CPUs were not compared");
    };
    let compared = if pairs == 1 { "two CPUs".to_owned() } else { format!("{} CPUs", pairs + 1) };
    if largest_ns <= bound_ns && bound_ns > BLURRED_NS {
        return cannot_tell(format!(
            "the counters of {compared} could be compared to ± {bound_ns:.0} ns only, which shows no offset"
        ));
    }
    if largest_ns <= bound_ns {
        return ok(format!("the counters of {compared} agree within the error of ± {bound_ns:.0} ns"));
    }
    if largest_ns <= SYNCHRONOUS_NS {
        return ok(format!(
            "the counters of {compared} are at most {largest_ns:.0} ± {bound_ns:.0} ns apart"
        ));
    }
    if largest_ns - bound_ns <= APART_NS {
        let text = format!(
            "counters are up to {largest_ns:.0} ns apart (± {bound_ns:.0}): `one-way` is flagged, round trips are unaffected"
        );
        return warn(text);
    }
    let least_ms = (largest_ns - bound_ns) / 1e6;
    fail(format!("counters are at least {least_ms:.1} ms apart: `one-way` and a common start are impossible"))
}
