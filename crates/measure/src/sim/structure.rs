//! [`StructureSpec`]: the CPUs of a simulated machine, what they truly share, and what the machine reports.

use coretalk_model::{CoreClass, CpuId, CpuSet, Domain, Level, Relation, Topology};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub const MAX_CPUS: usize = 4096;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StructureSpec {
    /// Equal parts within equal parts. The relation decides the latency.
    Tree {
        /// Levels from the outside in, each at most once, with `core` among them.
        levels: Vec<Tier>,
        /// CPUs per group of the last level.
        #[serde(default = "one_thread")]
        threads_per_core: u32,
        #[serde(default)]
        siblings: Siblings,
        #[serde(default)]
        numbering: Numbering,
    },
    /// Fast cores with two threads, and modules of slow cores, under one last-level cache.
    Hybrid {
        fast_cores: u32,
        modules: u32,
        cores_per_module: u32,
        /// Latency between a fast and a slow core, or between slow cores of two modules.
        mixed_ns: f64,
    },
    /// Arbitrary groups, which need neither be equal nor nest. The relation decides the latency.
    Groups { cpus: CpuSet, groups: Vec<Group> },
    /// Cores on a grid. Latency grows with the grid distance.
    Mesh { width: u32, height: u32, near_ns: f64, far_ns: f64 },
    /// A table of half round trips (row = initiator).
    Matrix { cpus: Vec<u32>, half_round_trip_ns: Vec<Vec<f64>> },
}

/// A level, with its count per group of the next outer level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    pub level: Level,
    pub count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub level: Level,
    #[serde(deserialize_with = "low_ids")]
    pub cpus: CpuSet,
}

