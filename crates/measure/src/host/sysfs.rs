//! [`read_topology`]: the topology that Linux reports in `/sys/devices/system`.
//!
//! The kernel documents the files in `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`. A level equal to another level is omitted:
//! [`Relation`](coretalk_model::Relation) takes the first level that two CPUs share. Otherwise every pair of an
//! ordinary desktop would be "same die".

mod cache;
mod class;

use super::cgroup::inherited_mask;
use super::root::{ReadError, SystemRoot};
use crate::machine::MachineError;
use cache::Caches;
use coretalk_model::topology::{MemoryNode, OtherFacts, Same, with_shared_l2};
use coretalk_model::{CpuId, CpuSet, Domain, Level, Topology};
use std::collections::BTreeMap;
use std::io;

const CPU: &str = "/sys/devices/system/cpu";

/// Why there is no topology. A missing level is no error.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// A file has invalid contents.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Neither sysfs nor procfs names a CPU.
    #[error("find the CPUs of this system (neither {CPU}/online nor /proc lists any; is /proc mounted?)")]
    NoCpus,
}

impl From<TopologyError> for MachineError {
    fn from(error: TopologyError) -> MachineError {
        match error {
            TopologyError::Read(error) => error.into(),
            TopologyError::NoCpus => MachineError::System {
                path: format!("{CPU}/online"),
                source: io::Error::new(io::ErrorKind::NotFound, "neither it nor /proc lists a CPU"),
            },
        }
    }
}

/// Reads the topology of all online CPUs, whether or not this process may use them. Fails if there is no CPU or a CPU
/// list is invalid.
///
/// - **Core**: `core_cpus_list`, before Linux 5.3 `thread_siblings_list`.
/// - **Cluster**: `cluster_cpus_list`, if larger than a core, smaller than the package and not equal to a last-level
///   cache. Without such a cluster it is the second-largest unified cache.
/// - **L2**: the second-largest unified cache, if it is an L2 and clusters are different groups ([`with_shared_l2`]).
/// - **L3**: the last-level cache, which is the largest unified cache of each CPU. On many small Arm machines, and for
///   the low-power cores of some hybrids, it is an L2. An L2 that belongs to a single core is omitted.
/// - **Die**: `die_cpus_list`, if smaller than the package.
/// - **Node**: `node*/cpulist`, if several nodes have CPUs. A single node with all CPUs is omitted:
///   [`Topology::node_of`] then is `None`, and [`read_nodes`] returns its number.
/// - **Package**: `package_cpus_list`, before Linux 5.3 `core_siblings_list`.
/// - **Book**, **Drawer**: `book_cpus_list`, `drawer_cpus_list` on IBM Z.
///
/// [`Topology::other_facts`] has NUMA nodes without CPUs, and levels omitted because they equal another. Without sysfs
/// the topology has CPUs but no levels.
pub fn read_topology(root: &SystemRoot) -> Result<Topology, TopologyError> {
    let cpus = online_cpus(root)?;
    let reader = Reader { root, cpus: &cpus };

    let cores = reader.groups(Level::Core, &["core_cpus_list", "thread_siblings_list"], "core_id")?;
    let packages =
        reader.groups(Level::Package, &["package_cpus_list", "core_siblings_list"], "physical_package_id")?;
    let dies = reader.groups_with_id(Level::Die, "die_cpus_list", "die_id")?;
    let caches = Caches::read(root, &cpus)?;
    let last_level = caches.last_level(&cores);
    let clusters = reader.groups_with_id(Level::Cluster, "cluster_cpus_list", "cluster_id")?;
    let nodes = read_nodes(root)?;

    let whole = |group: &Domain| holder(&packages, group).unwrap_or(&cpus);
    let is_part = |group: &Domain| group.cpus != *whole(group);
    let is_shared = |group: &Domain| group.cpus.len() > holder(&cores, group).map_or(1, CpuSet::len);
    let is_new = |group: &Domain| is_shared(group) && last_level.iter().all(|cache| cache.cpus != group.cpus);

    let caches_between = caches.second_level().into_iter().filter(is_new);
    let (shared_l2, others): (Vec<Domain>, Vec<Domain>) =
        caches_between.partition(|cache| cache.level == Level::L2);

    let mut domains = cores.clone();
    domains.extend(with_shared_l2(
        clusters.iter().filter(|group| is_new(group) && is_part(group)).cloned().chain(others).collect(),
        shared_l2,
    ));
    domains.extend(last_level.iter().cloned());
    domains.extend(dies.iter().filter(|die| is_part(die)).cloned());
    domains.extend(node_domains(&nodes, &cpus));
    domains.extend(packages.iter().cloned());
    domains.extend(reader.groups(Level::Book, &["book_cpus_list"], "book_id")?);
    domains.extend(reader.groups(Level::Drawer, &["drawer_cpus_list"], "drawer_id")?);

    let mut same = BTreeMap::new();
    for (level, reported) in [(Level::Cluster, &clusters), (Level::Die, &dies)] {
        if !reported.is_empty() && !domains.iter().any(|domain| domain.level == level) {
            same.insert(level, same_as(reported, &domains, &cpus));
        }
    }
    if nodes.iter().any(|node| !node.cpus.is_empty())
        && !domains.iter().any(|domain| domain.level == Level::Node)
    {
        same.insert(Level::Node, Same::Machine);
    }
    let other_facts = OtherFacts { same, memory_nodes: without_cpus(root, &nodes), caches: Vec::new() };
    let classes = class::core_classes(root, &cpus, &caches)?;
    let other_facts = OtherFacts { caches: caches.sizes, ..other_facts };
    Ok(Topology::new(cpus, domains, classes).with(Some(other_facts)))
}

