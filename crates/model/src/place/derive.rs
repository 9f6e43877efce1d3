//! Derives the CPUs of a preset from the topology.

use super::placement::{Binding, Placement, Preset};
use crate::topology::Same;
use crate::{CpuId, CpuSet, Domain, Level, Topology};

/// Why this machine cannot offer a preset: a clause that follows "placement `NAME` is not possible here: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum PresetError {
    #[error("a workload without threads needs no CPU")]
    NoThread,
    #[error("{threads} threads need as many CPUs, and {cpus} may be used")]
    TooFewCpus { threads: usize, cpus: usize },
    #[error("{threads} threads need one core each, and {cores} may be used")]
    TooFewCores { threads: usize, cores: usize },
    #[error("this machine reports no {}", named(*level))]
    NotReported { level: Level },
    #[error("all CPUs of this machine are in one {}", named(*level))]
    Undivided { level: Level },
    #[error("no {} has {threads} usable CPUs (the largest has {most})", named(*level))]
    NoRoom { level: Level, threads: usize, most: usize },
    #[error("all usable CPUs share one last-level cache")]
    OneCache,
    #[error("one thread cannot span two caches")]
    AloneInItsCache,
    #[error("one thread cannot share its core with another")]
    AloneOnItsCore,
    #[error("no core has two usable threads (SMT is off, absent or not reported)")]
    NoSmt,
    #[error("{threads} threads need as many SMT siblings, and {cpus} may be used")]
    TooFewSiblings { threads: usize, cpus: usize },
    #[error("this machine reports only one kind of core")]
    OneClass,
    #[error("{threads} threads need as many CPUs of class {class}, and {cpus} may be used")]
    TooFewOfClass { threads: usize, class: String, cpus: usize },
}

fn named(level: Level) -> &'static str {
    match level {
        Level::L3 => "last-level cache",
        Level::Node => "NUMA node",
        other => other.name(),
    }
}

/// The CPUs of a preset for `threads` threads. The topology must hold only the usable CPUs ([`Topology::restricted`]).
///
/// # Errors
/// [`PresetError`] if this machine cannot offer the preset.
///
/// ```
/// # use coretalk_model::*;
/// # use coretalk_model::place::{Preset, derive};
/// let core = |list: &str| Domain { level: Level::Core, cpus: list.parse().unwrap(), os_id: None };
/// let cores = vec![core("0,2"), core("1,3")];
/// let topology = Topology::new("0-3".parse().unwrap(), cores, Default::default());
/// let packed = derive(Preset::SmtPacked, &topology, 2).unwrap();
/// assert_eq!(packed.taskset().unwrap(), "taskset -c 0,2");
/// let lacking = derive(Preset::OneL3, &topology, 2).unwrap_err();
/// assert_eq!(lacking.to_string(), "this machine reports no last-level cache");
/// ```
pub fn derive(preset: Preset, topology: &Topology, threads: usize) -> Result<Placement, PresetError> {
    let all = topology.order(topology.cpus());
    if preset == Preset::None {
        return Ok(Placement { name: preset.name().to_owned(), cpus: all, binding: Binding::Free });
    }
    if threads == 0 {
        return Err(PresetError::NoThread);
    }
    if all.len() < threads {
        return Err(PresetError::TooFewCpus { threads, cpus: all.len() });
    }
    let mut cpus = match preset {
        Preset::Compact | Preset::None => all,
        Preset::Spread => spread_cores(topology, all),
        Preset::OneL3 => inside_one(topology, Level::L3, threads)?,
        Preset::OneNode => inside_one(topology, Level::Node, threads)?,
        Preset::AcrossL3 => across(topology, threads)?,
        Preset::SmtPacked => packed(topology, threads)?,
        Preset::OnePerCore => one_per_core(topology, threads)?,
        Preset::PCores => of_class(topology, Class::Fastest, threads)?,
        Preset::ECores => of_class(topology, Class::Slowest, threads)?,
    };
    cpus.truncate(threads);
    Ok(Placement::bound(preset.name(), cpus))
}

