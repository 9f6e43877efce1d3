//! [`Structure`]: what the CPUs of a placement share, which is why it could win.

use super::placement::Placement;
use crate::{CpuSet, Level, Topology};

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
    use crate::Domain;

    #[test]
    fn what_is_not_reported_is_not_counted() {
        let flat = Topology::flat("0-3".parse().unwrap());
        let found = Structure::of_set(&flat, &"0-1".parse().unwrap());
        assert_eq!((found.cpus, found.cores, found.caches, found.nodes), (2, 2, None, None));
        let core = Domain { level: Level::Core, cpus: "0-1".parse().unwrap(), os_id: None };
        let smt = Topology::new("0-3".parse().unwrap(), vec![core], Default::default());
        assert!(Structure::of_set(&smt, &"0-1".parse().unwrap()).shares_cores());
        assert!(!Structure::of_set(&smt, &"1-2".parse().unwrap()).shares_cores());
    }
}
