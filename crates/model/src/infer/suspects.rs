//! [`Blocks`]: what the levels say that each cell should be, and by how much a cell differs; [`Suspect`]: a cell that is to be
//! measured again before it is believed.

use super::distances::Distances;
use super::levels::{ALONE, Partition};
use super::{LoneGroup, STEPS_APART, repair};
use crate::CpuId;
use crate::stats::elementary::{exp, ln};
use crate::stats::{NORMAL_MAD_SCALE, median_in_place};
use std::collections::BTreeMap;

/// With fewer cells the median of a block is the cell itself.
const MIN_CELLS: usize = 4;
/// No scatter is believed to be smaller: see the guard.
const MIN_SCATTER: f64 = 0.02;
/// Cells lie nearer to their own median than to the true value: the median deviation of normal values is smaller by
/// this divided by their number (simulated: 0.72 of the true one for four, 0.83 for eight, 0.96 for 32).
const SHRINKAGE: f64 = 1.2;

/// A block-constant model: cells between the same two groups under the same level have one value.
pub(super) struct Blocks {
    /// Finest first; the last table is that of pairs that no level joins.
    tables: Vec<Table>,
}

struct Table {
    /// The groups whose pairs are the blocks, and one more for CPUs without a group: see [`sides`].
    side: usize,
    /// Median logarithm by block, `side` × `side`; NaN where the block has no cell.
    medians: Vec<f64>,
    /// Scatter of the cells of this level around their blocks.
    scatter: f64,
}

impl Blocks {
    /// `levels` finest first.
    pub fn fit(levels: &[Partition], distances: &Distances) -> Blocks {
        let mut cells: Vec<Vec<(u32, u32)>> = vec![Vec::new(); levels.len() + 1];
        for high in 0..distances.len() {
            for low in 0..high {
                cells[depth(levels, low, high)].push((low as u32, high as u32));
            }
        }
        let tables = cells
            .iter()
            .enumerate()
            .map(|(depth, cells)| Table::fit(sides(levels, depth), cells, distances))
            .collect();
        Blocks { tables }
    }

    /// The model's logarithm for a pair.
    pub fn at(&self, levels: &[Partition], a: usize, b: usize) -> f64 {
        let depth = depth(levels, a, b);
        let table = &self.tables[depth];
        table.medians[table.block(sides(levels, depth), a, b)]
    }

    /// How far a cell lies from the model, in deviations of its level.
    pub fn residual(&self, levels: &[Partition], distances: &Distances, a: usize, b: usize) -> f64 {
        let scatter = self.tables[depth(levels, a, b)].scatter;
        (own(distances, a, b) - self.at(levels, a, b)).abs()
            / scatter.max(distances.width(a, b)).max(MIN_SCATTER)
    }
}

/// The logarithm of the value of a pair, also where that does not count.
fn own(distances: &Distances, a: usize, b: usize) -> f64 {
    distances.set_aside(a, b).unwrap_or_else(|| distances.at(a, b))
}

/// Between which groups the cells of a level lie: those of the next finer one; the finest level has its own.
fn sides(levels: &[Partition], depth: usize) -> Option<&Partition> {
    levels.get(depth.saturating_sub(1))
}

/// The finest level that joins the two; the number of levels where none does.
pub(super) fn depth(levels: &[Partition], a: usize, b: usize) -> usize {
    levels.iter().position(|level| level.joins(a, b)).unwrap_or(levels.len())
}

impl Table {
    fn fit(sides: Option<&Partition>, cells: &[(u32, u32)], distances: &Distances) -> Table {
        let groups = sides.map_or(0, |sides| sides.groups().len());
        let side = groups + 1;
        let mut table = Table { side, medians: vec![f64::NAN; side * side], scatter: MIN_SCATTER };
        let mut sorted: Vec<(u32, f64)> = cells
            .iter()
            .map(|&(low, high)| (low as usize, high as usize))
            .map(|(low, high)| (table.block(sides, low, high) as u32, distances.at(low, high)))
            .collect();
        let mut all: Vec<f64> = sorted.iter().map(|cell| cell.1).collect();
        let Some(overall) = median_in_place(&mut all) else { return table };
        sorted.sort_unstable_by_key(|cell| cell.0);
        let (mut values, mut residuals) = (Vec::new(), Vec::new());
        for block in sorted.chunk_by(|a, b| a.0 == b.0) {
            values.clear();
            values.extend(block.iter().map(|cell| cell.1));
            let own = if block.len() >= MIN_CELLS { median_in_place(&mut values) } else { None };
            let kept = own.map_or(1.0, |_| 1.0 - SHRINKAGE / block.len() as f64);
            let median = own.unwrap_or(overall);
            table.medians[block[0].0 as usize] = median;
            residuals.extend(block.iter().map(|cell| (cell.1 - median).abs() / kept));
        }
        table.scatter = median_in_place(&mut residuals).unwrap_or(0.0) * NORMAL_MAD_SCALE;
        table
    }

    fn block(&self, sides: Option<&Partition>, a: usize, b: usize) -> usize {
        let group = |cpu: usize| match sides.map(|sides| sides.of(cpu)) {
            Some(group) if group != ALONE => group as usize,
            _ => self.side - 1,
        };
        let (a, b) = (group(a), group(b));
        a.max(b) * self.side + a.min(b)
    }
}

