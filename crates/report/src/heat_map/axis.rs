//! [`Axis`]: rows of CPUs in order, and the ends of reported groups.

use crate::{By, Order};
use coretalk_model::latency::summary::{PairReading, measured_order};
use coretalk_model::{CpuId, CpuSet, Level, Matrix, Topology};

/// The CPUs of a map in the requested order.
pub fn ordered(readings: &Matrix<Option<PairReading>>, topology: &Topology, order: Order) -> Vec<CpuId> {
    let cpus: CpuSet = readings.cpus().iter().copied().collect();
    match order {
        Order::Id => cpus.iter().collect(),
        Order::Topology => topology.order(&cpus),
        Order::Measured => measured_order(readings),
    }
}

/// The rows of a map: CPUs, or cores with their CPUs.
pub fn rows(
    readings: &Matrix<Option<PairReading>>,
    topology: &Topology,
    order: Order,
    by: By,
) -> Vec<Vec<CpuId>> {
    let order = ordered(readings, topology, order);
    match by {
        By::Core => cores(&order, topology),
        By::Thread => order.iter().map(|&cpu| vec![cpu]).collect(),
    }
}

/// Groups the CPUs by core; each core has the position of its first CPU.
fn cores(order: &[CpuId], topology: &Topology) -> Vec<Vec<CpuId>> {
    let mut cores: Vec<Vec<CpuId>> = Vec::new();
    let mut index_of_core = std::collections::BTreeMap::new();
    for &cpu in order {
        let core = topology.siblings(cpu).first().unwrap_or(cpu);
        let index = *index_of_core.entry(core).or_insert_with(|| {
            cores.push(Vec::new());
            cores.len() - 1
        });
        cores[index].push(cpu);
    }
    cores
}

/// The parts of one side of a map. A part is a row, or the rows that share a pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The CPUs of each part.
    pub parts: Vec<Vec<CpuId>>,
    /// For each part, whether a bar precedes it; false for the first part.
    pub bars: Vec<bool>,
    /// Number of rows in the largest part.
    pub most: usize,
}

impl Axis {
    /// Splits rows into parts of at most `most` rows, with bars at the ends of groups of `level`. Parts never cross the
    /// end of a group of the finest level whose largest group has at least `keep` rows. Smaller groups are never split.
    pub fn new(
        rows: &[Vec<CpuId>],
        topology: &Topology,
        [keep, most]: [usize; 2],
        level: Option<Level>,
    ) -> Axis {
        let levels = aligned_levels(rows, topology);
        let kept_index = levels.iter().position(|&level| largest(rows, topology, level) >= keep);
        let kept_index = kept_index.unwrap_or(levels.len());
        let finer_level = kept_index.checked_sub(1).map(|finer| levels[finer]);
        let (mut parts, mut widest) = (Vec::new(), 0);
        for run in rows.chunk_by(|a, b| same_group(topology, levels.get(kept_index).copied(), a, b)) {
            // Parts have about equal size: 9 rows in parts of at most 4 become 3, 3, 3, not 4, 4, 1.
            let limit = run.len().div_ceil(run.len().div_ceil(most.max(1)));
            let mut from = 0;
            let mut to = 0;
            for unsplit in
                run.chunk_by(|a, b| finer_level.is_some() && same_group(topology, finer_level, a, b))
            {
                if to > from && to + unsplit.len() - from > limit {
                    parts.push(run[from..to].concat());
                    widest = widest.max(to - from);
                    from = to;
                }
                to += unsplit.len();
            }
            parts.push(run[from..].concat());
            widest = widest.max(to - from);
        }
        let bars = (0..parts.len())
            .map(|index| {
                level.is_some() && index > 0 && !same_group(topology, level, &parts[index - 1], &parts[index])
            })
            .collect();
        Axis { parts, bars, most: widest }
    }

    /// An axis with one part for each row.
    pub fn of_rows(rows: &[Vec<CpuId>], topology: &Topology, level: Option<Level>) -> Axis {
        Axis::new(rows, topology, [1, 1], level)
    }

    /// The number of bars.
    pub fn bar_count(&self) -> usize {
        self.bars.iter().filter(|&&bar| bar).count()
    }

