//! [`ClockAgreement`]: whether the clocks of CPUs agree.

use crate::{CpuId, Matrix};

/// Whether the clocks of CPUs agree, with times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClockAgreement {
    /// No CPUs were compared, or the machine cannot compare them.
    NotCompared,
    /// No comparison of a pair ended in time.
    NoPair,
    /// The bounds of at least one pair exclude zero.
    Differ {
        /// The pair with the largest certain difference. The clock of the first CPU is ahead.
        cpus: [CpuId; 2],
        /// Bounds of the lead of the first clock.
        bounds_ns: [f64; 2],
    },
    /// The bounds of all compared pairs include zero.
    Agree {
        /// The width of the widest bounds.
        within_ns: f64,
    },
}

impl ClockAgreement {
    /// Evaluates bounds on the lead of the clock of the row over the clock of the column.
    pub fn from_offsets(offsets: Option<&Matrix<Option<[f64; 2]>>>) -> ClockAgreement {
        let Some(offsets) = offsets else { return ClockAgreement::NotCompared };
        let cpus = offsets.cpus();
        let compared = || {
            offsets.iter().filter_map(|(row, column, bounds)| Some(([cpus[row], cpus[column]], (*bounds)?)))
        };
        // Each pair is present in both directions. If the clocks differ, one direction is positive.
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
            ClockAgreement::from_offsets(Some(&Matrix::directed(cpus, bounds)))
        };
        assert_eq!(ClockAgreement::from_offsets(None), ClockAgreement::NotCompared);
        assert_eq!(of(|_, _| None), ClockAgreement::NoPair);
        assert_eq!(of(|_, _| Some([-12.0, 9.0])), ClockAgreement::Agree { within_ns: 21.0 });
        let ahead = of(|row, column| {
            let apart = 50.0 * (row as f64 - column as f64);
            Some([apart - 60.0, apart + 60.0])
        });
        assert_eq!(ahead, ClockAgreement::Differ { cpus: [CpuId(2), CpuId(0)], bounds_ns: [40.0, 160.0] });
    }
}