fn spread_cores(topology: &Topology, mut remaining: Vec<CpuId>) -> Vec<CpuId> {
    let mut spread_out = Vec::new();
    let mut outside_in = topology.levels();
    outside_in.reverse();
    while !remaining.is_empty() {
        let firsts = topology.one_per_core(&remaining.iter().copied().collect());
        let (now, later): (Vec<CpuId>, Vec<CpuId>) =
            remaining.into_iter().partition(|&cpu| firsts.contains(cpu));
        spread_out.extend(spread(topology, &now, &outside_in));
        remaining = later;
    }
    spread_out
}

fn spread(topology: &Topology, cpus: &[CpuId], levels: &[Level]) -> Vec<CpuId> {
    let Some((&level, inner)) = levels.split_first() else { return cpus.to_vec() };
    let mut groups: Vec<(Option<CpuId>, Vec<CpuId>)> = Vec::new();
    for &cpu in cpus {
        // A core outside every group of this level is its own group. Clusters may exist on only some cores.
        let own_group = || topology.siblings(cpu).first().or(Some(cpu));
        let group = topology.domain_of(cpu, level).map_or_else(own_group, |domain| domain.cpus.first());
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, members)) => members.push(cpu),
            None => groups.push((group, vec![cpu])),
        }
    }
    let is_reported = cpus.iter().any(|&cpu| topology.domain_of(cpu, level).is_some());
    if (groups.len() == cpus.len() || !is_reported) && level != Level::Core {
        return spread(topology, cpus, inner);
    }
    in_turns(groups.into_iter().map(|(_, members)| spread(topology, &members, inner)).collect())
}

fn in_turns(groups: Vec<Vec<CpuId>>) -> Vec<CpuId> {
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| groups.iter().filter_map(move |group| group.get(turn).copied())).collect()
}

/// The first threads of all cores, then the second threads, with cores in topology order.
pub fn cores_first(topology: &Topology, cpus: &CpuSet) -> Vec<CpuId> {
    let ordered = topology.order(cpus);
    let mut cores: Vec<(Option<CpuId>, Vec<CpuId>)> = Vec::new();
    for cpu in ordered {
        let core = topology.siblings(cpu).first();
        match cores.iter_mut().find(|(known, _)| *known == core) {
            Some((_, threads)) => threads.push(cpu),
            None => cores.push((core, vec![cpu])),
        }
    }
    in_turns(cores.into_iter().map(|(_, threads)| threads).collect())
}

fn inside_one(topology: &Topology, level: Level, threads: usize) -> Result<Vec<CpuId>, PresetError> {
    let groups = topology.level(level);
    let cores = |group: &&Domain| topology.one_per_core(&group.cpus).len().min(threads);
    let roomy = groups.iter().copied().filter(|group| group.cpus.len() >= threads);
    match roomy.reduce(|best, group| if cores(&group) > cores(&best) { group } else { best }) {
        Some(group) => Ok(cores_first(topology, &group.cpus)),
        None if groups.is_empty() => {
            let is_one =
                topology.other_facts().is_some_and(|facts| facts.same.get(&level) == Some(&Same::Machine));
            Err(if is_one { PresetError::Undivided { level } } else { PresetError::NotReported { level } })
        }
        None => {
            let most = groups.iter().map(|group| group.cpus.len()).max().unwrap_or(0);
            Err(PresetError::NoRoom { level, threads, most })
        }
    }
}

fn across(topology: &Topology, threads: usize) -> Result<Vec<CpuId>, PresetError> {
    let mut caches: Vec<CpuSet> =
        topology.level(Level::L3).iter().map(|cache| topology.one_per_core(&cache.cpus)).collect();
    if caches.len() < 2 {
        return Err(match caches.len() {
            0 => PresetError::NotReported { level: Level::L3 },
            _ => PresetError::OneCache,
        });
    }
    if threads < 2 {
        return Err(PresetError::AloneInItsCache);
    }
    // Caches with enough cores come first. Equal caches keep their order, in which neighbours are near.
    caches.sort_by_key(|cache| std::cmp::Reverse(cache.len().min(threads.div_ceil(2))));
    let enough = (2..=caches.len())
        .find(|&count| caches[..count].iter().map(CpuSet::len).sum::<usize>() >= threads)
        .ok_or_else(|| {
            let cores = caches.iter().map(CpuSet::len).sum();
            PresetError::TooFewCores { threads, cores }
        })?;
    let turns = in_turns(caches[..enough].iter().map(|cache| topology.order(cache)).collect());
    // Neighbouring roles share a cache where possible, as in a program that places its threads one by one.
    Ok(topology.order(&turns.into_iter().take(threads).collect()))
}

