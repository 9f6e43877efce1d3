//! Checks of the memory that measured lines lie in.

use super::{LiveFacts, Report};
use crate::host::root::SystemRoot;
use crate::host::sysfs::read_nodes;
use coretalk_model::Verdict;

pub(super) fn huge_pages(root: &SystemRoot, _: &LiveFacts) -> Report {
    let policy = root.peek("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen =
        policy.as_deref().and_then(|text| text.split_whitespace().find(|word| word.starts_with('[')));
    if let Some(chosen @ ("[always]" | "[madvise]")) = chosen {
        let name = chosen.trim_matches(['[', ']']);
        return Report::new(Verdict::Ok, format!("transparent huge pages: {name}"));
    }
    match reserved(root) {
        Some(free) if free > 0 => Report::new(Verdict::Ok, format!("{free} reserved huge pages are free")),
        None if chosen.is_none() => {
            Report::new(Verdict::CannotTell, "the kernel does not report whether it has huge pages")
        }
        _ => {
            let text = "no huge pages: many fresh lines miss the TLB, so their first visit is slower";
            let command = match chosen {
                Some(_) => "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
                None => "sudo sysctl vm.nr_hugepages=64",
            };
            Report::new(Verdict::Warn, text).fix(command)
        }
    }
}

/// Free pages of the reserved pool.
fn reserved(root: &SystemRoot) -> Option<u64> {
    let meminfo = root.peek("/proc/meminfo")?;
    meminfo.lines().find_map(|line| line.strip_prefix("HugePages_Free:")?.trim().parse().ok())
}

pub(super) fn numa_balancing(root: &SystemRoot, _: &LiveFacts) -> Report {
    let nodes = read_nodes(root).map_or(0, |nodes| nodes.len());
    if nodes == 1 {
        return Report::new(Verdict::Ok, "one NUMA node: nothing to balance");
    }
    match root.peek("/proc/sys/kernel/numa_balancing").as_deref() {
        Some("0") => Report::new(Verdict::Ok, "NUMA balancing off"),
        Some(_) => Report::new(
            Verdict::Warn,
            "NUMA balancing on: the kernel unmaps pages to see who uses them, causing page faults during timing",
        )
        .fix("sudo sysctl kernel.numa_balancing=0"),
        None => Report::new(Verdict::CannotTell, "the kernel does not report whether NUMA balancing is on"),
    }
}
