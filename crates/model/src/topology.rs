//! [`Topology`]: which CPUs share which resources, as reported by the system or a scenario.

mod other_facts;
mod scope;

pub use other_facts::{CacheSize, MemoryNode, OtherFacts, Same, with_shared_l2};
pub use scope::Scope;

use crate::{CpuId, CpuSet};
use std::collections::BTreeMap;

named! {
    /// The common resource of a group of CPUs, usually innermost first. Machines may lack levels.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Level {
        /// The hardware threads of one core.
        Core = "core",
        /// An L2 of several cores, if clusters are reported and differ from the L2: see [`with_shared_l2`].
        L2 = "l2",
        /// A cluster or module of cores. Also an L2 of several cores if it equals a cluster or no cluster is reported.
        Cluster = "cluster",
        /// A last-level cache.
        L3 = "l3",
        /// A die of a package.
        Die = "die",
        /// A NUMA node.
        Node = "node",
        /// A package (socket).
        Package = "package",
        /// A book: packages of one module of an IBM Z machine.
        Book = "book",
        /// A drawer: books of one frame of an IBM Z machine.
        Drawer = "drawer",
    }
}

named! {
    /// The nearest domain that two CPUs share, usually nearest first (see [`Topology::nearness`]).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Relation {
        /// Both roles on one CPU.
        SameCpu = "same-cpu",
        /// Two hardware threads of one core, and nothing smaller: see [`Topology::are_siblings`].
        Smt = "smt",
        /// One L2, different cores.
        L2 = "l2",
        /// One cluster or module, different cores, and different L2 if these are a separate level.
        Cluster = "cluster",
        /// One last-level cache, and nothing smaller.
        L3 = "l3",
        /// One die, and nothing smaller.
        Die = "die",
        /// One NUMA node, and nothing smaller.
        Node = "node",
        /// One package, and nothing smaller.
        Package = "package",
        /// One book, and nothing smaller.
        Book = "book",
        /// One drawer, and nothing smaller.
        Drawer = "drawer",
        /// Nothing smaller than the machine.
        Machine = "machine",
    }
}

impl Relation {
    /// A number for keys of random choices. Existing numbers must not change, so that a seed keeps its meaning.
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
            Relation::Book => 9,
            Relation::Drawer => 10,
        }
    }

    /// The relation of CPUs that share a group of a level, if they share nothing smaller.
    pub fn from_level(level: Level) -> Relation {
        match level {
            Level::Core => Relation::Smt,
            Level::L2 => Relation::L2,
            Level::Cluster => Relation::Cluster,
            Level::L3 => Relation::L3,
            Level::Die => Relation::Die,
            Level::Node => Relation::Node,
            Level::Package => Relation::Package,
            Level::Book => Relation::Book,
            Level::Drawer => Relation::Drawer,
        }
    }
}

/// CPUs with a common resource.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Domain {
    /// Level of the common resource.
    pub level: Level,
    /// The CPUs.
    pub cpus: CpuSet,
    /// Number of the domain in the system (such as `physical_package_id` or the node number), if any.
    pub os_id: Option<u32>,
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.level {
            Level::L2 | Level::L3 => write!(f, "{}", self.level.name().to_uppercase())?,
            level => write!(f, "{level}")?,
        }
        self.os_id.map_or(Ok(()), |id| write!(f, " {id}"))?;
        write!(f, " ({})", self.cpus.named())
    }
}

/// The efficiency class of a core on a hybrid machine; higher is faster. Other machines have no classes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreClass {
    /// Rank among the classes of the machine, 0 the slowest.
    pub rank: u32,
    /// Short name for tables: `P`, `E`, `LP`, or `class 0`.
    pub name: String,
}