fn packed(topology: &Topology, threads: usize) -> Result<Vec<CpuId>, PresetError> {
    if threads < 2 {
        return Err(PresetError::AloneOnItsCore);
    }
    let with_siblings = |cpus: &CpuSet| -> CpuSet {
        let shares = |&cpu: &CpuId| topology.siblings(cpu).intersection(cpus).len() > 1;
        cpus.iter().filter(shares).collect()
    };
    let all_siblings = with_siblings(topology.cpus());
    if all_siblings.is_empty() {
        return Err(PresetError::NoSmt);
    }
    if all_siblings.len() < threads {
        return Err(PresetError::TooFewSiblings { threads, cpus: all_siblings.len() });
    }
    let caches = topology.level(Level::L3);
    let inside = caches.iter().map(|cache| with_siblings(&cache.cpus)).find(|cpus| cpus.len() >= threads);
    Ok(topology.order(&inside.unwrap_or(all_siblings)))
}

fn one_per_core(topology: &Topology, threads: usize) -> Result<Vec<CpuId>, PresetError> {
    let cores = topology.one_per_core(topology.cpus());
    if cores.len() < threads {
        return Err(PresetError::TooFewCores { threads, cores: cores.len() });
    }
    Ok(topology.order(&cores))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Fastest,
    Slowest,
}

