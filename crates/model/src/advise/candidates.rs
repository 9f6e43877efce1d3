//! Selection of the available CPUs by constraints and by the sharing of cores.

use crate::infer::{Observation, Structure, SuspectReason, both_ways};
use crate::{CpuId, CpuSet, Matrix, Topology};

/// Constraints on the selection.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// CPUs to avoid, such as noisy ones.
    pub avoid: CpuSet,
    /// Name of the only class of cores to use.
    pub class: Option<String>,
    /// NUMA node of the only CPUs to use.
    pub node: Option<u32>,
    /// Whether two threads may share a core.
    pub sharing: Sharing,
}

named! {
    /// Whether two threads may share a core. They communicate fastest there, but each computes at about half the speed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Sharing {
        /// Only if there are more threads than cores.
        #[default]
        IfNeeded = "if-needed",
        /// Wherever sharing reduces latency.
        Allowed = "allowed",
        /// Never.
        Never = "never",
    }
}

/// Why the CPUs cannot be selected, as a whole sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the operands that the sentence of each variant names")]
pub enum CandidateError {
    #[error("there is no core class `{class}`: all cores are alike")]
    OneClass { class: String },
    #[error("no remaining CPU is of class `{class}`; classes here: {}", known.join(" and "))]
    NoneOfClass { class: String, known: Vec<String> },
    #[error("no remaining CPU belongs to NUMA node {node}")]
    NoneOfNode { node: u32 },
    #[error(
        "{threads} threads need as many {}, and {} may be used",
        if *cores { "cores" } else { "CPUs" },
        if left.is_empty() { "none".to_owned() } else { format!("{} ({left})", left.len()) }
    )]
    TooFew { threads: usize, cores: bool, left: CpuSet },
}

/// The CPUs of `all` that satisfy the constraints, in the order of `all`.
///
/// # Errors
/// [`CandidateError`]: no such class or node, or too few CPUs for the threads.
pub fn candidates(
    topology: &Topology,
    all: &[CpuId],
    threads: usize,
    constraints: &Constraints,
) -> Result<Vec<CpuId>, CandidateError> {
    let Constraints { avoid, class, node, sharing } = constraints;
    let mut left: Vec<CpuId> = all.iter().copied().filter(|cpu| !avoid.contains(*cpu)).collect();
    if let Some(class) = class {
        let known: Vec<String> = topology.classes().iter().map(|class| class.name.clone()).collect();
        if known.is_empty() {
            return Err(CandidateError::OneClass { class: class.clone() });
        }
        left.retain(|&cpu| {
            topology.class_of(cpu).is_some_and(|found| found.name.eq_ignore_ascii_case(class))
        });
        if left.is_empty() {
            return Err(CandidateError::NoneOfClass { class: class.clone(), known });
        }
    }
    if let Some(node) = node {
        left.retain(|&cpu| topology.node_of(cpu) == Some(*node));
        if left.is_empty() {
            return Err(CandidateError::NoneOfNode { node: *node });
        }
    }
    let set: CpuSet = left.iter().copied().collect();
    let one_per_core = topology.one_per_core(&set);
    let is_one_per_core = match sharing {
        Sharing::Allowed => false,
        Sharing::IfNeeded => one_per_core.len() >= threads,
        Sharing::Never => true,
    };
    if is_one_per_core {
        left.retain(|&cpu| one_per_core.contains(cpu));
    }
    if left.len() < threads {
        return Err(CandidateError::TooFew {
            threads,
            cores: is_one_per_core,
            left: left.into_iter().collect(),
        });
    }
    Ok(left)
}

const AS_NEAR: f64 = 1.2;

/// Groups of CPUs in `among` that may be cores, of which the caller should use only one CPU each. The groups are the
/// accepted pairs, and groups around CPUs that no level explains: with CPUs about as near as the fastest contradictory
/// pair, or in a contradictory pair. Empty if no pair of these CPUs is contradictory.
pub fn likely_cores(
    structure: &Structure,
    observed: &Matrix<Option<Observation>>,
    among: &CpuSet,
) -> Vec<CpuSet> {
    let contradictory =
        structure.suspects.iter().filter(|suspect| suspect.doubt == SuspectReason::Contradictory);
    let contradictory =
        contradictory.map(|suspect| suspect.pair).filter(|pair| pair.iter().all(|cpu| among.contains(*cpu)));
    let contradictory: Vec<[CpuId; 2]> = contradictory.collect();
    let position = |cpu: CpuId| observed.cpus().iter().position(|&known| known == cpu);
    let value = |[a, b]: [CpuId; 2]| Some(both_ways(observed, position(a)?, position(b)?)?.value);
    let Some(fastest) = contradictory.iter().filter_map(|&pair| value(pair)).min_by(f64::total_cmp) else {
        return Vec::new();
    };
    let is_near = |a: CpuId, b: CpuId| {
        contradictory.contains(&[a, b])
            || contradictory.contains(&[b, a])
            || value([a, b]).is_some_and(|value| value <= AS_NEAR * fastest)
    };
    let (finest, inside) = structure
        .levels
        .first()
        .map_or((&[][..], None), |level| (&level.groups[..], level.inside.map(|inside| inside.point)));
    let are_pairs = finest.iter().all(|group| group.len() == 2);
    // Larger groups of equally near CPUs are not cores. Their CPUs need no further group.
    let is_explained = are_pairs || inside.is_some_and(|inside| inside <= AS_NEAR * fastest);
    let accepted = if is_explained { finest } else { &[] };
    let mut cores: Vec<(CpuId, CpuSet)> = Vec::new();
    let cpus: CpuSet = structure.cpus.iter().copied().filter(|cpu| among.contains(*cpu)).collect();
    for cpu in cpus.iter().filter(|&cpu| !accepted.iter().any(|group| group.contains(cpu))) {
        match cores.iter_mut().find(|(first, _)| is_near(*first, cpu)) {
            Some((_, core)) => *core = core.union(&[cpu].into_iter().collect()),
            None => cores.push((cpu, [cpu].into_iter().collect())),
        }
    }
    let near_groups = cores.into_iter().map(|(_, core)| core).filter(|core| core.len() > 1);
    let pairs = if are_pairs { accepted } else { &[] };
    pairs.iter().cloned().chain(near_groups).collect()
}