/// Which CPUs share which resources. Levels may be missing, never invented.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "Parts", into = "Parts")
)]
pub struct Topology {
    parts: Parts,
    /// The group of each CPU id for each level, or `NONE`. A map looks up relations of half a million pairs.
    groups: [Vec<u32>; Level::ALL.len()],
    sizes: Vec<u32>,
    levels: [Level; Level::ALL.len()],
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Parts {
    cpus: CpuSet,
    domains: Vec<Domain>,
    classes: BTreeMap<CpuId, CoreClass>,
    #[cfg_attr(feature = "serde", serde(default, rename = "beside"))]
    other_facts: Option<OtherFacts>,
}

const NONE: u32 = u32::MAX;

impl From<Parts> for Topology {
    fn from(parts: Parts) -> Topology {
        Topology::new(parts.cpus, parts.domains, parts.classes).with(parts.other_facts)
    }
}

impl From<Topology> for Parts {
    fn from(topology: Topology) -> Parts {
        topology.parts
    }
}

impl Topology {
    /// Combines the facts of a source. CPUs outside `cpus` and empty domains are removed. If two domains of one level
    /// overlap, the first keeps the shared CPUs. [`OtherFacts`] starts empty.
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
        let parts = Parts { cpus, domains: kept, classes, other_facts: Some(OtherFacts::default()) };
        let sizes = parts.domains.iter().map(|domain| domain.cpus.len() as u32).collect();
        let mut topology = Topology { parts, groups, sizes, levels: Level::ALL };
        topology.levels =
            other_facts::inside_out(topology.domains(), |cpu, level| topology.domain_of(cpu, level));
        topology
    }

    /// Sets the facts other than groups; `None` if unknown, as in old run files.
    #[must_use]
    pub fn with(mut self, other_facts: Option<OtherFacts>) -> Topology {
        self.parts.other_facts = other_facts;
        self
    }

    /// A machine of which only the CPUs are known.
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

    /// Every level, with or without groups, innermost first on this machine, where a node may contain packages.
    pub fn levels(&self) -> [Level; Level::ALL.len()] {
        self.levels
    }

    /// The facts other than groups; `None` if unknown.
    pub fn other_facts(&self) -> Option<&OtherFacts> {
        self.parts.other_facts.as_ref()
    }

    /// The levels that the source does not report, innermost first; `None` if unknown. Excludes redundant levels
    /// ([`OtherFacts::same`]), the rare books and drawers, and [`Level::L2`], which nearly every core has to itself.
    pub fn unreported(&self) -> Option<Vec<Level>> {
        let other_facts = self.other_facts()?;
        let is_unreported = |level: &Level| {
            !matches!(level, Level::L2 | Level::Book | Level::Drawer)
                && self.level(*level).is_empty()
                && !other_facts.same.contains_key(level)
        };
        Some(self.levels.into_iter().filter(is_unreported).collect())
    }

    /// The domains of one level, ordered by lowest CPU.
    pub fn level(&self, level: Level) -> Vec<&Domain> {
        let mut domains: Vec<&Domain> = self.parts.domains.iter().filter(|d| d.level == level).collect();
        domains.sort_by_key(|domain| domain.cpus.first());
        domains
    }

    /// The domain of a level that contains this CPU.
    pub fn domain_of(&self, cpu: CpuId, level: Level) -> Option<&Domain> {
        let group = *self.groups[level as usize].get(cpu.index())?;
        (group != NONE).then(|| &self.parts.domains[group as usize])
    }

    /// The hardware threads of the core of a CPU, including the CPU itself.
    pub fn siblings(&self, cpu: CpuId) -> CpuSet {
        self.domain_of(cpu, Level::Core).map_or_else(|| CpuSet::from_iter([cpu]), |core| core.cpus.clone())
    }

    /// Whether two CPUs are different threads of one core, even if they share a smaller group.
    pub fn are_siblings(&self, a: CpuId, b: CpuId) -> bool {
        a != b && self.domain_of(a, Level::Core).is_some_and(|core| core.cpus.contains(b))
    }

    /// The number of the NUMA node of a CPU in the system; `None` if not reported.
    pub fn node_of(&self, cpu: CpuId) -> Option<u32> {
        self.domain_of(cpu, Level::Node).and_then(|node| node.os_id)
    }

    /// The core class, on hybrid machines.
    pub fn class_of(&self, cpu: CpuId) -> Option<&CoreClass> {
        self.parts.classes.get(&cpu)
    }

    /// The different core classes, slowest first; empty for one kind of core, or if not reported.
    pub fn classes(&self) -> Vec<&CoreClass> {
        let mut classes: Vec<&CoreClass> = self.parts.classes.values().collect();
        classes.sort();
        classes.dedup();
        classes
    }

    /// CPUs without a reported class on a machine with classes.
    pub fn unclassified(&self) -> CpuSet {
        let is_unclassified = |cpu: &CpuId| !self.parts.classes.is_empty() && self.class_of(*cpu).is_none();
        self.cpus().iter().filter(is_unclassified).collect()
    }

