//! [`Tree`]: average linkage by nearest-neighbour chain. Solid groups are nodes whose inside is clearly faster than the
//! cells that leave them.
//!
//! Each group is judged separately, because the same relation can be slower in one part of a machine: in a socket whose
//! cache lines have their home elsewhere, or on a core with a lower clock.

use super::distances::{Distances, forgiven};
use crate::stats::elementary::ln;
use crate::stats::median_in_place;

/// Noise between cells of one relation that longer measurement does not remove (slices, distances). Limits weights.
const SCATTER: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The members are `leaves[start..end]`, those of the first child `leaves[start..middle]`.
    pub start: usize,
    pub middle: usize,
    pub end: usize,
    pub height: f64,
    /// Median of the cells to the neighbour in the tree minus `height`; infinite for the root.
    pub gap: f64,
}

impl Node {
    pub fn len(&self) -> usize {
        self.end - self.start
    }
}

pub(super) struct Tree {
    /// Positions, ordered so that the members of each node are adjacent.
    pub leaves: Vec<usize>,
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Average linkage (Sokal and Michener 1958) by the nearest-neighbour chain (Benzécri 1982, Juan 1982; Murtagh 1983
    /// proves O(N²)). Means weighted by the intervals stay reducible, because they are between the two joined means.
    pub fn grow(distances: &Distances) -> Tree {
        let merges = merges(distances);
        Tree::of_merges(distances, &merges)
    }

    fn of_merges(distances: &Distances, merges: &[[usize; 2]]) -> Tree {
        let n = distances.len();
        // Leaves of each cluster: 0..n are single, n + m is merge m.
        let mut members: Vec<Vec<usize>> = (0..n).map(|leaf| vec![leaf]).collect();
        let mut spans: Vec<[usize; 2]> = Vec::with_capacity(merges.len());
        for &[a, b] in merges {
            let second = std::mem::take(&mut members[b]);
            let mut joined = std::mem::take(&mut members[a]);
            spans.push([joined.len(), second.len()]);
            joined.extend(second);
            members.push(joined);
        }
        let leaves = members.pop().unwrap_or_default();
        let mut position = vec![0; n];
        for (at, &leaf) in leaves.iter().enumerate() {
            position[leaf] = at;
        }
        let mut first: Vec<usize> = (0..n).collect();
        let mut parent = vec![usize::MAX; n + merges.len()];
        let mut nodes = Vec::with_capacity(merges.len());
        let mut cells = Vec::new();
        for (merge, (&[a, b], &[left, right])) in merges.iter().zip(&spans).enumerate() {
            first.push(first[a]);
            parent[a] = merge;
            parent[b] = merge;
            let start = position[first[a]];
            let (middle, end) = (start + left, start + left + right);
            cells.clear();
            for &i in &leaves[start..middle] {
                let row = distances.row(i);
                cells.extend(leaves[middle..end].iter().map(|&j| row[j]));
            }
            let height = median_in_place(&mut cells).unwrap_or(0.0);
            nodes.push(Node { start, middle, end, height, gap: f64::INFINITY });
        }
        for merge in 0..merges.len() {
            if let Some(above) = nodes.get(parent[n + merge]).map(|above| above.height) {
                nodes[merge].gap = above - nodes[merge].height;
            }
        }
        Tree { leaves, nodes }
    }

    pub fn members(&self, node: &Node) -> &[usize] {
        &self.leaves[node.start..node.end]
    }
}

/// Numbers of clusters: leaves are 0..n, merge m makes n + m.
fn merges(distances: &Distances) -> Vec<[usize; 2]> {
    let n = distances.len();
    let mut mean: Vec<f64> = (0..n).flat_map(|row| distances.row(row).iter().copied()).collect();
    let weight_of = |a: usize, b: usize| {
        let width = distances.width(a, b);
        1.0 / (width * width + SCATTER * SCATTER)
    };
    let mut weight: Vec<f64> = if distances.has_widths() {
        (0..n).flat_map(|high| (0..high).map(move |low| weight_of(high, low))).collect()
    } else {
        Vec::new()
    };
    let weight_at = |a: usize, b: usize| a.max(b) * (a.max(b) - 1) / 2 + a.min(b);
    let mut size = vec![1.0; n];
    let mut cluster: Vec<usize> = (0..n).collect();
    let mut alive: Vec<usize> = (0..n).collect();
    let mut chain: Vec<usize> = Vec::new();
    let mut merges = Vec::with_capacity(n.saturating_sub(1));
    while alive.len() > 1 {
        let Some(&tip) = chain.last() else {
            chain.push(alive[0]);
            continue;
        };
        let before = chain.len().checked_sub(2).map(|at| chain[at]);
        let row = &mean[tip * n..(tip + 1) * n];
        // A tie returns to the previous cluster of the chain. Otherwise the chain would never end.
        let (mut nearest, mut least) = match before {
            Some(before) => (before, row[before]),
            None => (usize::MAX, f64::INFINITY),
        };
        for &other in &alive {
            if other != tip && row[other] < least {
                (nearest, least) = (other, row[other]);
            }
        }
        if Some(nearest) != before {
            chain.push(nearest);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (keep, gone) = (tip.min(nearest), tip.max(nearest));
        merges.push([cluster[keep], cluster[gone]]);
        alive.retain(|&row| row != gone);
        for &other in alive.iter().filter(|&&other| other != keep) {
            let (to_kept, to_gone) = (keep * n + other, gone * n + other);
            let joined = if weight.is_empty() {
                (size[keep] * mean[to_kept] + size[gone] * mean[to_gone]) / (size[keep] + size[gone])
            } else {
                let at_kept = weight_at(keep, other);
                let (a, b) = (weight[at_kept], weight[weight_at(gone, other)]);
                weight[at_kept] = a + b;
                (a * mean[to_kept] + b * mean[to_gone]) / (a + b)
            };
            mean[to_kept] = joined;
            mean[other * n + keep] = joined;
        }
        size[keep] += size[gone];
        cluster[keep] = n + merges.len() - 1;
    }
    merges
}

const MIN_RATIO: f64 = 1.18;
/// Minimum ratio if several cells show it. The dies of a Threadripper 3945WX are 1.08 apart, on each of 144 pairs.
const MIN_RATIO_OF_SEVERAL: f64 = 1.07;
pub(super) const CLEAR_RATIO: f64 = 1.5;
/// Number of joined cells that count as several. The guard rejects groups of noise. With 20, more than a third of
/// planted machines with groups 1.08 to 1.1 apart and noise of 1 % were missed: the last core to join has few cells.
const SEVERAL: usize = 3;
const MIN_SEPARATION: f64 = 0.95;
const MIN_SEPARATION_OF_SEVERAL: f64 = 0.98;

pub(super) fn least_ratio(cells: usize) -> f64 {
    if cells >= SEVERAL { MIN_RATIO_OF_SEVERAL } else { MIN_RATIO }
}

pub(super) fn solid_nodes(tree: &Tree, distances: &Distances) -> Vec<Node> {
    let by_intervals = 1.0 + 4.0 * distances.median_width();
    let least = [MIN_RATIO, MIN_RATIO_OF_SEVERAL].map(|ratio| ln(ratio.max(by_intervals)));
    let mut separation = Separation::new();
    let mut is_solid = |node: &Node| {
        let joined = (node.middle - node.start) * (node.end - node.middle);
        let needed = match node.gap {
            gap if !gap.is_finite() => return false,
            gap if gap >= least[0] => MIN_SEPARATION,
            gap if gap >= least[1] && joined >= SEVERAL => MIN_SEPARATION_OF_SEVERAL,
            _ => return false,
        };
        separation_of(node, tree, distances, &mut separation).is_some_and(|share| share >= needed)
    };
    let mut solid: Vec<Node> = tree.nodes.iter().filter(|node| is_solid(node)).copied().collect();
    solid.sort_by_key(|node| (node.len(), node.start));
    solid
}

fn separation_of(
    node: &Node,
    tree: &Tree,
    distances: &Distances,
    separation: &mut Separation,
) -> Option<f64> {
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

pub(super) fn stands_out(group: &[usize], among: &[usize], least: f64, distances: &Distances) -> bool {
    let rest: Vec<usize> = among.iter().copied().filter(|cpu| !group.contains(cpu)).collect();
    let across = group.iter().flat_map(|&a| rest.iter().map(move |&b| (a, b)));
    let mut across: Vec<f64> = across.map(|(a, b)| distances.at(a, b)).collect();
    match (distances.inside(group), median_in_place(&mut across)) {
        (Some(inside), Some(across)) => across - inside >= ln(least),
        _ => true,
    }
}

/// Counts two kinds of cells by bin to estimate how often a cell of the first kind is faster than one of the second.
/// The estimate is the statistic of Mann and Whitney (1947) divided by the number of pairs. Ties count half.
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
        self.grow_to(bin);
        self.inside[usize::from(bin)] += 1;
    }

    pub fn outside(&mut self, bin: u16) {
        self.grow_to(bin);
        self.outside[usize::from(bin)] += 1;
    }

    fn grow_to(&mut self, bin: u16) {
        let bin = usize::from(bin);
        if bin >= self.inside.len() {
            self.inside.resize(bin + 1, 0);
            self.outside.resize(bin + 1, 0);
        }
        self.highest = self.highest.max(bin);
    }

    /// The share; `None` if one kind has no cell. Leaves out as many of the slowest inside cells as may be disturbed.
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
