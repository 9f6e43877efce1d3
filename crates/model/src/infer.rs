//! Inference of groups of CPUs from latencies alone.
//!
//! [`infer`] runs the steps of docs/topology.md: `distances` (logarithms, one value per pair), `contradictions` (pairs
//! that third CPUs disprove), `tree` (average linkage and solid groups), `levels` (groups that form a level), `clear`
//! (cuts supported by the whole matrix), `repair` (new groups of leftover CPUs), `guard` (rejection of random groups
//! and impossible levels), and `suspects` (unexplained cells). No step draws random numbers or keeps state.

mod agreement;
mod clear;
mod contradictions;
mod distances;
mod findings;
mod guard;
mod levels;
mod repair;
mod structure;
mod suspects;
#[cfg(test)]
mod tests;
mod tree;

pub use agreement::{Agreement, AgreementVerdict, Evidence, OtherCpus, agreement};
pub use findings::{Findings, LoneCpu, Refusal, levels_changed};
pub use structure::{InferredLevel, Layout, LoneGroup, Structure, ValueShape, repeatability};
pub use suspects::{Suspect, SuspectReason};

use crate::latency::{CellValue, LatencyMap};
use crate::stats::elementary::exp;
use crate::stats::{Estimate, exact_median_interval, median_in_place, normal};
use crate::{CpuId, CpuSet, Flag, Flags, Matrix};
use clear::Cut;
use distances::Distances;
pub(crate) use distances::both_ways;
use levels::Partition;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use suspects::Blocks;
use tree::Tree;

/// Maximum scatter of equal cells. Noise and cache slices alone cause less.
const UNIFORM: f64 = 0.06;
/// Cells are unequal if more than one in this number of pairs is an outlier, as with cores of several kinds.
const MAX_UNLIKE: usize = 10;
/// Minimum difference on a coarse clock, in steps. Each value may read as either of two adjacent steps.
const STEPS_APART: f64 = 1.5;
/// Minimum number of CPUs of a recognisable mesh. Fewer CPUs have at most ten pairs.
const MIN_MESH_CPUS: usize = 6;

/// Infers groups of near CPUs from their latencies.
///
/// ```
/// # use coretalk_model::infer::{Observation, infer};
/// # use coretalk_model::{CpuId, Matrix};
/// // Even and odd CPUs: 20 ns inside, 90 ns across.
/// let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
/// let latencies = Matrix::symmetric(cpus, |row, column| {
///     Some(Observation::bare(if (row + column) % 2 == 0 { 20.0 } else { 90.0 }))
/// });
/// let structure = infer(&latencies).unwrap();
/// assert_eq!(structure.levels[0].groups[1].to_string(), "1,3,5,7");
/// assert_eq!(structure.levels[0].across, Some(90.0));
/// ```
///
/// # Errors
/// [`InferError`]: too few CPUs or values, or a value that no measurement gives.
pub fn infer(observed: impl Borrow<Matrix<Option<Observation>>>) -> Result<Structure, InferError> {
    infer_of_step(observed, 0.0)
}

/// As [`infer`], for values of a clock with this step, in the unit of the values. Such a clock separates some groups
/// from the next coarser level by only one step. These groups are artefacts of the clock and form no level.
///
/// # Errors
/// As [`infer`].
pub fn infer_of_step(
    observed: impl Borrow<Matrix<Option<Observation>>>,
    step: f64,
) -> Result<Structure, InferError> {
    let distances = Distances::new(observed, step)?;
    let mut found = InferredPartitions::find(&distances);
    let dropped = found.drop_steps(step, &distances);
    let open = found.drop_open(&distances);
    let blocks = Blocks::fit(&found.proposed, &distances);
    let mut suspects = suspects::suspects(&found.proposed, &blocks, &distances, step);
    let shape = shape(&found, &suspects, &distances);
    let hints: Vec<LoneGroup> =
        found.hints.iter().map(|hint| hint.described(&found.levels, &distances)).collect();
    suspects::leave_open(&mut suspects, &open, &distances);
    let contradictory = distances.contradictory + open.len();
    let are_groups_hidden = found.levels.is_empty() && contradictory > 0;
    suspects::leave_unexplained(&mut suspects, &hints, are_groups_hidden, &distances);
    Ok(Structure {
        levels: described(&found.levels, &distances),
        dropped,
        step,
        hints,
        contradictory,
        shape,
        suspects,
        cpus: distances.cpus,
        left_out: distances.left_out,
    })
}