/// Accepts ids of at most 16 bits. Ten thousand groups of a million CPUs would take gigabytes before they are checked.
fn low_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CpuSet, D::Error> {
    let cpus = CpuSet::deserialize(deserializer)?;
    match cpus.last() {
        Some(last) if last.0 > u32::from(u16::MAX) => {
            Err(D::Error::custom(format!("a group has CPU {last}, expected at most {}", u16::MAX)))
        }
        _ => Ok(cpus),
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Siblings {
    /// `i` and `i + cores`.
    #[default]
    Apart,
    /// `2 i` and `2 i + 1`.
    Together,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// One group after the other.
    #[default]
    Blocks,
    /// Round robin over the innermost groups.
    RoundRobin,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reported {
    #[default]
    True,
    /// One last-level cache over single cores, as many guests report.
    OneL3,
    /// Only the CPUs.
    Nothing,
}

fn one_thread() -> u32 {
    1
}

impl Default for StructureSpec {
    fn default() -> StructureSpec {
        StructureSpec::Tree {
            levels: Vec::new(),
            threads_per_core: 1,
            siblings: Siblings::Apart,
            numbering: Numbering::Blocks,
        }
    }
}

impl StructureSpec {
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let count = self.cpu_count();
        if !(2..=MAX_CPUS as u64).contains(&count) {
            return Some(("structure", format!("has {count} CPUs, expected 2 to {MAX_CPUS}")));
        }
        match self {
            StructureSpec::Tree { levels, .. } => {
                let known: BTreeSet<Level> = levels.iter().map(|tier| tier.level).collect();
                (known.len() < levels.len() || !known.contains(&Level::Core)).then(|| {
                    (
                        "structure.levels",
                        "must name each level once, from the outside in, and core among them".to_owned(),
                    )
                })
            }
            StructureSpec::Groups { cpus, groups } => {
                let mut of_levels: BTreeMap<Level, CpuSet> = BTreeMap::new();
                groups.iter().find_map(|group| {
                    let (level, listed) = (group.level, &group.cpus);
                    let before = of_levels.entry(level).or_default();
                    let (strange, twice) = (listed.difference(cpus), before.intersection(listed));
                    *before = before.union(listed);
                    let problem = if listed.is_empty() {
                        format!("has a {level} without CPUs")
                    } else if !strange.is_empty() {
                        format!("lists {strange} in a {level}, but the machine has {cpus}")
                    } else if !twice.is_empty() {
                        format!("lists {twice} in two groups of level {level}")
                    } else {
                        return None;
                    };
                    Some(("structure.groups", problem))
                })
            }
            StructureSpec::Hybrid { modules, cores_per_module, .. } => (*modules > 0
                && *cores_per_module == 0)
                .then(|| ("structure.cores_per_module", "is 0, but there are modules".to_owned())),
            StructureSpec::Mesh { .. } => None,
            StructureSpec::Matrix { cpus, half_round_trip_ns } => {
                let n = cpus.len();
                let different: BTreeSet<&u32> = cpus.iter().collect();
                if different.len() != n || cpus.iter().any(|&id| id > coretalk_model::cpu::MAX_CPU) {
                    return Some(("structure.cpus", "lists a CPU twice, or one above 1048575".to_owned()));
                }
                if half_round_trip_ns.len() != n || half_round_trip_ns.iter().any(|row| row.len() != n) {
                    return Some((
                        "structure.half_round_trip_ns",
                        format!("must have {n} rows of {n} values"),
                    ));
                }
                let odd = half_round_trip_ns.iter().flatten().find(|ns| !(0.01..=1e9).contains(*ns))?;
                Some((
                    "structure.half_round_trip_ns",
                    format!("contains {odd}, expected 0.01 to 1000000000 ns"),
                ))
            }
        }
    }

    /// The number of CPUs. It is computed without building the machine, since a file may request a huge number.
    pub fn cpu_count(&self) -> u64 {
        match self {
            StructureSpec::Tree { levels, threads_per_core, .. } if !levels.is_empty() => levels
                .iter()
                .fold(u64::from(*threads_per_core), |all, tier| all.saturating_mul(u64::from(tier.count))),
            StructureSpec::Tree { .. } => 0,
            StructureSpec::Groups { cpus, .. } => cpus.len() as u64,
            StructureSpec::Hybrid { fast_cores, modules, cores_per_module, .. } => {
                (2 * u64::from(*fast_cores))
                    .saturating_add(u64::from(*modules).saturating_mul(u64::from(*cores_per_module)))
            }
            StructureSpec::Mesh { width, height, .. } => u64::from(*width).saturating_mul(u64::from(*height)),
            StructureSpec::Matrix { cpus, .. } => cpus.len() as u64,
        }
    }

    /// The relations for which `latency_ns` must have a value.
    pub fn relations(&self) -> Vec<Relation> {
        match self {
            StructureSpec::Tree { .. } | StructureSpec::Groups { .. } => {
                let topology = self.topology();
                // All CPUs of a tree are equivalent to the first.
                let firsts = if matches!(self, StructureSpec::Tree { .. }) { 1 } else { MAX_CPUS };
                let pairs_with = |first: CpuId| topology.cpus().iter().map(move |other| (first, other));
                let pairs = topology.cpus().iter().take(firsts).flat_map(pairs_with);
                let found: BTreeSet<Relation> = pairs.map(|(a, b)| topology.relation(a, b)).collect();
                found.into_iter().filter(|&relation| relation != Relation::SameCpu).collect()
            }
            StructureSpec::Hybrid { .. } => vec![Relation::Smt, Relation::L3, Relation::Cluster],
            StructureSpec::Mesh { .. } | StructureSpec::Matrix { .. } => Vec::new(),
        }
    }

    pub fn topology(&self) -> Topology {
        match self {
            StructureSpec::Tree { levels, threads_per_core, siblings, numbering } => {
                tree(levels, *threads_per_core, *siblings, *numbering)
            }
            StructureSpec::Groups { cpus, groups } => {
                let domain = |(at, group): (usize, &Group)| {
                    let id = groups[..at].iter().filter(|before| before.level == group.level).count();
                    Domain { level: group.level, cpus: group.cpus.clone(), os_id: Some(id as u32) }
                };
                let domains = groups.iter().enumerate().map(domain).collect();
                Topology::new(cpus.clone(), domains, BTreeMap::new())
            }
            StructureSpec::Hybrid { fast_cores, modules, cores_per_module, .. } => {
                hybrid(*fast_cores, *modules, *cores_per_module)
            }
            StructureSpec::Mesh { width, height, .. } => one_l3((0..width * height).map(CpuId).collect()),
            StructureSpec::Matrix { cpus, .. } => {
                Topology::flat(cpus.iter().map(|&id| CpuId(id)).collect::<CpuSet>())
            }
        }
    }

    pub fn reported(&self, how: Reported) -> Topology {
        match how {
            Reported::True => self.topology(),
            Reported::OneL3 => one_l3(self.topology().cpus().clone()),
            Reported::Nothing => Topology::flat(self.topology().cpus().clone()),
        }
    }
}

fn one_l3(cpus: CpuSet) -> Topology {
    let mut domains: Vec<Domain> = cpus
        .iter()
        .map(|cpu| Domain { level: Level::Core, cpus: CpuSet::from_iter([cpu]), os_id: Some(cpu.0) })
        .collect();
    domains.push(Domain { level: Level::L3, cpus: cpus.clone(), os_id: Some(0) });
    domains.push(Domain { level: Level::Package, cpus: cpus.clone(), os_id: Some(0) });
    Topology::new(cpus, domains, BTreeMap::new())
}

fn tree(levels: &[Tier], threads: u32, siblings: Siblings, numbering: Numbering) -> Topology {
    let cores: u32 = levels.iter().map(|tier| tier.count).product();
    let in_group = levels.last().map_or(1, |tier| tier.count);
    let groups = cores / in_group;
    let cpus_of_core = |core: u32| {
        let number = match numbering {
            Numbering::Blocks => core,
            Numbering::RoundRobin => core % in_group * groups + core / in_group,
        };
        (0..threads).map(move |thread| match siblings {
            Siblings::Apart => CpuId(number + thread * cores),
            Siblings::Together => CpuId(number * threads + thread),
        })
    };
    let mut domains = Vec::new();
    let mut cores_per_group = cores;
    for tier in levels {
        cores_per_group /= tier.count;
        for (id, first) in (0..cores).step_by(cores_per_group as usize).enumerate() {
            let cpus = (first..first + cores_per_group).flat_map(cpus_of_core).collect();
            domains.push(Domain { level: tier.level, cpus, os_id: Some(id as u32) });
        }
    }
    Topology::new((0..cores * threads).map(CpuId).collect(), domains, BTreeMap::new())
}

fn hybrid(fast_cores: u32, modules: u32, cores_per_module: u32) -> Topology {
    let fast = 2 * fast_cores;
    let all: CpuSet = (0..fast + modules * cores_per_module).map(CpuId).collect();
    let mut domains = Vec::new();
    let mut add = |level, first: u32, count: u32, id| {
        domains.push(Domain { level, cpus: (first..first + count).map(CpuId).collect(), os_id: Some(id) });
    };
    for core in 0..fast_cores {
        add(Level::Core, 2 * core, 2, core);
    }
    for module in 0..modules {
        let first = fast + module * cores_per_module;
        for core in 0..cores_per_module {
            add(Level::Core, first + core, 1, fast_cores + module * cores_per_module + core);
        }
        add(Level::Cluster, first, cores_per_module, module);
    }
    add(Level::L3, 0, all.len() as u32, 0);
    add(Level::Package, 0, all.len() as u32, 0);
    let class = |cpu: CpuId| match cpu.0 < fast {
        true => CoreClass { rank: 1, name: "P".to_owned() },
        false => CoreClass { rank: 0, name: "E".to_owned() },
    };
    let classes = all.iter().map(|cpu| (cpu, class(cpu))).collect();
    Topology::new(all, domains, classes)
}