/// Second threads of used cores that remain free because there are enough cores.
pub fn siblings_left_out(topology: &Topology, all: &[CpuId], chosen: &[CpuId]) -> CpuSet {
    let used: CpuSet = chosen.iter().copied().collect();
    let is_idle_sibling =
        |cpu: &CpuId| !used.contains(*cpu) && !topology.siblings(*cpu).intersection(&used).is_empty();
    all.iter().copied().filter(is_idle_sibling).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::observed;
    use crate::topology::CoreClass;
    use crate::{Domain, Level};

    fn topology() -> Topology {
        let domain =
            |level, list: &str, os_id| Domain { level, cpus: list.parse().unwrap(), os_id: Some(os_id) };
        let domains = vec![
            domain(Level::Core, "0-1", 0),
            domain(Level::Core, "2-3", 1),
            domain(Level::Node, "0-3", 0),
            domain(Level::Node, "4-5", 1),
        ];
        let class =
            |cpu: u32| CoreClass { rank: u32::from(cpu < 4), name: if cpu < 4 { "P" } else { "E" }.into() };
        Topology::new("0-5".parse().unwrap(), domains, (0..6).map(|cpu| (CpuId(cpu), class(cpu))).collect())
    }

    fn chosen(threads: usize, constraints: Constraints) -> Result<String, String> {
        let all: Vec<CpuId> = (0..6).map(CpuId).collect();
        let found =
            candidates(&topology(), &all, threads, &constraints).map_err(|error| error.to_string())?;
        Ok(found.into_iter().collect::<CpuSet>().to_string())
    }

    fn noise(row: usize, column: usize) -> f64 {
        ((row * 5 + column * 3) % 7) as f64 / 10.0
    }

    #[test]
    fn cores_are_shared_only_where_that_is_needed_or_wished() {
        let chosen = |threads, sharing| chosen(threads, Constraints { sharing, ..Constraints::default() });
        assert_eq!(chosen(4, Sharing::IfNeeded).unwrap(), "0,2,4,5");
        assert_eq!(chosen(5, Sharing::IfNeeded).unwrap(), "0-5");
        assert_eq!(chosen(2, Sharing::Allowed).unwrap(), "0-5");
        let refusal = chosen(5, Sharing::Never).unwrap_err();
        assert_eq!(refusal, "5 threads need as many cores, and 4 (0,2,4,5) may be used");
    }

    #[test]
    fn classes_nodes_and_cpus_to_avoid_narrow_the_choice() {
        let base = Constraints { sharing: Sharing::Allowed, ..Constraints::default() };
        let class = |name: &str| Constraints { class: Some(name.into()), ..base.clone() };
        let node = |node| Constraints { node: Some(node), ..base.clone() };
        let avoid = Constraints { avoid: "0-2".parse().unwrap(), ..base.clone() };
        for (constraints, cpus) in [(class("e"), "4,5"), (node(0), "0-3"), (avoid, "3-5")] {
            assert_eq!(chosen(2, constraints).unwrap(), cpus);
        }
        let refusal = |threads, constraints| chosen(threads, constraints).unwrap_err();
        assert!(refusal(1, class("LP")).contains("classes here: E and P"));
        assert!(refusal(2, node(7)).contains("NUMA node 7"));
        assert!(refusal(7, base.clone()).contains("7 threads need as many CPUs, and 6 (0-5) may be used"));
    }

    #[test]
    fn one_cpu_of_each_contradictory_pair_is_safe() {
        // CPUs 0–3 form a ring of near pairs, two opposite sides of which are cores; 4–7 are two other cores.
        let near =
            |row: usize, column: usize| row / 2 == column / 2 || [(0, 2), (1, 3)].contains(&(column, row));
        let seen =
            observed(8, |row, column| noise(row, column) + if near(row, column) { 20.0 } else { 60.0 });
        let structure = crate::infer::infer(&seen).unwrap();
        assert!(structure.contradictory > 0, "{structure:?}");
        let all: CpuSet = "0-7".parse().unwrap();
        let cores = likely_cores(&structure, &seen, &all);
        // CPU 3 is near CPUs 1 and 2, but not near CPU 0, the first of the group.
        assert_eq!(cores.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0-2", "4,5", "6,7"]);
        // With one CPU of each contradictory pair removed, nothing is in doubt.
        assert_eq!(likely_cores(&structure, &seen, &"0,4-7".parse().unwrap()), []);
        let clean = observed(8, |_, _| 20.0);
        assert_eq!(likely_cores(&crate::infer::infer(&clean).unwrap(), &clean, &all), []);
    }

    #[test]
    fn groups_outside_contradictory_pairs_are_not_cores() {
        // Groups of four; two slow pairs in one of them leave a ring of near pairs.
        let seen = observed(12, |row, column| {
            let is_near = row / 4 == column / 4 && ![(0, 1), (2, 3)].contains(&(column, row));
            noise(row, column) + if is_near { 21.0 } else { 33.4 }
        });
        let structure = crate::infer::infer(&seen).unwrap();
        assert_eq!(structure.contradictory, 4, "{structure:?}");
        let cores = likely_cores(&structure, &seen, &"0-11".parse().unwrap());
        assert_eq!(cores.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0,2,3"]);
    }
}
