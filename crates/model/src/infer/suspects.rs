//! [`Blocks`]: the values that the levels predict. [`Suspect`]: a cell that must be measured again.

use super::distances::Distances;
use super::levels::{ALONE, Partition};
use super::{LoneGroup, STEPS_APART, repair};
use crate::CpuId;
use crate::stats::elementary::{exp, ln};
use crate::stats::{NORMAL_MAD_SCALE, median_in_place};
use std::collections::BTreeMap;

/// Minimum number of cells. With fewer cells, the median of a block is too close to each cell.
const MIN_CELLS: usize = 4;
const MIN_SCATTER: f64 = 0.02;
/// Correction for small blocks, whose cells are near their own median. The median deviation is too small by this number
/// divided by the number of cells (simulated: 0.72 of the true deviation for four cells, 0.83 for eight, 0.96 for 32).
const SHRINKAGE: f64 = 1.2;

/// A block-constant model: cells between the same two groups under the same level have one value.
pub(super) struct Blocks {
    /// The last table is for pairs that no level joins.
    tables: Vec<Table>,
}

struct Table {
    side: usize,
    medians: Vec<f64>,
    scatter: f64,
}

impl Blocks {
    pub fn fit(levels: &[Partition], distances: &Distances) -> Blocks {
        let pairs = || (0..distances.len()).flat_map(|high| (0..high).map(move |low| (low, high)));
        let depths: Vec<u16> = pairs().map(|(low, high)| depth(levels, low, high) as u16).collect();
        let table = |depth: usize| {
            let at_depth = pairs().zip(&depths).filter(|(_, of_pair)| usize::from(**of_pair) == depth);
            Table::fit(sides(levels, depth), at_depth.map(|(pair, _)| pair), distances)
        };
        let tables = (0..=levels.len()).map(table).collect();
        Blocks { tables }
    }

    pub fn at(&self, levels: &[Partition], a: usize, b: usize) -> f64 {
        let depth = depth(levels, a, b);
        let table = &self.tables[depth];
        table.medians[table.block(sides(levels, depth), a, b)]
    }

    pub fn residual(&self, levels: &[Partition], distances: &Distances, a: usize, b: usize) -> f64 {
        let scatter = self.tables[depth(levels, a, b)].scatter;
        (measured(distances, a, b) - self.at(levels, a, b)).abs()
            / scatter.max(distances.width(a, b)).max(MIN_SCATTER)
    }
}

fn measured(distances: &Distances, a: usize, b: usize) -> f64 {
    distances.set_aside(a, b).unwrap_or_else(|| distances.at(a, b))
}

fn sides(levels: &[Partition], depth: usize) -> Option<&Partition> {
    levels.get(depth.saturating_sub(1))
}

pub(super) fn depth(levels: &[Partition], a: usize, b: usize) -> usize {
    levels.iter().position(|level| level.joins(a, b)).unwrap_or(levels.len())
}

impl Table {
    fn fit(
        sides: Option<&Partition>,
        cells: impl Iterator<Item = (usize, usize)> + Clone,
        distances: &Distances,
    ) -> Table {
        let groups = sides.map_or(0, |sides| sides.groups().len());
        let side = groups + 1;
        let mut table = Table { side, medians: vec![f64::NAN; side * side], scatter: MIN_SCATTER };
        let mut all: Vec<f64> = cells.clone().map(|(low, high)| distances.at(low, high)).collect();
        let Some(overall) = median_in_place(&mut all) else { return table };
        // Counting sort by block: `ends` first has the number of values of each block, then its start, then its end.
        let mut ends = vec![0usize; side * side];
        cells.clone().for_each(|(low, high)| ends[table.block(sides, low, high)] += 1);
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        let mut values = vec![0.0; all.len()];
        for (low, high) in cells {
            let end = &mut ends[table.block(sides, low, high)];
            values[*end] = distances.at(low, high);
            *end += 1;
        }
        let mut residuals = all;
        residuals.clear();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        for (block, (start, &end)) in starts.zip(&ends).enumerate() {
            let values = &mut values[start..end];
            if values.is_empty() {
                continue;
            }
            let block_median = if values.len() >= MIN_CELLS { median_in_place(values) } else { None };
            let correction = block_median.map_or(1.0, |_| 1.0 - SHRINKAGE / values.len() as f64);
            let median = block_median.unwrap_or(overall);
            table.medians[block] = median;
            residuals.extend(values.iter().map(|value| (value - median).abs() / correction));
        }
        table.scatter = median_in_place(&mut residuals).unwrap_or(0.0) * NORMAL_MAD_SCALE;
        table
    }