    /// Pairs of groups that partially overlap. Each pair once, the inner level first.
    pub fn crossing(&self) -> Vec<[&Domain; 2]> {
        let mut crossing: Vec<[&Domain; 2]> = Vec::new();
        for (at, &level) in self.levels.iter().enumerate() {
            for group in self.level(level) {
                for &outer in &self.levels[at + 1..] {
                    let mut others: Vec<&Domain> =
                        group.cpus.iter().filter_map(|cpu| self.domain_of(cpu, outer)).collect();
                    others.dedup();
                    others.retain(|other| {
                        !group.cpus.is_subset(&other.cpus) && !other.cpus.is_subset(&group.cpus)
                    });
                    for other in others {
                        if !crossing.contains(&[group, other]) {
                            crossing.push([group, other]);
                        }
                    }
                }
            }
        }
        crossing
    }

    /// [`Topology::crossing`] as a sentence without its full stop; `None` if all groups nest.
    pub fn crossing_words(&self) -> Option<String> {
        let crossing = self.crossing();
        let [inner, outer] = crossing.first()?;
        let more = match crossing.len() - 1 {
            0 => String::new(),
            1 => "; so does 1 more pair of groups".to_owned(),
            more => format!("; so do {more} more pairs of groups"),
        };
        Some(format!("{inner} and {outer} share CPUs and neither contains the other{more}"))
    }

