//! [`Agreement`]: comparison of the groups of CPUs that a source reports with the inferred groups.

use super::{Observation, Structure};
use crate::stats::median_in_place;
use crate::{CpuId, CpuSet, Level, Matrix, Topology};
use std::collections::BTreeMap;

const MAX_EVIDENCE: usize = 6;

named! {
    /// The relation of a reported level to the inferred levels.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AgreementVerdict {
        /// An inferred level has exactly these groups, or the groups contain all CPUs but the one far from the others.
        Agree = "agree",
        /// The latencies show an unreported level inside the groups of this level.
        Coarser = "coarser",
        /// The level divides further than the latencies show, or has groups absent from the latencies.
        Finer = "finer",
        /// Groups partially overlap inferred groups.
        Conflict = "conflict",
        /// The latencies are no evidence for or against this level.
        NotVisible = "not-visible",
    }
}

/// Different CPUs of a report and a matrix. They may be of different machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherCpus {
    /// CPUs of the report.
    pub reported: CpuSet,
    /// CPUs with latencies.
    pub measured: CpuSet,
}

impl OtherCpus {
    /// Compares the two sets; `None` if they are equal.
    pub fn between(reported: &Topology, measured: &[CpuId]) -> Option<OtherCpus> {
        let (reported, measured) = (reported.cpus().clone(), measured.iter().copied().collect());
        (reported != measured).then_some(OtherCpus { reported, measured })
    }
}

/// A cell that contradicts a reported group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The pair.
    pub pair: [CpuId; 2],
    /// The measured value, in the unit of the matrix.
    pub value: f64,
    /// The expected value if the source is right: the median inside groups for a joined pair, otherwise across groups.
    pub expected: f64,
}

/// The relation of one reported level to the inferred levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The reported level.
    pub level: Level,
    /// Groups of two or more CPUs of the matrix.
    pub groups: Vec<CpuSet>,
    /// The verdict.
    pub standing: AgreementVerdict,
    /// The compared inferred level, an index into [`Structure::levels`]: in a conflict, the conflicting level,
    /// otherwise the level with the largest `rand_index`. `None` without a level, or for [`Structure::all_but_one`].
    pub against: Option<usize>,
    /// Adjusted Rand index of the two levels (Hubert and Arabie 1985): 1 if equal, about 0 if unrelated.
    pub rand_index: Option<f64>,
    /// Number of reported groups that an inferred level has exactly.
    pub matched: usize,
    /// Median of the pairs that share a reported group, in the unit of the matrix.
    pub inside: Option<f64>,
    /// Median of the pairs that leave a reported group, in the unit of the matrix.
    pub across: Option<f64>,
    /// CPUs that would have to change groups; empty without a conflict.
    pub moved: CpuSet,
    /// The cells that contradict the source most; empty without a conflict.
    pub evidence: Vec<Evidence>,
}

/// Compares every reported level with the structure, innermost first. Levels that do not divide the CPUs of the matrix
/// are left out, unless the latencies show unreported groups inside them.
pub fn agreement(
    reported: &Topology,
    structure: &Structure,
    observed: &Matrix<Option<Observation>>,
) -> Vec<Agreement> {
    let cpus: CpuSet = structure.cpus.iter().copied().collect();
    let levels: Vec<(Level, Vec<CpuSet>)> = reported
        .levels()
        .into_iter()
        .map(|level| {
            let domains = reported.level(level);
            let groups = domains.iter().map(|domain| domain.cpus.intersection(&cpus));
            (level, groups.filter(|group| group.len() > 1).collect::<Vec<CpuSet>>())
        })
        .filter(|(_, groups)| !groups.is_empty())
        .collect();
    let mut unreported = unreported(structure, &levels);
    let mut agreements = Vec::new();
    let all = levels.clone();
    for (level, groups) in levels {
        let inner = |index: &usize| lies_within(&structure.levels[*index].groups, &groups);
        let has_unreported_inside = unreported.iter().any(inner);
        unreported.retain(|index| !inner(index));
        let divides = groups.iter().any(|group| group.len() < cpus.len());
        if divides || has_unreported_inside {
            let others = || all.iter().filter(|(other, _)| *other != level).flat_map(|(_, groups)| groups);
            agreements.push(
                LevelComparison { reported: &groups, others: others().collect(), structure, observed }
                    .judge(level, has_unreported_inside),
            );
        }
    }
    agreements
}

fn unreported(structure: &Structure, reported: &[(Level, Vec<CpuSet>)]) -> Vec<usize> {
    let known = |index: &usize| {
        let groups = &structure.levels[*index].groups;
        reported.iter().any(|(_, level)| {
            are_equal(groups, level) || crosses(groups, level) || count_shared(groups, level) > 0
        })
    };
    (0..structure.levels.len()).filter(|index| !known(index)).collect()
}

