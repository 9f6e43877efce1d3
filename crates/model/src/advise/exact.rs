//! The best placement of all, where few threads leave few enough to look at.

use super::placement::NONE;
use super::refine::Effort;
use super::{CpuDistances, Graph};

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
