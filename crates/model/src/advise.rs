//! Placement of communicating threads with low latency, and its gain.
//!
//! The cost of a placement is Σ weight × latency over the communicating pairs. Starts are recursive multisection,
//! greedy growth and simple orders. Exchanges of groups and threads improve each start.

mod assignment;
mod candidates;
mod distances;
mod graph;
mod price;
mod proof;
mod search;

pub use candidates::{CandidateError, Constraints, Sharing, candidates, likely_cores, siblings_left_out};
pub use distances::{CpuDistances, TooNear, without_too_near};
pub use graph::{Graph, GraphError, MAX_THREADS, Pattern};
pub use price::Bracket;
pub use proof::{ADVISED, Against, Claim, ClaimArm, Proof, ProofVerdict, stand_in};

use crate::CpuId;
use crate::stats::Key;
use assignment::{Assignment, Effort, refine};
use price::Traffic;

/// A placement of threads, with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The CPU of each thread.
    pub cpus: Vec<CpuId>,
    /// Weighted mean latency, in the unit of the distances; `None` without communication.
    pub mean: Option<Bracket>,
    /// Latency of the slowest communicating pair, in the unit of the distances.
    pub worst: Option<f64>,
    /// Whether every placement was examined.
    pub optimal: bool,
    /// Upper bound of the share of `mean` that another placement can save. `None` above 0.3 or without communication.
    pub slack: Option<f64>,
    /// Costs of the placements `system-order`, `compact` and `spread`, and the mean over all placements, `anywhere`.
    pub baselines: Vec<Baseline>,
    /// The reason for the placement.
    pub ground: Ground,
}

named! {
    /// The reason for a placement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Ground {
        /// A usual placement costs more, whatever the exact latencies within their intervals.
        Latency = "latency",
        /// The threads do not communicate, and are spread over groups of CPUs.
        Structure = "structure",
        /// No placement is shown to be better than another. The placement is arbitrary.
        Nothing = "none",
    }
}

/// A usual placement that needs no measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Stable name.
    pub name: &'static str,
    /// The CPU of each thread; empty for `anywhere`, which is a mean over placements.
    pub cpus: Vec<CpuId>,
    /// Weighted mean latency, in the unit of the distances; `None` without communication.
    pub mean: Option<Bracket>,
    /// Relative excess of the cost over the advised placement.
    pub excess: Option<Bracket>,
}

impl Baseline {
    /// Whether this placement costs more than the advised one, beyond rounding errors.
    pub fn is_worse(&self) -> bool {
        self.excess.is_some_and(|excess| excess.low > MIN_SHOWN_EXCESS)
    }
}

/// Smaller excesses may be rounding errors.
const MIN_SHOWN_EXCESS: f64 = 1e-6;
const MAX_SLACK: f64 = 0.3;
/// Limit of examined changes, in place of a time limit: all starts together take 2.5 × `EFFORT`, well below a second.
const EFFORT: u64 = 20_000_000;
const EFFORT_OF_PROOF: u64 = 40_000_000;
const MAX_PROVABLE_THREADS: usize = 10;
const MAX_RESTARTED_THREADS: usize = 64;
const RESTARTS: u64 = 60;

