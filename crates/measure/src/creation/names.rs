//! Distributions and values of a trial of `spawn`.

/// Until the creator goes on (A to B).
pub const COST: &str = "cost";
/// Until the first statement of the new one (A to C).
pub const LATENCY: &str = "latency";
/// Until it has ended and the creator knows (A to D).
pub const JOIN: &str = "join";
/// The latency of the first of each pass: cold.
pub const FIRST: &str = "first";
/// First statement minus return of the creation (C − B), with its sign: the median of a pass.
pub const AFTER_RETURN_NS: &str = "after_return_ns";
/// How often the new one ran before the creation had returned.
pub const CHILD_FIRST: &str = "child_first";
/// Creations, the first of each pass included.
pub const SAMPLES: &str = "samples";
/// Resident memory of the process that creates processes.
pub const PARENT_MIB: &str = "parent_rss_mib";
