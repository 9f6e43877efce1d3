//! Names of the numbers of a `queue` pass.

/// The probe.
pub const PROBE: &str = "queue";
/// Messages per second over the middle of the pass.
pub const RATE: &str = "messages_per_s";
/// Received messages.
pub const MESSAGES: &str = "messages";
/// Number of times that producers found the queue full; absent if the queue does not report it.
pub const FULL: &str = "full";
/// Number of times that consumers found the queue empty; absent if the queue does not report it.
pub const EMPTY: &str = "empty";
/// CPU time of producers and consumers in nanoseconds.
pub const CPU_NS: [&str; 2] = ["producer_cpu_ns", "consumer_cpu_ns"];
/// Voluntary context switches.
pub const VOLUNTARY: [&str; 2] = ["producer_voluntary", "consumer_voluntary"];
/// Involuntary context switches.
pub const INVOLUNTARY: [&str; 2] = ["producer_involuntary", "consumer_involuntary"];
/// Delay from the scheduled time of sending to reception, at a fixed rate.
pub const CORRECTED: &str = "corrected";
/// Delay from the actual time of sending to reception.
pub const UNCORRECTED: &str = "uncorrected";
/// Delays from the scheduled time of the first message of a batch to the reception of the first and of the last.
pub const OF_BATCH: [&str; 2] = ["first_of_batch", "last_of_batch"];
/// Share of the producer or consumer with the fewest messages ÷ an equal share; 1 if all shares are equal.
pub const FAIRNESS: [&str; 2] = ["producer_fairness", "consumer_fairness"];
/// Share of all messages of one producer or consumer.
pub const SHARE: &str = "share";
/// Largest share of all messages of one producer or consumer.
pub const LARGEST: [&str; 2] = ["producer_share_max", "consumer_share_max"];
/// Number of passes that kept the rate, in any state of the machine.
pub const KEPT: &str = "passes_kept";
/// Number of passes that did not keep the rate.
pub const MISSED: &str = "passes_missed";
