//! Names of what a pass of `queue` says; every count is a sum over all passes.

/// The probe.
pub const PROBE: &str = "queue";
/// Messages per second over the middle of the pass.
pub const RATE: &str = "messages_per_s";
/// Messages taken out.
pub const MESSAGES: &str = "messages";
/// How often producers found the queue full; missing where the queue cannot tell.
pub const FULL: &str = "full";
/// How often consumers found it empty; missing where the queue cannot tell.
pub const EMPTY: &str = "empty";
/// CPU time of producers and consumers in nanoseconds.
pub const CPU_NS: [&str; 2] = ["producer_cpu_ns", "consumer_cpu_ns"];
/// How often they gave their CPU away.
pub const VOLUNTARY: [&str; 2] = ["producer_voluntary", "consumer_voluntary"];
/// How often it was taken from them.
pub const INVOLUNTARY: [&str; 2] = ["producer_involuntary", "consumer_involuntary"];
/// From the time at which a message was meant to be sent until it was received, at a fixed rate.
pub const CORRECTED: &str = "corrected";
/// From the time at which it was sent.
pub const UNCORRECTED: &str = "uncorrected";
