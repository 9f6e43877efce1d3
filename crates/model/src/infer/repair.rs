//! Repair of levels with one usual group size, in which a disturbed cell made a random pair of two CPUs.

use super::distances::{Distances, pairs};
use super::levels::Partition;
use crate::stats::elementary::ln;
use std::collections::BTreeMap;

const MIN_GROUPS: usize = 3;
const MIN_SHARE: f64 = 0.6;
const SLOWER_BY: f64 = 1.1;
/// Limits the number of pairings that are tried: 105 for eight CPUs.
const MAX_EXHAUSTIVE: usize = 8;

/// Forms new groups of the CPUs outside the pattern of each level, from coarse to fine. `levels` are finest first.
pub(super) fn repair(levels: &mut [Partition], distances: &Distances) {
    for index in (0..levels.len()).rev() {
        let (fine, coarse) = levels.split_at_mut(index + 1);
        let coarser = coarse.first();
        if let Some(repaired) = repaired(&fine[index], coarser, distances) {
            // A finer level that no longer nests in this level is repaired later.
            fine[index] = repaired;
        }
    }
}

fn repaired(level: &Partition, coarser: Option<&Partition>, distances: &Distances) -> Option<Partition> {
    let size = pattern(level)?;
    let of_pattern: Vec<&Vec<usize>> = level.groups().iter().filter(|group| group.len() == size).collect();
    let slowest =
        of_pattern.iter().filter_map(|group| distances.inside(group)).fold(f64::NEG_INFINITY, f64::max);
    let limit = slowest + ln(SLOWER_BY);
    let mut groups: Vec<Vec<usize>> = of_pattern.into_iter().cloned().collect();
    let mut by_elimination = Vec::new();
    for cpus in leftovers(level, coarser) {
        let mut new = divide(&cpus, size, distances);
        new.retain(|group| distances.inside(group).is_some_and(|height| height <= limit));
        let is_placed = |new: &[Vec<usize>], cpu: usize| new.iter().any(|group| group.contains(&cpu));
        // A group of another size is replaced only by groups that take all its CPUs.
        let others = level.groups().iter().filter(|group| group.len() != size && cpus.contains(&group[0]));
        let kept: Vec<Vec<usize>> =
            others.filter(|group| !group.iter().all(|&cpu| is_placed(&new, cpu))).cloned().collect();
        new.retain(|group| !kept.iter().flatten().any(|cpu| group.contains(cpu)));
        let unplaced: Vec<usize> =
            cpus.iter().copied().filter(|&cpu| !is_placed(&new, cpu) && !is_placed(&kept, cpu)).collect();
        if size == 2 {
            let pairs = paired_by_elimination(&unplaced, distances);
            new.extend(pairs.iter().map(|pair| pair.to_vec()));
            by_elimination.extend(pairs);
        }
        groups.extend(kept);
        groups.extend(new);
    }
    let mut repaired = Partition::new(distances.len(), groups);
    repaired.by_elimination = by_elimination;
    (repaired != *level).then_some(repaired)
}

/// Pairs without a value, if each remaining CPU has exactly one such pair, so that the pairing is unique.
fn paired_by_elimination(unplaced: &[usize], distances: &Distances) -> Vec<[usize; 2]> {
    let partners = |cpu: usize| {
        unplaced.iter().copied().filter(move |&other| other != cpu && distances.is_missing(cpu, other))
    };
    if unplaced.iter().any(|&cpu| partners(cpu).count() != 1) {
        return Vec::new();
    }
    unplaced
        .iter()
        .flat_map(|&cpu| partners(cpu).map(move |other| [cpu, other]))
        .filter(|[a, b]| a < b)
        .collect()
}

/// CPUs outside the pattern of a level, by the coarser group that contains them; empty without a pattern.
pub(super) fn leftovers(level: &Partition, coarser: Option<&Partition>) -> Vec<Vec<usize>> {
    let Some(size) = pattern(level) else { return Vec::new() };
    let mut by_coarser: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for cpu in 0..level.cpus() {
        let in_pattern =
            level.groups().get(level.group_of(cpu) as usize).is_some_and(|group| group.len() == size);
        if !in_pattern {
            by_coarser.entry(coarser.map_or(0, |coarser| coarser.group_of(cpu))).or_default().push(cpu);
        }
    }
    by_coarser.into_values().filter(|cpus| cpus.len() > 1).collect()
}

fn pattern(level: &Partition) -> Option<usize> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for group in level.groups() {
        *sizes.entry(group.len()).or_default() += 1;
    }
    let (&size, &groups) = sizes.iter().max_by_key(|&(size, groups)| (size * groups, *size))?;
    let share = (size * groups) as f64 / level.cpus() as f64;
    (groups >= MIN_GROUPS && share >= MIN_SHARE).then_some(size)
}

fn divide(cpus: &[usize], size: usize, distances: &Distances) -> Vec<Vec<usize>> {
    if size == 2 && cpus.len() <= MAX_EXHAUSTIVE {
        return best_pairs(cpus, distances).1;
    }
    let mut remaining = cpus.to_vec();
    let mut groups = Vec::new();
    while remaining.len() >= size {
        let Some(group) = nearest_group(&remaining, size, distances) else { break };
        remaining.retain(|cpu| !group.contains(cpu));
        groups.push(group);
    }
    groups
}

fn best_pairs(cpus: &[usize], distances: &Distances) -> (f64, Vec<Vec<usize>>) {
    let Some((&first, rest)) = cpus.split_first() else { return (0.0, Vec::new()) };
    let mut best = (f64::INFINITY, Vec::new());
    for (at, &partner) in rest.iter().enumerate() {
        let mut others = rest.to_vec();
        others.remove(at);
        let (total, mut pairs) = best_pairs(&others, distances);
        let total = total + distances.at(first, partner);
        if total < best.0 {
            pairs.push(vec![first, partner]);
            best = (total, pairs);
        }
    }
    if cpus.len() % 2 == 1 {
        let (total, pairs) = best_pairs(rest, distances);
        if total < best.0 {
            best = (total, pairs);
        }
    }
    best
}

/// Disturbance only slows down, so the distance of a CPU is the lower median of its cells with the members.
fn nearest_group(remaining: &[usize], size: usize, distances: &Distances) -> Option<Vec<usize>> {
    let (a, b) = pairs(remaining).min_by(|x, y| distances.at(x.0, x.1).total_cmp(&distances.at(y.0, y.1)))?;
    let mut group = vec![a, b];
    while group.len() < size {
        let distance = |cpu: usize| {
            let mut cells: Vec<f64> = group.iter().map(|&member| distances.at(cpu, member)).collect();
            cells.sort_unstable_by(f64::total_cmp);
            cells[(cells.len() - 1) / 2]
        };
        let outside = remaining.iter().copied().filter(|cpu| !group.contains(cpu));
        let next = outside.min_by(|&x, &y| distance(x).total_cmp(&distance(y)))?;
        group.push(next);
    }
    Some(group)
}
