//! Names in trials of `wait`.

/// The probe.
pub const PROBE: &str = "wait";
/// Mode: the strategy and `busy` in turn.
pub const ALTERNATE: &str = "alternate";
/// Mode: many round trips between two reads of the clock.
pub const NO_CLOCK: &str = "no-clock";
/// Mode: single calls of the wait action.
pub const COST: &str = "cost";
/// Mode: work of a sibling while one waits.
pub const SIBLING: &str = "sibling";
/// Mode and distribution: two reads of the clock with nothing in between.
pub const CLOCK: &str = "clock";
/// Distribution: a round trip and one pair of reads of the clock.
pub const TRIP: &str = "trip";
/// Distribution: the same of trips that wait with the strategy, where it alternates …
pub const HINT: &str = "hint";
/// … and of those that wait without.
pub const PLAIN: &str = "plain";
/// Time of the whole loop for each trip.
pub const LOOP_NS: &str = "loop_ns";
/// Mean of the samples.
pub const MEAN_NS: &str = "mean_ns";
/// Median of what two reads of the clock take.
pub const CLOCK_NS: &str = "clock_ns";
/// The mean without the clock; may be negative.
pub const NET_NS: &str = "net_ns";
/// Polls in vain of both sides for each trip.
pub const SPINS: &str = "spins_per_trip";
/// Trips in a second.
pub const TRIPS_PER_S: &str = "trips_per_s";
/// CPU time of both sides for each trip.
pub const CPU_NS: &str = "cpu_ns_per_trip";
/// Energy of all packages over a trip in nanojoules, whatever else they did; where it can be read.
pub const PACKAGE_NJ: &str = "package_nj_per_trip";
/// How often a side slept, for each trip.
pub const SLEEPS: &str = "sleeps_per_trip";
/// How often a CPU was taken, for each trip.
pub const TAKEN: &str = "taken_per_trip";
/// One call of the wait action.
pub const CALL_NS: &str = "call_ns";
/// The same in cycles of the core.
pub const CALL_CYCLES: &str = "call_cycles";
/// How many times longer a sibling takes for its work.
pub const SLOWDOWN: &str = "sibling_slowdown";
/// Count: round trips.
pub const SAMPLES: &str = "samples";
/// Count: samples below the cost of the clock.
pub const NEGATIVE: &str = "negative_net";
/// Count: time of all round trips of a mode without clock, in microseconds.
pub const DURATION_US: &str = "duration_us";
