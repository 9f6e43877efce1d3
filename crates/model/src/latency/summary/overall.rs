//! [`Overall`]: the whole map in a few numbers.

use super::table::Reading;
use crate::latency::{Cell, LatencyMap};
use crate::stats::{mean, median_of_sorted};
use crate::{CpuId, Flag};
use std::collections::BTreeMap;

/// The whole map in a few numbers, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overall {
    /// Cells with a value.
    pub measured: u64,
    /// The fastest pair.
    pub min: Option<Extreme>,
    /// The slowest pair.
    pub max: Option<Extreme>,
    /// Mean over cells.
    pub mean_ns: Option<f64>,
    /// Median over cells.
    pub median_ns: Option<f64>,
    /// Every value, rising.
    pub sorted_ns: Vec<f64>,
    /// Cells with a doubt.
    pub doubtful: u64,
    /// How many cells carry each doubt, most frequent first.
    pub doubts: Vec<(Flag, u64)>,
    /// Cells without a value by reason, most frequent first.
    pub missing: Vec<(String, u64)>,
}

/// A pair and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extreme {
    /// The pair.
    pub pair: [CpuId; 2],
    /// Its half round trip in nanoseconds.
    pub ns: f64,
}

/// Looks at every cell once. The diagonal of a directed map is left out.
pub fn overall(map: &LatencyMap) -> Overall {
    let mut all = Overall::default();
    let (mut doubts, mut missing) = (BTreeMap::<Flag, u64>::new(), BTreeMap::<&str, u64>::new());
    let cpus = map.cells.cpus();
    for (row, column, cell) in map.cells.iter().filter(|(row, column, _)| row != column) {
        match cell {
            Cell::Missing { reason } => *missing.entry(reason).or_default() += 1,
            Cell::Measured(value) => {
                let ns = value.latency_ns.point;
                // `from` is the earlier CPU of a symmetric map and the row of a directed one.
                let pair = if map.cells.is_symmetric() { [column, row] } else { [row, column] };
                let extreme = Extreme { pair: pair.map(|position| cpus[position]), ns };
                if all.min.is_none_or(|min| ns < min.ns) {
                    all.min = Some(extreme);
                }
                if all.max.is_none_or(|max| ns > max.ns) {
                    all.max = Some(extreme);
                }
                all.sorted_ns.push(ns);
                let reading = Reading { ns, doubtful: value.flags.has_doubt() };
                all.doubtful += u64::from(reading.doubtful);
                for flag in value.flags.iter().filter(|flag| flag.is_doubt()) {
                    *doubts.entry(flag).or_default() += 1;
                }
            }
        }
    }
    all.sorted_ns.sort_unstable_by(f64::total_cmp);
    all.measured = all.sorted_ns.len() as u64;
    all.mean_ns = mean(&all.sorted_ns);
    all.median_ns = median_of_sorted(&all.sorted_ns);
    all.doubts = by_count(doubts);
    all.missing = by_count(missing).into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    all
}

fn by_count<K: Ord + Clone>(counts: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count)); // stable: equal counts keep the order of the keys
    counts
}