struct InferredPartitions {
    proposed: Vec<Partition>,
    levels: Vec<Partition>,
    hints: Vec<HintedGroup>,
}

struct HintedGroup {
    group: Vec<usize>,
    but: Option<usize>,
}

impl InferredPartitions {
    fn find(distances: &Distances) -> InferredPartitions {
        let tree = Tree::grow(distances);
        let solid = tree::solid_nodes(&tree, distances);
        let mut proposed = levels::choose(&solid, &tree, distances);
        guard::drop_chance_groups(&mut proposed, &solid, &tree, distances);
        repair::repair(&mut proposed, distances);
        let (mut levels, mut hints): (Vec<Partition>, Vec<HintedGroup>) = (Vec::new(), Vec::new());
        // Coarse to fine, because a level is compared within the groups of the next coarser accepted level.
        for (index, level) in proposed.iter().enumerate().rev() {
            let finer = index.checked_sub(1).map(|finer| &proposed[finer]);
            let coarser = levels.last();
            if !coarser.is_none_or(|coarser| level.is_within(coarser))
                || !guard::stands_out(level, finer, coarser, distances)
                || distances.len() < MIN_MESH_CPUS && !clear::has_gap(level, distances)
            {
                continue;
            }
            // "All but the slow CPU" is no cluster. Groups that a finer level also has add no information.
            let known =
                |group: &Vec<usize>| proposed[..index].iter().any(|finer| finer.groups().contains(group));
            let new: Vec<&Vec<usize>> = level.groups().iter().filter(|group| !known(group)).collect();
            match new[..] {
                [] => {}
                [group] => hints.push(HintedGroup::within(coarser, group, distances.len())),
                _ if guard::is_odd(level, guard::whole(level, proposed.iter())) => {}
                _ => levels.push(level.clone()),
            }
        }
        levels.reverse();
        let mut found = InferredPartitions { proposed, levels, hints };
        found.add_clear_cuts(&clear::candidates(&tree, distances), distances);
        found
    }

    /// Starts with the coarsest level: in a chain of levels one step apart, levels two steps apart differ.
    fn drop_steps(&mut self, step: f64, distances: &Distances) -> Vec<InferredLevel> {
        let is_step = |level: &InferredLevel| {
            let difference = level.across.zip(level.inside).map(|(across, inside)| across - inside.point);
            level.inside.is_none()
                || step > 0.0 && difference.is_some_and(|difference| difference < STEPS_APART * step)
        };
        let mut dropped = Vec::new();
        let mut levels = described(&self.levels, distances);
        for at in (0..self.levels.len()).rev() {
            if is_step(&levels[at]) {
                let partition = self.levels.remove(at);
                self.proposed.retain(|level| level.groups() != partition.groups());
                dropped.push(levels.swap_remove(at));
                levels = described(&self.levels, distances);
            }
        }
        dropped.reverse();
        dropped
    }

    /// Returns all doubtful pairs if no level joins one of them, or if a group contains only one of its CPUs. Such
    /// groups depend on an arbitrary choice and are removed.
    fn drop_open(&mut self, distances: &Distances) -> Vec<[usize; 2]> {
        let splits = |group: &[usize], [a, b]: [usize; 2]| group.contains(&a) != group.contains(&b);
        let is_split = |pair: [usize; 2]| {
            let mut groups = self.proposed.iter().flat_map(Partition::groups);
            let is_joined = self.levels.iter().any(|level| level.joins(pair[0], pair[1]));
            !is_joined || groups.any(|group| splits(group, pair))
        };
        let open = distances.doubtful.clone();
        if !open.iter().any(|&pair| is_split(pair)) {
            return Vec::new();
        }
        let is_chosen = |group: &[usize]| open.iter().any(|&pair| splits(group, pair));
        self.hints.retain(|hint| !is_chosen(&hint.group));
        for levels in [&mut self.proposed, &mut self.levels] {
            for level in levels.iter_mut() {
                let (gone, kept): (Vec<_>, Vec<_>) =
                    level.groups().iter().cloned().partition(|group| is_chosen(group));
                let doubted: BTreeSet<usize> =
                    gone.iter().flatten().chain(open.iter().flatten()).copied().collect();
                if !gone.is_empty() {
                    *level = Partition::new(distances.len(), if kept.len() > 1 { kept } else { Vec::new() });
                }
                level.open =
                    doubted.into_iter().filter(|&cpu| level.group_of(cpu) == levels::ALONE).collect();
            }
            levels.retain(|level| !level.groups().is_empty());
        }
        open
    }

