//! Clear cuts: levels supported by the whole matrix, however few CPUs each group has.
//!
//! Containers and clouds often provide all CPUs of one group, and single CPUs of other groups. The sizes of such groups
//! form no pattern. The tree is then cut as a whole: every pair inside a group is nearer than every pair across. A CPU
//! that is near to no other is a group of one, unless it is slow to all others.

use super::distances::{Distances, forgiven};
use super::levels::{ALONE, Partition};
use super::tree::{CLEAR_RATIO, Tree};
use super::{guard, tree};
use crate::stats::elementary::{exp, ln};
use crate::stats::median_in_place;

/// Minimum ratio of the fastest pair across to the slowest pair inside. With noise of 25 % on six cells, one matrix in
/// a hundred has such a gap. [`CLEAR_RATIO`] is enough if the groups are unlikely to be random.
const MIN_RATIO: f64 = 1.75;
/// Minimum ratio if, in addition, every CPU is in a group and no group is merely the remainder of the others.
const MIN_RATIO_OF_MANY: f64 = 1.05;
/// Minimum [`surprise`] of groups of groups, a logarithm. Random groups reach it in less than one of 400 matrices.
const SURPRISE: f64 = 6.0;
/// Minimum [`surprise`] of groups of CPUs. Random groups reach it in less than one of 10⁵ matrices.
const SURPRISE_OF_CPUS: f64 = 11.5;
/// Minimum ratio for levels of four or five CPUs that are found by their sizes. Simulated: of random choices of four
/// CPUs from a mesh of 8 × 8 cores, one of 70 has such a gap, and one of five has a gap of any size. Of random choices
/// of five CPUs, one of 140 has such a gap, and one of 2.6 has a gap of any size.
const MIN_RATIO_OF_FEW: f64 = 1.25;
const MIN_SHARE: f64 = 0.5;

const MAX_WEAK: usize = 10;

pub(super) enum Cut {
    Level(Partition),
    /// One group, and the only CPU outside, which is far away or slow.
    AllBut(Partition, usize),
}

/// All cuts of the tree with a gap above them, finest first.
pub(super) fn candidates(tree: &Tree, distances: &Distances) -> Vec<(Partition, f64)> {
    let mut heights: Vec<f64> = tree.nodes.iter().map(|node| node.height).collect();
    heights.sort_unstable_by(f64::total_cmp);
    let gaps = heights.windows(2).filter(|pair| pair[1] - pair[0] >= ln(MIN_RATIO_OF_MANY));
    let cuts = gaps.map(|pair| cut(pair[0], tree, distances.len()));
    let with_gap = cuts.filter_map(|partition| Some((gap(&partition, distances)?, partition)));
    let wide = with_gap.filter(|(gap, _)| *gap >= ln(MIN_RATIO_OF_MANY));
    wide.map(|(gap, partition)| (partition, gap)).collect()
}

