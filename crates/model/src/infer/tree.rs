//! [`Tree`]: average linkage by nearest-neighbour chain.

use super::distances::Distances;
use crate::stats::median_in_place;

/// Noise that stays between cells of one relation however long each is measured: slices, distances on the die. Cells
/// with narrower intervals are not worth more than this says.
const SCATTER: f64 = 0.05;

/// A merge of two neighbours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Members are `leaves[start..end]`, those of the first child `leaves[start..middle]`.
    pub start: usize,
    pub middle: usize,
    pub end: usize,
    /// Median of the cells between the two children.
    pub height: f64,
    /// Median of the cells to the tree neighbour less `height`; infinite for the root.
    pub gap: f64,
}

impl Node {
    pub fn len(&self) -> usize {
        self.end - self.start
    }
}

/// Who merges with whom, from the nearest.
pub(super) struct Tree {
    /// Positions so that the members of each node stand together.
    pub leaves: Vec<usize>,
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Average linkage (Sokal and Michener 1958) by the nearest-neighbour chain (Benzécri 1982, Juan 1982; Murtagh 1983
    /// proves O(N²)). Means are weighted by what the intervals say; a weighted mean stays reducible, because it lies
    /// between the two that it joins.
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
        // The first leaf of each cluster, to find where its members stand.
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

/// Pairs of clusters in an order in which both exist: leaves are 0..n, merge m makes cluster n + m.
fn merges(distances: &Distances) -> Vec<[usize; 2]> {
    let n = distances.len();
    let mut mean: Vec<f64> = (0..n).flat_map(|row| distances.row(row).iter().copied()).collect();
    let weight_of = |a: usize, b: usize| {
        let width = distances.width(a, b);
        1.0 / (width * width + SCATTER * SCATTER)
    };
    let mut weight: Vec<f64> = if distances.has_widths() {
        (0..n * n).map(|at| weight_of(at / n, at % n)).collect()
    } else {
        Vec::new()
    };
    let mut size = vec![1.0; n];
    // The cluster that a row of the table stands for.
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
        // A tie goes to where the chain came from, or it would never end.
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
                let (a, b) = (weight[to_kept], weight[to_gone]);
                weight[to_kept] = a + b;
                weight[other * n + keep] = a + b;
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
