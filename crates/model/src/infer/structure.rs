//! [`Structure`]: the structure of a machine inferred from latencies. [`Layout`]: CPUs of a machine without groups.

use super::distances::Distances;
use super::{InferError, InferredPartitions, Observation, Suspect, SuspectReason};
use crate::latency::Execution;
use crate::stats::elementary::exp;
use crate::stats::{Estimate, Key, normal};
use crate::{CpuId, CpuSet, Matrix};

/// The structure of a machine as inferred from its latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// The CPUs with values, in matrix order.
    pub cpus: Vec<CpuId>,
    /// CPUs without any value.
    pub left_out: Vec<CpuId>,
    /// Levels with distinct groups, finest first, each nested in the next.
    pub levels: Vec<InferredLevel>,
    /// Groups rejected as levels, finest first, with their original names. They are separated by only one step of the
    /// clock, or all of their pairs read 0 and `inside` is `None`.
    pub dropped: Vec<InferredLevel>,
    /// Step of the clock, in the unit of the matrix; 0 if unknown.
    pub step: f64,
    /// Single groups that stand out but form no level.
    pub hints: Vec<LoneGroup>,
    /// The distribution of the values if there is no level.
    pub shape: ValueShape,
    /// Number of pairs that are nearer than the rows of their CPUs allow, but are not individually suspect. Either
    /// there are too many for disturbance, or it is unknown which of them are wrong. In the second case, groups that
    /// depend on these pairs are not listed.
    pub contradictory: usize,
    /// Cells that must be measured again before they are trusted.
    pub suspects: Vec<Suspect>,
}

/// The distribution of the values of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueShape {
    /// There are levels.
    Grouped,
    /// All pairs have about the same latency.
    Uniform {
        /// Scatter of the cells as a share, without a twentieth at either end.
        scatter: f64,
    },
    /// Too few CPUs to decide: three, or up to five without groups, or a group and one CPU that is far from it or slow.
    TooFew,
    /// Values differ by more than noise without groups: a mesh, a ring, several kinds of cores, or unpinned threads.
    Continuous {
        /// Scatter of the cells as a share, without a twentieth at either end.
        scatter: f64,
        /// Arrangement of the CPUs.
        layout: Box<Layout>,
    },
}

/// A group that stands out but is no level. The other CPUs are one slow or far CPU, or another kind of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneGroup {
    /// The group.
    pub cpus: CpuSet,
    /// The only CPU outside the group, if there is just one: in the matrix, or in the group of the next coarser level.
    pub but: Option<CpuId>,
    /// The inner group of `but` according to its row, if `but` is slow to all CPUs rather than far away.
    pub slower_group: Option<CpuSet>,
    /// Median of the pairs inside, in the unit of the matrix.
    pub inside: Option<f64>,
    /// Latency of the slowest pair inside.
    pub inside_most: Option<f64>,
    /// Median of the pairs with `but`, otherwise of all pairs that leave the group, in the unit of the matrix.
    pub across: Option<f64>,
}

const FAR_INSIDE: f64 = 1.5;

impl LoneGroup {
    /// Latency of the slowest pair inside, if smaller inner groups make the median unrepresentative.
    pub fn far_inside(&self) -> Option<f64> {
        self.inside_most.filter(|most| self.inside.is_some_and(|median| *most > FAR_INSIDE * median))
    }
}

/// Groups of CPUs that are nearer to each other than to others.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredLevel {
    /// `group-1` for the finest level, or `smt` if a test has shown its pairs to be threads of a core.
    pub name: String,
    /// Disjoint groups of two or more CPUs, ordered by lowest CPU.
    pub groups: Vec<CpuSet>,
    /// CPUs that each form a group of one.
    pub single: CpuSet,
    /// CPUs whose group is unknown because pairs contradict each other.
    pub open: CpuSet,
    /// Median and interval over the pairs that share a group of this level and none of a finer level, in the unit of
    /// the matrix. `None` if no such pair has a value.
    pub inside: Option<Estimate>,
    /// Median over the pairs that leave a group and share a group of the next coarser level, in the unit of the matrix.
    pub across: Option<f64>,
    /// Share of the repetitions of [`repeatability`] that exactly reproduced the level; `None` if not tested.
    pub repeats: Option<f64>,
    /// Pairs without a value of their own, formed because no other partners were left.
    pub by_elimination: Vec<[CpuId; 2]>,
    /// Result of the execution tests of the pairs, if all agree; `None` without tests.
    pub execution: Option<Execution>,
}

impl Structure {
    /// The group of a level that contains this CPU.
    pub fn group_of(&self, level: usize, cpu: CpuId) -> Option<&CpuSet> {
        self.levels.get(level)?.groups.iter().find(|group| group.contains(cpu))
    }

    /// The finest level in which two CPUs share a group.
    pub fn nearest_level(&self, a: CpuId, b: CpuId) -> Option<usize> {
        (0..self.levels.len()).find(|&level| self.group_of(level, a).is_some_and(|group| group.contains(b)))
    }

