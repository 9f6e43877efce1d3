//! [`Topology`]: which CPUs share what, as the system or a scenario reports it.

mod beside;

pub use beside::{Beside, MemoryNode, Same, with_shared_l2};

use crate::{CpuId, CpuSet};
use std::collections::BTreeMap;

named! {
    /// What a group of CPUs shares, from the inside out on most machines ([`Topology::levels`] has the order on one). A
    /// machine may lack some levels; none is invented.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Level {
        /// The hardware threads of one core.
        Core = "core",
        /// An L2 of several cores, where clusters are reported and are something else: see [`with_shared_l2`].
        L2 = "l2",
        /// A cluster or module of cores; also an L2 of several cores, where it is one or no cluster is reported.
        Cluster = "cluster",
        /// A last-level cache.
        L3 = "l3",
        /// A die of a package.
        Die = "die",
        /// A NUMA node.
        Node = "node",
        /// A package (socket).
        Package = "package",
    }
}

named! {
    /// The nearest thing that two CPUs share: what tables group pairs by. From the nearest to the farthest on most machines
    /// ([`Topology::nearness`] has the order on one).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Relation {
        /// Both roles on one CPU.
        SameCpu = "same-cpu",
        /// Two hardware threads of one core.
        Smt = "smt",
        /// One L2, different cores.
        L2 = "l2",
        /// One cluster or module, different cores, and different L2 where these are a level of their own.
        Cluster = "cluster",
        /// One last-level cache, different clusters.
        L3 = "l3",
        /// One die, different last-level caches.
        Die = "die",
        /// One NUMA node, different dies.
        Node = "node",
        /// One package, different NUMA nodes.
        Package = "package",
        /// Nothing smaller than the machine.
        Machine = "machine",
    }
}

impl Relation {
    /// A number for keys of random choices. Those given stay as they are, so that a seed goes on meaning the same run.
    pub fn code(self) -> u64 {
        match self {
            Relation::SameCpu => 0,
            Relation::Smt => 1,
            Relation::Cluster => 2,
            Relation::L3 => 3,
            Relation::Die => 4,
            Relation::Node => 5,
            Relation::Package => 6,
            Relation::Machine => 7,
            Relation::L2 => 8,
        }
    }

    /// What CPUs of one group of a level share at least.
    pub fn of(level: Level) -> Relation {
        match level {
            Level::Core => Relation::Smt,
            Level::L2 => Relation::L2,
            Level::Cluster => Relation::Cluster,
            Level::L3 => Relation::L3,
            Level::Die => Relation::Die,
            Level::Node => Relation::Node,
            Level::Package => Relation::Package,
        }
    }
}

/// CPUs that share something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Domain {
    /// What they share.
    pub level: Level,
    /// The CPUs.
    pub cpus: CpuSet,
    /// The system's own number for it (`physical_package_id`, node number …), where there is one.
    pub os_id: Option<u32>,
}

/// The efficiency class of a core on a hybrid machine: higher is faster. Machines with one kind of core have none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreClass {
    /// Rank among the classes of the machine, 0 the slowest.
    pub rank: u32,
    /// Short name for tables: `P`, `E`, `LP`, or `class 0`.
    pub name: String,
}

