//! [`NumaNode`]: memory and the CPUs beside it.

use super::list_in_reach;
use crate::host::root::{ReadError, SystemRoot};
use coretalk_model::topology::MemoryNode;
use coretalk_model::{CpuSet, Domain, Level};

const NODES: &str = "/sys/devices/system/node";

/// A NUMA node as the system numbers it. It may have no CPUs (memory expanders) or no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaNode {
    /// The system's number.
    pub id: u32,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Its memory in bytes; `None` where the system does not say.
    pub memory_bytes: Option<u64>,
}

impl NumaNode {
    /// Whether lines can be placed there, as far as the system says.
    pub fn may_have_memory(&self) -> bool {
        self.memory_bytes != Some(0)
    }
}

/// Every NUMA node, by number; none where the system reports none.
///
/// # Errors
/// Where a `cpulist` holds something else.
pub fn read_nodes(root: &SystemRoot) -> Result<Vec<NumaNode>, ReadError> {
    let mut nodes = Vec::new();
    for id in root.numbered(NODES, "node") {
        if let Some(cpus) = list_in_reach(root, &format!("{NODES}/node{id}/cpulist"))? {
            let memory_bytes = root.peek(&format!("{NODES}/node{id}/meminfo")).as_deref().and_then(total);
            nodes.push(NumaNode { id, cpus, memory_bytes });
        }
    }
    Ok(nodes)
}

/// The nodes that divide the machine.
pub(super) fn domains(nodes: &[NumaNode], online: &CpuSet) -> Vec<Domain> {
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

/// The nodes without CPUs, with their distance from those that have some.
pub(super) fn without_cpus(root: &SystemRoot, nodes: &[NumaNode]) -> Vec<MemoryNode> {
    let numbers = root.numbered(NODES, "node");
    let distances_from = |node: &NumaNode| -> Option<Vec<u32>> {
        let row = root.peek(&format!("{NODES}/node{}/distance", node.id))?;
        let row: Vec<u32> = row.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        // A row has a column for each node that is online, and these are the ones that have a directory.
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

/// `Node 0 MemTotal:       24684096 kB` in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kib: u64 = line.split_once("MemTotal:")?.1.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