    /// The groups of all CPUs but one, with that CPU, which is slow or may be far away.
    pub fn all_but_one(&self) -> impl Iterator<Item = (&LoneGroup, CpuId)> {
        self.hints.iter().filter_map(|hint| Some((hint, hint.but?)))
    }

    /// Pairs that do not fit the groups, or that differ from all others if there are no groups.
    pub fn unfit(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(|suspect| suspect.doubt == SuspectReason::Outlier)
    }

    /// The scatter of values without groups, as a share.
    pub fn scatter(&self) -> Option<f64> {
        match self.shape {
            ValueShape::Grouped | ValueShape::TooFew => None,
            ValueShape::Uniform { scatter } | ValueShape::Continuous { scatter, .. } => Some(scatter),
        }
    }
}

/// Minimum random shift of a cell, as a share. Intervals do not include the differences between equal pairs.
const MIN_MOVE: f64 = 0.01;

/// Repeats the inference once for each key, with every value moved at random within its interval. Each row states for
/// each level of `structure` whether it was exactly reproduced. The result grades levels but does not decide on them.
///
/// # Errors
/// As [`infer`](super::infer).
pub fn repeatability(
    observed: &Matrix<Option<Observation>>,
    structure: &Structure,
    keys: impl IntoIterator<Item = Key>,
) -> Result<Vec<Vec<bool>>, InferError> {
    let distances = Distances::new(observed, structure.step)?;
    let n = distances.len();
    let deviations = normal::quantile(0.975);
    let repeated = |key: Key| {
        let moved = distances.moved(|low, high, width| {
            let deviation = (width / deviations).max(MIN_MOVE);
            key.normal((high * n + low) as u64) * deviation
        });
        let mut found = InferredPartitions::find(&moved);
        found.drop_open(&moved);
        let found_groups: Vec<Vec<CpuSet>> =
            found.levels.iter().map(|level| level.labelled(&moved)).collect();
        structure.levels.iter().map(|level| found_groups.contains(&level.groups)).collect()
    };
    Ok(keys.into_iter().map(repeated).collect())
}

/// Rounds of power iteration for each axis, enough for a picture of a mesh.
const ROUNDS: usize = 50;

/// Arrangement of CPUs without groups: classical scaling (Torgerson 1952) of the latencies to a plane, no chip plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The CPUs along the longer axis. Neighbours in this order are nearer to each other than most.
    pub order: Vec<CpuId>,
    /// Position of each CPU in the plane, in matrix order and in the unit of the matrix.
    pub at: Vec<[f64; 2]>,
}

impl Layout {
    pub(super) fn from_distances(distances: &Distances) -> Layout {
        let n = distances.len();
        let mut form = centred_squares(distances);
        let axes = [0, 1].map(|axis| principal_axis(&mut form, n, axis));
        let at: Vec<[f64; 2]> = (0..n).map(|cpu| [axes[0][cpu], axes[1][cpu]]).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| at[a][0].total_cmp(&at[b][0]));
        // The sign of an axis is arbitrary, so the end with the lower CPU comes first.
        if distances.cpus[order[n - 1]] < distances.cpus[order[0]] {
            order.reverse();
        }
        let order = order.into_iter().map(|cpu| distances.cpus[cpu]).collect();
        Layout { order, at }
    }
}

/// −½ of the squared distances, with zero mean in rows and columns.
fn centred_squares(distances: &Distances) -> Vec<f64> {
    let n = distances.len();
    let square = |row: usize, column: usize| {
        let value = if row == column { 0.0 } else { exp(distances.at(row, column)) };
        value * value
    };
    let mut form: Vec<f64> = (0..n * n).map(|at| square(at / n, at % n)).collect();
    let means: Vec<f64> = form.chunks(n).map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let overall = means.iter().sum::<f64>() / n as f64;
    for (at, value) in form.iter_mut().enumerate() {
        *value = -0.5 * (*value - means[at / n] - means[at % n] + overall);
    }
    form
}

/// The axis of largest variance by power iteration (von Mises 1929). Removes its component from the form.
fn principal_axis(form: &mut [f64], n: usize, axis: u64) -> Vec<f64> {
    // Any start that is not orthogonal to the axis works. A fixed start makes the picture reproducible.
    let mut direction: Vec<f64> = (0..n as u64).map(|cpu| Key::from_words(&[axis]).normal(cpu)).collect();
    let mut stretch = 0.0;
    for _ in 0..ROUNDS {
        let next: Vec<f64> =
            form.chunks(n).map(|row| row.iter().zip(&direction).map(|(a, b)| a * b).sum()).collect();
        let length = next.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length == 0.0 {
            return vec![0.0; n];
        }
        stretch = next.iter().zip(&direction).map(|(a, b)| a * b).sum();
        direction = next.iter().map(|value| value / length).collect();
    }
    for (at, value) in form.iter_mut().enumerate() {
        *value -= stretch * direction[at / n] * direction[at % n];
    }
    let scale = stretch.max(0.0).sqrt();
    direction.iter().map(|value| value * scale).collect()
}