/// Which CPUs share what. Levels may be missing, never invented.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Parts", into = "Parts")
)]
pub struct Topology {
    parts: Parts,
    /// For each level the group of each CPU id, `NONE` where it is in no group: [`Topology::relation`] is asked for
    /// half a million pairs.
    groups: [Vec<u32>; Level::ALL.len()],
    /// The levels from the inside out.
    levels: [Level; Level::ALL.len()],
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Parts {
    cpus: CpuSet,
    domains: Vec<Domain>,
    classes: BTreeMap<CpuId, CoreClass>,
    #[cfg_attr(feature = "serde", serde(default))]
    beside: Option<Beside>,
}

const NONE: u32 = u32::MAX;

impl From<Parts> for Topology {
    fn from(parts: Parts) -> Topology {
        Topology::new(parts.cpus, parts.domains, parts.classes).with(parts.beside)
    }
}

impl From<Topology> for Parts {
    fn from(topology: Topology) -> Parts {
        topology.parts
    }
}

impl Topology {
    /// Puts together what a source reports. CPUs outside `cpus` are cut from the domains; a domain left empty is
    /// dropped; where two domains of one level overlap, the first keeps the shared CPUs. Of what stands [`Beside`] the
    /// groups it says nothing.
    pub fn new(cpus: CpuSet, domains: Vec<Domain>, classes: BTreeMap<CpuId, CoreClass>) -> Topology {
        let length = cpus.last().map_or(0, |last| last.index() + 1);
        let mut groups: [Vec<u32>; Level::ALL.len()] = std::array::from_fn(|_| vec![NONE; length]);
        let mut kept: Vec<Domain> = Vec::new();
        for domain in domains {
            let of_level = &mut groups[domain.level as usize];
            let members: CpuSet =
                domain.cpus.intersection(&cpus).iter().filter(|cpu| of_level[cpu.index()] == NONE).collect();
            if members.is_empty() {
                continue;
            }
            for cpu in members.iter() {
                of_level[cpu.index()] = kept.len() as u32;
            }
            kept.push(Domain { cpus: members, ..domain });
        }
        let classes = classes.into_iter().filter(|(cpu, _)| cpus.contains(*cpu)).collect();
        let parts = Parts { cpus, domains: kept, classes, beside: Some(Beside::default()) };
        let mut topology = Topology { parts, groups, levels: Level::ALL };
        topology.levels = beside::inside_out(topology.domains(), |cpu, level| topology.domain_of(cpu, level));
        topology
    }

    /// The same with what the source says beside the groups; `None` where that is not known, as in old run files.
    #[must_use]
    pub fn with(mut self, beside: Option<Beside>) -> Topology {
        self.parts.beside = beside;
        self
    }

    /// A machine of which nothing but its CPUs is known.
    pub fn flat(cpus: CpuSet) -> Topology {
        Topology::new(cpus, Vec::new(), BTreeMap::new())
    }

    /// Every CPU that the source reports as usable (online).
    pub fn cpus(&self) -> &CpuSet {
        &self.parts.cpus
    }

    /// Every domain, in the order of the source.
    pub fn domains(&self) -> &[Domain] {
        &self.parts.domains
    }

    /// Every level from the inside out, whether there are groups of it or not. A source may report clusters that lie inside
    /// its shared L2 as well as such that hold several, or several last-level caches: there they stand as they nest.
    pub fn levels(&self) -> [Level; Level::ALL.len()] {
        self.levels
    }

    /// What the source says beside the groups; `None` where that is not known.
    pub fn beside(&self) -> Option<&Beside> {
        self.parts.beside.as_ref()
    }

    /// The levels that the source does not report, from the inside out; `None` where that is not known. A level that is
    /// reported and says no more than another one is not among them ([`Beside::same`]), and neither is
    /// [`Level::L2`]: nearly every core has an L2 to itself.
    pub fn unreported(&self) -> Option<Vec<Level>> {
        let beside = self.beside()?;
        let is_silent = |level: &Level| {
            *level != Level::L2 && self.level(*level).is_empty() && !beside.same.contains_key(level)
        };
        Some(self.levels.into_iter().filter(is_silent).collect())
    }

    /// The domains of one level, by lowest CPU.
    pub fn level(&self, level: Level) -> Vec<&Domain> {
        let mut domains: Vec<&Domain> = self.parts.domains.iter().filter(|d| d.level == level).collect();
        domains.sort_by_key(|domain| domain.cpus.first());
        domains
    }

    /// The domain of a level that holds this CPU.
    pub fn domain_of(&self, cpu: CpuId, level: Level) -> Option<&Domain> {
        let group = *self.groups[level as usize].get(cpu.index())?;
        (group != NONE).then(|| &self.parts.domains[group as usize])
    }

    /// The hardware threads of the CPU's core, itself among them.
    pub fn siblings(&self, cpu: CpuId) -> CpuSet {
        self.domain_of(cpu, Level::Core).map_or_else(|| CpuSet::from_iter([cpu]), |core| core.cpus.clone())
    }