struct LevelComparison<'a> {
    reported: &'a [CpuSet],
    others: Vec<&'a CpuSet>,
    structure: &'a Structure,
    observed: &'a Matrix<Option<Observation>>,
}

impl LevelComparison<'_> {
    fn judge(&self, level: Level, has_unreported_inside: bool) -> Agreement {
        let levels = &self.structure.levels;
        let rand_index_of =
            |index: usize| rand_index(self.reported, &levels[index].groups, &self.structure.cpus);
        let nearest = |is_fitting: &dyn Fn(&[CpuSet]) -> bool| {
            let fitting = (0..levels.len()).filter(|&index| is_fitting(&levels[index].groups));
            fitting.max_by(|&a, &b| {
                rand_index_of(a).unwrap_or(-1.0).total_cmp(&rand_index_of(b).unwrap_or(-1.0))
            })
        };
        // A report of the same group settles whether the CPU outside is far away or slow.
        let is_settled = self.structure.all_but_one().any(|(hint, _)| {
            hint.cpus.len() + 1 == self.structure.cpus.len() && self.reported == [hint.cpus.clone()]
        });
        let matched =
            levels.iter().map(|level| count_shared(&level.groups, self.reported)).max().unwrap_or(0);
        let matched = matched.max(usize::from(is_settled));
        let crossing = nearest(&|groups| self.contradicts(groups));
        let (standing, against) = if let Some(equal) = nearest(&|groups| are_equal(groups, self.reported)) {
            (AgreementVerdict::Agree, Some(equal))
        } else if is_settled {
            (AgreementVerdict::Agree, None)
        } else if crossing.is_some() {
            (AgreementVerdict::Conflict, crossing)
        } else if has_unreported_inside {
            (AgreementVerdict::Coarser, nearest(&|groups| lies_within(groups, self.reported)))
        } else if matched > 0 || levels.iter().any(|level| lies_within(self.reported, &level.groups)) {
            (AgreementVerdict::Finer, nearest(&|_| true))
        } else {
            (AgreementVerdict::NotVisible, nearest(&|_| true))
        };
        let labels = labels(self.reported);
        let together = |a: CpuId, b: CpuId| labels.get(&a).is_some_and(|label| labels.get(&b) == Some(label));
        let [inside, across] = self.medians(&together);
        let conflict = against.filter(|_| standing == AgreementVerdict::Conflict);
        Agreement {
            level,
            groups: self.reported.to_vec(),
            standing,
            against,
            rand_index: against.and_then(rand_index_of),
            matched,
            inside,
            across,
            moved: conflict.map_or(CpuSet::new(), |index| moved(self.reported, &levels[index].groups)),
            evidence: conflict.map_or(Vec::new(), |index| self.evidence(index, &together)),
        }
    }

    /// Whether an inferred group partially overlaps a reported group. An inferred group that is also a reported group
    /// of at most that size does not count: the smaller of two overlapping groups states what its CPUs share.
    fn contradicts(&self, inferred: &[CpuSet]) -> bool {
        let explains = |group: &CpuSet, reported_group: &CpuSet| {
            self.others.iter().any(|other| *other == group && other.len() <= reported_group.len())
        };
        let cuts = |group: &CpuSet, reported_group: &CpuSet| {
            crosses(std::slice::from_ref(group), std::slice::from_ref(reported_group))
                && !explains(group, reported_group)
        };
        inferred.iter().any(|group| self.reported.iter().any(|reported_group| cuts(group, reported_group)))
    }

    fn pairs(&self) -> impl Iterator<Item = ([CpuId; 2], f64)> + '_ {
        let cpus = self.observed.cpus();
        (0..cpus.len()).flat_map(move |high| (0..high).map(move |low| (low, high))).filter_map(
            move |(low, high)| {
                let seen = super::distances::both_ways(self.observed, low, high)?;
                Some(([cpus[low], cpus[high]], seen.value))
            },
        )
    }

    fn medians(&self, together: &dyn Fn(CpuId, CpuId) -> bool) -> [Option<f64>; 2] {
        let (inside, across): (Vec<_>, Vec<_>) = self.pairs().partition(|([a, b], _)| together(*a, *b));
        [inside, across]
            .map(|side| median_in_place(&mut side.into_iter().map(|pair| pair.1).collect::<Vec<f64>>()))
    }

    fn evidence(&self, index: usize, together: &dyn Fn(CpuId, CpuId) -> bool) -> Vec<Evidence> {
        let inferred = labels(&self.structure.levels[index].groups);
        let observed =
            |a: CpuId, b: CpuId| inferred.get(&a).is_some_and(|label| inferred.get(&b) == Some(label));
        let [inside, across] = self.medians(&observed);
        let (Some(inside), Some(across)) = (inside, across) else { return Vec::new() };
        let mut cells: Vec<Evidence> = self
            .pairs()
            .filter(|([a, b], _)| together(*a, *b) != observed(*a, *b))
            .map(|(pair, value)| Evidence {
                pair,
                value,
                expected: if together(pair[0], pair[1]) { inside } else { across },
            })
            .collect();
        let deviation = |cell: &Evidence| (cell.value / cell.expected).max(cell.expected / cell.value);
        cells.sort_by(|a, b| deviation(b).total_cmp(&deviation(a)).then(a.pair.cmp(&b.pair)));
        cells.truncate(MAX_EVIDENCE);
        cells
    }
}

