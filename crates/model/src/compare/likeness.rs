//! Whether levels that look alike are the same thing: [`Nest`], how groups lie in groups whatever their CPUs are called;
//! [`Doubt`], whether their times are those of one thing.
//!
//! Eight groups of two are threads of a core on one machine and cores of a cluster on the next. Where neither systems nor
//! tests nor the model of the CPU say what groups are, times have to: of the published matrices whose groups look alike,
//! every two that mean different things (dies and packages, threads and clusters) differ by 1.38 or more at some level. The
//! limit was chosen with these files in view.

use super::side::pair_up;
use super::{Dataset, Fact, Levels, Side};
use crate::infer::Structure;
use crate::stats::median_in_place;
use crate::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Levels whose times differ by no more are taken for the same thing.
const PLAUSIBLE: f64 = 4.0 / 3.0;

/// Levels that look alike and differ by more than the same thing would.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The dataset, by its name in a comparison.
    pub dataset: String,
    /// The level that differs most, by its name on both sides.
    pub level: String,
    /// Its median in A.
    pub a: f64,
    /// Its median in B.
    pub b: f64,
    /// Unit of both.
    pub unit: String,
}

impl Doubt {
    /// How many times as long the slower side takes.
    pub fn factor(&self) -> f64 {
        (self.a / self.b).max(self.b / self.a)
    }

    /// Of levels of the same names, where nothing but their times says what they are: those that differ by too much,
    /// farthest first, and how many levels are plausible. No doubts where the sides are known to be of one model.
    pub(super) fn between(a: &Side, b: &Side, levels: &[Levels; 2]) -> (Vec<Doubt>, usize) {
        let model = |side: &Side| side.facts.get(&Fact::CpuModel).cloned();
        let pairs = pair_up(a, b).0.into_iter();
        let of_latency = |(left, right): &(&Dataset, &Dataset)| left.is_latency && right.is_latency;
        let Some((left, right)) = pairs.into_iter().find(of_latency) else { return (Vec::new(), 0) };
        let mut of_right = medians(right, &levels[1]);
        let both = medians(left, &levels[0]).into_iter().filter_map(|(level, a)| {
            let b = of_right.remove(&level)?;
            Some(Doubt { dataset: left.name.clone(), level, a, b, unit: left.unit.clone() })
        });
        let is_one_model = model(a).is_some() && model(a) == model(b);
        let (mut doubts, plausible): (Vec<Doubt>, Vec<Doubt>) =
            both.partition(|both| !is_one_model && both.factor() > PLAUSIBLE);
        doubts.sort_by(|x, y| y.factor().total_cmp(&x.factor()));
        (doubts, plausible.len())
    }
}

/// The median of each level of a dataset, as read.
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

/// A CPU, or a group with what it is made of. Equal nests are the same machine up to numbering, as far as groups tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nest {
    /// Smaller first; empty for a CPU.
    parts: Vec<Nest>,
}

impl Nest {
    /// Of everything that a structure speaks of.
    pub fn of(structure: &Structure) -> Nest {
        let levels: Vec<&[CpuSet]> = structure.levels.iter().map(|level| level.groups.as_slice()).collect();
        Nest::within(&levels, &structure.cpus.iter().copied().collect())
    }

    /// Of some CPUs: the groups of the coarsest of some levels, each with what it is made of, and CPUs in none of them.
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
            // A group of one is that one.
            1 => parts.swap_remove(0),
            _ => Nest { parts },
        }
    }

    /// Whether another machine is of the same kind: as many levels with as many outermost groups, all alike; the
    /// smallest of them of the same size; and only in between more or fewer parts of the same kind: six cores of two
    /// threads in each of two groups, and eight. Sizes of the smallest have to be equal, because groups of two may be
    /// threads of a core where groups of four are cores.
    pub fn is_like(&self, other: &Nest) -> bool {
        self.parts.len() == other.parts.len() && self.is_alike(other)
    }

    /// The same of a group, of which there may be more or fewer parts unless these are CPUs.
    fn is_alike(&self, other: &Nest) -> bool {
        match (self.one_kind(), other.one_kind()) {
            (Some(mine), Some(theirs)) if mine.parts.is_empty() && theirs.parts.is_empty() => {
                self.parts.len() == other.parts.len()
            }
            (Some(mine), Some(theirs)) => mine.is_alike(theirs),
            _ => false,
        }
    }

    /// What all parts are like, where they are.
    fn one_kind(&self) -> Option<&Nest> {
        let first = self.parts.first()?;
        self.parts.iter().all(|part| part == first).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::infer::{Observation, infer};

    /// Groups of a number of CPUs within groups of a number of CPUs, numbered in turn.
    fn nest(cpus: u32, inner: u32, outer: u32) -> Nest {
        let far = |row: usize, column: usize| match (row as u32, column as u32) {
            (a, b) if a / inner == b / inner => 7.0,
            (a, b) if a / outer == b / outer => 20.0,
            _ => 90.0,
        };
        let cells = Matrix::symmetric((0..cpus).map(CpuId).collect(), |row, column| {
            Some(Observation::bare(far(row, column)))
        });
        Nest::of(&infer(&cells).unwrap())
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
