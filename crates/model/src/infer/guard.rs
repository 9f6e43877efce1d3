//! Guard: a level stays only where its inside stands out against the scatter of the outside, and its groups are no groups of
//! chance; nor do levels stay that a whole machine cannot have.
//!
//! A tree groups noise as readily as structure; what it finds in noise is the lower edge of one distribution. And where CPUs
//! are without a group of their own, two of them may be the nearest of the rest: a group is one of chance if more cells
//! around it are about as fast as it is than other groups of its level are as slow. A disturbed cell makes a true group slow
//! too, but lies where few others are.
//!
//! Where the smallest groups of a whole machine are all of one size and hold every CPU, larger ones that take in some of
//! them and leave others are what a tool has done to the values, as where lines live in one socket.

use super::distances::{Distances, pairs};
use super::levels::{ALONE, Partition};
use super::tree;
use super::tree::{CLEAR_RATIO, Node, Tree};
use crate::stats::elementary::ln;
use crate::stats::{MadScale, mad, median_in_place};
use std::collections::BTreeMap;

/// So many deviations of the outside lie between its median and that of the inside.
const MIN_DEVIATIONS: f64 = 3.5;
/// In groups that leave CPUs out, fewer cells than this may be the lower edge of noise: two or three pairs of CPUs that
/// happen to be the nearest of fifteen made nine of ten invented levels …
const FEW: usize = 8;
/// … unless every way out of the groups is longer than each of these cells by this factor.
const MIN_RATIO_OF_FEW: f64 = 1.18;
/// No scatter is believed to be smaller: intervals end at about 1 %, and a few cells may tie by chance.
const MIN_SCATTER: f64 = 0.02;

/// Whether the level stands out inside the next coarser one that stands.
pub(super) fn stands_out(
    level: &Partition,
    finer: Option<&Partition>,
    coarser: Option<&Partition>,
    distances: &Distances,
) -> bool {
    let cells = Cells::of(level, finer, coarser, distances);
    if !level.covers_all() && cells.inside.len() < FEW && cells.gap(distances) < ln(MIN_RATIO_OF_FEW) {
        return false;
    }
    let plain = cells.deviations(&vec![0.0; distances.len()], distances);
    if plain.is_some_and(|deviations| deviations >= MIN_DEVIATIONS) {
        return true;
    }
    // A core with a lower clock is slower to everybody. Where every CPU has a group that can be taken out; else the
    // CPUs without one are what the groups are compared with.
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
    fn of(
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
                } else if (level.of(low) != ALONE || level.of(high) != ALONE)
                    && coarser.is_none_or(|coarser| coarser.joins(low, high))
                {
                    cells.outside.push(pair);
                }
            }
        }
        cells
    }

    /// Distance of the two medians in deviations of the outside, after the offsets are taken out.
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

    /// From the slowest cell inside up to the fastest outside.
    fn gap(&self, distances: &Distances) -> f64 {
        let at = |&(low, high): &(u32, u32)| distances.at(low as usize, high as usize);
        let slowest = self.inside.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
        self.outside.iter().map(at).fold(f64::INFINITY, f64::min) - slowest
    }

    /// Each CPU's median over its outside cells.
    fn offsets(&self, distances: &Distances) -> Vec<f64> {
        let mut of: Vec<Vec<f64>> = vec![Vec::new(); distances.len()];
        for &(low, high) in &self.outside {
            let value = distances.at(low as usize, high as usize);
            of[low as usize].push(value);
            of[high as usize].push(value);
        }
        of.iter_mut().map(|values| median_in_place(values).unwrap_or(0.0)).collect()
    }
}

/// Values within this factor are about the same.
const CLOSE: f64 = 1.1;