fn labels(groups: &[CpuSet]) -> BTreeMap<CpuId, usize> {
    groups.iter().enumerate().flat_map(|(index, group)| group.iter().map(move |cpu| (cpu, index))).collect()
}

fn are_equal(a: &[CpuSet], b: &[CpuSet]) -> bool {
    a.len() == b.len() && count_shared(a, b) == a.len()
}

fn count_shared(a: &[CpuSet], b: &[CpuSet]) -> usize {
    a.iter().filter(|group| b.contains(group)).count()
}

fn lies_within(fine: &[CpuSet], coarse: &[CpuSet]) -> bool {
    fine.iter().all(|group| coarse.iter().any(|whole| group.is_subset(whole)))
}

fn crosses(a: &[CpuSet], b: &[CpuSet]) -> bool {
    a.iter().any(|group| {
        b.iter().any(|other| {
            let common = group.intersection(other).len();
            common > 0 && common < group.len() && common < other.len()
        })
    })
}

fn moved(reported: &[CpuSet], inferred: &[CpuSet]) -> CpuSet {
    let strays = |group: &CpuSet| {
        let home = reported.iter().max_by_key(|home| home.intersection(group).len());
        home.map_or_else(|| group.clone(), |home| group.difference(home))
    };
    inferred.iter().map(strays).fold(CpuSet::new(), |all, strays| all.union(&strays))
}

/// CPUs without a group are groups of one.
fn rand_index(a: &[CpuSet], b: &[CpuSet], cpus: &[CpuId]) -> Option<f64> {
    let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as f64;
    let (of_a, of_b) = (labels(a), labels(b));
    let mut common: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for cpu in cpus {
        if let (Some(&a), Some(&b)) = (of_a.get(cpu), of_b.get(cpu)) {
            *common.entry((a, b)).or_default() += 1;
        }
    }
    let agree: f64 = common.values().map(|&n| pairs(n)).sum();
    let [in_a, in_b] = [a, b].map(|groups| groups.iter().map(|group| pairs(group.len())).sum::<f64>());
    let all = pairs(cpus.len());
    let by_chance = in_a * in_b / all;
    let most = (in_a + in_b) / 2.0;
    (all > 0.0 && most > by_chance).then(|| (agree - by_chance) / (most - by_chance))
}

#[cfg(test)]
mod tests {
    use super::super::infer;
    use super::*;
    use crate::tests::{nested, observed, topology};
    use AgreementVerdict::{Agree, Coarser, Conflict, Finer, NotVisible};
    use Level::{Cluster, Core, L3, Node, Package};

