//! [`repeatability`]: whether the same levels come out again.

use super::distances::Distances;
use super::{Found, InferError, Observation, Structure};
use crate::stats::{Key, normal};
use crate::{CpuSet, Matrix};

/// No cell is moved by less than this share: intervals tell how exact a cell is, not how much equal pairs differ.
const LEAST_MOVE: f64 = 0.01;

/// Infers again from the matrix with every value moved at random within its interval, and says for each level of
/// `structure` whether it came out exactly the same. One call is one repetition, so that a caller can spread them over
/// threads and stop. It grades a level and does not accept it.
///
/// # Errors
/// As [`infer`](super::infer).
pub fn repeatability(
    observed: &Matrix<Option<Observation>>,
    structure: &Structure,
    key: Key,
) -> Result<Vec<bool>, InferError> {
    let mut distances = Distances::new(observed)?;
    let n = distances.len();
    // Half the width of a 95 % interval, in deviations.
    let deviations = normal::quantile(0.975);
    distances.shake(|low, high, width| {
        let deviation = (width / deviations).max(LEAST_MOVE);
        key.normal((high * n + low) as u64) * deviation
    });
    let again: Vec<Vec<CpuSet>> =
        Found::of(&distances).levels.iter().map(|level| distances.labelled(level)).collect();
    Ok(structure.levels.iter().map(|level| again.contains(&level.groups)).collect())
}
