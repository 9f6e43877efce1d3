//! The gate for parallel measurement: whether measuring many pairs at once changes the results.
//!
//! The cells of one level that were measured both ways are compared pair by pair. A level passes only if a bias above
//! the margin is *excluded*. A test for a difference would pass any noisy measurement.

use super::compare::{Equivalence, paired_shift, verdict};
use super::elementary::ln;
use super::estimate::Estimate;

/// The result of the comparison of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParallelBias {
    /// Shift of ln(parallel ÷ serial) with its 90 % interval (Hodges and Lehmann 1963); 0.02 is about + 2 %.
    pub log_ratio: Estimate,
    /// Two one-sided tests against the margin (Schuirmann 1987). Only `Equivalent` passes the gate.
    pub verdict: Equivalence,
}

impl ParallelBias {
    /// Whether there are enough cells for an interval that is not entirely outside the margin.
    pub fn is_bounded(&self) -> bool {
        self.log_ratio.confidence >= 1.0 - ALPHA - 1e-9 && self.verdict != Equivalence::Different
    }
}

/// The margin, ± 1 %. Without bias, with 1.5 % noise on each side, 64 cells pass in 96 % of simulations, 25 in 44 %.
pub const GATE_MARGIN: f64 = 0.01;

const ALPHA: f64 = 0.1;

/// Number of cells of a level to measure both ways. On smaller levels, cells are measured repeatedly.
pub const GATE_CELLS: usize = 64;

/// Compares the cells of one level, each measured in parallel and alone, in any common unit. Pairs with a value that is
/// not positive and finite are left out. `None` if no pair is left.
///
/// ```
/// # use coretalk_model::stats::gate::{parallel_bias, GATE_MARGIN};
/// # use coretalk_model::stats::compare::Equivalence;
/// let serial_ns = [100.0, 110.0, 105.0, 98.0, 120.0, 101.0];
/// let parallel_ns = serial_ns.map(|ns| ns * 1.03);
/// let bias = parallel_bias(&parallel_ns, &serial_ns, GATE_MARGIN).unwrap();
/// assert_eq!(bias.verdict, Equivalence::Different);
/// ```
pub fn parallel_bias(parallel: &[f64], serial: &[f64], margin: f64) -> Option<ParallelBias> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let log_ratios: Vec<f64> = parallel
        .iter()
        .zip(serial)
        .filter(|&(&parallel, &serial)| usable(parallel) && usable(serial))
        .map(|(&parallel, &serial)| ln(parallel / serial))
        .collect();
    let log_ratio = paired_shift(&log_ratios, ALPHA)?;
    // A bias of + margin and a bias of 1 ÷ (1 + margin) are equally large.
    Some(ParallelBias { log_ratio, verdict: verdict(&log_ratio, ln(1.0 + margin)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Key;

    /// Shares of `Equivalent` and `Different` in simulated levels with 1.5 % noise on each side, 8 % between cells.
    fn outcomes(cells: u64, bias: f64) -> [f64; 2] {
        const LEVELS: u64 = 1_000;
        let mut counts = [0.0; 2];
        for level in 0..LEVELS {
            let key = Key::from_words(&[8, level]);
            let measured_ns = |cell: u64, side: u64, factor: f64| {
                200.0 * (1.0 + 0.08 * key.normal(cell)) * factor * (1.0 + 0.015 * key.with(side).normal(cell))
            };
            let parallel: Vec<f64> = (0..cells).map(|cell| measured_ns(cell, 1, 1.0 + bias)).collect();
            let serial: Vec<f64> = (0..cells).map(|cell| measured_ns(cell, 2, 1.0)).collect();
            match parallel_bias(&parallel, &serial, GATE_MARGIN).unwrap().verdict {
                Equivalence::Equivalent => counts[0] += 1.0 / LEVELS as f64,
                Equivalence::Different => counts[1] += 1.0 / LEVELS as f64,
                Equivalence::CannotTell => {}
            }
        }
        counts
    }

    #[test]
    fn no_bias_passes_and_two_percent_never_do() {
        let [passed, _] = outcomes(GATE_CELLS as u64, 0.0);
        assert!((0.93..0.985).contains(&passed), "no bias passed {passed}");
        for bias in [0.02, -0.02] {
            let [passed, shown] = outcomes(GATE_CELLS as u64, bias);
            assert!(passed < 0.002 && shown >= 0.95, "{bias}: passed {passed}, shown {shown}");
        }
    }

    #[test]
    fn bias_at_the_margin_passes_in_five_percent_at_most_and_few_cells_rarely() {
        assert!(outcomes(GATE_CELLS as u64, 0.01)[0] <= 0.065);
        let [few, _] = outcomes(10, 0.0);
        assert!(few < 0.12, "{few}");
    }

    #[test]
    fn cells_without_a_value_are_left_out() {
        assert_eq!(parallel_bias(&[0.0, f64::NAN], &[1.0, 2.0], 0.01), None);
        let one = parallel_bias(&[0.0, 5.0], &[1.0, 5.0], 0.01).unwrap();
        assert_eq!((one.log_ratio.point, one.verdict), (0.0, Equivalence::CannotTell));
    }
}
