//! The best placement of all, where few threads leave few enough to look at, and a bound that none can go below.

use super::assignment::{Effort, NONE};
use super::{CpuDistances, Graph};
use std::collections::BTreeMap;

/// Looks at every placement that could be better than `known` (depth first, with a bound: branch and bound, Land and
/// Doig 1960). The better one, if there is; and whether every one was looked at.
pub(super) fn search(
    graph: &Graph,
    distances: &CpuDistances,
    known: f64,
    effort: &mut Effort,
) -> (Option<Vec<u32>>, bool) {
    let n = graph.len();
    let cheapest = (0..distances.len())
        .flat_map(|a| (0..a).map(move |b| distances.ns(a, b)))
        .fold(f64::INFINITY, f64::min);
    // Those that talk most first: their cost is known early.
    let mut order: Vec<usize> = (0..n).collect();
    let talk = |thread: usize| graph.neighbours(thread).iter().map(|(_, weight)| weight).sum::<f64>();
    order.sort_by(|&a, &b| talk(b).total_cmp(&talk(a)));
    let mut search = Search {
        graph,
        distances,
        order,
        cheapest,
        best: known * (1.0 - 1e-12),
        found: None,
        cpu_of: vec![NONE; n],
        used: vec![false; distances.len()],
    };
    let complete = search.descend(0, 0.0, graph.total(), effort);
    (search.found, complete)
}

struct Search<'a> {
    graph: &'a Graph,
    distances: &'a CpuDistances,
    order: Vec<usize>,
    cheapest: f64,
    best: f64,
    found: Option<Vec<u32>>,
    cpu_of: Vec<u32>,
    used: Vec<bool>,
}

impl Search<'_> {
    /// False when the effort was spent before everything was looked at.
    fn descend(&mut self, depth: usize, cost: f64, open: f64, effort: &mut Effort) -> bool {
        let Some(&thread) = self.order.get(depth) else {
            self.best = cost;
            self.found = Some(self.cpu_of.clone());
            return true;
        };
        let mut choices: Vec<(f64, usize)> = Vec::new();
        let placed: Vec<(usize, f64)> = self
            .graph
            .neighbours(thread)
            .iter()
            .filter(|(other, _)| self.cpu_of[*other as usize] != NONE)
            .map(|&(other, weight)| (self.cpu_of[other as usize] as usize, weight))
            .collect();
        let still_open = open - placed.iter().map(|(_, weight)| weight).sum::<f64>();
        for cpu in (0..self.distances.len()).filter(|&cpu| !self.used[cpu]) {
            let added: f64 =
                placed.iter().map(|&(there, weight)| weight * self.distances.ns(cpu, there)).sum();
            choices.push((cost + added, cpu));
        }
        if !effort.spend(choices.len() * placed.len().max(1)) {
            return false;
        }
        choices.sort_by(|x, y| x.0.total_cmp(&y.0));
        for (cost, cpu) in choices {
            if cost + still_open * self.cheapest >= self.best {
                break;
            }
            self.used[cpu] = true;
            self.cpu_of[thread] = cpu as u32;
            let complete = self.descend(depth + 1, cost, still_open, effort);
            self.used[cpu] = false;
            self.cpu_of[thread] = NONE;
            if !complete {
                return false;
            }
        }
        true
    }
}

/// Steps above which only the cheap bound is taken: a dense graph of a thousand different threads would take seconds.
const MOST_STEPS: usize = 200_000_000;

/// Least cost, Σ weight × latency at the low ends of the intervals, that any placement could have. The larger of two
/// bounds: the heaviest pairs of threads on the cheapest pairs of CPUs; and each thread on the CPU where talking to its
/// neighbours as if they were the nearest CPUs costs least, threads that say the same on different CPUs (after Gilmore
/// 1962 and Lawler 1963, with the assignment left to threads that are alike).
pub(super) fn least_cost(graph: &Graph, distances: &CpuDistances) -> f64 {
    cheapest_pairs(graph, distances).max(nearest_cpus(graph, distances))
}

fn cheapest_pairs(graph: &Graph, distances: &CpuDistances) -> f64 {
    let mut weights: Vec<f64> = graph.edges().map(|(_, _, weight)| weight).collect();
    let pairs = (0..distances.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let mut costs: Vec<f64> = pairs.map(|(a, b)| distances.low(a, b)).collect();
    weights.sort_by(|x, y| y.total_cmp(x));
    costs.sort_by(f64::total_cmp);
    weights.iter().zip(costs).map(|(weight, cost)| weight * cost).sum()
}

fn nearest_cpus(graph: &Graph, distances: &CpuDistances) -> f64 {
    let mut alike: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    for thread in 0..graph.len() {
        let mut weights: Vec<f64> = graph.neighbours(thread).iter().map(|(_, weight)| *weight).collect();
        weights.sort_by(|x, y| y.total_cmp(x));
        // Positive numbers and their bits have one order.
        *alike.entry(weights.into_iter().map(f64::to_bits).collect()).or_default() += 1;
    }
    if alike.keys().map(Vec::len).sum::<usize>() * distances.len() > MOST_STEPS {
        return 0.0;
    }
    let nearest: Vec<Vec<f64>> = (0..distances.len())
        .map(|cpu| {
            let others = (0..distances.len()).filter(|&other| other != cpu);
            let mut row: Vec<f64> = others.map(|other| distances.low(cpu, other)).collect();
            row.sort_by(f64::total_cmp);
            row
        })
        .collect();
    let mut twice = 0.0;
    for (weights, count) in alike {
        let talk = |row: &Vec<f64>| -> f64 {
            weights.iter().zip(row).map(|(&bits, cost)| f64::from_bits(bits) * cost).sum()
        };
        let mut costs: Vec<f64> = nearest.iter().map(talk).collect();
        costs.sort_by(f64::total_cmp);
        twice += costs.iter().take(count).sum::<f64>();
    }
    // Both ends say it.
    twice / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, advise};
    use super::*;
    use crate::stats::Key;
    use crate::{CpuId, CpuSet};

    #[test]
    fn no_placement_goes_below_and_regular_machines_reach_it() {
        let half = |low: u32, high: u32| (low..high).map(CpuId).collect::<CpuSet>();
        for (noise, exact) in [(0.0, true), (0.3, false)] {
            let ns = move |a: CpuId, b: CpuId| {
                let level = if (a.0 < 8) == (b.0 < 8) { 20.0 } else { 80.0 };
                let key = Key::of(&[u64::from(a.0.min(b.0))]);
                Some(level * (1.0 + noise * key.uniform(u64::from(a.0.max(b.0)))))
            };
            let distances =
                CpuDistances::new((0..16).map(CpuId).collect(), ns, &[vec![half(0, 8), half(8, 16)]]);
            for pattern in [Pattern::Pairs, Pattern::AllToAll, Pattern::Ring] {
                for threads in [2, 5, 8, 12] {
                    let graph = Graph::of_pattern(pattern, threads);
                    let cost = advise(&graph, &distances, 1).mean.unwrap().point * graph.total();
                    let bound = least_cost(&graph, &distances);
                    assert!(bound <= cost * (1.0 + 1e-9), "{pattern:?} of {threads}: {bound} above {cost}");
                    let reached = (bound - cost).abs() < 1e-9 * cost;
                    // That twelve that all talk do not fit into one half it does not see.
                    let seen = threads <= 8 || pattern == Pattern::Pairs;
                    assert!(!exact || !seen || reached, "{pattern:?} of {threads}: {bound} of {cost}");
                }
            }
        }
    }
}
