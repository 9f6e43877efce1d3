//! [`Beside`]: what a source says of a machine beside groups of CPUs; and how its levels nest.

use super::{Domain, Level};
use crate::CpuId;
use std::collections::BTreeMap;

/// What a source reports and no group of CPUs can hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Beside {
    /// Levels that are reported and have no groups of their own, and what theirs are the same as.
    pub same: BTreeMap<Level, Same>,
    /// NUMA nodes without CPUs of their own, by number: memory expanders, high-bandwidth and persistent memory.
    pub memory_nodes: Vec<MemoryNode>,
}

/// What the groups of a level are that is reported and divides nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Same {
    /// Each is a group of this level.
    Level(Level),
    /// One group has every CPU.
    Machine,
    /// They are groups of several levels, or fit none.
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

    /// What [`Same::name`] names.
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

/// A NUMA node without CPUs of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryNode {
    /// The system's number.
    pub number: u32,
    /// Its memory in bytes; `None` where the source does not say.
    pub memory_bytes: Option<u64>,
    /// The distance to it from each node that has CPUs, by number, in the unit of ACPI (10 is a node's own memory);
    /// empty where the source does not say.
    pub distances: Vec<(u32, u32)>,
}

/// Clusters of cores together with the L2 that several cores share, each group once.
///
/// Most machines that have both mean one thing by them: Linux on x86 takes a cluster to be the CPUs of one L2, and
/// kernels before 5.16 report that L2 alone. So an L2 is the [`Level::Cluster`] where a cluster equals it, or none is
/// reported of its CPUs, and [`Level::L2`] only where it and a cluster are two different groups.
///
/// ```
/// # use coretalk_model::*;
/// # use coretalk_model::topology::with_shared_l2;
/// let group = |list: &str| Domain { level: Level::Cluster, cpus: list.parse().unwrap(), os_id: None };
/// let both = with_shared_l2(vec![group("0-3")], vec![group("0-1"), group("2-3"), group("4-5")]);
/// let told: Vec<String> = both.iter().map(|group| format!("{} {}", group.level, group.cpus)).collect();
/// assert_eq!(told, ["l2 0,1", "l2 2,3", "cluster 0-3", "cluster 4,5"]);
/// ```
pub fn with_shared_l2(clusters: Vec<Domain>, shared_l2: Vec<Domain>) -> Vec<Domain> {
    let (mut inner, mut alone) = (Vec::new(), Vec::new());
    for l2 in shared_l2 {
        let mut near =
            clusters.iter().filter(|cluster| !cluster.cpus.intersection(&l2.cpus).is_empty()).peekable();
        if near.peek().is_none() {
            alone.push(Domain { level: Level::Cluster, ..l2 });
        } else if near.all(|cluster| cluster.cpus != l2.cpus) {
            inner.push(Domain { level: Level::L2, ..l2 });
        }
    }
    inner.into_iter().chain(clusters).chain(alone).collect()
}

/// The levels of these groups from the inside out; `group_of` finds the group of a level that holds a CPU. Levels of which
/// neither lies inside the other, or either does on some part of the machine, stand as [`Level::ALL`] has them.
pub(super) fn inside_out<'a>(
    domains: &'a [Domain],
    group_of: impl Fn(CpuId, Level) -> Option<&'a Domain>,
) -> [Level; Level::ALL.len()] {
    let holds = |outer: Level, inner: Level| {
        domains.iter().filter(|domain| domain.level == inner).any(|inner| {
            let outer = inner.cpus.first().and_then(|cpu| group_of(cpu, outer));
            outer.is_some_and(|outer| inner.cpus != outer.cpus && inner.cpus.is_subset(&outer.cpus))
        })
    };
    let mut left = Level::ALL.to_vec();
    Level::ALL.map(|_| {
        let is_innermost = |&level: &Level| {
            !left.iter().any(|&other| other != level && holds(level, other) && !holds(other, level))
        };
        left.remove(left.iter().position(is_innermost).unwrap_or(0))
    })
}
