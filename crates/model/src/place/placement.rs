//! [`Placement`]: a name and the CPUs that a piece of work may use; [`Structure`]: what these share, which is why it could
//! win.

use crate::{CpuId, CpuSet, Level, Topology};

named! {
    /// A placement that follows from the topology and a number of threads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Preset {
        /// As near to each other as can be, threads of one core first.
        Compact = "compact",
        /// As far apart as can be.
        Spread = "spread",
        /// Inside one last-level cache, on as many cores as there are.
        OneL3 = "one-l3",
        /// One on each core, evenly over two last-level caches, or as many as it takes.
        AcrossL3 = "across-l3",
        /// On all threads of as few cores as can be, inside one last-level cache where they fit.
        SmtPacked = "smt-packed",
        /// One on each core, cores as near to each other as can be.
        OnePerCore = "one-per-core",
        /// Inside one NUMA node.
        OneNode = "one-node",
        /// On the fastest kind of cores.
        PCores = "p-cores",
        /// On the slowest kind of cores.
        ECores = "e-cores",
        /// Wherever the system puts it.
        None = "none",
    }
}

impl Preset {
    /// The name of a placement that stands for several presets with the same CPUs.
    pub fn joined(one: &str, other: &str) -> String {
        format!("{one}+{other}")
    }

    /// The presets that a placement of this name stands for; `None` where the name is one that a user gave, or stands for
    /// one alone. Names of several presets cannot be given by users.
    pub fn several(name: &str) -> Option<Vec<Preset>> {
        let presets: Option<Vec<Preset>> = name.split('+').map(Preset::named).collect();
        presets.filter(|presets| presets.len() > 1)
    }
}

/// A placement as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacementName {
    /// Derived from the topology.
    Preset(Preset),
    /// A name of its own, and the CPUs in role order.
    Listed {
        /// What it is called.
        name: String,
        /// The CPUs: the first role runs on the first.
        cpus: Vec<CpuId>,
    },
}

impl PlacementName {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            PlacementName::Preset(preset) => preset.name(),
            PlacementName::Listed { name, .. } => name,
        }
    }
}

/// Whether work is held on the CPUs of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// It runs there and nowhere else.
    Bound,
    /// The system may put it anywhere that this process may use.
    Free,
}

/// The CPUs that a piece of work may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// What it is called.
    pub name: String,
    /// The CPUs in role order.
    pub cpus: Vec<CpuId>,
    /// Whether work is held there.
    pub binding: Binding,
}

impl Placement {
    /// Work that is held on these CPUs.
    pub fn bound(name: impl Into<String>, cpus: Vec<CpuId>) -> Placement {
        Placement { name: name.into(), cpus, binding: Binding::Bound }
    }

    /// The CPUs without an order.
    pub fn set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// The CPU of each of so many roles: they stand on the CPUs in turn.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, place::Placement};
    /// let two = Placement::bound("two", [6, 0].map(CpuId).to_vec());
    /// assert_eq!(two.roles(3), [6, 0, 6].map(CpuId));
    /// ```
    pub fn roles(&self, count: usize) -> Vec<CpuId> {
        self.cpus.iter().copied().cycle().take(count).collect()
    }

    /// The words that bind a process to the same CPUs with the tool of the field: all of its threads may move among them.
    /// `None` where nothing is bound.
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

/// How many of each thing the CPUs of a placement touch. `None` where the machine does not report such things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// CPUs.
    pub cpus: usize,
    /// Cores: fewer than CPUs where two share one.
    pub cores: usize,
    /// L2 caches of several cores that are no clusters.
    pub shared_l2: Option<usize>,
    /// Clusters of cores.
    pub clusters: Option<usize>,
    /// Last-level caches.
    pub caches: Option<usize>,
    /// NUMA nodes.
    pub nodes: Option<usize>,
    /// Packages.
    pub packages: Option<usize>,
    /// Names of the kinds of cores, slowest first; empty where there is one kind.
    pub classes: Vec<String>,
}

impl Structure {
    /// What the CPUs of a placement touch.
    pub fn of(topology: &Topology, placement: &Placement) -> Structure {
        Structure::of_set(topology, &placement.set())
    }

    /// What CPUs touch.
    pub fn of_set(topology: &Topology, cpus: &CpuSet) -> Structure {
        let touched = |level| touched(topology, level, cpus);
        let is_here =
            |name: &str| cpus.iter().filter_map(|cpu| topology.class_of(cpu)).any(|class| class.name == name);
        let classes = topology.classes().into_iter().map(|class| class.name.clone());
        Structure {
            cpus: cpus.len(),
            cores: topology.one_per_core(cpus).len(),
            shared_l2: touched(Level::L2),
            clusters: touched(Level::Cluster),
            caches: touched(Level::L3),
            nodes: touched(Level::Node),
            packages: touched(Level::Package),
            classes: classes.filter(|name| is_here(name)).collect(),
        }
    }

    /// Whether two of its CPUs are threads of one core.
    pub fn shares_cores(&self) -> bool {
        self.cores < self.cpus
    }
}

/// How many groups of a level CPUs touch; `None` where the machine does not report such groups.
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
    fn what_is_not_reported_is_not_counted() {
        let flat = Topology::flat("0-3".parse().unwrap());
        let found = Structure::of_set(&flat, &"0-1".parse().unwrap());
        assert_eq!((found.cpus, found.cores, found.caches, found.nodes), (2, 2, None, None));
        let smt = topology("0-3", &[(Level::Core, &["0-1"])]);
        assert!(Structure::of_set(&smt, &"0-1".parse().unwrap()).shares_cores());
        assert!(!Structure::of_set(&smt, &"1-2".parse().unwrap()).shares_cores());
    }
}