    fn block(&self, sides: Option<&Partition>, a: usize, b: usize) -> usize {
        let group = |cpu: usize| match sides.map(|sides| sides.group_of(cpu)) {
            Some(group) if group != ALONE => group as usize,
            _ => self.side - 1,
        };
        let (a, b) = (group(a), group(b));
        a.max(b) * self.side + a.min(b)
    }
}

/// A cell that is more than this many deviations away from its block is an outlier, for up to `FEW_CELLS` cells. See
/// [`outlier`].
const OUTLIER: f64 = 4.0;
const FEW_CELLS: f64 = 500.0;
const FIRST_CPU_RATIO: f64 = 1.1;

named! {
    /// Why a cell must be measured again.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SuspectReason {
        /// The cell is over four deviations away from cells between the same groups; 5.5 in a matrix of 1,024 CPUs.
        Outlier = "outlier",
        /// The CPUs are outside the pattern of a level, or in other contradictory pairs. The cell may hide a group.
        Leftover = "leftover",
        /// The cell has no value, or a 0.
        Missing = "missing",
        /// CPU 0 and its sibling are slower than other groups: by 26 to 92 % in 7 of 46 published files with threads.
        FirstCpu = "first-cpu",
        /// The cell is nearer than other pairs of its CPUs allow. It is unknown which of these pairs are wrong.
        Contradictory = "contradictory",
    }
}

/// A cell that must be measured again before it is trusted. In files of other tools it is only listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// The pair, in matrix order.
    pub pair: [CpuId; 2],
    /// The reason.
    pub doubt: SuspectReason,
    /// Value of the cell ÷ expected value; `None` without a value, or if the groups are unknown.
    pub ratio: Option<f64>,
}

/// Normal tails fall as exp(−z²/2). The expected number of cells beyond the limit is constant.
fn outlier(cells: usize) -> f64 {
    (OUTLIER * OUTLIER + 2.0 * ln((cells as f64 / FEW_CELLS).max(1.0))).sqrt()
}

/// All suspect cells according to proposed levels. Values within a `step` of the clock may be equal.
pub(super) fn suspects(
    levels: &[Partition],
    blocks: &Blocks,
    distances: &Distances,
    step: f64,
) -> Vec<Suspect> {
    let n = distances.len();
    let limit = outlier(n * (n - 1) / 2);
    let mut doubts: BTreeMap<(usize, usize), SuspectReason> = BTreeMap::new();
    for high in 0..n {
        for low in 0..high {
            let has_value = distances.set_aside(low, high).is_some() || distances.is_above_floor(low, high);
            if !has_value {
                doubts.insert((low, high), SuspectReason::Missing);
            } else if blocks.residual(levels, distances, low, high) > limit
                && (exp(measured(distances, low, high)) - exp(blocks.at(levels, low, high))).abs()
                    >= STEPS_APART * step
            {
                doubts.insert((low, high), SuspectReason::Outlier);
            }
        }
    }
    for (index, level) in levels.iter().enumerate() {
        for cpus in repair::leftovers(level, levels.get(index + 1)) {
            for (at, &high) in cpus.iter().enumerate() {
                for &low in cpus[..at].iter().filter(|&&low| depth(levels, low, high) >= index) {
                    doubts.entry((low, high)).or_insert(SuspectReason::Leftover);
                }
            }
        }
    }
    let first = distances.cpus.iter().position(|&cpu| cpu == CpuId(0));
    if let (Some(first), Some(finest)) = (first, levels.first())
        && let Some(group) = finest.groups().iter().find(|group| group.contains(&first) && group.len() == 2)
        && distances.at(group[0], group[1]) - blocks.at(levels, group[0], group[1]) > ln(FIRST_CPU_RATIO)
    {
        doubts.entry((group[0], group[1])).or_insert(SuspectReason::FirstCpu);
    }
    doubts
        .into_iter()
        .map(|((low, high), doubt)| {
            let difference = measured(distances, low, high) - blocks.at(levels, low, high);
            let known = doubt != SuspectReason::Missing;
            let pair = [low, high].map(|position| distances.cpus[position]);
            Suspect { pair, doubt, ratio: known.then(|| exp(difference)) }
        })
        .collect()
}

