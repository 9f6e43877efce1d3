//! [`Placement`]: a name, and the CPUs of some work. [`UsedGroups`]: the numbers of cores, caches and nodes in use.

use crate::{CpuId, CpuSelection, CpuSet, Level, Topology};

named! {
    /// A placement derived from the topology and a number of threads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Preset {
        /// As close together as possible, SMT siblings first.
        Compact = "compact",
        /// As far apart as possible.
        Spread = "spread",
        /// Inside one last-level cache, on as many cores as possible.
        OneL3 = "one-l3",
        /// One per core, spread evenly over two last-level caches, or more if needed.
        AcrossL3 = "across-l3",
        /// On all threads of as few cores as possible, inside one last-level cache if they fit.
        SmtPacked = "smt-packed",
        /// One per core, on cores as close together as possible.
        OnePerCore = "one-per-core",
        /// Inside one NUMA node.
        OneNode = "one-node",
        /// On the fastest kind of cores.
        PCores = "p-cores",
        /// On the slowest kind of cores.
        ECores = "e-cores",
        /// Not bound. The system selects the CPUs.
        None = "none",
    }
}

impl Preset {
    /// The name of a placement that represents several presets with the same CPUs.
    pub fn joined(one: &str, other: &str) -> String {
        format!("{one}+{other}")
    }

    /// The presets of a joined name; `None` for a single preset or a name given by the user, which cannot be joined.
    pub fn several(name: &str) -> Option<Vec<Preset>> {
        let presets: Option<Vec<Preset>> = name.split('+').map(Preset::named).collect();
        presets.filter(|presets| presets.len() > 1)
    }
}

/// A requested placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementName {
    /// Derived from the topology.
    Preset(Preset),
    /// Selected CPUs with a name.
    Listed {
        /// Name of the placement.
        name: String,
        /// The CPUs, in the order of the roles.
        cpus: CpuSelection,
    },
}

impl PlacementName {
    /// Name of the placement.
    pub fn name(&self) -> &str {
        match self {
            PlacementName::Preset(preset) => preset.name(),
            PlacementName::Listed { name, .. } => name,
        }
    }
}

/// Whether work is pinned to the CPUs of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The work runs only on these CPUs.
    Bound,
    /// The system may run the work on any CPU that this process may use.
    Free,
}

/// The CPUs for a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Name of the placement.
    pub name: String,
    /// The CPUs in role order.
    pub cpus: Vec<CpuId>,
    /// Whether work is pinned to the CPUs.
    pub binding: Binding,
}

impl Placement {
    /// A placement with pinned work.
    pub fn bound(name: impl Into<String>, cpus: Vec<CpuId>) -> Placement {
        Placement { name: name.into(), cpus, binding: Binding::Bound }
    }

    /// The CPUs without an order.
    pub fn set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// The CPUs of `count` roles, assigned in turn.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, place::Placement};
    /// let two = Placement::bound("two", [6, 0].map(CpuId).to_vec());
    /// assert_eq!(two.roles(3), [6, 0, 6].map(CpuId));
    /// ```
    pub fn roles(&self, count: usize) -> Vec<CpuId> {
        self.cpus.iter().copied().cycle().take(count).collect()
    }

    /// The `taskset` command that binds a process to these CPUs, among which its threads may move. `None` if unbound.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, place::Placement};
    /// let packed = Placement::bound("packed", [0, 6, 1, 7].map(CpuId).to_vec());
    /// assert_eq!(packed.taskset().unwrap(), "taskset -c 0,1,6,7");
    /// ```
    pub fn taskset(&self) -> Option<String> {
        (self.binding == Binding::Bound).then(|| format!("taskset -c {}", self.set()))
    }
}

/// Numbers of topology groups that a placement uses, by level; `None` for a level that the machine does not report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedGroups {
    /// Number of CPUs.
    pub cpus: usize,
    /// Number of cores: fewer than CPUs if some are shared.
    pub cores: usize,
    /// L2 caches shared by several cores, except those that count as clusters.
    pub shared_l2: Option<usize>,
    /// Clusters of cores.
    pub clusters: Option<usize>,
    /// Last-level caches.
    pub caches: Option<usize>,
    /// NUMA nodes.
    pub nodes: Option<usize>,
    /// Packages.
    pub packages: Option<usize>,
    /// Names of the used kinds of cores, slowest first; empty if the machine has only one kind.
    pub classes: Vec<String>,
}

impl UsedGroups {
    /// Counts the groups used by a placement.
    pub fn new(topology: &Topology, placement: &Placement) -> UsedGroups {
        UsedGroups::of_set(topology, &placement.set())
    }

    /// Counts the groups used by a set of CPUs.
    pub fn of_set(topology: &Topology, cpus: &CpuSet) -> UsedGroups {
        let touched = |level| touched(topology, level, cpus);
        let is_used =
            |name: &str| cpus.iter().filter_map(|cpu| topology.class_of(cpu)).any(|class| class.name == name);
        let classes = topology.classes().into_iter().map(|class| class.name.clone());
        UsedGroups {
            cpus: cpus.len(),
            cores: topology.one_per_core(cpus).len(),
            shared_l2: touched(Level::L2),
            clusters: touched(Level::Cluster),
            caches: touched(Level::L3),
            nodes: touched(Level::Node),
            packages: touched(Level::Package),
            classes: classes.filter(|name| is_used(name)).collect(),
        }
    }

    /// Whether some of the CPUs are SMT siblings.
    pub fn shares_cores(&self) -> bool {
        self.cores < self.cpus
    }
}

pub(super) fn touched(topology: &Topology, level: Level, cpus: &CpuSet) -> Option<usize> {
    let groups = topology.level(level);
    let touched = groups.iter().filter(|group| !group.cpus.intersection(cpus).is_empty()).count();
    (!groups.is_empty()).then_some(touched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::topology;

    #[test]
    fn levels_that_are_not_reported_are_not_counted() {
        let flat = Topology::flat("0-3".parse().unwrap());
        let found = UsedGroups::of_set(&flat, &"0-1".parse().unwrap());
        assert_eq!((found.cpus, found.cores, found.caches, found.nodes), (2, 2, None, None));
        let smt = topology("0-3", &[(Level::Core, &["0-1"])]);
        assert!(UsedGroups::of_set(&smt, &"0-1".parse().unwrap()).shares_cores());
        assert!(!UsedGroups::of_set(&smt, &"1-2".parse().unwrap()).shares_cores());
    }
}
