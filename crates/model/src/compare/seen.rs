//! The structure that is visible in the latencies of a side.

use super::{Dataset, Levels, ReadingKey, Side};
use crate::infer::{
    AgreementVerdict, Findings, InferError, InferredLevel, Observation, Refusal, Structure, ValueShape,
};
use crate::latency::Execution;
use crate::stats::median_in_place;
use crate::{CpuId, CpuSet, Matrix, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Half width of a 95 % interval, in standard deviations.
const REACH: f64 = 1.96;
/// Chance hides half of the step of a barely visible level. An absent level has no step.
const PRONOUNCED: f64 = 0.5;
const COMMON_VARIANCE: f64 = 0.5;
/// Minimum number of pairs. Fewer pairs may resemble each other by chance.
const MIN_PAIRS: usize = 10;

#[derive(Debug, Clone)]
pub(super) struct ObservedStructure {
    pub structure: Structure,
    pub contradicts: bool,
    cells: Matrix<Option<Observation>>,
}

/// Whether equal numbers mean the same CPUs, according to the latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// The same groups have the same numbers, or the pairs resemble each other by number, or all pairs are alike.
    Same,
    /// Groups of one side are not present in the other.
    Other,
    /// Neither side shows groups, and the pairs do not resemble each other.
    Unknown,
}

impl ObservedStructure {
    /// Infers the structure of some CPUs from the first latency matrix of a side, without cells that changed state.
    pub fn infer(side: &Side, cpus: &BTreeSet<CpuId>) -> Option<Result<ObservedStructure, InferError>> {
        let cells = latencies(side, cpus)?;
        let flat = Topology::flat(CpuSet::new());
        let reported = side.topology.as_ref().unwrap_or(&flat);
        let findings = Findings::of_matrix(&cells, reported).tested(&side.execution);
        let contradicts =
            findings.agreement.iter().any(|agreement| agreement.standing == AgreementVerdict::Conflict);
        Some(match findings.structure {
            Ok(structure) => Ok(ObservedStructure { structure, contradicts, cells }),
            Err(Refusal::Matrix(error)) => Err(error),
            Err(Refusal::Moved { .. }) => return None,
        })
    }

    pub fn finest(&self) -> Option<Execution> {
        self.structure.levels.first()?.execution
    }

    pub fn has_threads(&self) -> bool {
        self.finest() == Some(Execution::Shared)
    }

    pub fn numbering(&self, other: &ObservedStructure) -> Numbering {
        let grouped = |seen: &ObservedStructure| !seen.structure.levels.is_empty();
        match (grouped(self), grouped(other)) {
            (false, false) if self.is_uniform() && other.is_uniform() => Numbering::Same,
            (false, false) if self.resembles(other) => Numbering::Same,
            (false, false) => Numbering::Unknown,
            _ if self.partially_overlaps(other) => Numbering::Other,
            // On one machine, chance hides levels from one side only. Here, each side lacks a level of the other.
            _ if !(self.is_part_of(other) || other.is_part_of(self)) => Numbering::Other,
            _ if self.is_present_in(other) && other.is_present_in(self) => Numbering::Same,
            _ => Numbering::Other,
        }
    }

    fn is_part_of(&self, other: &ObservedStructure) -> bool {
        (0..self.structure.levels.len()).all(|index| self.is_shared(other, index))
    }

    fn is_shared(&self, other: &ObservedStructure, index: usize) -> bool {
        self.counterpart(other, index).is_some()
    }

    /// The index of the corresponding level of the other side. Either at least half of all groups are common, and the
    /// others overlap no group of the other side. Or some groups are common, and each other group is visible in the
    /// latencies of the side that lacks it.
    fn counterpart(&self, other: &ObservedStructure, index: usize) -> Option<usize> {
        let mine = &self.structure.levels[index].groups;
        (0..other.structure.levels.len()).find(|&at| {
            let theirs = &other.structure.levels[at].groups;
            let common = mine.iter().filter(|group| theirs.contains(group)).count();
            let all = united(mine, theirs).len();
            if 2 * common >= all && all == mine.len() + theirs.len() - common {
                return true;
            }
            let lacks = |groups: &[CpuSet], group: &&CpuSet| !groups.contains(group);
            mine.iter().any(|group| theirs.contains(group))
                && mine
                    .iter()
                    .filter(|group| lacks(theirs, group))
                    .all(|group| self.shows_in(other, index, Some(group)))
                && theirs
                    .iter()
                    .filter(|group| lacks(mine, group))
                    .all(|group| other.shows_in(self, at, Some(group)))
        })
    }

    fn partially_overlaps(&self, other: &ObservedStructure) -> bool {
        let groups = |seen: &ObservedStructure| -> Vec<CpuSet> {
            seen.structure.levels.iter().flat_map(|level| level.groups.clone()).collect()
        };
        let theirs = groups(other);
        groups(self).iter().any(|mine| {
            theirs.iter().any(|theirs| {
                let both = mine.intersection(theirs).len();
                both > 0 && both < mine.len() && both < theirs.len()
            })
        })
    }

