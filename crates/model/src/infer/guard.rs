//! Guard: accepts a level only if its inside differs clearly from the scatter of its outside, its groups are not
//! random, and a whole machine can have it.
//!
//! A tree also groups noise: the groups are then the lower edge of one distribution. In a level that leaves CPUs out, a
//! group may be the two nearest of unrelated CPUs. Two counts decide: cells around the group that are about as fast,
//! and cells of other groups that are about as slow. The group is random if the first count is larger. If the smallest
//! groups of a whole machine have the same size and contain every CPU, larger groups of only some are artefacts, for
//! example of cache lines with a home in one socket.

use super::distances::{Distances, pairs};
use super::levels::{ALONE, Partition};
use super::tree;
use super::tree::{CLEAR_RATIO, Node, Tree};
use crate::stats::elementary::ln;
use crate::stats::{MadScale, mad, median_in_place};
use std::collections::BTreeMap;

const MIN_DEVIATIONS: f64 = 3.5;
/// Fewer cells may be the lower edge of noise: nine of ten invented levels were two or three pairs of CPUs that
/// happened to be the nearest of fifteen.
const MIN_CELLS: usize = 8;
/// With fewer cells, every cell that leaves the groups must exceed each of these cells by this factor.
const MIN_RATIO_OF_FEW: f64 = 1.18;
/// Minimum scatter. Intervals are rarely below 1 %, and a few cells may be equal by chance.
const MIN_SCATTER: f64 = 0.02;

pub(super) fn stands_out(
    level: &Partition,
    finer: Option<&Partition>,
    coarser: Option<&Partition>,
    distances: &Distances,
) -> bool {
    let cells = Cells::new(level, finer, coarser, distances);
    if !level.covers_all() && cells.inside.len() < MIN_CELLS && cells.gap(distances) < ln(MIN_RATIO_OF_FEW) {
        return false;
    }
    let plain = cells.deviations(&vec![0.0; distances.len()], distances);
    if plain.is_some_and(|deviations| deviations >= MIN_DEVIATIONS) {
        return true;
    }
    // A core with a lower clock is slower to all others. CPUs without a group are the reference and stay unchanged.
    level.covers_all()
        && cells
            .deviations(&cells.offsets(distances), distances)
            .is_some_and(|deviations| deviations >= MIN_DEVIATIONS)
}

struct Cells {
    inside: Vec<(u32, u32)>,
    outside: Vec<(u32, u32)>,
}

impl Cells {
    fn new(
        level: &Partition,
        finer: Option<&Partition>,
        coarser: Option<&Partition>,
        distances: &Distances,
    ) -> Cells {
        let mut cells = Cells { inside: Vec::new(), outside: Vec::new() };
        let together =
            |within: Option<&Partition>, a: usize, b: usize| within.is_some_and(|within| within.joins(a, b));
        for high in 0..distances.len() {
            for low in 0..high {
                let pair = (low as u32, high as u32);
                if level.joins(low, high) {
                    if !together(finer, low, high) {
                        cells.inside.push(pair);
                    }
                } else if (level.group_of(low) != ALONE || level.group_of(high) != ALONE)
                    && coarser.is_none_or(|coarser| coarser.joins(low, high))
                {
                    cells.outside.push(pair);
                }
            }
        }
        cells
    }

    fn deviations(&self, offsets: &[f64], distances: &Distances) -> Option<f64> {
        let net = |cells: &[(u32, u32)]| -> Vec<f64> {
            let value = |&(low, high): &(u32, u32)| {
                let (low, high) = (low as usize, high as usize);
                distances.at(low, high) - offsets[low] - offsets[high]
            };
            cells.iter().map(value).collect()
        };
        let outside = net(&self.outside);
        let scatter = mad(&outside, MadScale::Normal)?.max(MIN_SCATTER);
        Some((median_in_place(&mut outside.clone())? - median_in_place(&mut net(&self.inside))?) / scatter)
    }

    fn gap(&self, distances: &Distances) -> f64 {
        let at = |&(low, high): &(u32, u32)| distances.at(low as usize, high as usize);
        let slowest = self.inside.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
        self.outside.iter().map(at).fold(f64::INFINITY, f64::min) - slowest
    }

    fn offsets(&self, distances: &Distances) -> Vec<f64> {
        let mut by_cpu: Vec<Vec<f64>> = vec![Vec::new(); distances.len()];
        for &(low, high) in &self.outside {
            let value = distances.at(low as usize, high as usize);
            by_cpu[low as usize].push(value);
            by_cpu[high as usize].push(value);
        }
        by_cpu.iter_mut().map(|values| median_in_place(values).unwrap_or(0.0)).collect()
    }
}

const CLOSE: f64 = 1.1;

