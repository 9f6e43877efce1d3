//! [`NumaNode`]: memory and the CPUs beside it.

use super::list_in_reach;
use crate::host::root::{ReadError, SystemRoot};
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
pub(super) fn domains(root: &SystemRoot, online: &CpuSet) -> Result<Vec<Domain>, ReadError> {
    let mut nodes = read_nodes(root)?;
    nodes.retain(|node| !node.cpus.is_empty());
    if let [only] = nodes.as_slice()
        && online.is_subset(&only.cpus)
    {
        return Ok(Vec::new());
    }
    Ok(nodes
        .into_iter()
        .map(|node| Domain { level: Level::Node, cpus: node.cpus, os_id: Some(node.id) })
        .collect())
}

/// `Node 0 MemTotal:       24684096 kB` in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kib: u64 = line.split_once("MemTotal:")?.1.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
