//! Threads on CPUs, their communication cost, and exchanges of threads that reduce the cost.

use super::{CpuDistances, Graph};
use crate::stats::Key;

pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct Assignment<'a> {
    pub graph: &'a Graph,
    pub distances: &'a CpuDistances,
    pub cpu_of: Vec<u32>,
    pub thread_on: Vec<u32>,
}

impl<'a> Assignment<'a> {
    pub fn new(graph: &'a Graph, distances: &'a CpuDistances, cpu_of: Vec<u32>) -> Assignment<'a> {
        let mut thread_on = vec![NONE; distances.len()];
        for (thread, &cpu) in cpu_of.iter().enumerate() {
            thread_on[cpu as usize] = thread as u32;
        }
        Assignment { graph, distances, cpu_of, thread_on }
    }

    /// Σ weight × ns over all communicating pairs.
    pub fn cost(&self) -> f64 {
        self.graph
            .edges()
            .map(|(a, b, weight)| {
                weight * self.distances.ns(self.cpu_of[a] as usize, self.cpu_of[b] as usize)
            })
            .sum()
    }

    fn cost_of(&self, thread: usize, cpu: usize, excluded: u32) -> f64 {
        self.graph
            .neighbours(thread)
            .iter()
            .filter(|(other, _)| *other != excluded)
            .map(|&(other, weight)| weight * self.distances.ns(cpu, self.cpu_of[other as usize] as usize))
            .sum()
    }

    /// Reduction of the cost if `thread` and the thread on CPU `to`, if any, change places.
    pub fn gain(&self, thread: usize, to: usize) -> f64 {
        let from = self.cpu_of[thread] as usize;
        let other = self.thread_on[to];
        let mut gain = self.cost_of(thread, from, other) - self.cost_of(thread, to, other);
        if other != NONE {
            let me = thread as u32;
            gain += self.cost_of(other as usize, to, me) - self.cost_of(other as usize, from, me);
        }
        gain
    }

    pub fn exchange(&mut self, thread: usize, to: usize) {
        let from = self.cpu_of[thread] as usize;
        let other = self.thread_on[to];
        self.cpu_of[thread] = to as u32;
        self.thread_on[to] = thread as u32;
        self.thread_on[from] = other;
        if other != NONE {
            self.cpu_of[other as usize] = from as u32;
        }
    }
}

/// Remaining number of changes to examine, in place of a time limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort(pub u64);

impl Effort {
    pub fn spend(&mut self, cost: usize) -> bool {
        let enough = self.0 > cost as u64;
        self.0 = self.0.saturating_sub(cost as u64);
        enough
    }
}

/// A gain below this share of the cost is a rounding error.
const ROUNDING: f64 = 1e-12;
const MAX_NEIGHBOURS: usize = 12;

pub(super) fn refine(assignment: &mut Assignment<'_>, key: Key, effort: &mut Effort) {
    let min_gain = ROUNDING * assignment.cost();
    for round in 0.. {
        let mut better = false;
        for level in 0..assignment.distances.levels().len() {
            better |= exchange_groups(assignment, level, min_gain, effort);
        }
        better |= exchange_threads(assignment, key.with(round), min_gain, effort);
        if !better || effort.0 == 0 {
            return;
        }
    }
}

/// Tries all CPUs if there are at most 64, otherwise the CPUs near the partners of a thread.
fn exchange_threads(assignment: &mut Assignment<'_>, key: Key, min_gain: f64, effort: &mut Effort) -> bool {
    let mut order: Vec<usize> = (0..assignment.graph.len()).collect();
    key.shuffle(&mut order);
    let small = assignment.distances.len() <= 64;
    let mut candidates: Vec<u32> = Vec::new();
    let mut better = false;
    for thread in order {
        candidates.clear();
        let partners = assignment.graph.neighbours(thread);
        if partners.is_empty() {
            continue;
        }
        if small {
            candidates.extend(0..assignment.distances.len() as u32);
        } else {
            let mut heaviest: Vec<(u32, f64)> = partners.to_vec();
            if heaviest.len() > MAX_NEIGHBOURS {
                heaviest.select_nth_unstable_by(MAX_NEIGHBOURS, |x, y| y.1.total_cmp(&x.1));
                heaviest.truncate(MAX_NEIGHBOURS);
            }
            for (other, _) in heaviest {
                candidates.extend(assignment.distances.near(assignment.cpu_of[other as usize] as usize));
            }
            candidates.sort_unstable();
            candidates.dedup();
        }
        let mut best = (min_gain, NONE);
        for &cpu in &candidates {
            if cpu == assignment.cpu_of[thread] {
                continue;
            }
            if !effort.spend(2 * partners.len()) {
                return better;
            }
            let gain = assignment.gain(thread, cpu as usize);
            if gain > best.0 {
                best = (gain, cpu);
            }
        }
        if best.1 != NONE {
            assignment.exchange(thread, best.1 as usize);
            better = true;
        }
    }
    better
}

fn exchange_groups(
    assignment: &mut Assignment<'_>,
    level: usize,
    min_gain: f64,
    effort: &mut Effort,
) -> bool {
    let distances = assignment.distances;
    let groups = &distances.levels()[level];
    let mut better = false;
    for first in 0..groups.len() {
        for second in first + 1..groups.len() {
            let (a, b) = (&groups[first], &groups[second]);
            if a.len() != b.len() || a.len() < 2 {
                continue;
            }
            let around: usize = a
                .iter()
                .chain(b)
                .filter(|&&cpu| assignment.thread_on[cpu] != NONE)
                .map(|&cpu| assignment.graph.neighbours(assignment.thread_on[cpu] as usize).len())
                .sum();
            if !effort.spend(2 * around) {
                return better;
            }
            let before = cost_around(assignment, level, [first, second]);
            swap(assignment, a, b);
            if before - cost_around(assignment, level, [first, second]) > min_gain {
                better = true;
            } else {
                swap(assignment, a, b);
            }
        }
    }
    better
}

fn swap(assignment: &mut Assignment<'_>, a: &[usize], b: &[usize]) {
    for (&x, &y) in a.iter().zip(b) {
        match (assignment.thread_on[x], assignment.thread_on[y]) {
            (NONE, NONE) => {}
            (NONE, thread) => assignment.exchange(thread as usize, x),
            (thread, _) => assignment.exchange(thread as usize, y),
        }
    }
}

fn cost_around(assignment: &Assignment<'_>, level: usize, pair: [usize; 2]) -> f64 {
    let distances = assignment.distances;
    let (mut outside, mut among) = (0.0, 0.0);
    for &cpu in pair.iter().flat_map(|&group| &distances.levels()[level][group]) {
        let thread = assignment.thread_on[cpu];
        if thread == NONE {
            continue;
        }
        for &(other, weight) in assignment.graph.neighbours(thread as usize) {
            let other_cpu = assignment.cpu_of[other as usize] as usize;
            let cost = weight * distances.ns(cpu, other_cpu);
            let inside = pair.contains(&(distances.group_of(level, other_cpu) as usize));
            // Communication between the two groups is counted at both ends.
            if inside { among += cost } else { outside += cost }
        }
    }
    outside + among / 2.0
}
