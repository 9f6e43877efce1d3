//! Checks of rights, memory, hypervisor and other programs.

use super::{LiveFacts, Report, cannot_tell, fail, ok, percent, warn};
use crate::host::facts::{BUSY_FRACTION, CpuTimes, Platform, Wsl};
use crate::host::root::SystemRoot;
use crate::host::sysfs::{NumaNode, read_nodes};
use coretalk_model::environment::{DISTURBED_SHARE, hypervisor_words};
use coretalk_model::{CpuId, CpuSet};

/// Bits of `CapEff` (`linux/capability.h`).
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

/// Value of `RLIMIT_NICE` that allows nice −20 (`man 2 getrlimit`).
const NICE_MINUS_20: u64 = 40;

/// Default of the kernel since Linux 5.16. The lines of a pair need less.
const ENOUGH_LOCKED_BYTES: u64 = 8 << 20;

pub(super) fn rlimits(root: &SystemRoot, _: &LiveFacts) -> Report {
    let limit = |name: &str| soft_limit(root, name);
    let (nice, memlock) = (limit("Max nice priority"), limit("Max locked memory"));
    let (Some(nice), Some(memlock)) = (nice, memlock) else {
        return cannot_tell("the system does not report the limits of this process");
    };
    let may_raise = has_capability(root, CAP_SYS_NICE) || nice >= NICE_MINUS_20;
    let may_lock = has_capability(root, CAP_IPC_LOCK) || memlock >= ENOUGH_LOCKED_BYTES;
    let lacking = match (may_raise, may_lock) {
        (true, true) => return ok("priority can be raised and memory locked"),
        (false, true) => "priority cannot be raised",
        (true, false) => "memory cannot be locked",
        (false, false) => "priority cannot be raised and memory cannot be locked",
    };
    warn(format!("{lacking}: other programs disturb measurements more often"))
        .fix("sudo setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v coretalk)\"")
}