    pub fn is_uniform(&self) -> bool {
        matches!(self.structure.shape, ValueShape::Uniform { .. })
    }

    /// Common levels, finest first. Noise would select levels that only one side shows, so these are omitted.
    pub fn common_levels(&self, other: &ObservedStructure) -> Levels {
        let mut levels: Vec<InferredLevel> = Vec::new();
        for (index, level) in self.structure.levels.iter().enumerate() {
            let Some(at) = self.counterpart(other, index) else { continue };
            let groups = united(&level.groups, &other.structure.levels[at].groups);
            let name = format!("group-{}", levels.len() + 1);
            levels.push(InferredLevel { name, groups, ..level.clone() });
        }
        Levels::of_some(&self.structure, levels.iter())
    }

    fn is_present_in(&self, other: &ObservedStructure) -> bool {
        (0..self.structure.levels.len())
            .all(|index| self.is_shared(other, index) || self.shows_in(other, index, None))
    }

    fn shows_in(&self, other: &ObservedStructure, level: usize, group: Option<&CpuSet>) -> bool {
        matches!((self.step(&self.cells, level, group), self.step(&other.cells, level, group)),
                 (Some(own), Some(theirs)) if theirs >= PRONOUNCED * own)
    }

    fn step(&self, cells: &Matrix<Option<Observation>>, level: usize, group: Option<&CpuSet>) -> Option<f64> {
        let (mut inside, mut across) = (Vec::new(), Vec::new());
        for (row, column, cell) in cells.iter() {
            let (Some(cell), true) = (cell, row > column) else { continue };
            let pair = [cells.cpus()[row], cells.cpus()[column]];
            if group.is_some_and(|group| !pair.iter().any(|cpu| group.contains(*cpu))) {
                continue;
            }
            let nearest = self.structure.nearest_level(pair[0], pair[1]);
            match nearest.unwrap_or(self.structure.levels.len()) {
                nearest if nearest == level => inside.push(cell.value.ln()),
                nearest if nearest == level + 1 => across.push(cell.value.ln()),
                _ => {}
            }
        }
        Some(median_in_place(&mut across)? - median_in_place(&mut inside)?)
    }

    /// Rank correlation (Spearman 1904).
    fn resembles(&self, other: &ObservedStructure) -> bool {
        self.resembles_inside(other, &Levels::one())
    }

    /// As `resembles`, but within each level, where pairs differ by their position on a chip and by single CPUs. Two
    /// runs of a simulated machine have a correlation of 0.97 within levels. Few pairs of different published models
    /// with the same groups reach the required correlation. Two generations of one design have 0.94.
    pub fn resembles_inside(&self, other: &ObservedStructure, levels: &Levels) -> bool {
        let mut by_level: BTreeMap<u32, Vec<[f64; 2]>> = BTreeMap::new();
        for (row, column, mine) in self.cells.iter().filter(|(row, column, _)| row > column) {
            let theirs = other.cells.get(row, column).copied().flatten();
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                let pair = ReadingKey::unordered(self.cells.cpus()[row], self.cells.cpus()[column]);
                by_level.entry(levels.of_key(&pair).0).or_default().push([mine.value, theirs.value]);
            }
        }
        // Ranks are centred in each level, so that the order of levels has no effect.
        let centred_ranks = |values: &[[f64; 2]], side: usize| -> Vec<f64> {
            let middle = values.len() as f64;
            ranks(&values.iter().map(|both| both[side]).collect::<Vec<_>>())
                .into_iter()
                .map(|rank| 2.0 * rank - middle)
                .collect()
        };
        let all_ranks = |side: usize| {
            by_level.values().flat_map(|values| centred_ranks(values, side)).collect::<Vec<f64>>()
        };
        let [mine, theirs] = [all_ranks(0), all_ranks(1)];
        mine.len() >= MIN_PAIRS && correlation(&mine, &theirs).powi(2) >= COMMON_VARIANCE
    }
}

fn united(groups: &[CpuSet], others: &[CpuSet]) -> Vec<CpuSet> {
    let apart = |other: &&CpuSet| groups.iter().all(|group| group.intersection(other).is_empty());
    let mut all = [groups, &others.iter().filter(apart).cloned().collect::<Vec<_>>()].concat();
    all.sort_by_key(|group| group.iter().next());
    all
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|known| known < value);
        let until = sorted.partition_point(|known| known <= value);
        (below + until) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let [mean_x, mean_y] = [x, y].map(|values| values.iter().sum::<f64>() / n);
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        x.iter().zip(y).map(|(&x, &y)| term(x - mean_x, y - mean_y)).sum()
    };
    let scale = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    if scale > 0.0 { (sum(&|x, y| x * y) / scale).max(0.0) } else { 0.0 }
}

