//! [`OtherFacts`]: reported facts about a machine that are not groups of CPUs. Also the nesting of levels.

use super::{Domain, Level};
use crate::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Reported facts that no group of CPUs can represent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OtherFacts {
    /// Redundant reported levels, each with the existing groups that equal its groups.
    pub same: BTreeMap<Level, Same>,
    /// NUMA nodes without CPUs, by number: memory expanders, high-bandwidth and persistent memory.
    pub memory_nodes: Vec<MemoryNode>,
    /// Caches with a reported size, innermost first, except instruction caches; empty if unknown.
    #[cfg_attr(feature = "serde", serde(default))]
    pub caches: Vec<CacheSize>,
}

/// The caches of one level and size.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CacheSize {
    /// Name, such as `L1d`, `L2` or `L3`.
    pub name: String,
    /// Size of one cache.
    pub bytes: u64,
    /// The CPUs that share each cache, by lowest CPU.
    pub groups: Vec<CpuSet>,
}

/// The existing groups that equal the groups of a redundant reported level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Same {
    /// Each redundant group is a group of this level.
    Level(Level),
    /// The only redundant group contains every CPU.
    Machine,
    /// The redundant groups are groups of several levels, or of none.
    Several,
}

impl Same {
    /// The name of the level, `machine` or `several`.
    pub fn name(self) -> &'static str {
        match self {
            Same::Level(level) => level.name(),
            Same::Machine => "machine",
            Same::Several => "several",
        }
    }

    /// Parses a name from [`Same::name`].
    ///
    /// ```
    /// # use coretalk_model::{Level, topology::Same};
    /// assert_eq!(Same::named("package"), Some(Same::Level(Level::Package)));
    /// assert_eq!(Same::named("socket"), None);
    /// ```
    pub fn named(name: &str) -> Option<Same> {
        let levels = Level::ALL.map(Same::Level).into_iter();
        levels.chain([Same::Machine, Same::Several]).find(|same| same.name() == name)
    }
}

/// A NUMA node without CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryNode {
    /// Number of the node in the system.
    pub number: u32,
    /// Memory in bytes; `None` if not reported.
    pub memory_bytes: Option<u64>,
    /// ACPI distance from each node with CPUs, by number (10 is the memory of the node itself); empty if not reported.
    pub distances: Vec<(u32, u32)>,
}

/// Merges clusters of cores with the L2 caches that several cores share, each group once.
///
/// On most machines, both are the same groups. Linux on x86 defines a cluster as the CPUs of one L2, and kernels before
/// 5.16 report only that L2. An L2 is [`Level::L2`] only if it differs from a reported cluster of its CPUs.
///
/// ```
/// # use coretalk_model::*;
/// # use coretalk_model::topology::with_shared_l2;
/// let group = |list: &str| Domain { level: Level::Cluster, cpus: list.parse().unwrap(), os_id: None };
/// let both = with_shared_l2(vec![group("0-3")], vec![group("0-1"), group("2-3"), group("4-5")]);
/// let merged: Vec<String> = both.iter().map(|group| format!("{} {}", group.level, group.cpus)).collect();
/// assert_eq!(merged, ["l2 0,1", "l2 2,3", "cluster 0-3", "cluster 4,5"]);
/// ```
pub fn with_shared_l2(clusters: Vec<Domain>, shared_l2: Vec<Domain>) -> Vec<Domain> {
    let (mut inner, mut unclustered) = (Vec::new(), Vec::new());
    for l2 in shared_l2 {
        let mut overlapping =
            clusters.iter().filter(|cluster| !cluster.cpus.intersection(&l2.cpus).is_empty()).peekable();
        if overlapping.peek().is_none() {
            unclustered.push(Domain { level: Level::Cluster, ..l2 });
        } else if overlapping.all(|cluster| cluster.cpus != l2.cpus) {
            inner.push(Domain { level: Level::L2, ..l2 });
        }
    }
    inner.into_iter().chain(clusters).chain(unclustered).collect()
}

/// The levels of these groups, innermost first. Levels that are not nested, or whose nesting differs between parts of
/// the machine, keep the order of [`Level::ALL`].
pub(super) fn inside_out<'a>(
    domains: &'a [Domain],
    group_of: impl Fn(CpuId, Level) -> Option<&'a Domain>,
) -> [Level; Level::ALL.len()] {
    let contains = |outer: Level, inner: Level| {
        domains.iter().filter(|domain| domain.level == inner).any(|inner| {
            let outer = inner.cpus.first().and_then(|cpu| group_of(cpu, outer));
            outer.is_some_and(|outer| inner.cpus != outer.cpus && inner.cpus.is_subset(&outer.cpus))
        })
    };
    let mut remaining = Level::ALL.to_vec();
    Level::ALL.map(|_| {
        let is_innermost = |&level: &Level| {
            !remaining
                .iter()
                .any(|&other| other != level && contains(level, other) && !contains(other, level))
        };
        remaining.remove(remaining.iter().position(is_innermost).unwrap_or(0))
    })
}
