//! [`RanOn`]: where an unpinned thread ran after a wake-up, relative to its waker.

use crate::cpu::{CpuId, CpuSet};
use crate::topology::{Level, Relation, Topology};

/// Where a woken thread ran relative to its waker, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RanOn {
    /// On the CPU of the waker.
    SameCpu,
    /// On another hardware thread of the core of the waker.
    Sibling,
    /// On another core with the same last-level cache.
    SameL3,
    /// Outside the last-level cache of the waker.
    Elsewhere,
}

impl RanOn {
    /// All places, nearest first.
    pub const ALL: [RanOn; 4] = [RanOn::SameCpu, RanOn::Sibling, RanOn::SameL3, RanOn::Elsewhere];

    /// Where a thread on CPU `woken` runs relative to its waker, according to the topology.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, Topology, wake::RanOn};
    /// let topology = Topology::flat("0-3".parse().unwrap());
    /// assert_eq!(RanOn::from_cpus(&topology, CpuId(3), CpuId(3)), RanOn::SameCpu);
    /// ```
    pub fn from_cpus(topology: &Topology, waker: CpuId, woken: CpuId) -> RanOn {
        match topology.relation(waker, woken) {
            Relation::SameCpu => RanOn::SameCpu,
            Relation::Smt => RanOn::Sibling,
            Relation::L2 | Relation::Cluster | Relation::L3 => RanOn::SameL3,
            Relation::Die
            | Relation::Node
            | Relation::Package
            | Relation::Book
            | Relation::Drawer
            | Relation::Machine => RanOn::Elsewhere,
        }
    }

    /// The possible places among these CPUs, in the order of [`RanOn::ALL`]; `SameL3` and `Elsewhere` need a reported
    /// L3.
    pub fn possible(topology: &Topology, cpus: &CpuSet) -> [bool; 4] {
        let mut possible = [false; 4];
        let reports_l3 = !topology.level(Level::L3).is_empty();
        for waker in cpus.iter() {
            for woken in cpus.iter() {
                possible[RanOn::from_cpus(topology, waker, woken) as usize] = true;
            }
            if possible == [true; 4] {
                break;
            }
        }
        possible[RanOn::SameL3 as usize] &= reports_l3;
        possible[RanOn::Elsewhere as usize] &= reports_l3;
        possible
    }

    /// The name of the share of wake-ups at this place in documents, run files and exports.
    pub const fn share(self) -> &'static str {
        match self {
            RanOn::SameCpu => "same_cpu_share",
            RanOn::Sibling => "sibling_share",
            RanOn::SameL3 => "same_l3_share",
            RanOn::Elsewhere => "elsewhere_share",
        }
    }

    /// The heading of this place in tables.
    pub const fn title(self) -> &'static str {
        match self {
            RanOn::SameCpu => "same CPU",
            RanOn::Sibling => "SMT sibling",
            RanOn::SameL3 => "same L3",
            RanOn::Elsewhere => "elsewhere",
        }
    }
}