    fn add_clear_cuts(&mut self, candidates: &[(Partition, f64)], distances: &Distances) {
        let mut clear: Vec<Partition> = Vec::new();
        for (partition, gap) in candidates.iter().rev() {
            let known = self.levels.iter().chain(candidates.iter().map(|(partition, _)| partition));
            let finer = guard::whole(partition, known);
            if guard::is_part(partition, &self.levels, distances) {
                continue;
            }
            let Some(cut) = clear::judge(partition, *gap, finer, distances) else { continue };
            let lone = match cut {
                Cut::AllBut(ref level, cpu) => {
                    Some(HintedGroup { group: level.groups()[0].clone(), but: Some(cpu) })
                }
                Cut::Level(ref level) => {
                    guard::is_half(level, finer).map(|group| HintedGroup { group, but: None })
                }
            };
            if let Some(lone) = lone {
                self.hints.retain(|hint| hint.group != lone.group);
                self.hints.push(lone);
                insert(&mut self.proposed, partition);
                continue;
            }
            self.hints.retain(|hint| !partition.groups().contains(&hint.group));
            clear.push(partition.clone());
            for levels in [&mut self.proposed, &mut self.levels] {
                insert(levels, partition);
                levels.retain(|level| clear::adds_information(level, &clear, distances));
            }
        }
        if clear.is_empty() {
            return;
        }
        // A level needs at least two groups that are absent from all other levels.
        let all = self.levels.clone();
        self.levels.retain(|level| {
            let others = || all.iter().filter(|other| other.groups() != level.groups());
            let is_new = |group: &&Vec<usize>| !others().any(|other| other.groups().contains(group));
            let is_clear = clear.iter().any(|clear| clear.groups() == level.groups());
            is_clear || level.groups().iter().filter(is_new).count() > 1
        });
    }
}

fn insert(levels: &mut Vec<Partition>, level: &Partition) {
    if !levels.iter().any(|known| known.groups() == level.groups()) {
        levels.retain(|known| known.is_within(level) || level.is_within(known));
        levels.push(level.clone());
        levels.sort_by_key(Partition::pairs);
    }
}

impl HintedGroup {
    fn within(coarser: Option<&Partition>, group: &[usize], cpus: usize) -> HintedGroup {
        let shares_coarser = |cpu: usize| coarser.is_none_or(|coarser| coarser.joins(cpu, group[0]));
        let others: Vec<usize> =
            (0..cpus).filter(|cpu| shares_coarser(*cpu) && !group.contains(cpu)).collect();
        let but = if let [cpu] = others[..] { Some(cpu) } else { None };
        HintedGroup { group: group.to_vec(), but }
    }

    fn described(&self, levels: &[Partition], distances: &Distances) -> LoneGroup {
        let (mut inside, mut across) = (Vec::new(), Vec::new());
        for &cpu in &self.group {
            for other in
                (0..distances.len()).filter(|&other| other != cpu && distances.is_above_floor(cpu, other))
            {
                let value = exp(distances.at(cpu, other));
                if self.group.contains(&other) {
                    inside.push(value);
                } else if self.but.is_none_or(|but| but == other) {
                    across.push(value);
                }
            }
        }
        let cpu_set = |group: &[usize]| group.iter().map(|&cpu| distances.cpus[cpu]).collect::<CpuSet>();
        let slower_group_of =
            |cpu| levels.iter().find_map(|level| clear::slower_group(cpu, level, distances));
        let slower_group = self.but.and_then(slower_group_of);
        LoneGroup {
            cpus: cpu_set(&self.group),
            but: self.but.map(|cpu| distances.cpus[cpu]),
            slower_group: slower_group
                .filter(|group| group.iter().all(|cpu| self.group.contains(cpu)))
                .map(|group| cpu_set(group)),
            inside_most: inside.iter().copied().max_by(f64::total_cmp),
            inside: median_in_place(&mut inside),
            across: median_in_place(&mut across),
        }
    }
}

