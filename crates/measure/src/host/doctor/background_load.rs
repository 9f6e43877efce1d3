//! Checks of who else is on the machine: a host below, other programs beside.

use super::{LiveFacts, Report, percent};
use crate::host::facts::{BUSY_FRACTION, CpuTimes, Platform, Wsl, load_1min};
use crate::host::root::SystemRoot;
use crate::host::sysfs::online_cpus;
use coretalk_model::Verdict;

pub(super) fn hypervisor(root: &SystemRoot, _: &LiveFacts) -> Report {
    let platform = Platform::read(root);
    if let Some(emulator) = platform.emulator {
        let text = format!("{emulator} emulates the processor: timings here say nothing about hardware");
        return Report::new(Verdict::Fail, text).fix("coretalk --machine sim:laptop-smt");
    }
    if platform.wsl == Some(Wsl::One) {
        let text = "WSL 1 translates system calls: wake-up, spawn and pinning are those of Windows";
        return Report::new(Verdict::Warn, text).fix("wsl --set-version DISTRIBUTION 2");
    }
    match platform.hypervisor {
        Some(name) => Report::new(
            Verdict::Warn,
            format!(
                "guest of {name}{}: the host may move virtual CPUs, and the reported topology may be invented",
                platform.evidence.map_or(String::new(), |evidence| format!(" ({evidence})"))
            ),
        ),
        None if platform.bare_metal == Some(true) => {
            let evidence = platform.evidence.unwrap_or_default();
            Report::new(Verdict::Ok, format!("no hypervisor detected ({evidence})"))
        }
        None => Report::new(
            Verdict::CannotTell,
            "neither processor, device tree nor DMI shows whether there is a hypervisor",
        ),
    }
}

/// A thousandth of the time moves no median; it is where stalls begin to show in the tails of a run of seconds.
const NOTABLE_STEAL: f64 = 0.001;

pub(super) fn steal(root: &SystemRoot, live: &LiveFacts) -> Report {
    let (times, span) = match live.recent {
        Some(recent) => (Some(recent.clone()), "just now"),
        None => (CpuTimes::read(root), "since boot"),
    };
    let Some(stolen) = times.and_then(|times| times.steal_fraction(&times.cpus())) else {
        return Report::new(Verdict::CannotTell, "the kernel does not report steal time");
    };
    if stolen < NOTABLE_STEAL {
        let text = format!("reported steal time below 0.1 % {span}");
        return Report::new(Verdict::Ok, text);
    }
    let text =
        format!("the host took {} of the time {span}: expect stalls and wide intervals", percent(stolen));
    Report::new(Verdict::Warn, text)
}

pub(super) fn load(root: &SystemRoot, live: &LiveFacts) -> Report {
    let recent = live.recent.and_then(|recent| recent.busy_fraction(&recent.cpus()));
    let average = || Some(load_1min(root)? / online_cpus(root).ok()?.len() as f64);
    let (busy, span) = match recent {
        Some(busy) => (Some(busy), "just now"),
        None => (average(), "over the last minute"),
    };
    match busy {
        None => Report::new(Verdict::CannotTell, "the system does not report how busy it is"),
        Some(busy) if busy > BUSY_FRACTION => Report::new(
            Verdict::Warn,
            format!(
                "other programs took {} of the CPUs {span}: pairs are measured one at a time, and doubtful values are flagged",
                percent(busy)
            ),
        )
        .fix("ps -eo pid,psr,pcpu,comm --sort=-pcpu | head"),
        Some(busy) => Report::new(Verdict::Ok, format!("{} of the CPUs were busy {span}", percent(busy))),
    }
}
