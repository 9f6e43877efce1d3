//! Chance groups: where CPUs are without a group of their own, two of them may be the nearest of the rest.
//!
//! A group is one of chance if more cells around it are about as fast as it is than other groups of its level are as
//! slow. A disturbed cell makes a true group slow too, but lies where few others are.

use super::distances::Distances;
use super::partition::{ALONE, Partition};
use super::tree::{Node, Tree};
use crate::stats::elementary::ln;
use crate::stats::median_in_place;
use std::collections::BTreeMap;

/// Values within this factor are about the same.
const CLOSE: f64 = 1.1;

/// Takes the chance groups out of levels that leave CPUs alone anyhow. Where every CPU has its place, a group that is
/// slower than the others is a slow corner of the machine. `levels` are finest first.
pub(super) fn drop(levels: &mut [Partition], solid: &[Node], tree: &Tree, distances: &Distances) {
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
    let pairs = (0..group.len()).flat_map(|high| (0..high).map(move |low| (group[low], group[high])));
    let own = pairs.filter(|&(a, b)| finer.is_none_or(|finer| !finer.joins(a, b)));
    own.map(|(a, b)| distances.at(a, b)).collect()
}

fn own_cells(level: &Partition, finer: Option<&Partition>, distances: &Distances) -> Vec<f64> {
    level.groups().iter().flat_map(|group| cells_of(group, finer, distances)).collect()
}

fn home(coarser: Option<&Partition>, cpu: usize) -> u32 {
    coarser.map_or(ALONE, |coarser| coarser.of(cpu))
}
