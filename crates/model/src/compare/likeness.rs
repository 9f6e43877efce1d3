//! Whether levels of the same shape have the same meaning.
//!
//! Eight groups of two are threads of a core on one machine and cores of a cluster on another. If no system, test or
//! CPU model identifies the groups, only their latencies show the difference. Published matrices with groups of the
//! same shape but different meanings (dies and packages, threads and clusters) differ by a factor of 1.38 or more at
//! some level. The limit was chosen with knowledge of these files.

use super::side::pair_up;
use super::{Dataset, Fact, Levels, Side};
use crate::infer::Structure;
use crate::stats::median_in_place;
use crate::{CpuId, CpuSet};
use std::collections::BTreeMap;

const PLAUSIBLE: f64 = 4.0 / 3.0;

/// A level with the same shape on both sides whose latencies differ too much to have the same meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelMismatch {
    /// Name of the dataset.
    pub dataset: String,
    /// Name of the level, equal on both sides.
    pub level: String,
    /// Median in A.
    pub a: f64,
    /// Median in B.
    pub b: f64,
    /// Unit of both medians.
    pub unit: String,
}

impl LevelMismatch {
    /// Ratio of the slower median to the faster one.
    pub fn factor(&self) -> f64 {
        (self.a / self.b).max(self.b / self.a)
    }

    /// Compares levels with equal names that only latencies can identify. Returns the levels that differ too much,
    /// largest factor first, and the number of plausible levels. With equal CPU models, all are plausible.
    pub(super) fn between(a: &Side, b: &Side, levels: &[Levels; 2]) -> (Vec<LevelMismatch>, usize) {
        let model = |side: &Side| side.facts.get(&Fact::CpuModel).cloned();
        let pairs = pair_up(a, b).0.into_iter();
        let are_latencies = |(left, right): &(&Dataset, &Dataset)| left.is_latency && right.is_latency;
        let Some((left, right)) = pairs.into_iter().find(are_latencies) else { return (Vec::new(), 0) };
        let mut right_medians = medians(right, &levels[1]);
        let candidates = medians(left, &levels[0]).into_iter().filter_map(|(level, a)| {
            let b = right_medians.remove(&level)?;
            Some(LevelMismatch { dataset: left.name.clone(), level, a, b, unit: left.unit.clone() })
        });
        let is_one_model = model(a).is_some() && model(a) == model(b);
        let (mut doubts, plausible): (Vec<LevelMismatch>, Vec<LevelMismatch>) =
            candidates.partition(|candidate| !is_one_model && candidate.factor() > PLAUSIBLE);
        doubts.sort_by(|x, y| y.factor().total_cmp(&x.factor()));
        (doubts, plausible.len())
    }
}

fn medians(dataset: &Dataset, levels: &Levels) -> BTreeMap<String, f64> {
    let mut by_level: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (key, reading) in dataset.comparable() {
        if reading.steady {
            by_level.entry(levels.of_key(key).1).or_default().push(reading.value.point);
        }
    }
    by_level
        .into_iter()
        .filter_map(|(level, mut values)| Some((level, median_in_place(&mut values)?)))
        .collect()
}

/// A CPU, or a group with its parts. Equal nests are the same structure, regardless of CPU numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nest {
    parts: Vec<Nest>,
}

impl Nest {
    pub fn from_structure(structure: &Structure) -> Nest {
        let levels: Vec<&[CpuSet]> = structure.levels.iter().map(|level| level.groups.as_slice()).collect();
        Nest::within(&levels, &structure.cpus.iter().copied().collect())
    }

    fn within(levels: &[&[CpuSet]], cpus: &CpuSet) -> Nest {
        let groups: Vec<&CpuSet> = levels
            .split_last()
            .map_or(Vec::new(), |(groups, _)| groups.iter().filter(|group| group.is_subset(cpus)).collect());
        let grouped: CpuSet = groups.iter().flat_map(|group| group.iter()).collect();
        let finer = levels.split_last().map_or(&[][..], |(_, finer)| finer);
        let alone =
            cpus.difference(&grouped).iter().map(|_: CpuId| Nest { parts: Vec::new() }).collect::<Vec<_>>();
        let mut parts: Vec<Nest> =
            groups.into_iter().map(|group| Nest::within(finer, group)).chain(alone).collect();
        parts.sort_unstable();
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => Nest { parts },
        }
    }

    /// Whether two machines are of the same kind. Only the numbers of intermediate groups may differ: two groups of six
    /// cores with two threads match two groups of eight. The smallest groups must have equal sizes: groups of two may
    /// be threads of a core on one machine, and groups of four may be cores on the other.
    pub fn is_like(&self, other: &Nest) -> bool {
        self.parts.len() == other.parts.len() && self.is_alike(other)
    }

    /// As `is_like`, but the number of parts may differ, unless the parts are CPUs.
    fn is_alike(&self, other: &Nest) -> bool {
        match (self.common_part(), other.common_part()) {
            (Some(mine), Some(theirs)) if mine.parts.is_empty() && theirs.parts.is_empty() => {
                self.parts.len() == other.parts.len()
            }
            (Some(mine), Some(theirs)) => mine.is_alike(theirs),
            _ => false,
        }
    }

    fn common_part(&self) -> Option<&Nest> {
        let first = self.parts.first()?;
        self.parts.iter().all(|part| part == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::infer;
    use crate::tests::{nested, observed};

    fn nest(cpus: u32, inner: usize, outer: usize) -> Nest {
        let cells = observed(cpus, |row, column| nested(&[(inner, 7.0), (outer, 20.0)], 90.0, row, column));
        Nest::from_structure(&infer(&cells).unwrap())
    }

    #[test]
    fn machines_of_one_kind_have_more_or_fewer_cores_in_a_group() {
        let (twelve, sixteen) = (nest(24, 2, 12), nest(32, 2, 16));
        assert_eq!(twelve, nest(24, 2, 12));
        assert!(twelve != sixteen && twelve.is_like(&sixteen) && sixteen.is_like(&twelve));
        for other in [
            nest(24, 1, 12), // no threads
            nest(24, 4, 12), // four threads of a core, or cores
            nest(48, 2, 12), // four groups where there are two
            nest(12, 2, 12), // one group
            nest(12, 1, 3),
        ] {
            assert!(!twelve.is_like(&other) && !other.is_like(&twelve), "{other:?}");
        }
    }
}