/// A cell further than this from its block does not fit, in deviations …
const OUTLIER: f64 = 4.0;
/// … where there are no more cells than this. See [`outlier`].
const FEW_CELLS: f64 = 500.0;
/// The nearest of CPU 0 is a suspect from this factor above the other groups on.
const FIRST_CPU_RATIO: f64 = 1.1;

named! {
    /// Why a cell is to be measured again.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Doubt {
        /// It lies more than four deviations from the cells between the same groups, 5.5 in a matrix of 1,024 CPUs.
        Outlier = "outlier",
        /// Its CPUs were left over where nearly all groups have one size, or other pairs of theirs contradict each other: a
        /// disturbed cell may hide their group.
        Leftover = "leftover",
        /// It has no value, or a 0, which is none.
        Missing = "missing",
        /// CPU 0 and its nearest, slower than the other groups: in 7 of 46 published matrices with threads this pair reads 26 to 92 % above the others.
        FirstCpu = "first-cpu",
        /// It is nearer than other pairs of its CPUs allow, and it or those are wrong: nothing shows which.
        Contradictory = "contradictory",
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
    /// Its value divided by what the groups suggest; `None` without a value, or where nothing shows the groups.
    pub ratio: Option<f64>,
}

/// The limit among so many cells. The tail of normal values falls as exp(−z²/2), so that this keeps the number of cells
/// constant that noise alone puts beyond it.
fn outlier(cells: usize) -> f64 {
    (OUTLIER * OUTLIER + 2.0 * ln((cells as f64 / FEW_CELLS).max(1.0))).sqrt()
}

/// Every suspect cell under the levels (finest first) as they were before acceptance, by pair. What a clock of this step
/// shows as one step from the others may be alike.
pub(super) fn suspects(
    levels: &[Partition],
    blocks: &Blocks,
    distances: &Distances,
    step: f64,
) -> Vec<Suspect> {
    let n = distances.len();
    let limit = outlier(n * (n - 1) / 2);
    let mut doubts: BTreeMap<(usize, usize), Doubt> = BTreeMap::new();
    for high in 0..n {
        for low in 0..high {
            let has_value = distances.set_aside(low, high).is_some() || distances.is_above_floor(low, high);
            if !has_value {
                doubts.insert((low, high), Doubt::Missing);
            } else if blocks.residual(levels, distances, low, high) > limit
                && (exp(own(distances, low, high)) - exp(blocks.at(levels, low, high))).abs()
                    >= STEPS_APART * step
            {
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
            let off = own(distances, low, high) - blocks.at(levels, low, high);
            let known = doubt != Doubt::Missing;
            let pair = [low, high].map(|position| distances.cpus[position]);
            Suspect { pair, doubt, ratio: known.then(|| exp(off)) }
        })
        .collect()
}

/// Each of the pairs that contradict each other is a suspect. Nothing shows the groups of their CPUs: other cells of these
/// do not count as unfit, but are measured again, since disturbed ones make pairs contradict each other. A cell that was
/// set aside is known to be wrong.
pub(super) fn leave_open(suspects: &mut Vec<Suspect>, open: &[[usize; 2]], distances: &Distances) {
    let position = |cpu: CpuId| distances.cpus.iter().position(|&known| known == cpu);
    let named = |pair: &[usize; 2]| pair.map(|position| distances.cpus[position]);
    let is_open = |cpu: &CpuId| open.iter().flat_map(named).any(|open| open == *cpu);
    let is_known = |pair: [CpuId; 2]| {
        let [a, b] = pair.map(position);
        a.zip(b).is_some_and(|(a, b)| distances.set_aside(a, b).is_some())
    };
    suspects.retain(|suspect| !open.iter().any(|pair| named(pair) == suspect.pair));
    for suspect in suspects.iter_mut() {
        if suspect.doubt == Doubt::Outlier && suspect.pair.iter().any(is_open) && !is_known(suspect.pair) {
            (suspect.doubt, suspect.ratio) = (Doubt::Leftover, None);
        }
    }
    let contradictory = open.iter().map(named);
    suspects.extend(contradictory.map(|pair| Suspect { pair, doubt: Doubt::Contradictory, ratio: None }));
    suspects.sort_by_key(|suspect| suspect.pair.map(position));
}

/// Pairs of a CPU that is slow to all others are as slow as that CPU up to this many times its median.
const OF_SLOW_CPU: f64 = 1.5;

/// Cells that are measured again and do not count as unfit: all where the groups are hidden (but for those set aside), and
/// those of one CPU that is far from all others, or slow, which is one finding.
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
    for suspect in suspects.iter_mut().filter(|suspect| suspect.doubt == Doubt::Outlier) {
        let [Some(a), Some(b)] = suspect.pair.map(position) else { continue };
        let value = exp(own(distances, a, b));
        let is_hidden = are_groups_hidden && distances.set_aside(a, b).is_none();
        if is_hidden || hints.iter().any(|hint| is_lone(suspect.pair, value, hint)) {
            (suspect.doubt, suspect.ratio) = (Doubt::Leftover, None);
        }
    }
}
