//! Checks of allowed CPUs.

use super::{LiveFacts, Report, cannot_tell, fail, ok, warn};
use crate::host::cgroup::{group_cpus, read_allowance, read_quota};
use crate::host::facts;
use crate::host::root::SystemRoot;
use crate::host::sysfs::{online_cpus, read_topology};
use coretalk_model::{CpuSet, Level};

pub(super) fn affinity(_: &SystemRoot, live: &LiveFacts) -> Report {
    match live.pinning {
        Some(Ok(())) => ok("threads stay on the CPU that they are pinned to"),
        Some(Err(reason)) => fail(format!("threads cannot be pinned ({reason}): nothing can be measured")),
        None => cannot_tell("nobody tried to pin a thread"),
    }
}

pub(super) fn cpuset(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Ok(online) = online_cpus(root) else {
        return cannot_tell("the system does not report which CPUs are online");
    };
    let (Ok(group), Ok(allowance)) = (group_cpus(root), read_allowance(root, &online)) else {
        return cannot_tell("the cgroup files or the affinity mask cannot be read");
    };
    let allowed = &allowance.cpuset;
    if online.len() < 2 {
        let text = format!("this machine has one CPU ({online}): there is no pair to measure");
        return fail(text);
    }
    if allowed.len() < 2 {
        let text =
            format!("the cgroup allows only `{allowed}` of CPUs {online}: there is no pair to measure");
        return fail(text).fix(unconfined(&online));
    }
    if *allowed != online {
        let text = format!(
            "the cgroup (--cpuset-cpus of a container) allows CPUs {allowed} of {online}: the others are not measured"
        );
        return warn(text).fix(unconfined(&online));
    }
    let left_out = allowed.difference(&allowance.mask).difference(&facts::isolated(root));
    if !left_out.is_empty() {
        let text = format!("the inherited affinity mask excludes {}, which may be used", left_out.named());
        return warn(text).fix(format!("coretalk --cpus {allowed}"));
    }
    if group.is_none() {
        let text = "no cgroup is visible: a forbidden CPU is found only when a thread is pinned to it";
        return cannot_tell(text);
    }
    ok(format!("every online CPU may be used: {allowed}"))
}

/// Command that runs the tool in a control group of its own, outside the limited one.
fn unconfined(cpus: &CpuSet) -> String {
    format!("sudo systemd-run --scope -p AllowedCPUs={cpus} coretalk")
}

/// Two spinning threads need two CPUs. With less, each period ends with throttling.
const CPUS_OF_A_PAIR: f64 = 2.0;

pub(super) fn quota(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Some(quota) = read_quota(root) else {
        return cannot_tell("no cgroup CPU controller is visible");
    };
    let Some(limit) = quota.limit_cpus else {
        return ok("no CPU quota");
    };
    if online_cpus(root).is_ok_and(|online| limit >= online.len() as f64) {
        return ok(format!("the CPU quota of {limit} covers every CPU"));
    }
    let throttled = match quota.throttled_periods {
        Some(1) => "throttled once so far".to_owned(),
        Some(count) => format!("throttled {count} times so far"),
        None => "throttling is not counted".to_owned(),
    };
    let text =
        |effect| format!("CPU quota of {limit:.2} CPUs (--cpus of a container), {throttled}: {effect}");
    let report = match limit < CPUS_OF_A_PAIR {
        true => fail(text("not even two threads can spin without being throttled in every period")),
        false => warn(text("more threads than that are throttled for tens of milliseconds")),
    };
    report.fix("sudo systemd-run --scope coretalk")
}

pub(super) fn isolated(root: &SystemRoot, _: &LiveFacts) -> Report {
    let isolated = match root.list("/sys/devices/system/cpu/isolated") {
        Ok(Some(isolated)) => isolated,
        Ok(None) | Err(_) => {
            return cannot_tell("the kernel does not report which CPUs are isolated");
        }
    };
    if isolated.is_empty() {
        return ok("no CPU is isolated");
    }
    let allowance = online_cpus(root).ok().and_then(|online| read_allowance(root, &online).ok());
    let Some(allowance) = allowance else {
        let text = format!("isolated: {}; whether they may be used is unknown", isolated.named());
        return cannot_tell(text);
    };
    let left_out = isolated.difference(&allowance.mask);
    if left_out.is_empty() {
        return ok(format!("isolated, but measured by default: {}", isolated.named()));
    }
    let usable = left_out.intersection(&allowance.cpuset);
    let text =
        format!("isolated, so left out by default although they are the quietest: {}", left_out.named());
    let report = warn(text);
    if usable.is_empty() { report } else { report.fix(format!("coretalk --cpus {usable}")) }
}

pub(super) fn smt(root: &SystemRoot, _: &LiveFacts) -> Report {
    let on = || ok("SMT on: a busy sibling slows a core, so siblings of measured CPUs are kept idle");
    match root.peek("/sys/devices/system/cpu/smt/control").as_deref() {
        Some("on") => return on(),
        Some("off") => return ok("SMT off: one thread per core"),
        Some("forceoff") => {
            return ok("SMT forced off until the next boot: one thread per core");
        }
        Some("notsupported") => return ok("the processor reports no SMT"),
        _ => {}
    }
    match read_topology(root) {
        Ok(topology) if topology.has_smt(topology.cpus()) => on(),
        Ok(topology) if !topology.level(Level::Core).is_empty() => ok("one thread per core is reported"),
        _ => cannot_tell("the system does not report which CPUs are siblings"),
    }
}

pub(super) fn topology(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Ok(topology) = read_topology(root) else {
        return cannot_tell("the system does not report which CPUs are online");
    };
    let offline =
        read_allowance(root, topology.cpus()).map(|allowance| allowance.offline).unwrap_or_default();
    let offline = if offline.is_empty() { String::new() } else { format!("; offline: {}", offline.named()) };
    match topology.crossing_words() {
        Some(words) => warn(format!("reported groups of CPUs cross: {words}{offline}")),
        None if topology.domains().is_empty() => {
            cannot_tell(format!("the system does not report what its CPUs share{offline}"))
        }
        None => ok(format!("the reported groups of CPUs lie inside each other{offline}")),
    }
}
