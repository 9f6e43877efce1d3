//! [`Suspect`]: a cell that is to be measured again before it is believed.

use super::blocks::{Blocks, depth};
use super::distances::Distances;
use super::partition::Partition;
use super::repair;
use crate::CpuId;
use crate::stats::elementary::{exp, ln};
use std::collections::BTreeMap;

/// A cell further than this from its block does not fit.
const OUTLIER: f64 = 4.0;
/// The nearest of CPU 0 is a suspect from this factor above the other groups on.
const FIRST_CPU_RATIO: f64 = 1.1;

/// Why a cell is to be measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// It lies more than four deviations from the cells between the same groups.
    Outlier,
    /// Its CPUs were left over where nearly all groups have one size: a disturbed cell may hide their group.
    Leftover,
    /// It has no value.
    Missing,
    /// CPU 0 and its nearest, slower than the other groups: in 7 of 46 published matrices with threads this pair reads 26 to 92 % above the others.
    FirstCpu,
}

impl Doubt {
    /// Every doubt.
    pub const ALL: [Doubt; 4] = [Doubt::Outlier, Doubt::Leftover, Doubt::Missing, Doubt::FirstCpu];

    /// The stable name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Doubt::Outlier => "outlier",
            Doubt::Leftover => "leftover",
            Doubt::Missing => "missing",
            Doubt::FirstCpu => "first-cpu",
        }
    }
}

/// A cell that is to be measured again before it is believed. A file of another tool has no second measurement: its
/// suspects are listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// The pair, in matrix order.
    pub pair: [CpuId; 2],
    /// Why.
    pub doubt: Doubt,
    /// Its value divided by what the groups suggest; `None` without a value.
    pub ratio: Option<f64>,
}

/// Every suspect cell under the levels (finest first) as they were before acceptance, by pair.
pub(super) fn suspects(levels: &[Partition], blocks: &Blocks, distances: &Distances) -> Vec<Suspect> {
    let n = distances.len();
    let mut doubts: BTreeMap<(usize, usize), Doubt> = BTreeMap::new();
    for high in 0..n {
        for low in 0..high {
            if !distances.is_known(low, high) {
                doubts.insert((low, high), Doubt::Missing);
            } else if blocks.residual(levels, distances, low, high) > OUTLIER {
                doubts.insert((low, high), Doubt::Outlier);
            }
        }
    }
    for (index, level) in levels.iter().enumerate() {
        for cpus in repair::leftovers(level, levels.get(index + 1)) {
            for (at, &high) in cpus.iter().enumerate() {
                for &low in cpus[..at].iter().filter(|&&low| depth(levels, low, high) >= index) {
                    doubts.entry((low, high)).or_insert(Doubt::Leftover);
                }
            }
        }
    }
    let first = distances.cpus.iter().position(|&cpu| cpu == CpuId(0));
    if let (Some(first), Some(finest)) = (first, levels.first())
        && let Some(group) = finest.groups().iter().find(|group| group.contains(&first) && group.len() == 2)
        && distances.at(group[0], group[1]) - blocks.at(levels, group[0], group[1]) > ln(FIRST_CPU_RATIO)
    {
        doubts.entry((group[0], group[1])).or_insert(Doubt::FirstCpu);
    }
    doubts
        .into_iter()
        .map(|((low, high), doubt)| {
            let off = distances.at(low, high) - blocks.at(levels, low, high);
            let known = doubt != Doubt::Missing;
            let pair = [low, high].map(|position| distances.cpus[position]);
            Suspect { pair, doubt, ratio: known.then(|| exp(off)) }
        })
        .collect()
}