    /// The system's number of the CPU's NUMA node; `None` where the source does not say.
    pub fn node_of(&self, cpu: CpuId) -> Option<u32> {
        self.domain_of(cpu, Level::Node).and_then(|node| node.os_id)
    }

    /// The core class, on hybrid machines.
    pub fn class_of(&self, cpu: CpuId) -> Option<&CoreClass> {
        self.parts.classes.get(&cpu)
    }

    /// The different core classes, slowest first; empty where all cores are of one kind or the source does not say.
    pub fn classes(&self) -> Vec<&CoreClass> {
        let mut classes: Vec<&CoreClass> = self.parts.classes.values().collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// The nearest thing that two CPUs share.
    ///
    /// ```
    /// # use coretalk_model::*;
    /// # use coretalk_model::topology::*;
    /// let cpus = CpuSet::from_list("0-3").unwrap();
    /// let core = |list: &str| Domain { level: Level::Core, cpus: list.parse().unwrap(), os_id: None };
    /// let topology = Topology::new(cpus, vec![core("0,2"), core("1,3")], Default::default());
    /// assert_eq!(topology.relation(CpuId(0), CpuId(2)), Relation::Smt);
    /// assert_eq!(topology.relation(CpuId(0), CpuId(1)), Relation::Machine);
    /// ```
    pub fn relation(&self, a: CpuId, b: CpuId) -> Relation {
        if a == b {
            return Relation::SameCpu;
        }
        for level in self.levels {
            let of_level = &self.groups[level as usize];
            if let (Some(&left), Some(&right)) = (of_level.get(a.index()), of_level.get(b.index()))
                && left == right
                && left != NONE
            {
                return Relation::of(level);
            }
        }
        Relation::Machine
    }

    /// The rank of a relation among all of them, 0 for the nearest: what nearness on this machine is sorted and
    /// compared by.
    pub fn nearness(&self, relation: Relation) -> usize {
        let level = self.levels.iter().position(|&level| Relation::of(level) == relation);
        match (relation, level) {
            (Relation::SameCpu, _) => 0,
            (_, Some(level)) => level + 1,
            (_, None) => Level::ALL.len() + 1,
        }
    }

    /// The same machine seen through a smaller set of CPUs.
    pub fn restricted(&self, to: &CpuSet) -> Topology {
        let (domains, classes) = (self.parts.domains.clone(), self.parts.classes.clone());
        let part =
            Topology::new(self.parts.cpus.intersection(to), domains, classes).with(self.parts.beside.clone());
        // Two CPUs share the same thing first, however few others are left.
        Topology { levels: self.levels, ..part }
    }

    /// The CPUs in the order of the structure: package, node, die, last-level cache, cluster, core, then id; groups
    /// stand in the order of their lowest CPU, so neighbours in the list share most.
    pub fn order(&self, cpus: &CpuSet) -> Vec<CpuId> {
        let mut ordered: Vec<CpuId> = cpus.iter().collect();
        let lowest = |cpu: CpuId, level: Level| {
            self.domain_of(cpu, level).and_then(|domain| domain.cpus.first()).unwrap_or(CpuId(0))
        };
        ordered.sort_by_cached_key(|&cpu| {
            let mut key: Vec<CpuId> = self.levels.iter().rev().map(|&level| lowest(cpu, level)).collect();
            key.push(cpu);
            key
        });
        ordered
    }

    /// One CPU of each core: the lowest of those given.
    pub fn one_per_core(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter(|&cpu| self.siblings(cpu).intersection(cpus).first() == Some(cpu)).collect()
    }

    /// Whether some core has more than one of these CPUs.
    pub fn has_smt(&self, cpus: &CpuSet) -> bool {
        self.level(Level::Core).iter().any(|core| core.cpus.intersection(cpus).len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::topology;

    fn desktop() -> Topology {
        let (cores, caches): (&[&str], &[&str]) = (&["0,4", "1,5", "2,6", "3,7"], &["0-1,4-5", "2-3,6-7"]);
        topology("0-7", &[(Level::Core, cores), (Level::L3, caches), (Level::Package, &["0-7"])])
    }

    #[test]
    fn relations_name_the_nearest_shared_thing() {
        let topology = desktop();
        for (a, b, relation) in [
            (0, 0, Relation::SameCpu),
            (0, 4, Relation::Smt),
            (0, 1, Relation::L3),
            (0, 5, Relation::L3),
            (0, 2, Relation::Package),
            (0, 99, Relation::Machine),
        ] {
            assert_eq!(topology.relation(CpuId(a), CpuId(b)), relation, "{a} and {b}");
        }
    }

    #[test]
    fn levels_stand_as_their_groups_nest() {
        use Level::{Cluster, L2, L3};
        let (twos, fours): (&[&str], &[&str]) = (&["0-1", "2-3", "4-5", "6-7"], &["0-3", "4-7"]);
        for (inner, outer) in [(L2, Cluster), (Cluster, L2), (Cluster, L3), (L3, Cluster), (L2, L3)] {
            let topology = topology("0-7", &[(outer, fours), (inner, twos), (Level::Package, &["0-7"])]);
            let told: Vec<Level> =
                topology.levels().into_iter().filter(|&level| !topology.level(level).is_empty()).collect();
            assert_eq!(told, [inner, outer, Level::Package]);
            let relations = [1, 2, 4].map(|other| topology.relation(CpuId(0), CpuId(other)));
            assert_eq!(relations, [Relation::of(inner), Relation::of(outer), Relation::Package]);
            assert!(relations.is_sorted_by_key(|&relation| topology.nearness(relation)), "{relations:?}");
            // Of a part of the machine the same is nearest.
            let part = topology.restricted(&"0-1".parse().unwrap());
            assert_eq!(part.relation(CpuId(0), CpuId(1)), Relation::of(inner));
        }
        let order =
            topology("0-7", &[(L2, fours), (Cluster, &["0,2", "1,3"])]).order(&"0-3".parse().unwrap());
        assert_eq!(order, [0, 2, 1, 3].map(CpuId));
    }

    #[test]
    fn numbers_of_relations_stay_as_they_are() {
        let codes = Relation::ALL.map(|relation| (relation.name(), relation.code()));
        let known = [("same-cpu", 0), ("smt", 1), ("cluster", 2), ("l3", 3), ("die", 4), ("node", 5)];
        assert!(known.iter().all(|known| codes.contains(known)));
        assert!([("package", 6), ("machine", 7), ("l2", 8)].iter().all(|known| codes.contains(known)));
    }

    #[test]
    fn what_is_not_reported_is_named_and_only_that() {
        let desktop = desktop();
        assert_eq!(desktop.unreported(), Some(vec![Level::Cluster, Level::Die, Level::Node]));
        let same = [(Level::Die, Same::Level(Level::Package)), (Level::Node, Same::Machine)];
        let told = desktop.with(Some(Beside { same: same.into(), ..Beside::default() }));
        assert_eq!(told.restricted(&"0-1".parse().unwrap()).unreported(), Some(vec![Level::Cluster]));
        assert_eq!(told.with(None).unreported(), None);
    }

    #[test]
    fn the_structural_order_keeps_neighbours_together() {
        let topology = desktop();
        let order: Vec<u32> = topology.order(topology.cpus()).iter().map(|cpu| cpu.0).collect();
        assert_eq!(order, [0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn one_cpu_of_each_core_is_the_lowest_of_those_given() {
        let topology = desktop();
        assert_eq!(topology.one_per_core(&"1-7".parse().unwrap()).to_string(), "1-4");
        assert!(topology.has_smt(&"0,4".parse().unwrap()) && !topology.has_smt(&"0,1".parse().unwrap()));
    }

    #[test]
    fn a_smaller_set_cuts_domains_and_drops_empty_ones() {
        let small = desktop().restricted(&"0,1".parse().unwrap());
        assert_eq!(small.level(Level::L3).len(), 1);
        assert_eq!(small.siblings(CpuId(0)).to_string(), "0");
    }
}
