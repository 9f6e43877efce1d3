//! Names of distributions and values of `spawn`.

/// Time until the creator continues (A to B).
pub const COST: &str = "cost";
/// Time until the first statement of the new thread or process (A to C).
pub const LATENCY: &str = "latency";
/// Time until the creator knows its end (A to D).
pub const JOIN: &str = "join";
/// Latency of the first, cold creation of each pass.
pub const FIRST: &str = "first";
/// First statement minus return of the creation (C − B), signed: median of a pass.
pub const AFTER_RETURN_NS: &str = "after_return_ns";
/// Number of creations in which the new one ran before the call returned.
pub const CHILD_FIRST: &str = "child_first";
/// Number of creations, including the first of each pass.
pub const SAMPLES: &str = "samples";
/// Resident memory of the process that creates processes.
pub const PARENT_MIB: &str = "parent_rss_mib";
