//! [`Layout`]: how the CPUs of a machine without groups lie to each other.

use super::distances::Distances;
use crate::CpuId;
use crate::stats::Key;
use crate::stats::elementary::exp;

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
