//! [`Caches`]: the unified caches of every CPU, and the CPUs that share them.

use super::{CPU, read_list_if_visible};
use crate::host::root::{ReadError, SystemRoot};
use coretalk_model::topology::CacheSize;
use coretalk_model::{CpuId, CpuSet, Domain, Level};
use std::collections::BTreeMap;

pub struct Caches {
    by_cpu: BTreeMap<CpuId, Vec<Cache>>,
    /// Sizes for [`coretalk_model::topology::OtherFacts::caches`].
    pub sizes: Vec<CacheSize>,
}

struct Cache {
    level: u32,
    is_unified: bool,
    bytes: Option<u64>,
    cpus: CpuSet,
    id: Option<u32>,
}

impl Caches {
    /// Reads `cpu*/cache`. Fails for an invalid CPU list.
    pub fn read(root: &SystemRoot, cpus: &CpuSet) -> Result<Caches, ReadError> {
        let mut by_cpu = BTreeMap::new();
        let mut sizes: BTreeMap<_, Vec<CpuSet>> = BTreeMap::new();
        for cpu in cpus.iter() {
            let directory = format!("{CPU}/cpu{cpu}/cache");
            let mut unified = Vec::new();
            for index in root.numbered(&directory, "index") {
                let Some(cache) = read_cache(root, &format!("{directory}/index{index}"), cpu, cpus)? else {
                    continue;
                };
                if let Some(bytes) = cache.bytes.filter(|_| cache.cpus.first() == Some(cpu)) {
                    let name = format!("L{}{}", cache.level, if cache.is_unified { "" } else { "d" });
                    sizes.entry((name, bytes)).or_default().push(cache.cpus.clone());
                }
                unified.extend(cache.is_unified.then_some(cache));
            }
            unified.sort_by_key(|cache| cache.level);
            by_cpu.insert(cpu, unified);
        }
        let size = |((name, bytes), groups)| CacheSize { name, bytes, groups };
        Ok(Caches { by_cpu, sizes: sizes.into_iter().map(size).collect() })
    }

    /// The last-level caches, as [`super::read_topology`] defines them.
    pub fn last_level(&self, cores: &[Domain]) -> Vec<Domain> {
        let highest = self.by_cpu.keys().filter_map(|&cpu| self.last_level_of(cpu)).max();
        let mut found = DomainSet::default();
        for (&cpu, caches) in &self.by_cpu {
            let Some(last) = caches.last() else { continue };
            let core = cores.iter().map(|core| &core.cpus).find(|core| core.contains(cpu));
            let is_private = core.map_or(last.cpus.len() == 1, |core| last.cpus.is_subset(core));
            if last.level >= 3 || !is_private {
                // Ids are unique only within a level.
                let os_id = last.id.filter(|_| Some(last.level) == highest);
                found.add(cpu, Domain { level: Level::L3, cpus: last.cpus.clone(), os_id });
            }
        }
        found.domains
    }

    /// The second-largest cache of each CPU, such as the L2 of an efficiency module. Caches other than L2 count as
    /// clusters.
    pub fn second_level(&self) -> Vec<Domain> {
        let mut found = DomainSet::default();
        for (&cpu, caches) in &self.by_cpu {
            if let [.., second, _last] = caches.as_slice() {
                let level = if second.level == 2 { Level::L2 } else { Level::Cluster };
                found.add(cpu, Domain { level, cpus: second.cpus.clone(), os_id: second.id });
            }
        }
        found.domains
    }

    pub fn last_level_of(&self, cpu: CpuId) -> Option<u32> {
        self.by_cpu.get(&cpu)?.last().map(|cache| cache.level)
    }
}

#[derive(Default)]
struct DomainSet {
    seen: CpuSet,
    domains: Vec<Domain>,
}

impl DomainSet {
    fn add(&mut self, cpu: CpuId, domain: Domain) {
        if !self.seen.contains(cpu) {
            self.seen = self.seen.union(&domain.cpus);
            self.domains.push(domain);
        }
    }
}

/// Reads one cache; `None` for an instruction cache, or if level or CPUs are unknown.
fn read_cache(
    root: &SystemRoot,
    directory: &str,
    cpu: CpuId,
    online: &CpuSet,
) -> Result<Option<Cache>, ReadError> {
    let is_unified = match root.peek(&format!("{directory}/type")).as_deref() {
        Some("Unified") => true,
        Some("Data") => false,
        _ => return Ok(None),
    };
    let Some(level) = root.number(&format!("{directory}/level")) else { return Ok(None) };
    let Some(cpus) = read_list_if_visible(root, &format!("{directory}/shared_cpu_list"))? else {
        return Ok(None);
    };
    let id = root.number(&format!("{directory}/id"));
    // `32K`. Some firmware reports `0K`.
    let kib = root.peek(&format!("{directory}/size")).and_then(|size| size.strip_suffix('K')?.parse().ok());
    let bytes = kib.filter(|&kib| kib > 0).and_then(|kib: u64| kib.checked_mul(1024));
    Ok(cpus.contains(cpu).then(|| Cache { level, is_unified, bytes, cpus: cpus.intersection(online), id }))
}