fn of_class(topology: &Topology, wanted: Class, threads: usize) -> Result<Vec<CpuId>, PresetError> {
    let classes = topology.classes();
    let class = match (wanted, classes.as_slice()) {
        (Class::Fastest, [_, .., last]) => *last,
        (Class::Slowest, [first, _, ..]) => *first,
        _ => return Err(PresetError::OneClass),
    };
    let is_of = |&cpu: &CpuId| topology.class_of(cpu) == Some(class);
    let cpus: CpuSet = topology.cpus().iter().filter(is_of).collect();
    if cpus.len() < threads {
        return Err(PresetError::TooFewOfClass { threads, class: class.name.clone(), cpus: cpus.len() });
    }
    Ok(cores_first(topology, &cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoreClass;
    use crate::tests::topology;
    use crate::topology::OtherFacts;

    /// Two caches × three cores × two threads, with siblings i and i + 6.
    fn two_clusters() -> Topology {
        let cores: &[&str] = &["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"];
        let caches: &[&str] = &["0-2,6-8", "3-5,9-11"];
        topology("0-11", &[(Level::Core, cores), (Level::L3, caches), (Level::Package, &["0-11"])])
    }

    fn ids(preset: Preset, topology: &Topology, threads: usize) -> Vec<u32> {
        derive(preset, topology, threads).unwrap().cpus.iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn threads_are_placed_on_two_clusters_of_three_cores() {
        let topology = two_clusters();
        for (preset, threads, expected) in [
            (Preset::Compact, 6, &[0, 6, 1, 7, 2, 8][..]),
            (Preset::Spread, 6, &[0, 3, 1, 4, 2, 5]),
            (Preset::OneL3, 6, &[0, 1, 2, 6, 7, 8]),
            (Preset::AcrossL3, 6, &[0, 1, 2, 3, 4, 5]),
            (Preset::SmtPacked, 6, &[0, 6, 1, 7, 2, 8]),
            (Preset::OnePerCore, 6, &[0, 1, 2, 3, 4, 5]),
            (Preset::AcrossL3, 4, &[0, 1, 3, 4]),
            (Preset::OneL3, 3, &[0, 1, 2]),
            (Preset::Spread, 8, &[0, 3, 1, 4, 2, 5, 6, 9]),
        ] {
            assert_eq!(ids(preset, &topology, threads), expected, "{preset} of {threads}");
        }
        let free = derive(Preset::None, &topology, 6).unwrap();
        assert_eq!((free.cpus.len(), free.taskset()), (12, None));
    }

    #[test]
    fn impossible_presets_state_the_reason() {
        let topology = two_clusters();
        let flat = Topology::flat("0-3".parse().unwrap());
        let other_facts = OtherFacts { same: [(Level::Node, Same::Machine)].into(), ..OtherFacts::default() };
        let one_node = topology.clone().with(Some(other_facts));
        let half = topology.restricted(&"0-2,6-8".parse().unwrap());
        for (topology, preset, threads, reason) in [
            (&topology, Preset::OneL3, 7, "no last-level cache has 7 usable CPUs"),
            (&topology, Preset::AcrossL3, 7, "7 threads need one core each, and 6 may be used"),
            (&topology, Preset::OnePerCore, 7, "7 threads need one core each"),
            (&topology, Preset::SmtPacked, 1, "one thread cannot share"),
            (&topology, Preset::Compact, 13, "13 threads need as many CPUs, and 12"),
            (&topology, Preset::OneNode, 2, "reports no NUMA node"),
            (&topology, Preset::PCores, 2, "only one kind of core"),
            (&flat, Preset::SmtPacked, 2, "no core has two usable threads"),
            (&flat, Preset::AcrossL3, 2, "reports no last-level cache"),
            (&one_node, Preset::OneNode, 2, "all CPUs of this machine are in one NUMA node"),
            (&half, Preset::AcrossL3, 2, "share one last-level cache"),
        ] {
            let refused = derive(preset, topology, threads).unwrap_err().to_string();
            assert!(refused.contains(reason), "{preset} of {threads}: {refused}");
        }
    }

    #[test]
    fn presets_distinguish_kinds_of_cores() {
        let class = |rank, name: &str| CoreClass { rank, name: name.into() };
        let classes =
            (0..4).map(|cpu| (CpuId(cpu), class(u32::from(cpu < 2), if cpu < 2 { "P" } else { "E" })));
        let topology = Topology::new("0-3".parse().unwrap(), Vec::new(), classes.collect());
        assert_eq!(ids(Preset::PCores, &topology, 2), [0, 1]);
        assert_eq!(ids(Preset::ECores, &topology, 1), [2]);
        assert!(derive(Preset::ECores, &topology, 3).unwrap_err().to_string().contains("class E, and 2"));
    }

    #[test]
    fn second_threads_come_last_where_only_some_cores_have_clusters() {
        // Two cores with two threads each, and four single-threaded cores in a cluster.
        let cores: &[&str] = &["0,1", "2,3", "4", "5", "6", "7"];
        let topology =
            topology("0-7", &[(Level::Cluster, &["4-7"]), (Level::L3, &["0-7"]), (Level::Core, cores)]);
        assert_eq!(ids(Preset::Spread, &topology, 3), [0, 2, 4]);
        let six: CpuSet = derive(Preset::Spread, &topology, 6).unwrap().set();
        assert_eq!(topology.one_per_core(&six).len(), 6, "{six}");
    }

    #[test]
    fn threads_are_spread_over_the_l2_of_a_cluster_too() {
        let (clusters, l2): (&[&str], &[&str]) = (&["0-3", "4-7"], &["0-1", "2-3", "4-5", "6-7"]);
        let topology = topology("0-7", &[(Level::Cluster, clusters), (Level::L2, l2)]);
        assert_eq!(ids(Preset::Spread, &topology, 4), [0, 4, 2, 6]);
    }

    #[test]
    fn every_preset_has_as_many_cpus_as_threads_and_each_once() {
        let topology = two_clusters();
        for preset in Preset::ALL.into_iter().filter(|preset| *preset != Preset::None) {
            for threads in 1..=12 {
                if let Ok(placement) = derive(preset, &topology, threads) {
                    assert_eq!((placement.cpus.len(), placement.set().len()), (threads, threads), "{preset}");
                }
            }
        }
    }
}
