//! Where threads that talk should live: a placement with little latency, and what it gains.
//!
//! A placement costs Σ weight × latency over the pairs that talk. Starts come from recursive multisection over the tree
//! of groups, from greedy growth and from simple orders; each is made better by exchanges of groups and of single
//! threads; the best is taken, and where few threads allow it, proven to be the best of all.

mod candidates;
mod exact;
mod graph;
mod placement;
mod refine;
mod site;
mod starts;

pub use candidates::{Constraints, Sharing, candidates};
pub use graph::{Graph, GraphError, MOST_THREADS, Pattern};
pub use site::Site;

use crate::CpuId;
use crate::stats::Key;
use placement::Assignment;
use refine::{Effort, refine};

/// A placement and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The CPU of each thread.
    pub cpus: Vec<CpuId>,
    /// Latency in ns of what is said, by weight; `None` where nobody talks.
    pub mean_ns: Option<f64>,
    /// The slowest pair that talks, in ns.
    pub worst_ns: Option<f64>,
    /// Whether every placement was looked at.
    pub optimal: bool,
    /// What usual placements cost: `system-order`, `compact`, `spread`.
    pub baselines: Vec<Baseline>,
}

/// A placement that somebody would make without measuring.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Its stable name.
    pub name: &'static str,
    /// The CPU of each thread.
    pub cpus: Vec<CpuId>,
    /// Latency in ns of what is said, by weight; `None` where nobody talks.
    pub mean_ns: Option<f64>,
}

/// Changes to look at for each start, and for the proof: together well below a second.
const EFFORT: u64 = 20_000_000;
const EFFORT_OF_PROOF: u64 = 40_000_000;
/// Up to so many threads the best of all is looked for.
const PROVABLE: usize = 10;
/// Up to so many threads the search also begins at random placements, this often.
const RESTARTED: usize = 64;
const RESTARTS: u64 = 60;

/// Places every thread of a graph on a CPU of its own. Never worse than the simple orders: they are among the starts.
/// Where nobody talks, threads are spread.
///
/// # Panics
/// There are more threads than CPUs: [`candidates`] has refused that.
pub fn advise(graph: &Graph, site: &Site, seed: u64) -> Advice {
    let n = graph.len();
    assert!(n <= site.len(), "{n} threads on {} CPUs", site.len());
    let by_id: Vec<usize> = (0..site.len()).collect();
    let orders = [("system-order", by_id), ("compact", site.compact()), ("spread", site.spread())];
    let simple: Vec<(&'static str, Vec<u32>)> =
        orders.iter().map(|(name, order)| (*name, starts::in_order(n, order))).collect();
    let ids = |cpu_of: &[u32]| cpu_of.iter().map(|&cpu| site.cpus()[cpu as usize]).collect();
    let cost = |cpu_of: &[u32]| Assignment::new(graph, site, cpu_of.to_vec()).cost();
    let mean = |cpu_of: &[u32]| (graph.total() > 0.0).then(|| cost(cpu_of) / graph.total());
    let baselines = simple
        .iter()
        .map(|(name, cpu_of)| Baseline { name, cpus: ids(cpu_of), mean_ns: mean(cpu_of) })
        .collect();
    let (best, optimal) = if graph.total() > 0.0 {
        best_of(graph, site, simple, Key::of(&[seed]))
    } else {
        (starts::in_order(n, &site.spread()), false)
    };
    let pairs = graph.edges().map(|(a, b, _)| site.ns(best[a] as usize, best[b] as usize));
    Advice { cpus: ids(&best), mean_ns: mean(&best), worst_ns: pairs.reduce(f64::max), optimal, baselines }
}

fn best_of(graph: &Graph, site: &Site, simple: Vec<(&'static str, Vec<u32>)>, key: Key) -> (Vec<u32>, bool) {
    let mut tried: Vec<Vec<u32>> = vec![starts::multisection(graph, site), starts::greedy(graph, site)];
    tried.extend(simple.into_iter().map(|(_, cpu_of)| cpu_of));
    if graph.len() <= RESTARTED {
        for restart in 0..RESTARTS {
            let mut order: Vec<usize> = (0..site.len()).collect();
            key.with(1).with(restart).shuffle(&mut order);
            tried.push(starts::in_order(graph.len(), &order));
        }
    }
    let mut best: Option<(f64, Vec<u32>)> = None;
    let share = EFFORT / tried.len() as u64 * 5 / 2;
    for (index, start) in tried.into_iter().enumerate() {
        let mut assignment = Assignment::new(graph, site, start);
        refine(&mut assignment, key.with(index as u64), &mut Effort(share));
        let cost = assignment.cost();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, assignment.cpu_of));
        }
    }
    let (cost, cpu_of) = best.unwrap_or_default();
    if graph.len() > PROVABLE {
        return (cpu_of, false);
    }
    let (better, complete) = exact::search(graph, site, cost, &mut Effort(EFFORT_OF_PROOF));
    (better.unwrap_or(cpu_of), complete)
}
