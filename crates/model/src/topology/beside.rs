//! [`Beside`]: what a source says of a machine beside groups of CPUs.

use super::Level;
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
    /// One group holds every CPU.
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