/// The level to which an omitted level is equal, or the largest if several match.
fn same_as(groups: &[Domain], domains: &[Domain], all: &CpuSet) -> Same {
    let is_one_of = |group: &Domain, level: Level| {
        domains.iter().any(|domain| domain.level == level && domain.cpus == group.cpus)
    };
    let every = |level: &Level| groups.iter().all(|group| is_one_of(group, *level));
    match Level::ALL.into_iter().rev().find(every) {
        Some(level) => Same::Level(level),
        None if groups.iter().all(|group| group.cpus == *all) => Same::Machine,
        None => Same::Several,
    }
}

fn holder<'a>(groups: &'a [Domain], part: &Domain) -> Option<&'a CpuSet> {
    let first = part.cpus.first()?;
    groups.iter().map(|group| &group.cpus).find(|cpus| cpus.contains(first))
}

/// Reads a CPU list; `None` if unreadable, since containers hide parts of sysfs. Fails for an invalid list.
fn read_list_if_visible(root: &SystemRoot, path: &str) -> Result<Option<CpuSet>, ReadError> {
    match root.list(path) {
        Err(ReadError::Io { .. }) => Ok(None),
        other => other,
    }
}

struct Reader<'a> {
    root: &'a SystemRoot,
    cpus: &'a CpuSet,
}

impl Reader<'_> {
    /// The groups of a level, from the first file name that the kernel knows.
    fn groups(&self, level: Level, lists: &[&str], id: &str) -> Result<Vec<Domain>, ReadError> {
        collect(level, self.cpus, |cpu| {
            for list in lists {
                if let Some(members) =
                    read_list_if_visible(self.root, &format!("{CPU}/cpu{cpu}/topology/{list}"))?
                {
                    return Ok(Some((members, self.id(cpu, id))));
                }
            }
            Ok(None)
        })
    }

    /// The groups of a level that needs a valid id. Some kernels report lists of unknown levels.
    fn groups_with_id(&self, level: Level, list: &str, id: &str) -> Result<Vec<Domain>, ReadError> {
        collect(level, self.cpus, |cpu| {
            let Some(id) = self.id(cpu, id) else { return Ok(None) };
            let members = read_list_if_visible(self.root, &format!("{CPU}/cpu{cpu}/topology/{list}"))?;
            Ok(members.map(|members| (members, Some(id))))
        })
    }

    /// A valid id. An unknown id is −1, or 65535 where a kernel stores 16 bits.
    fn id(&self, cpu: CpuId, name: &str) -> Option<u32> {
        self.root.number(&format!("{CPU}/cpu{cpu}/topology/{name}")).filter(|&id: &u32| id != 0xffff)
    }
}

/// Reads each group from its first CPU. Ignores lists that do not contain that CPU.
fn collect(
    level: Level,
    cpus: &CpuSet,
    mut group_of: impl FnMut(CpuId) -> Result<Option<(CpuSet, Option<u32>)>, ReadError>,
) -> Result<Vec<Domain>, ReadError> {
    let mut seen = CpuSet::new();
    let mut domains = Vec::new();
    for cpu in cpus.iter() {
        if seen.contains(cpu) {
            continue;
        }
        if let Some((members, os_id)) = group_of(cpu)?
            && members.contains(cpu)
        {
            let members = members.intersection(cpus);
            seen = seen.union(&members);
            domains.push(Domain { level, cpus: members, os_id });
        }
    }
    Ok(domains)
}