fn cut(height: f64, tree: &Tree, cpus: usize) -> Partition {
    let mut nodes: Vec<_> = tree.nodes.iter().filter(|node| node.height <= height).collect();
    nodes.sort_unstable_by_key(|node| (node.start, std::cmp::Reverse(node.end)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut end = 0;
    for node in nodes {
        if node.start >= end {
            groups.push(tree.members(node).to_vec());
            end = node.end;
        }
    }
    Partition::new(cpus, groups)
}

/// Judges a cut. `finer` is the level that divides the whole machine into the smallest groups, if any.
pub(super) fn judge(
    partition: &Partition,
    gap: f64,
    finer: Option<&Partition>,
    distances: &Distances,
) -> Option<Cut> {
    let surprise = surprise(partition, finer);
    if partition.covers_all() {
        let is_new = |group: &&Vec<usize>| finer.is_none_or(|finer| !finer.groups().contains(group));
        let least = if finer.is_some() { SURPRISE } else { SURPRISE_OF_CPUS };
        if partition.groups().iter().filter(is_new).count() > 1
            && surprise >= least
            && !guard::is_odd(partition, finer)
        {
            return Some(Cut::Level(partition.clone()));
        }
    }
    if gap < ln(if surprise >= SURPRISE { CLEAR_RATIO } else { MIN_RATIO }) {
        return None;
    }
    let single: Vec<usize> = (0..distances.len()).filter(|&cpu| partition.group_of(cpu) == ALONE).collect();
    // Two single CPUs without a value for their pair could be a group.
    if !single.iter().all(|&a| single.iter().all(|&b| a == b || distances.is_known(a, b))) {
        return None;
    }
    match (partition.groups(), &single[..]) {
        ([_], &[cpu]) => Some(Cut::AllBut(partition.clone(), cpu)),
        _ => {
            single.iter().all(|&cpu| is_far(cpu, partition, distances)).then(|| Cut::Level(partition.clone()))
        }
    }
}

/// Whether a level found by its sizes has two new groups, nearly all of which stand out within their clear group.
pub(super) fn adds_information(level: &Partition, clear: &[Partition], distances: &Distances) -> bool {
    if clear.iter().any(|clear| clear.groups() == level.groups()) {
        return true;
    }
    let known = |group: &&Vec<usize>| clear.iter().any(|clear| clear.groups().contains(group));
    let new: Vec<&Vec<usize>> = level.groups().iter().filter(|group| !known(group)).collect();
    // A group that fills its clear group leaves no other CPUs for a comparison.
    let stands = |group: &Vec<usize>| {
        let is_measured = group.len() > 2 || distances.is_known(group[0], group[1]);
        let least = |rest: usize| tree::least_ratio(group.len() * rest);
        !is_measured
            || clear.iter().all(|clear| {
                let whole = clear.groups().get(clear.group_of(group[0]) as usize);
                whole.is_none_or(|whole| {
                    tree::stands_out(group, whole, least(whole.len().saturating_sub(group.len())), distances)
                })
            })
    };
    let weak = new.iter().filter(|group| !stands(group)).count();
    new.len() > 1 && weak * MAX_WEAK <= new.len()
}

/// Whether every pair inside the groups is nearer than every pair across, by a margin that is rare in a mesh.
pub(super) fn has_gap(level: &Partition, distances: &Distances) -> bool {
    gap(level, distances).is_some_and(|gap| gap >= ln(MIN_RATIO_OF_FEW))
}

/// The gap between the slowest undisturbed pair inside and the fastest pair across. `None` if the inside is below the
/// step of the clock: zeros are not fast pairs.
fn gap(partition: &Partition, distances: &Distances) -> Option<f64> {
    let mut inside: Vec<Vec<f64>> = vec![Vec::new(); partition.groups().len()];
    let mut fastest = f64::INFINITY;
    for high in 0..distances.len() {
        for low in 0..high {
            let value = distances.at(low, high);
            if partition.joins(low, high) {
                inside[partition.group_of(low) as usize].push(value);
            } else {
                fastest = fastest.min(value);
            }
        }
    }
    let mut slowest = f64::NEG_INFINITY;
    for cells in &mut inside {
        cells.sort_unstable_by(f64::total_cmp);
        let kept = cells.len() - forgiven(cells.len() as f64) as usize;
        slowest = slowest.max(*cells[..kept].last()?);
    }
    let is_resolved = distances.floor().is_none_or(|floor| slowest > floor);
    (is_resolved && fastest.is_finite()).then_some(fastest - slowest)
}

/// Logarithm of the number of choices of this many pairs, divided by the number of those that form groups of these
/// sizes. The units are the groups of the finer level, if any, because their cells belong together, otherwise the CPUs.
fn surprise(partition: &Partition, finer: Option<&Partition>) -> f64 {
    let size = finer.and_then(Partition::regular).unwrap_or(1);
    let n = partition.cpus() / size;
    let mut sizes: Vec<usize> = partition.groups().iter().map(|group| group.len() / size).collect();
    sizes.sort_unstable();
    let pairs = |n: usize| n * n.saturating_sub(1) / 2;
    let inside = sizes.iter().map(|&size| pairs(size)).sum();
    let choices = log_factorial(pairs(n)) - log_factorial(inside) - log_factorial(pairs(n) - inside);
    let members: f64 = sizes.iter().map(|&size| log_factorial(size)).sum();
    let alike: f64 = sizes.chunk_by(|a, b| a == b).map(|run| log_factorial(run.len())).sum();
    let single = n - sizes.iter().sum::<usize>();
    choices - (log_factorial(n) - members - alike - log_factorial(single))
}

fn log_factorial(n: usize) -> f64 {
    (2..=n).map(|factor| ln(factor as f64)).sum()
}

fn is_far(cpu: usize, partition: &Partition, distances: &Distances) -> bool {
    detour(cpu, partition, distances).is_some_and(|(_, share)| share >= MIN_SHARE)
}

/// The group of a single CPU according to its row, if it is as slow to this group as to all others.
pub(super) fn slower_group<'a>(
    cpu: usize,
    partition: &'a Partition,
    distances: &Distances,
) -> Option<&'a Vec<usize>> {
    let (group, share) = detour(cpu, partition, distances)?;
    (partition.group_of(cpu) == ALONE && share < MIN_SHARE).then_some(group)
}

/// The group nearest to a single CPU, and a share: about 1 if the CPU is far from the group, about 0 if the CPU is
/// slow. A slow CPU is farther from third CPUs than the group is. The difference is the CPU's extra distance from the
/// group. On a tree both distances are equal (the four-point condition, Buneman 1971), which is impossible for slow
/// single leaves.
fn detour<'a>(cpu: usize, partition: &'a Partition, distances: &Distances) -> Option<(&'a Vec<usize>, f64)> {
    let between = |group: &[usize], cpu: usize| {
        median_in_place(&mut group.iter().map(|&member| distances.at(member, cpu)).collect::<Vec<f64>>())
    };
    let nearest = partition.groups().iter().filter_map(|group| Some((between(group, cpu)?, group)));
    let (away, group) = nearest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let inside = distances.inside(group)?;
    let mut shares: Vec<f64> = (0..distances.len())
        .filter(|&third| third != cpu && !group.contains(&third))
        .filter_map(|third| {
            let (theirs, its) = (between(group, third)?, distances.at(cpu, third));
            let nearer = away.min(theirs);
            let share = |value: &dyn Fn(f64) -> f64| {
                (value(away) + value(theirs) - value(inside) - value(its)) / (value(nearer) - value(inside))
            };
            // A low clock multiplies latencies. A longer path adds to them.
            Some(share(&|log| log).min(share(&exp)))
        })
        .collect();
    Some((group, median_in_place(&mut shares)?))
}
