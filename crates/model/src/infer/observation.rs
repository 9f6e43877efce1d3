//! [`Observation`]: what inference needs to know of a pair.

use crate::latency::{CellValue, LatencyMap};
use crate::{Flag, Matrix};

/// What inference needs to know of a pair of CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Half round trip, in any unit that is one for the whole matrix.
    pub value: f64,
    /// Half the width of its interval as a share of the value; 0 where nobody said.
    pub half_width: f64,
}

impl Observation {
    /// A value of which nothing more is known, as in a file of another tool.
    pub fn bare(value: f64) -> Observation {
        Observation { value, half_width: 0.0 }
    }

    /// A measured cell. One whose CPU moved tells nothing about CPUs.
    pub fn of_cell(value: &CellValue) -> Option<Observation> {
        let half_width = value.latency_ns.relative_half_width();
        (!value.flags.contains(Flag::Migrated)).then_some(Observation {
            value: value.latency_ns.point,
            // Too few passes for an interval.
            half_width: if half_width.is_finite() { half_width } else { 1.0 },
        })
    }
}

/// The pairs of a measured map.
pub fn observations(map: &LatencyMap) -> Matrix<Option<Observation>> {
    map.cells.map(|cell| cell.value().and_then(Observation::of_cell))
}