/// All online CPUs: from `online`, else the directories in sysfs, else `/proc/cpuinfo`, else this process's affinity.
/// Fails with [`TopologyError::NoCpus`] if all these sources are missing.
pub fn online_cpus(root: &SystemRoot) -> Result<CpuSet, TopologyError> {
    if let Some(cpus) = listed_online(root)? {
        return Ok(cpus);
    }
    let entries = entries_of_sysfs(root);
    if !entries.is_empty() {
        return Ok(entries);
    }
    let listed = processors(&root.text("/proc/cpuinfo")?.unwrap_or_default());
    let mask = inherited_mask(root)?;
    match mask {
        // Some containers renumber a shortened `/proc/cpuinfo` from 0. The affinity has the real numbers.
        Some(mask) if mask.intersection(&listed).is_empty() && !mask.is_empty() => Ok(mask),
        _ if !listed.is_empty() => Ok(listed),
        _ => Err(TopologyError::NoCpus),
    }
}

/// CPUs in the kernel's `online` file; `None` if missing or empty.
pub fn listed_online(root: &SystemRoot) -> Result<Option<CpuSet>, ReadError> {
    Ok(root.list(&format!("{CPU}/online"))?.filter(|cpus| !cpus.is_empty()))
}

/// CPUs with a directory. CPUs that cannot be taken offline have no file `online`.
fn entries_of_sysfs(root: &SystemRoot) -> CpuSet {
    let numbers = root.numbered(CPU, "cpu").into_iter();
    numbers
        .filter(|&cpu| cpu <= coretalk_model::cpu::MAX_CPU)
        .filter(|cpu| root.peek(&format!("{CPU}/cpu{cpu}/online")).as_deref() != Some("0"))
        .map(CpuId)
        .collect()
}

fn processors(cpuinfo: &str) -> CpuSet {
    let values = cpuinfo.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "processor").then(|| value.trim().parse::<u32>().ok())?
    });
    values.filter(|&cpu| cpu <= coretalk_model::cpu::MAX_CPU).map(CpuId).collect()
}

const NODES: &str = "/sys/devices/system/node";

/// A NUMA node. It may have no CPUs (memory expanders) or no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaNode {
    /// Number in the system.
    pub id: u32,
    /// CPUs of the node.
    pub cpus: CpuSet,
    /// Memory in bytes; `None` if the system does not report it.
    pub memory_bytes: Option<u64>,
}

/// All NUMA nodes by number; empty if the system reports none. Fails if a `cpulist` is invalid.
pub fn read_nodes(root: &SystemRoot) -> Result<Vec<NumaNode>, ReadError> {
    let mut nodes = Vec::new();
    for id in root.numbered(NODES, "node") {
        if let Some(cpus) = read_list_if_visible(root, &format!("{NODES}/node{id}/cpulist"))? {
            let memory_bytes =
                root.peek(&format!("{NODES}/node{id}/meminfo")).as_deref().and_then(total_bytes);
            nodes.push(NumaNode { id, cpus, memory_bytes });
        }
    }
    Ok(nodes)
}

/// Domains of the nodes, unless one node has all CPUs.
fn node_domains(nodes: &[NumaNode], online: &CpuSet) -> Vec<Domain> {
    let with_cpus: Vec<&NumaNode> = nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
    if let [only] = with_cpus.as_slice()
        && online.is_subset(&only.cpus)
    {
        return Vec::new();
    }
    let domain =
        |node: &NumaNode| Domain { level: Level::Node, cpus: node.cpus.clone(), os_id: Some(node.id) };
    with_cpus.into_iter().map(domain).collect()
}

/// Nodes without CPUs, and their distances from the nodes with CPUs.
pub(super) fn without_cpus(root: &SystemRoot, nodes: &[NumaNode]) -> Vec<MemoryNode> {
    let numbers = root.numbered(NODES, "node");
    let distances_from = |node: &NumaNode| -> Option<Vec<u32>> {
        let row = root.peek(&format!("{NODES}/node{}/distance", node.id))?;
        let row: Vec<u32> = row.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        // A row has a column for each online node, which is each node with a directory.
        (row.len() == numbers.len()).then_some(row)
    };
    let rows: Vec<(u32, Vec<u32>)> = nodes
        .iter()
        .filter(|node| !node.cpus.is_empty())
        .filter_map(|node| Some((node.id, distances_from(node)?)))
        .collect();
    let memory = |node: &NumaNode| {
        let column = numbers.iter().position(|&number| number == node.id);
        MemoryNode {
            number: node.id,
            memory_bytes: node.memory_bytes,
            distances: rows.iter().filter_map(|(from, row)| Some((*from, *row.get(column?)?))).collect(),
        }
    };
    nodes.iter().filter(|node| node.cpus.is_empty()).map(memory).collect()
}

/// Parses a line such as `Node 0 MemTotal:       24684096 kB` into bytes.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kib: u64 = line.split_once("MemTotal:")?.1.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests;
