//! Names in trials of `wait`.

/// The probe.
pub const PROBE: &str = "wait";
/// Mode: alternates the strategy with `busy`.
pub const ALTERNATE: &str = "alternate";
/// Mode: many round trips between two reads of the clock.
pub const NO_CLOCK: &str = "no-clock";
/// Mode: single calls of the wait action.
pub const COST: &str = "cost";
/// Mode: work of an SMT sibling during the wait.
pub const SIBLING: &str = "sibling";
/// Mode and distribution: two reads of the clock with nothing in between.
pub const CLOCK: &str = "clock";
/// Distribution: a round trip and one pair of clock reads.
pub const TRIP: &str = "trip";
/// Distribution: trips with the strategy, in alternation.
pub const HINT: &str = "hint";
/// Distribution: trips without the strategy, in alternation.
pub const PLAIN: &str = "plain";
/// Time of the whole loop per trip.
pub const LOOP_NS: &str = "loop_ns";
/// Mean of the samples.
pub const MEAN_NS: &str = "mean_ns";
/// Median time of two clock reads.
pub const CLOCK_NS: &str = "clock_ns";
/// Mean minus the cost of the clock; may be negative.
pub const NET_NS: &str = "net_ns";
/// Unsuccessful polls of both sides per trip.
pub const SPINS: &str = "spins_per_trip";
/// Trips per second.
pub const TRIPS_PER_S: &str = "trips_per_s";
/// CPU time of both sides per trip.
pub const CPU_NS: &str = "cpu_ns_per_trip";
/// Energy of all packages per trip in nanojoules, including all other activity; absent if not readable.
pub const PACKAGE_NJ: &str = "package_nj_per_trip";
/// Sleeps of a side per trip.
pub const SLEEPS: &str = "sleeps_per_trip";
/// Involuntary context switches per trip.
pub const TAKEN: &str = "taken_per_trip";
/// One call of the wait action.
pub const CALL_NS: &str = "call_ns";
/// One call of the wait action, in core cycles.
pub const CALL_CYCLES: &str = "call_cycles";
/// Factor by which the work of an SMT sibling slows down.
pub const SLOWDOWN: &str = "sibling_slowdown";
/// Number of round trips.
pub const SAMPLES: &str = "samples";
/// Number of samples below the cost of the clock.
pub const NEGATIVE: &str = "negative_net";
/// Time of all round trips of a mode without clock, in microseconds, as a count.
pub const DURATION_US: &str = "duration_us";