    /// The nearest domain that two CPUs share: the smallest group that contains both, or the innermost of equal groups.
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
        let shared = |&level: &Level| {
            let of_level = &self.groups[level as usize];
            let group = *of_level.get(a.index())?;
            let is_shared = group != NONE && of_level.get(b.index()) == Some(&group);
            is_shared.then(|| (self.sizes[group as usize], level))
        };
        let smallest = self.levels.iter().filter_map(shared).min_by_key(|(size, _)| *size);
        smallest.map_or(Relation::Machine, |(_, level)| Relation::from_level(level))
    }

    /// The rank of a relation on this machine, 0 for the nearest, for sorting and comparing.
    pub fn nearness(&self, relation: Relation) -> usize {
        let level = self.levels.iter().position(|&level| Relation::from_level(level) == relation);
        match (relation, level) {
            (Relation::SameCpu, _) => 0,
            (_, Some(level)) => level + 1,
            (_, None) => Level::ALL.len() + 1,
        }
    }

    /// The same machine restricted to some of its CPUs.
    pub fn restricted(&self, to: &CpuSet) -> Topology {
        let (domains, classes) = (self.parts.domains.clone(), self.parts.classes.clone());
        let part = Topology::new(self.parts.cpus.intersection(to), domains, classes)
            .with(self.parts.other_facts.clone());
        // The order of levels stays, so that relations do not depend on the remaining CPUs.
        Topology { levels: self.levels, ..part }
    }

    /// The CPUs in the order of the structure: from the outermost level to the innermost, then by id. Groups are
    /// ordered by their lowest CPU, so neighbours in the list share most.
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

    /// The lowest of the given CPUs of each core.
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

    type Groups<'a> = &'a [(Level, &'a [&'a str])];

    /// The levels that have groups, innermost first.
    fn present(topology: &Topology) -> Vec<Level> {
        let mut levels = topology.levels().to_vec();
        levels.retain(|&level| !topology.level(level).is_empty());
        levels
    }

    fn relations<const N: usize>(topology: &Topology, cpu: u32, others: [u32; N]) -> [Relation; N] {
        others.map(|other| topology.relation(CpuId(cpu), CpuId(other)))
    }

    fn desktop() -> Topology {
        let (cores, caches): (&[&str], &[&str]) = (&["0,4", "1,5", "2,6", "3,7"], &["0-1,4-5", "2-3,6-7"]);
        topology("0-7", &[(Level::Core, cores), (Level::L3, caches), (Level::Package, &["0-7"])])
    }

    #[test]
    fn relations_name_the_nearest_shared_thing() {
        use Relation::{L3, Machine, Package, SameCpu, Smt};
        assert_eq!(relations(&desktop(), 0, [0, 4, 1, 5, 2, 99]), [SameCpu, Smt, L3, L3, Package, Machine]);
    }

    #[test]
    fn levels_are_ordered_by_nesting() {
        use Level::{Cluster, L2, L3};
        let (twos, fours): (&[&str], &[&str]) = (&["0-1", "2-3", "4-5", "6-7"], &["0-3", "4-7"]);
        for (inner, outer) in [(L2, Cluster), (Cluster, L2), (Cluster, L3), (L3, Cluster), (L2, L3)] {
            let topology = topology("0-7", &[(outer, fours), (inner, twos), (Level::Package, &["0-7"])]);
            assert_eq!(present(&topology), [inner, outer, Level::Package]);
            let relations = relations(&topology, 0, [1, 2, 4]);
            assert_eq!(relations, [inner, outer, Level::Package].map(Relation::from_level));
            assert!(relations.is_sorted_by_key(|&relation| topology.nearness(relation)), "{relations:?}");
            let part = topology.restricted(&"0-1".parse().unwrap());
            assert_eq!(part.relation(CpuId(0), CpuId(1)), Relation::from_level(inner));
        }
        let order =
            topology("0-7", &[(L2, fours), (Cluster, &["0,2", "1,3"])]).order(&"0-3".parse().unwrap());
        assert_eq!(order, [0, 2, 1, 3].map(CpuId));
    }

    #[test]
    fn the_relation_is_the_smallest_shared_group_with_any_nesting() {
        use Level::{Cluster, Core, Die, L3, Node, Package};
        let (pairs, fours, all): (&[&str], &[&str], &[&str]) =
            (&["0,1", "2,3", "4,5", "6,7"], &["0-3", "4-7"], &["0-7"]);
        let power: Groups<'_> = &[(L3, pairs), (Core, fours), (Package, all)];
        // One cluster is inside an L3, and another contains an L3: no order of the levels fits both.
        let mixed: Groups<'_> = &[(Cluster, &["0,1", "4-7"]), (L3, &["0-3", "4,5"])];
        // Groups of the levels, innermost first, and relations of CPU 0 with CPUs 1, 2 and 4.
        let shapes: [(Groups<'_>, [&str; 3]); 5] = [
            (&[(Node, pairs), (L3, fours), (Package, fours)], ["node", "l3", "machine"]),
            (&[(Package, pairs), (Node, fours)], ["package", "node", "machine"]),
            (&[(Node, pairs), (Die, fours), (Package, all)], ["node", "die", "package"]),
            (power, ["l3", "smt", "package"]),
            (mixed, ["cluster", "l3", "machine"]),
        ];
        for (groups, names) in shapes {
            let topology = topology("0-7", groups);
            assert_eq!(relations(&topology, 0, [1, 2, 4]).map(Relation::name), names, "{groups:?}");
            let levels: Vec<Level> = groups.iter().map(|(level, _)| *level).collect();
            assert_eq!((present(&topology), topology.crossing_words()), (levels, None), "{groups:?}");
        }
        let mixed = topology("0-7", mixed);
        assert_eq!(relations(&mixed, 4, [5, 6]), [Relation::L3, Relation::Cluster]);
        let power = topology("0-7", power);
        assert!(power.are_siblings(CpuId(0), CpuId(1)) && !power.are_siblings(CpuId(0), CpuId(4)));
        assert!(!power.are_siblings(CpuId(0), CpuId(0)));
    }

    #[test]
    fn groups_that_cross_are_named() {
        let crossing = topology("0-3", &[(Level::Node, &["0,2", "1,3"]), (Level::Package, &["0,1", "2,3"])]);
        assert_eq!(crossing.crossing().len(), 4);
        let words = "node (CPUs 0,2) and package (CPUs 0,1) share CPUs and neither contains the other; so do 3 more pairs of groups";
        assert_eq!(crossing.crossing_words().as_deref(), Some(words));
        assert_eq!(desktop().crossing_words(), None);
    }

    #[test]
    fn numbers_of_relations_stay_as_they_are() {
        let codes = Relation::ALL.map(|relation| (relation.name(), relation.code()));
        let known = [("same-cpu", 0), ("smt", 1), ("cluster", 2), ("l3", 3), ("die", 4), ("node", 5)];
        assert!(known.iter().all(|known| codes.contains(known)));
        assert!([("package", 6), ("machine", 7), ("l2", 8)].iter().all(|known| codes.contains(known)));
    }

    #[test]
    fn only_unreported_levels_are_named() {
        let desktop = desktop();
        assert_eq!(desktop.unreported(), Some(vec![Level::Cluster, Level::Die, Level::Node]));
        let same = [(Level::Die, Same::Level(Level::Package)), (Level::Node, Same::Machine)];
        let detailed = desktop.with(Some(OtherFacts { same: same.into(), ..OtherFacts::default() }));
        assert_eq!(detailed.restricted(&"0-1".parse().unwrap()).unreported(), Some(vec![Level::Cluster]));
        assert_eq!(detailed.with(None).unreported(), None);
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
