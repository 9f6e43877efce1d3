//! [`Structure`]: what the latencies say about how a machine is built; [`Layout`]: how the CPUs of one without groups lie to
//! each other.

use super::distances::Distances;
use super::{Doubt, Found, InferError, Observation, Suspect};
use crate::latency::Execution;
use crate::stats::elementary::exp;
use crate::stats::{Estimate, Key, normal};
use crate::{CpuId, CpuSet, Matrix};

/// What the latencies say about how a machine is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// The CPUs that were looked at, in matrix order.
    pub cpus: Vec<CpuId>,
    /// CPUs without a single value: nothing is known of them.
    pub left_out: Vec<CpuId>,
    /// Levels whose groups stand out, finest first; each lies inside the next. Empty where the machine shows none.
    pub levels: Vec<InferredLevel>,
    /// What is no level, finest first: one step of the clock sets it apart, or all of its pairs read 0 and `inside` is
    /// `None`. Names are those that they had.
    pub dropped: Vec<InferredLevel>,
    /// Step of the clock that was taken into account, in the unit of the matrix; 0 where none is known.
    pub step: f64,
    /// Groups that stand out alone and are no level. Worth a remark.
    pub hints: Vec<LoneGroup>,
    /// How the values lie where there is no level.
    pub shape: Shape,
    /// Pairs that are nearer than the rows of their CPUs allow and no suspects alone, since they are more than disturbance
    /// explains, or nothing shows which of them are wrong and the levels leave them unexplained: groups may be hidden, and
    /// those that rest on one of the latter are not named.
    pub contradictory: usize,
    /// Cells to be measured again before they are believed.
    pub suspects: Vec<Suspect>,
}

/// How the values of a machine lie.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// There are levels.
    Grouped,
    /// All pairs are about equally far apart, within the scatter given as a share.
    Uniform {
        /// Scatter of the cells, a twentieth at either end left out.
        scatter: f64,
    },
    /// Too few CPUs to tell: three, up to five that form no groups, or a group and one CPU that is far from it or slow.
    TooFew,
    /// Values differ by more than noise and form no groups: a mesh, a ring, cores of several kinds, or threads that
    /// were not pinned.
    Continuous {
        /// Scatter of the cells, a twentieth at either end left out.
        scatter: f64,
        /// How the CPUs lie to each other.
        layout: Box<Layout>,
    },
}

/// A group that is faster inside than to anybody else, where that is no level: all others are one CPU, which is slow or
/// could be as well as far away, or they are another kind of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneGroup {
    /// The group.
    pub cpus: CpuSet,
    /// The one CPU beside it, where there is one: of the matrix, or of the group of the next coarser level.
    pub but: Option<CpuId>,
    /// The group within it that `but` belongs to by its row, where there is one: `but` is slow to that one as to all others,
    /// and not far away.
    pub slow_beside: Option<CpuSet>,
    /// Median of the pairs inside, in the unit of the matrix.
    pub inside: Option<f64>,
    /// The slowest of the pairs inside.
    pub inside_most: Option<f64>,
    /// Median of the pairs with `but`, else of all that leave the group, in the unit of the matrix.
    pub across: Option<f64>,
}

/// A median hides pairs that take so many times as long.
const FAR_INSIDE: f64 = 1.5;

impl LoneGroup {
    /// The slowest of the pairs inside, where the median does not stand for it: the group has groups of its own.
    pub fn far_inside(&self) -> Option<f64> {
        self.inside_most.filter(|most| self.inside.is_some_and(|median| *most > FAR_INSIDE * median))
    }
}

/// Groups of CPUs that reach each other sooner than others.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredLevel {
    /// `group-1` the finest, or `smt` where a test has shown its pairs to be threads of a core.
    pub name: String,
    /// Disjoint, two or more CPUs each, by lowest CPU.
    pub groups: Vec<CpuSet>,
    /// CPUs in no group: each is a group of its own.
    pub single: CpuSet,
    /// CPUs whose group nothing shows, since pairs contradict each other.
    pub open: CpuSet,
    /// Median over the pairs that share a group of this level and none of a finer one, with its interval over pairs, in
    /// the unit of the matrix; `None` where none of them has a value.
    pub inside: Option<Estimate>,
    /// Median over the pairs that leave a group and share the next coarser one, in the unit of the matrix.
    pub across: Option<f64>,
    /// In how many of the repetitions of [`repeatability`] the level came out exactly the same, as
    /// a share; `None` where that was not tried.
    pub repeats: Option<f64>,
    /// Pairs put together because nobody else was left, their own cell being missing.
    pub by_elimination: Vec<[CpuId; 2]>,
    /// What the pairs of it that were tested share, where all say the same; `None` where none was tested.
    pub execution: Option<Execution>,
}