    type Groups<'a> = &'a [(Level, &'a [&'a str])];

    /// Eight cores of two threads in two caches.
    fn measured() -> Matrix<Option<Observation>> {
        observed(16, |row, column| nested(&[(2, 8.0), (8, 20.0)], 85.0, row, column))
    }

    fn agreements(reported: Groups<'_>, measured: &Matrix<Option<Observation>>) -> Vec<Agreement> {
        let topology = topology(&format!("0-{}", measured.len() - 1), reported);
        agreement(&topology, &infer(measured).unwrap(), measured)
    }

    fn check(
        reported: Groups<'_>,
        measured: &Matrix<Option<Observation>>,
        expected: &[(Level, AgreementVerdict)],
    ) {
        let found = agreements(reported, measured);
        let found: Vec<_> = found.iter().map(|found| (found.level, found.standing)).collect();
        assert_eq!(found, expected, "{reported:?}");
    }

    const CORES: (Level, &[&str]) = (Core, &["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]);
    const CACHES: (Level, &[&str]) = (L3, &["0-7", "8-15"]);
    const ONE_PACKAGE: (Level, &[&str]) = (Package, &["0-15"]);

    #[test]
    fn equal_groups_agree_and_a_single_package_is_left_out() {
        check(&[CORES, CACHES, ONE_PACKAGE], &measured(), &[(Core, Agree), (L3, Agree)]);
    }

    #[test]
    fn a_report_of_other_cpus_may_be_of_another_machine() {
        let compared = |cpus: &str| OtherCpus::between(&topology(cpus, &[]), measured().cpus());
        assert_eq!(compared("0-15"), None);
        for cpus in ["0-7", "0-31", "1-16"] {
            let [reported, measured] = [cpus, "0-15"].map(|cpus| cpus.parse().unwrap());
            assert_eq!(compared(cpus), Some(OtherCpus { reported, measured }));
        }
    }

    #[test]
    fn a_last_level_cache_that_holds_two_groups_is_coarser() {
        check(&[CORES, (L3, &["0-15"]), ONE_PACKAGE], &measured(), &[(Core, Agree), (L3, Coarser)]);
    }

    #[test]
    fn a_division_that_does_not_show_is_finer_or_not_visible() {
        let quarters: &[&str] = &["0-3", "4-7", "8-11", "12-15"];
        let expected = [(Core, Agree), (Cluster, Finer), (L3, Agree)];
        check(&[CORES, (Cluster, quarters), CACHES], &measured(), &expected);
        let found = &agreements(&[CACHES], &observed(16, |_, _| 30.0))[0];
        assert_eq!((found.standing, found.rand_index), (NotVisible, None));
        assert_eq!((found.inside, found.across), (Some(30.0), Some(30.0)));
    }

    #[test]
    fn crossing_groups_are_a_conflict_with_evidence() {
        let wrong: &[&str] = &["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"];
        let found = agreements(&[(Core, wrong), (L3, &["0-6,8", "7,9-15"])], &measured());
        let [cores, caches] = &found[..] else { panic!("{found:?}") };
        assert_eq!((cores.standing, caches.standing), (Conflict, Conflict));
        assert!(cores.rand_index.unwrap() < 0.0);
        let first = Evidence { pair: [CpuId(0), CpuId(1)], value: 8.0, expected: 85.0 };
        assert_eq!((&cores.evidence[0], cores.evidence.len()), (&first, MAX_EVIDENCE));
        assert_eq!((cores.groups.len(), caches.moved.to_string()), (8, "7,8".into()));
        assert!((0.4..0.8).contains(&caches.rand_index.unwrap()), "{caches:?}");
    }

    #[test]
    fn groups_explained_by_a_smaller_reported_group_are_no_conflict() {
        let twos = observed(
            8,
            |row, column| {
                if row / 4 == column / 4 && row % 2 == column % 2 { 20.0 } else { 85.0 }
            },
        );
        let nodes: (Level, &[&str]) = (Node, &["0,2", "1,3", "4,6", "5,7"]);
        let crossing: (Level, &[&str]) = (Package, &["0,1", "2,3", "4,5", "6,7"]);
        check(&[nodes, crossing], &twos, &[(Node, Agree), (Package, NotVisible)]);
        check(&[(L3, &["0,1,4", "2,3,5"]), nodes], &twos, &[(L3, NotVisible), (Node, Agree)]);
        // No reported group explains it, or only a larger one does.
        check(&[crossing], &twos, &[(Package, Conflict)]);
        let larger: Groups<'_> = &[(L3, &["7,8"]), (Node, &["0-7", "8-15"])];
        check(larger, &measured(), &[(L3, Conflict), (Node, Agree)]);
    }

    #[test]
    fn a_report_that_separates_one_cpu_agrees_if_only_that_cpu_is_far() {
        let lone = observed(5, |row, _| if row == 4 { 85.0 } else { 18.0 });
        check(&[(L3, &["0-3", "4"])], &lone, &[(L3, Agree)]);
        check(&[(L3, &["0-2", "3-4"])], &lone, &[(L3, NotVisible)]);
        check(&[(L3, &["0-4"])], &lone, &[]);
    }

    #[test]
    fn a_group_that_was_not_found_does_not_make_a_conflict() {
        let measured = measured();
        let mut structure = infer(&measured).unwrap();
        structure.levels[0].groups.remove(3);
        let found = &agreement(&topology("0-15", &[CORES]), &structure, &measured)[0];
        assert_eq!((found.standing, found.matched), (Finer, 7));
    }

    #[test]
    fn the_rand_index_matches_a_textbook_example() {
        // The index of {0,1,2 | 3,4,5} and {0,1 | 2,3 | 4,5} by Hubert and Arabie: (2 − 6·3/15) / (4.5 − 6·3/15).
        let sets =
            |lists: &[&str]| -> Vec<CpuSet> { lists.iter().map(|list| list.parse().unwrap()).collect() };
        let cpus: Vec<CpuId> = (0..6).map(CpuId).collect();
        let found = rand_index(&sets(&["0-2", "3-5"]), &sets(&["0-1", "2-3", "4-5"]), &cpus).unwrap();
        assert!((found - 0.8 / 3.3).abs() < 1e-12, "{found}");
        assert_eq!(rand_index(&sets(&["0-5"]), &sets(&["0-5"]), &cpus), None);
    }
}
