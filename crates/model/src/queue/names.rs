//! Names of what a pass of `queue` says.

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
/// From the time at which the first message of a batch was meant to be sent until it was received, and of the last.
pub const OF_BATCH: [&str; 2] = ["first_of_batch", "last_of_batch"];
/// Of several producers, and of several consumers, the smallest share of the messages that one of them had ÷ an equal
/// share: 1 where all had as many.
pub const FAIRNESS: [&str; 2] = ["producer_fairness", "consumer_fairness"];
/// The share of all messages that one of them had.
pub const SHARE: &str = "share";
/// The largest share of all messages that one of them had.
pub const LARGEST: [&str; 2] = ["producer_share_max", "consumer_share_max"];
/// Passes that kept the rate, in whatever state the machine was.
pub const KEPT: &str = "passes_kept";
/// Passes that did not.
pub const MISSED: &str = "passes_missed";