/// Takes the chance groups out of levels that leave CPUs alone anyhow. Where every CPU has its place, a group that is
/// slower than the others is a slow corner of the machine. `levels` are finest first.
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
        let outside = Outside::of(&level[0], coarse.first(), distances);
        let own = own_cells(&level[0], finer.last(), distances);
        let stands = |group: &[usize]| {
            let cells = cells_of(group, finer.last(), distances);
            let height = median_in_place(&mut cells.clone()).unwrap_or(f64::NEG_INFINITY);
            let like_it = own.iter().filter(|&&cell| cell >= height - ln(CLOSE)).count();
            // Its own cells are among them where the group is one of the level.
            let like_it =
                like_it.saturating_sub(cells.iter().filter(|&&cell| cell >= height - ln(CLOSE)).count());
            outside.up_to(height + ln(CLOSE), home(coarse.first(), group[0])) <= like_it
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for group in level[0].groups() {
            if stands(group) {
                groups.push(group.clone());
                continue;
            }
            // A true pair with a chance third: the pair stays.
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

/// The cells that leave the groups of a level, by the coarser group that holds them, rising.
struct Outside {
    cells: BTreeMap<u32, Vec<f64>>,
}

impl Outside {
    fn of(level: &Partition, coarser: Option<&Partition>, distances: &Distances) -> Outside {
        let mut cells: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for high in 0..distances.len() {
            for low in (0..high).filter(|&low| !level.joins(low, high)) {
                if coarser.is_none_or(|coarser| coarser.joins(low, high)) {
                    cells.entry(home(coarser, low)).or_default().push(distances.at(low, high));
                }
            }
        }
        for cells in cells.values_mut() {
            cells.sort_unstable_by(f64::total_cmp);
        }
        Outside { cells }
    }

    /// How many cells around this group are at most so slow.
    fn up_to(&self, height: f64, home: u32) -> usize {
        self.cells.get(&home).map_or(0, |cells| cells.partition_point(|&cell| cell <= height))
    }
}

/// The cells of a group that no finer group holds.
fn cells_of(group: &[usize], finer: Option<&Partition>, distances: &Distances) -> Vec<f64> {
    let own = pairs(group).filter(|&(a, b)| finer.is_none_or(|finer| !finer.joins(a, b)));
    own.map(|(a, b)| distances.at(a, b)).collect()
}

fn own_cells(level: &Partition, finer: Option<&Partition>, distances: &Distances) -> Vec<f64> {
    level.groups().iter().flat_map(|group| cells_of(group, finer, distances)).collect()
}

fn home(coarser: Option<&Partition>, cpu: usize) -> u32 {
    coarser.map_or(ALONE, |coarser| coarser.of(cpu))
}

/// Fewer groups could be what a container was given.
const WHOLE: usize = 8;
/// Groups of a whole machine differ by less than this factor: some cores of a package may be off.
const MAX_UNEQUAL: usize = 4;

/// The level that divides a whole machine into the smallest groups below this one, if there is one.
pub(super) fn whole<'a>(
    level: &Partition,
    levels: impl Iterator<Item = &'a Partition>,
) -> Option<&'a Partition> {
    let finer = levels.filter(|finer| finer.pairs() < level.pairs() && finer.is_within(level));
    finer.filter(|finer| finer.regular().is_some()).max_by_key(|finer| finer.pairs())
}

/// Groups of a level that a finer one has too.
fn kept(level: &Partition, finer: &Partition) -> usize {
    level.groups().iter().filter(|group| finer.groups().contains(group)).count()
}

/// Whether a level leaves two groups or more of a whole machine as they are, or has groups of most different sizes.
pub(super) fn is_odd(level: &Partition, finer: Option<&Partition>) -> bool {
    let Some(finer) = finer.filter(|finer| finer.groups().len() >= WHOLE) else { return false };
    let sizes = level.groups().iter().map(Vec::len);
    let (least, most) = sizes.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
    kept(level, finer) > 1 || most >= MAX_UNEQUAL * least
}

/// The one group that a level adds to a whole machine of which it leaves others as they are: one socket of two that
/// shows, or one die of many.
pub(super) fn is_half(level: &Partition, finer: Option<&Partition>) -> Option<Vec<usize>> {
    let finer = finer?;
    let mut new = level.groups().iter().filter(|group| !finer.groups().contains(group));
    let (group, None) = (new.next()?, new.next()) else { return None };
    let is_half = 2 * group.len() == level.cpus();
    (kept(level, finer) > 1 && (is_half || finer.groups().len() >= WHOLE)).then(|| group.clone())
}

/// Whether all groups of a level are also groups of a whole machine, which has more that stand out: some of its pairs
/// read slower than the others.
pub(super) fn is_part(level: &Partition, levels: &[Partition], distances: &Distances) -> bool {
    let all: Vec<usize> = (0..distances.len()).collect();
    let others = levels.iter().filter(|whole| whole.regular().is_some() && whole.groups() != level.groups());
    let mut wholes = others.filter(|whole| level.groups().iter().all(|group| whole.groups().contains(group)));
    wholes.any(|whole| {
        let mut more = whole.groups().iter().filter(|group| !level.groups().contains(group));
        more.all(|group| tree::stands_out(group, &all, CLEAR_RATIO, distances))
    })
}
