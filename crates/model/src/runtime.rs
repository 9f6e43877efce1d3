//! Queues, waits and wake-ups of runtimes in other languages: names of what every pass of them says, and when too much of
//! the work is done by threads that nobody pinned.

use crate::{Flag, Flags};

/// Names of what a pass of a runtime says, whatever it measures.
pub mod names {
    /// Share of the CPU time of the process that threads beside the roles took, 0 to 1.
    pub const OUTSIDE: &str = "outside_share";
    /// Count: how often the threads of a pass were looked for on their CPUs, where the system does not count their moves.
    pub const PLACEMENT_SAMPLES: &str = "placement_samples";
    /// Count: collections of garbage.
    pub const COLLECTIONS: &str = "collections";
    /// Count: time of all passes from the first operation to the last, in nanoseconds.
    pub const TOTAL_NS: &str = "total_ns";
}

/// Above this share threads beside the roles are flagged.
const HELPED: f64 = 0.10;
/// Above this they did most of the work, and the number is none of the pair.
const ELSEWHERE: f64 = 0.50;

/// What the share of CPU time that threads beside the roles took does to a number.
///
/// ```
/// use coretalk_model::runtime::helpers;
/// use coretalk_model::{Flag, Flags};
///
/// assert_eq!(helpers(0.02), Flags::NONE);
/// assert_eq!(helpers(0.38), Flags::NONE.with(Flag::WorkedElsewhere));
/// assert_eq!(helpers(0.53), Flags::NONE.with(Flag::Unclaimed));
/// ```
pub fn helpers(outside_share: f64) -> Flags {
    match outside_share {
        share if share > ELSEWHERE => Flags::NONE.with(Flag::Unclaimed),
        share if share > HELPED => Flags::NONE.with(Flag::WorkedElsewhere),
        _ => Flags::NONE,
    }
}