/// The groups of contradictory pairs are unknown, and disturbed cells cause contradictions. The other cells of these
/// CPUs are measured again, but only cells set aside as wrong are outliers.
pub(super) fn leave_open(suspects: &mut Vec<Suspect>, open: &[[usize; 2]], distances: &Distances) {
    let position = |cpu: CpuId| distances.cpus.iter().position(|&known| known == cpu);
    let named = |pair: &[usize; 2]| pair.map(|position| distances.cpus[position]);
    let is_open = |cpu: &CpuId| open.iter().flat_map(named).any(|open| open == *cpu);
    let is_set_aside = |pair: [CpuId; 2]| {
        let [a, b] = pair.map(position);
        a.zip(b).is_some_and(|(a, b)| distances.set_aside(a, b).is_some())
    };
    suspects.retain(|suspect| !open.iter().any(|pair| named(pair) == suspect.pair));
    for suspect in suspects.iter_mut() {
        if suspect.doubt == SuspectReason::Outlier
            && suspect.pair.iter().any(is_open)
            && !is_set_aside(suspect.pair)
        {
            (suspect.doubt, suspect.ratio) = (SuspectReason::Leftover, None);
        }
    }
    let contradictory = open.iter().map(named);
    suspects.extend(contradictory.map(|pair| Suspect {
        pair,
        doubt: SuspectReason::Contradictory,
        ratio: None,
    }));
    suspects.sort_by_key(|suspect| suspect.pair.map(position));
}

const OF_SLOW_CPU: f64 = 1.5;

/// Cells are no outliers if groups are hidden, or if their CPU is slow or far from all others.
pub(super) fn leave_unexplained(
    suspects: &mut [Suspect],
    hints: &[LoneGroup],
    are_groups_hidden: bool,
    distances: &Distances,
) {
    let position = |cpu: CpuId| distances.cpus.iter().position(|&known| known == cpu);
    let is_lone = |pair: [CpuId; 2], value: f64, hint: &LoneGroup| {
        let has = |is: &dyn Fn(CpuId) -> bool| pair.iter().any(|&cpu| is(cpu));
        let range = hint.inside.zip(hint.across).map(|(inside, across)| inside..=OF_SLOW_CPU * across);
        has(&|cpu| hint.but == Some(cpu))
            && has(&|cpu| hint.cpus.contains(cpu))
            && range.is_some_and(|range| range.contains(&value))
    };
    for suspect in suspects.iter_mut().filter(|suspect| suspect.doubt == SuspectReason::Outlier) {
        let [Some(a), Some(b)] = suspect.pair.map(position) else { continue };
        let value = exp(measured(distances, a, b));
        let is_hidden = are_groups_hidden && distances.set_aside(a, b).is_none();
        if is_hidden || hints.iter().any(|hint| is_lone(suspect.pair, value, hint)) {
            (suspect.doubt, suspect.ratio) = (SuspectReason::Leftover, None);
        }
    }
}
