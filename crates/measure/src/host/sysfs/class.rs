//! Core classes of hybrid machines.

use super::cache::Caches;
use super::{CPU, read_list_if_visible};
use crate::host::root::{ReadError, SystemRoot};
use coretalk_model::{CoreClass, CpuId, CpuSet};
use std::collections::BTreeMap;

/// Minimum ratio between values of different core classes. Maximum clocks within a class differ by a few percent for
/// favoured cores (5.8 and 5.5 GHz on a Core i9-13900K). The halves of a Ryzen 9 7950X3D differ by 9 % (5.7 and 5.25
/// GHz). Dense cores differ far more (3.3 and 5.1 GHz on a Ryzen AI 9 HX 370), and so do the capacities of little cores
/// (485 of 1024 on an RK3399).
const MIN_GAP: f64 = 1.15;

type Classes = BTreeMap<CpuId, CoreClass>;

/// The class of each core; empty if all cores are equal or the system does not report classes. Sources by priority:
///
/// 1. the two kinds of Intel's performance counters;
/// 2. `cpu_capacity`, the scheduler's own measure;
/// 3. the maximum clock (`cpuinfo_max_freq`). Its classes get no letter, since a clock does not tell a core's purpose.
///
/// The ranking in `acpi_cppc/highest_perf` is not used, since it varies widely among equal cores to mark favoured
/// cores.
pub(super) fn core_classes(root: &SystemRoot, cpus: &CpuSet, caches: &Caches) -> Result<Classes, ReadError> {
    let counted = by_counters(root, cpus, caches)?;
    if !counted.is_empty() {
        return Ok(counted);
    }
    let by_capacity = by_value(cpus, |cpu| root.number(&format!("{CPU}/cpu{cpu}/cpu_capacity")));
    if !by_capacity.is_empty() {
        return Ok(named(by_capacity, &["E", "P"]));
    }
    let by_clock = by_value(cpus, |cpu| root.number(&format!("{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq")));
    Ok(named(by_clock, &[]))
}

/// Classes by Intel's counter units, one unit per kind of core. Newer kernels have a third for low-power cores. Older
/// kernels count these cores as efficiency cores; the missing L3 tells them apart.
fn by_counters(root: &SystemRoot, cpus: &CpuSet, caches: &Caches) -> Result<Classes, ReadError> {
    let kind = |name: &str| -> Result<CpuSet, ReadError> {
        let list = read_list_if_visible(root, &format!("/sys/devices/{name}/cpus"))?;
        Ok(list.unwrap_or_default().intersection(cpus))
    };
    let (fast, efficient, low_power) = (kind("cpu_core")?, kind("cpu_atom")?, kind("cpu_lowpower")?);
    if fast.is_empty() || (efficient.is_empty() && low_power.is_empty()) {
        return Ok(Classes::new());
    }
    let has_l3 = |cpu: CpuId| caches.last_level_of(cpu).is_some_and(|level| level >= 3);
    let outside_l3: CpuSet = match fast.iter().any(has_l3) {
        true => efficient.iter().filter(|&cpu| caches.last_level_of(cpu) == Some(2)).collect(),
        false => CpuSet::new(),
    };
    let low_power = low_power.union(&outside_l3);
    let efficient = efficient.difference(&low_power);
    let groups = [("LP", low_power), ("E", efficient), ("P", fast)];
    let mut classes = Classes::new();
    for (rank, (name, members)) in groups.iter().filter(|(_, members)| !members.is_empty()).enumerate() {
        let class = CoreClass { rank: rank as u32, name: (*name).to_owned() };
        classes.extend(members.iter().map(|cpu| (cpu, class.clone())));
    }
    Ok(classes)
}

/// Rank of each CPU among groups of similar values; empty unless every CPU has a value and the values differ.
fn by_value(cpus: &CpuSet, value_of: impl Fn(CpuId) -> Option<u64>) -> BTreeMap<CpuId, u32> {
    let values: Option<Vec<(u64, CpuId)>> =
        cpus.iter().map(|cpu| Some((value_of(cpu).filter(|&value| value > 0)?, cpu))).collect();
    let Some(mut values) = values else { return BTreeMap::new() };
    values.sort_unstable();
    let mut rank = 0;
    let mut ranks = BTreeMap::new();
    let mut previous = None;
    for (value, cpu) in values {
        if previous.is_some_and(|previous: u64| value as f64 > previous as f64 * MIN_GAP) {
            rank += 1;
        }
        previous = Some(value);
        ranks.insert(cpu, rank);
    }
    if rank == 0 { BTreeMap::new() } else { ranks }
}

/// Names classes by letters if there are enough, else `class 0`, `class 1` and so on.
fn named(ranks: BTreeMap<CpuId, u32>, letters: &[&str]) -> Classes {
    let count = ranks.values().max().map_or(0, |&highest| highest as usize + 1);
    let name = |rank: u32| match letters.get(rank as usize) {
        Some(letter) if letters.len() == count => (*letter).to_owned(),
        _ => format!("class {rank}"),
    };
    ranks.into_iter().map(|(cpu, rank)| (cpu, CoreClass { rank, name: name(rank) })).collect()
}
