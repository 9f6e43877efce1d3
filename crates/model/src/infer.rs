//! Inference: which CPUs belong together, from the latencies alone.
//!
//! The steps are those of METHODOLOGY.md, one file each: `distances` (logarithms, one value per pair), `tree` (average
//! linkage), `solid` (groups judged one by one), `levels` (groups that belong together), `repair` (leftovers divided
//! again), `guard` (against the scatter of the outside), `blocks` (what the levels do not explain), `agreement` (what a source reports beside it), `naming` (what the finest
//! level is, where a test says so). [`infer`] goes
//! through them; nothing here draws a random number or keeps a state.

mod agreement;
mod blocks;
mod chance;
mod distances;
mod error;
mod findings;
mod guard;
mod layout;
mod levels;
mod naming;
mod observation;
mod partition;
mod repair;
mod repeat;
mod separation;
mod solid;
mod structure;
mod suspects;
#[cfg(test)]
mod tests;
mod tree;

pub use agreement::{Agreement, Evidence, Standing, agreement};
pub use error::InferError;
pub use findings::{Findings, Refusal, levels_changed};
pub use layout::Layout;
pub use observation::{Observation, observations};
pub use repeat::repeatability;
pub use structure::{InferredLevel, Shape, Structure};
pub use suspects::{Doubt, Suspect};

use crate::Matrix;
use crate::stats::elementary::exp;
use crate::stats::{MadScale, exact_median_interval, mad, median_in_place};
use blocks::Blocks;
use distances::Distances;
pub(crate) use distances::both_ways;
use partition::Partition;
use tree::Tree;

/// Cells that scatter less than this around one value are alike; more is more than noise and slices explain.
const UNIFORM: f64 = 0.06;

/// Finds out which CPUs belong together.
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
pub fn infer(observed: &Matrix<Option<Observation>>) -> Result<Structure, InferError> {
    let distances = Distances::new(observed)?;
    let found = Found::of(&distances);
    let blocks = Blocks::fit(&found.proposed, &distances);
    let suspects = suspects::suspects(&found.proposed, &blocks, &distances);
    Ok(Structure {
        levels: described(&found.levels, &distances),
        hints: found.hints.iter().flat_map(|hint| distances.labelled(hint)).collect(),
        shape: shape(&found.levels, &distances),
        suspects,
        cpus: distances.cpus,
        left_out: distances.left_out,
    })
}

/// What the steps found, levels finest first.
struct Found {
    /// Before the guard: what cells are held against while some may be disturbed.
    proposed: Vec<Partition>,
    /// What stands.
    levels: Vec<Partition>,
    /// Levels of a single group.
    hints: Vec<Partition>,
}

impl Found {
    fn of(distances: &Distances) -> Found {
        let tree = Tree::grow(distances);
        let solid = solid::nodes(&tree, distances);
        let mut proposed = levels::choose(&solid, &tree, distances);
        chance::drop(&mut proposed, &solid, &tree, distances);
        repair::repair(&mut proposed, distances);
        let (mut levels, mut hints): (Vec<Partition>, Vec<Partition>) = (Vec::new(), Vec::new());
        // Coarse to fine: what a level is compared with ends at the groups of the next coarser one that stands.
        for (index, level) in proposed.iter().enumerate().rev() {
            let finer = index.checked_sub(1).map(|finer| &proposed[finer]);
            let coarser = levels.last();
            if !coarser.is_none_or(|coarser| level.is_within(coarser))
                || !guard::stands_out(level, finer, coarser, distances)
            {
                continue;
            }
            // "All but the slow CPU" is no cluster, and groups that a finer level has say nothing new.
            let known =
                |group: &Vec<usize>| proposed[..index].iter().any(|finer| finer.groups().contains(group));
            let new: Vec<Vec<usize>> = level.groups().iter().filter(|group| !known(group)).cloned().collect();
            match new.len() {
                0 => {}
                1 => hints.push(Partition::new(distances.len(), new)),
                _ => levels.push(level.clone()),
            }
        }
        levels.reverse();
        Found { proposed, levels, hints }
    }
}

fn described(levels: &[Partition], distances: &Distances) -> Vec<InferredLevel> {
    let n = distances.len();
    let mut cells: Vec<[Vec<f64>; 2]> = vec![[Vec::new(), Vec::new()]; levels.len()];
    for high in 0..n {
        for low in (0..high).filter(|&low| distances.is_known(low, high)) {
            let depth = blocks::depth(levels, low, high);
            let value = exp(distances.at(low, high));
            if let Some([inside, _]) = cells.get_mut(depth) {
                inside.push(value);
            }
            // The nearest way out of a group ends inside the next coarser one.
            let leaves =
                |level: &Partition| level.of(low) != partition::ALONE || level.of(high) != partition::ALONE;
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
            groups: distances.labelled(level),
            inside: exact_median_interval(&inside, 0.05),
            across: median_in_place(&mut across),
            repeats: None,
            by_elimination: level.by_elimination.iter().map(|pair| pair.map(label)).collect(),
            execution: None,
        })
        .collect()
}

fn shape(levels: &[Partition], distances: &Distances) -> Shape {
    if !levels.is_empty() {
        return Shape::Grouped;
    }
    let n = distances.len();
    let cells: Vec<f64> = (0..n)
        .flat_map(|high| (0..high).map(move |low| (low, high)))
        .map(|(low, high)| distances.at(low, high))
        .collect();
    let scatter = mad(&cells, MadScale::Normal).unwrap_or(0.0);
    if scatter <= UNIFORM {
        Shape::Uniform { scatter }
    } else {
        Shape::Continuous { scatter, layout: Box::new(Layout::of(distances)) }
    }
}
