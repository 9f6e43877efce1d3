//! [`ClockAgreement`]: whether the clocks of CPUs agree.

use crate::{CpuId, Matrix};

/// Whether the clocks of CPUs agree, and within what. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClockAgreement {
    /// No CPUs were compared, as on a machine that cannot.
    NotCompared,
    /// No pair of CPUs could be compared in time.
    NoPair,
    /// Bounds of some pair exclude zero.
    Differ {
        /// The pair that surely differs most: the first shows more.
        cpus: [CpuId; 2],
        /// Bounds of what it shows more.
        bounds_ns: [f64; 2],
    },
    /// The bounds of every pair that was compared include zero.
    Agree {
        /// The width of the widest bounds.
        within_ns: f64,
    },
}

impl ClockAgreement {
    /// From bounds of what the clock of the row's CPU shows more than that of the column's.
    pub fn of(offsets: Option<&Matrix<Option<[f64; 2]>>>) -> ClockAgreement {
        let Some(offsets) = offsets else { return ClockAgreement::NotCompared };
        let cpus = offsets.cpus();
        let compared = || {
            offsets.iter().filter_map(|(row, column, bounds)| Some(([cpus[row], cpus[column]], (*bounds)?)))
        };
        // Each pair is there in both directions, one of which is above zero where the clocks differ.
        let differing = compared().filter(|(_, bounds)| bounds[0] > 0.0);
        if let Some((cpus, bounds_ns)) = differing.max_by(|a, b| a.1[0].total_cmp(&b.1[0])) {
            return ClockAgreement::Differ { cpus, bounds_ns };
        }
        match compared().map(|(_, bounds)| bounds[1] - bounds[0]).max_by(f64::total_cmp) {
            Some(within_ns) => ClockAgreement::Agree { within_ns },
            None => ClockAgreement::NoPair,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_unless_bounds_of_a_pair_exclude_zero() {
        let of = |bounds: fn(usize, usize) -> Option<[f64; 2]>| {
            let cpus = (0..3).map(CpuId).collect();
            ClockAgreement::of(Some(&Matrix::directed(cpus, bounds)))
        };
        assert_eq!(ClockAgreement::of(None), ClockAgreement::NotCompared);
        assert_eq!(of(|_, _| None), ClockAgreement::NoPair);
        assert_eq!(of(|_, _| Some([-12.0, 9.0])), ClockAgreement::Agree { within_ns: 21.0 });
        let ahead = of(|row, column| {
            let apart = 50.0 * (row as f64 - column as f64);
            Some([apart - 60.0, apart + 60.0])
        });
        assert_eq!(ahead, ClockAgreement::Differ { cpus: [CpuId(2), CpuId(0)], bounds_ns: [40.0, 160.0] });
    }
}
