//! Solid groups: nodes of the tree whose inside is clearly faster than the way out, judged one by one; [`Separation`]: how
//! often a cell of one kind is faster than one of another.
//!
//! One cut through the whole tree would judge all groups by one height, but the same relation can be slower in one
//! corner of a machine: a socket whose lines live elsewhere, a core with a lower clock.

use super::distances::Distances;
use super::tree::{Node, Tree};
use crate::stats::elementary::ln;
use crate::stats::median_in_place;

/// Leaving a group costs at least this factor …
const LEAST_RATIO: f64 = 1.18;
/// … or this one, where several cells say so: the second die of a Threadripper 3945WX is 1.08 times as far as the first,
/// on each of 144 pairs.
const LEAST_RATIO_OF_SEVERAL: f64 = 1.07;
/// A group that is nearer inside than to others by this factor stands out clearly.
pub(super) const CLEAR_RATIO: f64 = 1.5;
/// So many joined cells are several. Those of noise have such a factor too; the guard refuses them. (Asked for 20, more
/// than a third of the planted machines were missed whose groups lie 1.08 to 1.1 apart under noise of 1 %: the last core
/// to join a group has few cells.)
const SEVERAL: usize = 3;
/// A joined cell is faster than one leaving the group at least so often …
const LEAST_SEPARATION: f64 = 0.95;
/// … and so often where the factor is small.
const LEAST_SEPARATION_OF_SEVERAL: f64 = 0.98;

/// The factor that leaving a group costs at least, where so many cells say so.
pub(super) fn least_ratio(cells: usize) -> f64 {
    if cells >= SEVERAL { LEAST_RATIO_OF_SEVERAL } else { LEAST_RATIO }
}

/// The solid nodes of the tree, smallest first.
pub(super) fn nodes(tree: &Tree, distances: &Distances) -> Vec<Node> {
    let by_intervals = 1.0 + 4.0 * distances.median_width();
    let least = [LEAST_RATIO, LEAST_RATIO_OF_SEVERAL].map(|ratio| ln(ratio.max(by_intervals)));
    let mut separation = Separation::new();
    let mut is_solid = |node: &Node| {
        let joined = (node.middle - node.start) * (node.end - node.middle);
        let needed = match node.gap {
            gap if !gap.is_finite() => return false,
            gap if gap >= least[0] => LEAST_SEPARATION,
            gap if gap >= least[1] && joined >= SEVERAL => LEAST_SEPARATION_OF_SEVERAL,
            _ => return false,
        };
        separated(node, tree, distances, &mut separation).is_some_and(|share| share >= needed)
    };
    let mut solid: Vec<Node> = tree.nodes.iter().filter(|node| is_solid(node)).copied().collect();
    solid.sort_by_key(|node| (node.len(), node.start));
    solid
}

fn separated(node: &Node, tree: &Tree, distances: &Distances, separation: &mut Separation) -> Option<f64> {
    separation.clear();
    for &i in &tree.leaves[node.start..node.middle] {
        for &j in &tree.leaves[node.middle..node.end] {
            separation.inside(distances.bin(i, j));
        }
    }
    let outside = tree.leaves[..node.start].iter().chain(&tree.leaves[node.end..]);
    for &j in outside {
        for &i in tree.members(node) {
            separation.outside(distances.bin(j, i));
        }
    }
    separation.share()
}

/// Whether a group is nearer inside than to other CPUs by this factor.
pub(super) fn stands_out(group: &[usize], among: &[usize], least: f64, distances: &Distances) -> bool {
    let rest: Vec<usize> = among.iter().copied().filter(|cpu| !group.contains(cpu)).collect();
    let across = group.iter().flat_map(|&a| rest.iter().map(move |&b| (a, b)));
    let mut across: Vec<f64> = across.map(|(a, b)| distances.at(a, b)).collect();
    match (distances.inside(group), median_in_place(&mut across)) {
        (Some(inside), Some(across)) => across - inside >= ln(least),
        _ => true,
    }
}

/// Share of cells that may be disturbed. Disturbance only slows down, so that these may lie anywhere above.
const BAD_CELLS: f64 = 0.05;

/// So many of these cells may be disturbed, but for one time in twenty (normal approximation of the binomial); none of
/// fewer than five.
pub(super) fn forgiven(cells: f64) -> f64 {
    (BAD_CELLS * cells + 1.645 * (cells * BAD_CELLS * (1.0 - BAD_CELLS)).sqrt()).floor()
}

/// Counts of two kinds of cells by bin, to say how often one of the first is faster than one of the second: the
/// statistic of Mann and Whitney (1947) divided by the number of pairs, ties counted half.
pub(super) struct Separation {
    inside: Vec<u32>,
    outside: Vec<u32>,
    highest: usize,
}

impl Separation {
    pub fn new() -> Separation {
        Separation { inside: Vec::new(), outside: Vec::new(), highest: 0 }
    }

    pub fn clear(&mut self) {
        let end = self.end();
        self.inside[..end].fill(0);
        self.outside[..end].fill(0);
        self.highest = 0;
    }

    pub fn inside(&mut self, bin: u16) {
        self.reach(bin);
        self.inside[usize::from(bin)] += 1;
    }

    pub fn outside(&mut self, bin: u16) {
        self.reach(bin);
        self.outside[usize::from(bin)] += 1;
    }

    fn reach(&mut self, bin: u16) {
        let bin = usize::from(bin);
        if bin >= self.inside.len() {
            self.inside.resize(bin + 1, 0);
            self.outside.resize(bin + 1, 0);
        }
        self.highest = self.highest.max(bin);
    }

    /// The share; `None` where one kind has no cell. The slowest cells of the inside are left out, as many as may
    /// be disturbed.
    pub fn share(&self) -> Option<f64> {
        let total: u32 = self.inside[..self.end()].iter().sum();
        let kept = f64::from(total) - forgiven(f64::from(total));
        let (mut faster, mut inside_so_far, mut all_outside) = (0.0, 0.0, 0.0);
        for (&inside, &outside) in self.inside.iter().zip(&self.outside).take(self.end()) {
            let (inside, outside) = (f64::from(inside).min(kept - inside_so_far), f64::from(outside));
            faster += outside * (inside_so_far + inside / 2.0);
            inside_so_far += inside;
            all_outside += outside;
        }
        let pairs = inside_so_far * all_outside;
        (pairs > 0.0).then(|| faster / pairs)
    }

    fn end(&self) -> usize {
        (self.highest + 1).min(self.inside.len())
    }
}