fn described(levels: &[Partition], distances: &Distances) -> Vec<InferredLevel> {
    let n = distances.len();
    let mut cells: Vec<[Vec<f64>; 2]> = vec![[Vec::new(), Vec::new()]; levels.len()];
    for high in 0..n {
        for low in (0..high).filter(|&low| distances.is_above_floor(low, high)) {
            let depth = suspects::depth(levels, low, high);
            let value = exp(distances.at(low, high));
            if let Some([inside, _]) = cells.get_mut(depth) {
                inside.push(value);
            }
            let leaves = |level: &Partition| {
                level.group_of(low) != levels::ALONE || level.group_of(high) != levels::ALONE
            };
            if let Some(finer) = depth.checked_sub(1)
                && leaves(&levels[finer])
            {
                cells[finer][1].push(value);
            }
        }
    }
    let label = |cpu: usize| distances.cpus[cpu];
    levels
        .iter()
        .zip(cells)
        .enumerate()
        .map(|(index, (level, [inside, mut across]))| InferredLevel {
            name: format!("group-{}", index + 1),
            groups: level.labelled(distances),
            single: (0..n)
                .filter(|cpu| level.group_of(*cpu) == levels::ALONE && !level.open.contains(cpu))
                .map(label)
                .collect(),
            open: level.open.iter().copied().map(label).collect(),
            inside: exact_median_interval(&inside, 0.05),
            across: median_in_place(&mut across),
            repeats: None,
            by_elimination: level.by_elimination.iter().map(|pair| pair.map(label)).collect(),
            execution: None,
        })
        .collect()
}

fn shape(found: &InferredPartitions, suspects: &[Suspect], distances: &Distances) -> ValueShape {
    if !found.levels.is_empty() {
        return ValueShape::Grouped;
    }
    let n = distances.len();
    let scatter = scatter(distances);
    let unlike = suspects.iter().filter(|suspect| suspect.doubt == SuspectReason::Outlier).count();
    let most_unlike = (n * (n - 1) / 2 / MAX_UNLIKE).max(1);
    if n == 3 || found.hints.iter().any(|hint| hint.but.is_some()) {
        ValueShape::TooFew
    } else if scatter <= UNIFORM && unlike <= most_unlike {
        ValueShape::Uniform { scatter }
    } else if n < MIN_MESH_CPUS {
        ValueShape::TooFew
    } else {
        ValueShape::Continuous { scatter, layout: Box::new(Layout::from_distances(distances)) }
    }
}

/// A tenth of the cells may be disturbed, so the deviation follows from the central 90 %.
fn scatter(distances: &Distances) -> f64 {
    let n = distances.len();
    let mut cells: Vec<f64> = (0..n)
        .flat_map(|high| (0..high).map(move |low| (low, high)))
        .map(|(low, high)| distances.at(low, high))
        .collect();
    cells.sort_unstable_by(f64::total_cmp);
    let left_out = cells.len() / 20;
    let width = cells[cells.len() - 1 - left_out] - cells[left_out];
    width / (2.0 * normal::quantile(0.95))
}

/// Why nothing can be inferred from a matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum InferError {
    /// Fewer than three CPUs. A single value has no structure.
    TooFew {
        /// Number of CPUs in the matrix.
        cpus: usize,
    },
    /// A value that no measurement gives.
    Impossible {
        /// Initiator.
        from: CpuId,
        /// Responder.
        to: CpuId,
        /// The value.
        value: f64,
    },
    /// Too few pairs have a value.
    TooSparse {
        /// Number of pairs with a value.
        known: usize,
        /// Number of all pairs.
        of: usize,
    },
}

/// The input of the inference for a pair of CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Half round trip, in any unit common to the whole matrix.
    pub value: f64,
    /// Half width of the interval as a share of the value; 0 if unknown.
    pub half_width: f64,
}

impl Observation {
    /// A value without an interval, as in a file of another tool.
    pub fn bare(value: f64) -> Observation {
        Observation { value, half_width: 0.0 }
    }

    /// Converts a measured cell. `None` if a CPU of the pair moved.
    pub fn of_cell(value: &CellValue) -> Option<Observation> {
        Observation::from_estimate(&value.latency_ns, value.flags)
    }

    /// As `of_cell`, from an estimate and its flags.
    pub fn from_estimate(latency_ns: &Estimate, flags: Flags) -> Option<Observation> {
        let half_width = latency_ns.relative_reach();
        (!flags.contains(Flag::Migrated)).then_some(Observation {
            value: latency_ns.point,
            half_width: if half_width.is_finite() { half_width } else { 1.0 },
        })
    }
}

/// The pairs of a measured map.
pub fn observations(map: &LatencyMap) -> Matrix<Option<Observation>> {
    map.cells.map(|cell| cell.value().and_then(Observation::of_cell))
}