/// Parses a line with name, soft limit and hard limit: `Max nice priority         0                    0`.
fn soft_limit(root: &SystemRoot, name: &str) -> Option<u64> {
    let limits = root.peek("/proc/self/limits")?;
    let values = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match values.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// Whether the kernel honours this capability. It does so only in the initial user namespace: in a container with its
/// own namespace, root has every bit set without effect.
fn has_capability(root: &SystemRoot, bit: u32) -> bool {
    let is_initial_namespace =
        root.peek("/proc/self/uid_map").is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    let status = root.peek("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    is_initial_namespace && bits >> bit & 1 == 1
}

pub(super) fn libc(_: &SystemRoot, live: &LiveFacts) -> Report {
    match live.libc {
        None => cannot_tell("the C library does not identify itself"),
        Some(library) if library.starts_with("glibc") => ok(format!("C library {library}")),
        Some(library) => {
            warn(format!("C library {library}: wake-up, lock and spawn times differ from those of glibc"))
                .fix(format!("cargo build --release --target {}-unknown-linux-gnu", std::env::consts::ARCH))
        }
    }
}

pub(super) fn microcode(root: &SystemRoot, _: &LiveFacts) -> Report {
    match root.peek("/sys/devices/system/cpu/vulnerabilities/old_microcode").as_deref() {
        Some("Not affected") => ok("the kernel knows of no newer microcode"),
        Some(state) if state.starts_with("Vulnerable") => {
            warn("newer microcode exists: an update may change numbers").fix("sudo fwupdmgr update")
        }
        _ => cannot_tell("the kernel does not report whether the microcode is current"),
    }
}

pub(super) fn hypervisor(root: &SystemRoot, _: &LiveFacts) -> Report {
    let platform = Platform::read(root);
    if let Some(emulator) = platform.emulator {
        let text = format!("{emulator} emulates the processor: timings here say nothing about hardware");
        return fail(text).fix("coretalk --machine sim:laptop-smt");
    }
    if platform.wsl == Some(Wsl::One) {
        let text = "WSL 1 translates system calls: wake-up, spawn and pinning behave as on Windows";
        return warn(text).fix("wsl --set-version DISTRIBUTION 2");
    }
    match platform.hypervisor {
        Some(name) => warn(format!(
            "guest of {}{}: the host may move virtual CPUs, and the reported topology may be invented",
            hypervisor_words(&name),
            platform.evidence.map_or(String::new(), |evidence| format!(" ({evidence})"))
        )),
        None if platform.bare_metal == Some(true) => {
            let evidence = platform.evidence.unwrap_or_default();
            ok(format!("no hypervisor detected ({evidence})"))
        }
        None => cannot_tell("neither processor, device tree nor DMI shows whether there is a hypervisor"),
    }
}

/// Minimum steal fraction for a warning. Medians stay the same, but the tails of a run of a few seconds show stalls.
const NOTABLE_STEAL: f64 = 0.001;

pub(super) fn steal(root: &SystemRoot, live: &LiveFacts) -> Report {
    let (times, span) = match live.recent {
        Some(recent) => (Some(recent.clone()), span_text(recent)),
        None => (CpuTimes::read(root), "since boot".to_owned()),
    };
    let Some(stolen) = times.and_then(|times| times.steal_fraction(&times.cpus())) else {
        return cannot_tell("the kernel does not report steal time");
    };
    if stolen < NOTABLE_STEAL {
        let text = format!("reported steal time below 0.1 % {span}");
        return ok(text);
    }
    let text =
        format!("the host took {} of the time {span}: expect stalls and wide intervals", percent(stolen));
    warn(text)
}

fn span_text(recent: &CpuTimes) -> String {
    format!("in {:.1} s", recent.span_s())
}

/// Minimum observation before load counts as lasting. Shorter load may end before a measurement begins.
const LASTING_S: f64 = 0.9;

pub(super) fn load(_: &SystemRoot, live: &LiveFacts) -> Report {
    // The load average is unsuitable. It includes threads that wait, for example for a disk, and is no share of the
    // CPUs.
    let Some((recent, busy)) =
        live.recent.and_then(|recent| Some((recent, recent.busy_fraction(&recent.cpus())?)))
    else {
        return cannot_tell("the system does not report how busy it is");
    };
    let took = format!("{} of the CPUs {}", percent(busy), span_text(recent));
    if busy > DISTURBED_SHARE {
        let text = format!(
            "other programs took {took}: numbers measured meanwhile are doubtful; stop these programs, or wait \
             until they end"
        );
        return if recent.span_s() < LASTING_S { warn(text) } else { fail(text) };
    }
    match busy > BUSY_FRACTION {
        true => warn(format!("other programs took {took}: pairs are measured one at a time")),
        false => ok(format!("other programs took {took}")),
    }
}

/// Whether the CPUs must be observed longer, to distinguish lasting from transient load.
pub fn needs_longer_observation(recent: &CpuTimes) -> bool {
    recent.span_s() < LASTING_S
        && recent.busy_fraction(&recent.cpus()).is_some_and(|busy| busy > DISTURBED_SHARE)
}

pub(super) fn huge_pages(root: &SystemRoot, _: &LiveFacts) -> Report {
    let policy = root.peek("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen =
        policy.as_deref().and_then(|text| text.split_whitespace().find(|word| word.starts_with('[')));
    if let Some(chosen @ ("[always]" | "[madvise]")) = chosen {
        let name = chosen.trim_matches(['[', ']']);
        return ok(format!("transparent huge pages: {name}"));
    }
    match reserved(root) {
        Some(1) => ok("1 reserved huge page is free"),
        Some(free) if free > 0 => ok(format!("{free} reserved huge pages are free")),
        // A kernel without transparent huge pages still lists reserved huge pages, if its files are readable.
        found if chosen.is_none() && (found.is_none() || root.names("/sys/kernel/mm").is_empty()) => {
            cannot_tell("the kernel does not report whether it has huge pages")
        }
        _ => {
            let text = "no huge pages: many fresh lines miss the TLB, so their first visit is slower";
            let command = match chosen {
                Some(_) => "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
                None => "sudo sysctl vm.nr_hugepages=64",
            };
            warn(text).fix(command)
        }
    }
}

fn reserved(root: &SystemRoot) -> Option<u64> {
    let meminfo = root.peek("/proc/meminfo")?;
    meminfo.lines().find_map(|line| line.strip_prefix("HugePages_Free:")?.trim().parse().ok())
}

pub(super) fn node_memory(root: &SystemRoot, _: &LiveFacts) -> Report {
    let nodes = read_nodes(root).unwrap_or_default();
    let status = root.peek("/proc/self/status").unwrap_or_default();
    let listed = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    let granted = listed.and_then(|list| CpuSet::from_list(list).ok());
    let lacks = |node: &&NumaNode| {
        node.memory_bytes == Some(0) || granted.as_ref().is_some_and(|set| !set.contains(CpuId(node.id)))
    };
    let with_cpus = || nodes.iter().filter(|node| !node.cpus.is_empty());
    let lacking: CpuSet = with_cpus().filter(lacks).map(|node| CpuId(node.id)).collect();
    if !lacking.is_empty() {
        return warn(format!(
            "no memory that this process may use on NUMA node {lacking}: cache lines of its CPUs are allocated on another node (flag `home`)"
        ));
    }
    match with_cpus().count() {
        0 => cannot_tell("the system reports no NUMA node"),
        _ if granted.is_none() || with_cpus().any(|node| node.memory_bytes.is_none()) => {
            cannot_tell("the system does not report which NUMA nodes have memory that this process may use")
        }
        1 => ok("the one NUMA node has memory"),
        nodes => ok(format!("all {nodes} NUMA nodes with CPUs have memory")),
    }
}

pub(super) fn numa_balancing(root: &SystemRoot, _: &LiveFacts) -> Report {
    let nodes = read_nodes(root).map_or(0, |nodes| nodes.len());
    if nodes == 1 {
        return ok("one NUMA node: nothing to balance");
    }
    match root.peek("/proc/sys/kernel/numa_balancing").as_deref() {
        Some("0") => ok("NUMA balancing off"),
        Some(_) => warn("NUMA balancing on: the kernel unmaps pages to see who uses them, causing page faults during timing",
        )
        .fix("sudo sysctl kernel.numa_balancing=0"),
        None => cannot_tell("the kernel does not report whether NUMA balancing is on"),
    }
}
