//! Checks of the CPUs that this process may use.

use super::{LiveFacts, Report};
use crate::host::cgroup::{group_cpus, read_allowance, read_quota};
use crate::host::facts;
use crate::host::root::SystemRoot;
use crate::host::sysfs::{online_cpus, read_topology};
use coretalk_model::{CpuSet, Level, Verdict};

pub(super) fn cpuset(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Ok(online) = online_cpus(root) else {
        return Report::new(Verdict::CannotTell, "the system does not report which CPUs are online");
    };
    let (Ok(group), Ok(allowance)) = (group_cpus(root), read_allowance(root, &online)) else {
        return Report::new(Verdict::CannotTell, "the cgroup files or the affinity mask cannot be read");
    };
    let allowed = &allowance.cpuset;
    if online.len() < 2 {
        let text = format!("this machine has one CPU ({online}): there is no pair to measure");
        return Report::new(Verdict::Fail, text);
    }
    if allowed.len() < 2 {
        let text =
            format!("of CPUs {online} the cgroup allows only `{allowed}`: there is no pair to measure");
        return Report::new(Verdict::Fail, text).fix(unconfined(&online));
    }
    if *allowed != online {
        let text = format!(
            "the cgroup (--cpuset-cpus of a container) allows CPUs {allowed} of {online}: the others are not measured"
        );
        return Report::new(Verdict::Warn, text).fix(unconfined(&online));
    }
    // What is isolated has a check of its own.
    let left_out = allowed.difference(&allowance.mask).difference(&facts::isolated(root));
    if !left_out.is_empty() {
        let text = format!("the inherited affinity mask excludes {}, which may be used", left_out.named());
        return Report::new(Verdict::Warn, text).fix(format!("coretalk --cpus {allowed}"));
    }
    if group.is_none() {
        let text = "no cgroup is visible: forbidden CPUs only show when threads are pinned";
        return Report::new(Verdict::CannotTell, text);
    }
    Report::new(Verdict::Ok, format!("every online CPU may be used: {allowed}"))
}

/// Runs the tool in a control group of its own, outside the limited one.
fn unconfined(cpus: &CpuSet) -> String {
    format!("sudo systemd-run --scope -p AllowedCPUs={cpus} coretalk")
}

/// Two threads that spin need two CPUs; with less, each period ends in a stop.
const CPUS_OF_A_PAIR: f64 = 2.0;

pub(super) fn quota(root: &SystemRoot, _: &LiveFacts) -> Report {
    let Some(quota) = read_quota(root) else {
        return Report::new(Verdict::CannotTell, "no cgroup CPU controller is visible");
    };
    let Some(limit) = quota.limit_cpus else {
        return Report::new(Verdict::Ok, "no CPU quota");
    };
    if online_cpus(root).is_ok_and(|online| limit >= online.len() as f64) {
        return Report::new(Verdict::Ok, format!("the CPU quota of {limit} covers every CPU"));
    }
    let throttled = match quota.throttled_periods {
        Some(count) => format!("throttled {count} times so far"),
        None => "throttling is not counted".to_owned(),
    };
    let (verdict, effect) = match limit < CPUS_OF_A_PAIR {
        true => (Verdict::Fail, "not even two threads can spin without being throttled in every period"),
        false => (Verdict::Warn, "more threads at once are throttled for tens of milliseconds"),
    };
    Report::new(
        verdict,
        format!("CPU quota of {limit:.2} CPUs (--cpus of a container), {throttled}: {effect}"),
    )
    .fix("sudo systemd-run --scope coretalk")
}

pub(super) fn isolated(root: &SystemRoot, _: &LiveFacts) -> Report {
    let isolated = match root.list("/sys/devices/system/cpu/isolated") {
        Ok(Some(isolated)) => isolated,
        Ok(None) | Err(_) => {
            return Report::new(Verdict::CannotTell, "the kernel does not report which CPUs are isolated");
        }
    };
    if isolated.is_empty() {
        return Report::new(Verdict::Ok, "no CPU is isolated");
    }
    let allowance = online_cpus(root).ok().and_then(|online| read_allowance(root, &online).ok());
    let Some(allowance) = allowance else {
        let text = format!("isolated: {}; whether they may be used is unknown", isolated.named());
        return Report::new(Verdict::CannotTell, text);
    };
    let left_out = isolated.difference(&allowance.mask);
    if left_out.is_empty() {
        return Report::new(Verdict::Ok, format!("isolated, but measured by default: {}", isolated.named()));
    }
    let usable = left_out.intersection(&allowance.cpuset);
    let text = format!("isolated and left out by default, though quietest: {}", left_out.named());
    let report = Report::new(Verdict::Warn, text);
    if usable.is_empty() { report } else { report.fix(format!("coretalk --cpus {usable}")) }
}

pub(super) fn smt(root: &SystemRoot, _: &LiveFacts) -> Report {
    let on = || {
        Report::new(
            Verdict::Ok,
            "SMT on: a busy sibling slows a core, so siblings of measured CPUs are kept idle",
        )
    };
    match root.peek("/sys/devices/system/cpu/smt/control").as_deref() {
        Some("on") => return on(),
        Some("off") => return Report::new(Verdict::Ok, "SMT off: one thread per core"),
        Some("forceoff") => {
            return Report::new(Verdict::Ok, "SMT forced off until the next boot: one thread per core");
        }
        Some("notsupported") => return Report::new(Verdict::Ok, "the processor reports no SMT"),
        _ => {}
    }
    match read_topology(root) {
        Ok(topology) if topology.has_smt(topology.cpus()) => on(),
        Ok(topology) if !topology.level(Level::Core).is_empty() => {
            Report::new(Verdict::Ok, "one thread per core is reported")
        }
        _ => Report::new(Verdict::CannotTell, "the system does not report which CPUs are siblings"),
    }
}
