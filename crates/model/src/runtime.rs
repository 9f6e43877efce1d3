//! Runtimes in other languages: names of their numbers, and the flags for work of unpinned threads.

use crate::{Flag, Flags};

/// Names of the numbers of a runtime pass, the same for all measurements.
pub mod names {
    /// Share of the CPU time of the process used by threads without a role, 0 to 1.
    pub const OUTSIDE: &str = "outside_share";
    /// Number of checks that the threads are on their CPUs, if the system does not count migrations.
    pub const PLACEMENT_SAMPLES: &str = "placement_samples";
    /// Number of garbage collections.
    pub const COLLECTIONS: &str = "collections";
    /// Time of all passes from the first to the last operation, in nanoseconds, as a count.
    pub const TOTAL_NS: &str = "total_ns";
}

const HELPED_SHARE: f64 = 0.10;
const UNCLAIMED_SHARE: f64 = 0.50;

/// The flags for this share of CPU time of threads without a role.
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
        share if share > UNCLAIMED_SHARE => Flags::NONE.with(Flag::Unclaimed),
        share if share > HELPED_SHARE => Flags::NONE.with(Flag::WorkedElsewhere),
        _ => Flags::NONE,
    }
}