pub(super) fn cpus(side: &Side) -> BTreeSet<CpuId> {
    let keys = side.datasets.iter().flat_map(|dataset| dataset.readings.keys());
    keys.flat_map(ReadingKey::cpus).collect()
}

fn latency_dataset(side: &Side) -> Option<&Dataset> {
    side.datasets.iter().find(|dataset| dataset.is_latency)
}

/// Cells that changed state during the run are left out.
fn latencies(side: &Side, cpus: &BTreeSet<CpuId>) -> Option<Matrix<Option<Observation>>> {
    let dataset = latency_dataset(side)?;
    // A coarse clock may read zero for the nearest pairs.
    let is_possible = |value: f64| value == 0.0 || dataset.has_ratio(value);
    let seen: BTreeMap<[CpuId; 2], Observation> = dataset
        .readings
        .iter()
        .filter(|(_, reading)| is_possible(reading.value.point))
        .filter_map(|(key, reading)| {
            let ReadingKey::Pair([a, b]) = key else { return None };
            let half_width = reading.value.deviation.map_or(0.0, |deviation| REACH * deviation);
            let known = Observation { value: reading.value.point, half_width };
            reading.steady.then_some(([*a.min(b), *a.max(b)], known))
        })
        .collect();
    let cpus: Vec<CpuId> = cpus.iter().copied().collect();
    (!seen.is_empty()).then(|| {
        let cell = |row: usize, column: usize| {
            let (a, b) = (cpus[row], cpus[column]);
            seen.get(&[a.min(b), a.max(b)]).copied()
        };
        Matrix::symmetric(cpus.clone(), cell)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::of_import;
    use crate::formats::read_matrices;
    use crate::stats::Key;
    use crate::tests::nested;

    fn seen(ns: impl Fn(u32, u32) -> f64) -> ObservedStructure {
        let row = |row: u32| -> String {
            let cell =
                |column: u32| if column < row { format!("{:.3}", ns(row, column)) } else { String::new() };
            (0..8).map(cell).collect::<Vec<_>>().join(",")
        };
        let text: String = (0..8).map(|index| row(index) + "\n").collect();
        let side = of_import(&read_matrices(text.as_bytes()).unwrap());
        ObservedStructure::infer(&side, &cpus(&side)).unwrap().unwrap()
    }

    fn grouped(group: impl Fn(u32) -> u32) -> ObservedStructure {
        seen(|row, column| if group(row) == group(column) { 20.1 } else { 90.1 })
    }

    #[test]
    fn renumbered_or_one_sided_groups_are_another_numbering() {
        let (halves, alternating) = (grouped(|cpu| cpu / 4), grouped(|cpu| cpu % 2));
        assert_eq!(halves.numbering(&halves), Numbering::Same);
        assert_eq!(halves.numbering(&alternating), Numbering::Other);
        // The groups are nested without partial overlap, but pairs inside groups of four are across groups of two.
        assert_eq!(halves.numbering(&grouped(|cpu| cpu / 2)), Numbering::Other);
        assert_eq!(grouped(|_| 0).numbering(&halves), Numbering::Other);
    }

    #[test]
    fn a_level_less_visible_on_one_side_keeps_the_numbering() {
        // Groups of two are 22 % nearer on one side and 14 % on the other, which is too little for a level.
        let with_pairs = |factor: f64, noise: f64, seed: u64| {
            seen(move |row, column| {
                let noise = 1.0 + noise * Key::from_words(&[seed, u64::from(row)]).normal(u64::from(column));
                noise * nested(&[(2, factor * 20.0), (4, 20.0)], 90.0, row as usize, column as usize)
            })
        };
        let (clear, weak) = (with_pairs(0.78, 0.01, 1), with_pairs(0.86, 0.01, 2));
        assert_eq!([&clear, &weak].map(|seen| seen.structure.levels.len()), [2, 1]);
        assert_eq!(clear.numbering(&weak), Numbering::Same);
        assert_eq!(clear.common_levels(&weak).observed().unwrap().len(), 1);
    }

    #[test]
    fn without_groups_the_pairs_have_to_resemble_each_other() {
        let numbered_from = |offset: u32, seed: u64| {
            seen(move |row, column| {
                let far = f64::from(((row + offset) % 8).abs_diff((column + offset) % 8));
                (30.0 + 2.0 * far)
                    * (1.0 + 0.01 * Key::from_words(&[seed, u64::from(row)]).normal(u64::from(column)))
            })
        };
        let (one, repeated, rotated) = (numbered_from(0, 1), numbered_from(0, 2), numbered_from(4, 3));
        assert!(one.structure.levels.is_empty() && !one.is_uniform());
        assert_eq!(one.numbering(&repeated), Numbering::Same);
        assert_eq!(one.numbering(&rotated), Numbering::Unknown);
        let flat = grouped(|_| 0);
        assert_eq!((flat.numbering(&flat), flat.numbering(&one)), (Numbering::Same, Numbering::Unknown));
    }
}
