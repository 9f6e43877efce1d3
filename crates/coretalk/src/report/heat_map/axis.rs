//! [`Axis`]: rows of CPUs in order, and where reported groups end.

use crate::report::Order;
use coretalk_model::latency::summary::{Reading, measured_order};
use coretalk_model::{CpuId, CpuSet, Level, Matrix, Topology};

/// The CPUs of a map in the order asked.
pub fn ordered(readings: &Matrix<Option<Reading>>, topology: &Topology, order: Order) -> Vec<CpuId> {
    let cpus: CpuSet = readings.cpus().iter().copied().collect();
    match order {
        Order::Id => cpus.iter().collect(),
        Order::Topology => topology.order(&cpus),
        Order::Measured => measured_order(readings),
    }
}

/// The CPUs by core, each core where its first CPU stands.
pub(super) fn cores(order: &[CpuId], topology: &Topology) -> Vec<Vec<CpuId>> {
    let mut cores: Vec<Vec<CpuId>> = Vec::new();
    let mut seat = std::collections::BTreeMap::new();
    for &cpu in order {
        let core = topology.siblings(cpu).first().unwrap_or(cpu);
        let index = *seat.entry(core).or_insert_with(|| {
            cores.push(Vec::new());
            cores.len() - 1
        });
        cores[index].push(cpu);
    }
    cores
}

/// Parts of a map along one side: each is a row, or the rows that share a pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The CPUs of each part.
    pub parts: Vec<Vec<CpuId>>,
    /// For each part, whether a bar stands before it. The first has none.
    pub bars: Vec<bool>,
}

impl Axis {
    /// Parts of at most `each` rows that never reach over the end of a group of `keep`, with bars where groups of
    /// `level` end.
    pub fn new(
        rows: &[Vec<CpuId>],
        topology: &Topology,
        each: usize,
        keep: Option<Level>,
        level: Option<Level>,
    ) -> Axis {
        let mut parts = Vec::new();
        for run in rows.chunk_by(|a, b| same_group(topology, keep, a, b)) {
            // Parts of about equal size: 11 rows in parts of at most 4 are 4, 4, 3 and not 4, 4, 3 by accident.
            let count = run.len().div_ceil(each.max(1));
            for index in 0..count {
                let (from, to) = (index * run.len() / count, (index + 1) * run.len() / count);
                parts.push(run[from..to].concat());
            }
        }
        let bars = (0..parts.len())
            .map(|index| {
                level.is_some() && index > 0 && !same_group(topology, level, &parts[index - 1], &parts[index])
            })
            .collect();
        Axis { parts, bars }
    }

    /// How many bars there are.
    pub fn bar_count(&self) -> usize {
        self.bars.iter().filter(|&&bar| bar).count()
    }

    /// The parts between bars, as positions.
    pub fn runs(&self) -> Vec<std::ops::Range<usize>> {
        let mut starts: Vec<usize> = (0..self.parts.len()).filter(|&index| self.bars[index]).collect();
        starts.insert(0, 0);
        starts.push(self.parts.len());
        starts.windows(2).map(|ends| ends[0]..ends[1]).collect()
    }
}

/// Levels whose ends can carry bars, finest first, then no bars at all: each splits the rows, and leaves two rows to
/// a group on average.
pub fn bar_levels(rows: &[Vec<CpuId>], topology: &Topology) -> Vec<Option<Level>> {
    let mut levels = Vec::new();
    let mut seen = Vec::new();
    for level in topology.levels().into_iter().filter(|&level| level != Level::Core) {
        let axis = Axis::new(rows, topology, 1, None, Some(level));
        let bars = axis.bar_count();
        if bars > 0 && 2 * (bars + 1) <= rows.len() && !seen.contains(&axis.bars) {
            seen.push(axis.bars);
            levels.push(Some(level));
        }
    }
    levels.push(None);
    levels
}

fn same_group(topology: &Topology, level: Option<Level>, a: &[CpuId], b: &[CpuId]) -> bool {
    let Some(level) = level else { return true };
    let group = |part: &[CpuId]| topology.domain_of(*part.first()?, level)?.cpus.first();
    group(a) == group(b)
}
