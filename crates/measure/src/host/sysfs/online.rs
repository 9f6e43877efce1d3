//! [`online_cpus`]: which CPUs there are.

use super::{CPU, TopologyError};
use crate::host::cgroup::inherited_mask;
use crate::host::root::{ReadError, SystemRoot};
use coretalk_model::{CpuId, CpuSet};

/// Every CPU that is online: from `online`, else from the entries of sysfs, else from `/proc/cpuinfo`, else from the
/// affinity mask of this process.
///
/// # Errors
/// [`TopologyError::NoCpus`] where none of them says anything.
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
        // Some containers show a shortened `/proc/cpuinfo`, numbered from 0: the mask has the true numbers.
        Some(mask) if mask.intersection(&listed).is_empty() && !mask.is_empty() => Ok(mask),
        _ if !listed.is_empty() => Ok(listed),
        _ => Err(TopologyError::NoCpus),
    }
}

/// The CPUs that the kernel itself lists as online; `None` where it lists none.
///
/// # Errors
/// The file holds no CPU list.
pub fn listed_online(root: &SystemRoot) -> Result<Option<CpuSet>, ReadError> {
    Ok(root.list(&format!("{CPU}/online"))?.filter(|cpus| !cpus.is_empty()))
}

/// The CPUs with a directory. Those that cannot be switched off have no file `online`.
fn entries_of_sysfs(root: &SystemRoot) -> CpuSet {
    let numbers = root.numbered(CPU, "cpu").into_iter();
    numbers
        .filter(|&cpu| cpu <= coretalk_model::cpu::HIGHEST_CPU)
        .filter(|cpu| root.peek(&format!("{CPU}/cpu{cpu}/online")).as_deref() != Some("0"))
        .map(CpuId)
        .collect()
}

/// The CPUs that `/proc/cpuinfo` describes.
fn processors(cpuinfo: &str) -> CpuSet {
    let values = cpuinfo.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "processor").then(|| value.trim().parse::<u32>().ok())?
    });
    values.filter(|&cpu| cpu <= coretalk_model::cpu::HIGHEST_CPU).map(CpuId).collect()
}