/// Removes random groups. In levels that leave no CPUs out, a slower group is a slow part of the machine.
pub(super) fn drop_chance_groups(
    levels: &mut [Partition],
    solid: &[Node],
    tree: &Tree,
    distances: &Distances,
) {
    for index in (0..levels.len()).rev() {
        if levels[index].covers_all() {
            continue;
        }
        let (fine, coarse) = levels.split_at_mut(index + 1);
        let (finer, level) = fine.split_at_mut(index);
        let outside = Outside::new(&level[0], coarse.first(), distances);
        let level_cells = cells_of_level(&level[0], finer.last(), distances);
        let stands = |group: &[usize]| {
            let cells = cells_of(group, finer.last(), distances);
            let height = median_in_place(&mut cells.clone()).unwrap_or(f64::NEG_INFINITY);
            let as_slow = level_cells.iter().filter(|&&cell| cell >= height - ln(CLOSE)).count();
            let as_slow =
                as_slow.saturating_sub(cells.iter().filter(|&&cell| cell >= height - ln(CLOSE)).count());
            outside.up_to(height + ln(CLOSE), coarser_group(coarse.first(), group[0])) <= as_slow
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for group in level[0].groups() {
            if stands(group) {
                groups.push(group.clone());
                continue;
            }
            // A true pair with a random third CPU: the pair remains.
            let inner: Vec<Vec<usize>> = solid.iter().rev().map(|node| sorted(tree.members(node))).collect();
            for smaller in inner.into_iter().filter(|smaller| smaller.len() < group.len()) {
                let new = smaller
                    .iter()
                    .all(|cpu| group.contains(cpu) && !groups.iter().any(|known| known.contains(cpu)));
                if new && stands(&smaller) {
                    groups.push(smaller);
                }
            }
        }
        let kept = Partition::new(distances.len(), groups);
        if finer.iter().all(|finer| finer.is_within(&kept)) {
            level[0] = kept;
        }
    }
}

fn sorted(cpus: &[usize]) -> Vec<usize> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus
}

struct Outside {
    cells: BTreeMap<u32, Vec<f64>>,
}

impl Outside {
    fn new(level: &Partition, coarser: Option<&Partition>, distances: &Distances) -> Outside {
        let mut cells: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for high in 0..distances.len() {
            for low in (0..high).filter(|&low| !level.joins(low, high)) {
                if coarser.is_none_or(|coarser| coarser.joins(low, high)) {
                    cells.entry(coarser_group(coarser, low)).or_default().push(distances.at(low, high));
                }
            }
        }
        for cells in cells.values_mut() {
            cells.sort_unstable_by(f64::total_cmp);
        }
        Outside { cells }
    }

    fn up_to(&self, height: f64, home: u32) -> usize {
        self.cells.get(&home).map_or(0, |cells| cells.partition_point(|&cell| cell <= height))
    }
}

fn cells_of(group: &[usize], finer: Option<&Partition>, distances: &Distances) -> Vec<f64> {
    let new_pairs = pairs(group).filter(|&(a, b)| finer.is_none_or(|finer| !finer.joins(a, b)));
    new_pairs.map(|(a, b)| distances.at(a, b)).collect()
}

fn cells_of_level(level: &Partition, finer: Option<&Partition>, distances: &Distances) -> Vec<f64> {
    level.groups().iter().flat_map(|group| cells_of(group, finer, distances)).collect()
}

fn coarser_group(coarser: Option<&Partition>, cpu: usize) -> u32 {
    coarser.map_or(ALONE, |coarser| coarser.group_of(cpu))
}

/// Minimum number of groups of a whole machine. A container may have fewer.
const WHOLE: usize = 8;
/// Ratio of group sizes that a whole machine does not reach, even if some cores of a package are off.
const MAX_UNEQUAL: usize = 4;

/// The coarsest finer level that divides the whole machine into groups of one size, if any.
pub(super) fn whole<'a>(
    level: &Partition,
    levels: impl Iterator<Item = &'a Partition>,
) -> Option<&'a Partition> {
    let finer = levels.filter(|finer| finer.pairs() < level.pairs() && finer.is_within(level));
    finer.filter(|finer| finer.regular().is_some()).max_by_key(|finer| finer.pairs())
}

fn kept(level: &Partition, finer: &Partition) -> usize {
    level.groups().iter().filter(|group| finer.groups().contains(group)).count()
}

/// Whether a level keeps two or more groups of a whole machine unchanged, or has groups of very different sizes.
pub(super) fn is_odd(level: &Partition, finer: Option<&Partition>) -> bool {
    let Some(finer) = finer.filter(|finer| finer.groups().len() >= WHOLE) else { return false };
    let sizes = level.groups().iter().map(Vec::len);
    let (least, most) = sizes.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
    kept(level, finer) > 1 || most >= MAX_UNEQUAL * least
}

/// The only new group of a level that keeps other groups of a whole machine, as when one of two sockets is visible.
pub(super) fn is_half(level: &Partition, finer: Option<&Partition>) -> Option<Vec<usize>> {
    let finer = finer?;
    let mut new = level.groups().iter().filter(|group| !finer.groups().contains(group));
    let (group, None) = (new.next()?, new.next()) else { return None };
    let is_half = 2 * group.len() == level.cpus();
    (kept(level, finer) > 1 && (is_half || finer.groups().len() >= WHOLE)).then(|| group.clone())
}

/// Whether all groups of a level are also groups of a whole machine whose other, slower groups stand out as well.
pub(super) fn is_part(level: &Partition, levels: &[Partition], distances: &Distances) -> bool {
    let all: Vec<usize> = (0..distances.len()).collect();
    let others = levels.iter().filter(|whole| whole.regular().is_some() && whole.groups() != level.groups());
    let mut wholes = others.filter(|whole| level.groups().iter().all(|group| whole.groups().contains(group)));
    wholes.any(|whole| {
        let mut additional = whole.groups().iter().filter(|group| !level.groups().contains(group));
        additional.all(|group| tree::stands_out(group, &all, CLEAR_RATIO, distances))
    })
}