    /// The parts between bars, as ranges of indices.
    pub fn runs(&self) -> Vec<std::ops::Range<usize>> {
        let mut starts: Vec<usize> = (0..self.parts.len()).filter(|&index| self.bars[index]).collect();
        starts.insert(0, 0);
        starts.push(self.parts.len());
        starts.windows(2).map(|ends| ends[0]..ends[1]).collect()
    }
}

/// Levels whose groups can have bars at their ends, finest first, then `None` for no bars.
pub fn bar_levels(rows: &[Vec<CpuId>], topology: &Topology) -> Vec<Option<Level>> {
    let levels = aligned_levels(rows, topology).into_iter().filter(|&level| level != Level::Core);
    levels.map(Some).chain([None]).collect()
}

/// Levels for the alignment of parts, finest first. Each splits the rows into groups of at least two rows on average.
fn aligned_levels(rows: &[Vec<CpuId>], topology: &Topology) -> Vec<Level> {
    let mut seen = Vec::new();
    let is_new = |&level: &Level| {
        let groups: Vec<usize> = groups(rows, topology, level).map(<[_]>::len).collect();
        let is_new = groups.len() > 1 && 2 * groups.len() <= rows.len() && !seen.contains(&groups);
        seen.push(groups);
        is_new
    };
    topology.levels().into_iter().filter(is_new).collect()
}

/// Consecutive rows of the same group of a level.
pub fn groups<'r>(
    rows: &'r [Vec<CpuId>],
    topology: &Topology,
    level: Level,
) -> impl Iterator<Item = &'r [Vec<CpuId>]> {
    rows.chunk_by(move |a, b| same_group(topology, Some(level), a, b))
}

pub(super) fn largest(rows: &[Vec<CpuId>], topology: &Topology, level: Level) -> usize {
    groups(rows, topology, level).map(<[_]>::len).max().unwrap_or(0)
}

fn same_group(topology: &Topology, level: Option<Level>, a: &[CpuId], b: &[CpuId]) -> bool {
    let Some(level) = level else { return true };
    let group = |part: &[CpuId]| topology.domain_of(*part.first()?, level)?.cpus.first();
    group(a) == group(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::topology::Domain;
    use std::collections::BTreeSet;

    fn topology() -> Topology {
        let groups = |level, size: u32| {
            (0..64 / size).map(move |group| {
                let cpus = (group * size..(group + 1) * size).map(CpuId).collect();
                Domain { level, cpus, os_id: None }
            })
        };
        let domains = groups(Level::L3, 8).chain(groups(Level::Package, 32)).collect();
        Topology::new((0..64).map(CpuId).collect(), domains, Default::default())
    }

    #[test]
    fn no_part_mixes_fragments_of_two_groups() {
        let rows: Vec<Vec<CpuId>> = (0..64).map(|cpu| vec![CpuId(cpu)]).collect();
        let groups_of =
            |part: &Vec<CpuId>, size: u32| -> BTreeSet<u32> { part.iter().map(|cpu| cpu.0 / size).collect() };
        for most in 1..=64_usize {
            for keep in [most, most.div_ceil(2)] {
                let axis = Axis::new(&rows, &topology(), [keep, most], None);
                assert_eq!(axis.parts.concat(), rows.concat());
                assert_eq!(axis.most, axis.parts.iter().map(Vec::len).max().unwrap());
                assert!(axis.most <= most);
                for part in &axis.parts {
                    let [l3, packages] = [8, 32].map(|size| groups_of(part, size).len());
                    assert!(l3 == 1 || part.len() == 8 * l3, "{keep} to {most}: {part:?}");
                    assert!(packages == 1 || keep > 32, "{keep} to {most}: {part:?}");
                    assert!(l3 == 1 || keep > 8, "{keep} to {most}: {part:?}");
                }
            }
        }
        let sizes = |keep, most| -> Vec<usize> {
            Axis::new(&rows, &topology(), [keep, most], None).parts.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(3, 3)[..6], [3, 3, 2, 3, 3, 2]);
        assert_eq!((sizes(3, 6), sizes(11, 11)), (vec![4; 16], vec![8; 8]));
        assert_eq!(sizes(20, 20), [16; 4]);
    }
}