/// Places every thread of a graph on a CPU of its own. Threads without communication are spread.
///
/// # Panics
/// If there are more threads than CPUs, which [`candidates()`] rejects.
pub fn advise(graph: &Graph, distances: &CpuDistances, seed: u64) -> Advice {
    let n = graph.len();
    assert!(n <= distances.len(), "{n} threads on {} CPUs", distances.len());
    let by_id: Vec<usize> = (0..distances.len()).collect();
    let orders = [("system-order", by_id), ("compact", distances.compact()), ("spread", distances.spread())];
    let simple: Vec<(&'static str, Vec<u32>)> =
        orders.iter().map(|(name, order)| (*name, search::in_order(n, order))).collect();
    let ids =
        |cpu_of: &[u32]| cpu_of.iter().map(|&cpu| distances.cpus()[cpu as usize]).collect::<Vec<CpuId>>();
    let (cheapest, optimal) = if graph.total() > 0.0 {
        best_of(graph, distances, simple.clone(), Key::from_words(&[seed]))
    } else {
        (search::in_order(n, &distances.spread()), false)
    };
    let best = simplest_not_worse(graph, distances, &cheapest, &simple);
    let traffic = Traffic::new(graph, distances, &best);
    let mean = traffic.as_ref().map(|traffic| traffic.expected_ns(distances));
    let least = Traffic::new(graph, distances, &cheapest).map(|traffic| traffic.expected_ns(distances).point);
    let baseline = |name, cpus: Vec<CpuId>, other: Option<Traffic>| {
        let excess =
            traffic.as_ref().zip(other.as_ref()).map(|(traffic, other)| traffic.excess(other, distances));
        Baseline { name, cpus, mean: other.map(|other| other.expected_ns(distances)), excess }
    };
    let mut baselines: Vec<Baseline> = simple
        .iter()
        .map(|(name, cpu_of)| baseline(name, ids(cpu_of), Traffic::new(graph, distances, cpu_of)))
        .collect();
    baselines.push(baseline("anywhere", Vec::new(), traffic.as_ref().map(|_| Traffic::anywhere(distances))));
    let pairs = graph.edges().map(|(a, b, _)| distances.ns(best[a] as usize, best[b] as usize));
    let worst = pairs.reduce(f64::max);
    let slack = mean.zip(least).map(|(mean, least)| slack(graph, distances, &mean, optimal.then_some(least)));
    let slack = slack.filter(|slack| *slack <= MAX_SLACK);
    let ground = match traffic {
        Some(_) if baselines.iter().any(Baseline::is_worse) => Ground::Latency,
        None if distances.has_groups() && n < distances.len() => Ground::Structure,
        _ => Ground::Nothing,
    };
    Advice { cpus: ids(&best), mean, worst, optimal, slack, baselines, ground }
}

/// `cheapest`, if known, is the minimum cost over all placements at the measured latencies.
fn slack(graph: &Graph, distances: &CpuDistances, mean: &Bracket, cheapest: Option<f64>) -> f64 {
    let bound = search::least_cost(graph, distances) / graph.total();
    let pairs = (0..distances.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let narrowest = pairs.map(|(a, b)| distances.low(a, b) / distances.ns(a, b)).fold(1.0, f64::min);
    // At the low ends of all intervals, no cost is below `cheapest` by more than the widest interval.
    let least = cheapest.map_or(bound, |cheapest| bound.max(cheapest * narrowest));
    (1.0 - least / mean.high).max(0.0)
}

fn best_of(
    graph: &Graph,
    distances: &CpuDistances,
    simple: Vec<(&'static str, Vec<u32>)>,
    key: Key,
) -> (Vec<u32>, bool) {
    let mut tried: Vec<Vec<u32>> =
        vec![search::multisection(graph, distances), search::greedy(graph, distances)];
    tried.extend(simple.iter().map(|(_, cpu_of)| cpu_of.clone()));
    if graph.len() <= MAX_RESTARTED_THREADS {
        for restart in 0..RESTARTS {
            let mut order: Vec<usize> = (0..distances.len()).collect();
            key.with(1).with(restart).shuffle(&mut order);
            tried.push(search::in_order(graph.len(), &order));
        }
    }
    let mut best: Option<(f64, Vec<u32>)> = None;
    let share = EFFORT / tried.len() as u64 * 5 / 2;
    for (index, start) in tried.into_iter().enumerate() {
        let mut assignment = Assignment::new(graph, distances, start);
        refine(&mut assignment, key.with(index as u64), &mut Effort(share));
        let cost = assignment.cost();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, assignment.cpu_of));
        }
    }
    let (cost, cpu_of) = best.unwrap_or_default();
    let (cpu_of, complete) = if graph.len() > MAX_PROVABLE_THREADS {
        (cpu_of, false)
    } else {
        let (better, complete) = search::exact(graph, distances, cost, &mut Effort(EFFORT_OF_PROOF));
        (better.unwrap_or(cpu_of), complete)
    };
    (cpu_of, complete)
}

const MAX_EXCESS_FOR_SIMPLICITY: f64 = 0.1;

/// The cheapest of many placements is partly selected by chance, and its order would seem significant. Selects the
/// simplest placement that is not shown to cost more. It beats each usual placement that the cheapest beats.
fn simplest_not_worse(
    graph: &Graph,
    distances: &CpuDistances,
    best: &[u32],
    simple: &[(&'static str, Vec<u32>)],
) -> Vec<u32> {
    let Some(cheapest) = Traffic::new(graph, distances, best) else { return best.to_vec() };
    let beats = |traffic: &Traffic, other: &Traffic| traffic.excess(other, distances).low > MIN_SHOWN_EXCESS;
    let all_traffic: Vec<Traffic> =
        simple.iter().filter_map(|(_, cpu_of)| Traffic::new(graph, distances, cpu_of)).collect();
    let anywhere = Traffic::anywhere(distances);
    let beaten: Vec<&Traffic> =
        all_traffic.iter().chain([&anywhere]).filter(|other| beats(&cheapest, other)).collect();
    let mut in_order = best.to_vec();
    in_order.sort_unstable_by_key(|&cpu| distances.cpus()[cpu as usize]);
    let first_cpus = (0..distances.levels().len()).rev().map(|level| first_of_groups(distances, level, best));
    let simple_first = simple.iter().map(|(_, cpu_of)| cpu_of.clone()).chain(first_cpus).chain([in_order]);
    let as_good = |cpu_of: &Vec<u32>| {
        let Some(traffic) = Traffic::new(graph, distances, cpu_of) else { return false };
        let excess = cheapest.excess(&traffic, distances);
        excess.low <= MIN_SHOWN_EXCESS
            && excess.point <= MAX_EXCESS_FOR_SIMPLICITY
            && beaten.iter().all(|other| beats(&traffic, other))
    };
    simple_first.into_iter().find(as_good).unwrap_or_else(|| best.to_vec())
}

fn first_of_groups(distances: &CpuDistances, level: usize, cpu_of: &[u32]) -> Vec<u32> {
    let mut remaining: Vec<Vec<usize>> = distances.levels()[level].to_vec();
    for group in &mut remaining {
        group.sort_unstable_by_key(|&cpu| std::cmp::Reverse(distances.cpus()[cpu]));
    }
    let relocated = |&cpu: &u32| {
        let group = distances.group_of(level, cpu as usize) as usize;
        remaining[group].pop().map_or(cpu, |first| first as u32)
    };
    cpu_of.iter().map(relocated).collect()
}