impl Structure {
    /// The group of a level that holds this CPU.
    pub fn group_of(&self, level: usize, cpu: CpuId) -> Option<&CpuSet> {
        self.levels.get(level)?.groups.iter().find(|group| group.contains(cpu))
    }

    /// The finest level in which two CPUs share a group.
    pub fn nearest_level(&self, a: CpuId, b: CpuId) -> Option<usize> {
        (0..self.levels.len()).find(|&level| self.group_of(level, a).is_some_and(|group| group.contains(b)))
    }

    /// The groups that consist of all CPUs but one, with that one, which is slow or could be as well as far away.
    pub fn all_but_one(&self) -> impl Iterator<Item = (&LoneGroup, CpuId)> {
        self.hints.iter().filter_map(|hint| Some((hint, hint.but?)))
    }

    /// Pairs that do not fit the groups, or where there are none are unlike the rest.
    pub fn unfit(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(|suspect| suspect.doubt == Doubt::Outlier)
    }

    /// How far the values scatter where they form no groups, as a share.
    pub fn scatter(&self) -> Option<f64> {
        match self.shape {
            Shape::Grouped | Shape::TooFew => None,
            Shape::Uniform { scatter } | Shape::Continuous { scatter, .. } => Some(scatter),
        }
    }
}

/// No cell is moved by less than this share: intervals tell how exact a cell is, not how much equal pairs differ.
const MIN_MOVE: f64 = 0.01;

/// Infers again from the matrix with every value moved at random within its interval: one repetition for each key. A row
/// of the result says for each level of `structure` whether it came out exactly the same. It grades a level and does not
/// accept it.
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
    // Half the width of a 95 % interval, in deviations.
    let deviations = normal::quantile(0.975);
    let repeated = |key: Key| {
        let moved = distances.moved(|low, high, width| {
            let deviation = (width / deviations).max(MIN_MOVE);
            key.normal((high * n + low) as u64) * deviation
        });
        let mut found = Found::of(&moved);
        found.drop_open(&moved);
        let again: Vec<Vec<CpuSet>> = found.levels.iter().map(|level| level.labelled(&moved)).collect();
        structure.levels.iter().map(|level| again.contains(&level.groups)).collect()
    };
    Ok(keys.into_iter().map(repeated).collect())
}

/// Rounds of power iteration for each axis; what a picture of a mesh needs, not an eigenvalue to the last digit.
const ROUNDS: usize = 50;

/// How the CPUs of a machine without groups lie to each other: classical scaling (Torgerson 1952) of the latencies to
/// a plane. A description, no claim about the chip.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The CPUs along the longer axis: neighbours in this order reach each other sooner than most.
    pub order: Vec<CpuId>,
    /// Position of each CPU in the plane, in matrix order and in the unit of the matrix.
    pub at: Vec<[f64; 2]>,
}

impl Layout {
    pub(super) fn of(distances: &Distances) -> Layout {
        let n = distances.len();
        let mut form = centred_squares(distances);
        let axes = [0, 1].map(|axis| principal_axis(&mut form, n, axis));
        let at: Vec<[f64; 2]> = (0..n).map(|cpu| [axes[0][cpu], axes[1][cpu]]).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| at[a][0].total_cmp(&at[b][0]));
        // An axis has no direction of its own: the end with the lower CPU comes first.
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

/// The axis along which the CPUs lie furthest apart, by power iteration (von Mises 1929) from a fixed start; it is taken
/// out of the form.
fn principal_axis(form: &mut [f64], n: usize, axis: u64) -> Vec<f64> {
    // Any start that is not orthogonal to the axis will do; a fixed one gives the same picture every time.
    let mut direction: Vec<f64> = (0..n as u64).map(|cpu| Key::of(&[axis]).normal(cpu)).collect();
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
