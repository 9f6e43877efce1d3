//! `wake`: the time until a thread that waits in a primitive runs again.

use super::ProbeDeclaration;
use crate::quantity::{Aggregate, Parameter, Preferred, Quantity, Unit};
use crate::runtime::names as runtime_names;
use crate::series::MASK;
use crate::wake::RanOn;

/// Default times in nanoseconds before the waiter is woken. Polling idle loops hide the cost of a longer wait: a guest
/// may poll for 200 µs before it gives its CPU back (KVM's `halt_poll_ns`).
pub const GAPS_NS: [f64; 3] = [20e3, 1e6, 20e6];
/// The gap of the ladder, longer than idle loops poll.
pub const LADDER_GAP_NS: f64 = GAPS_NS[1];

/// Names of the idle gap and the quantities of a trial.
pub mod names {
    /// Time before the waiter is woken.
    pub const GAP_NS: &str = "gap_ns";
    /// The waiter had provably slept.
    pub const SLEPT: &str = "slept";
    /// The waiter had not slept, or there is no proof.
    pub const HOT: &str = "hot";
    /// Some waits slept and some did not. For the waiter of a runtime, the system counts only the total.
    pub const MIXED: &str = "mixed";
    /// Time by which the waker was delayed.
    pub const WAKER: &str = "waker";
    /// The first wake-up of each pass, which is cold.
    pub const FIRST: &str = "first";
    /// Time until the first of many waiters continues.
    pub const FIRST_OF_ALL: &str = "first-of-all";
    /// Time until the last of many waiters continues.
    pub const LAST_OF_ALL: &str = "last-of-all";
    /// The option that leaves both threads unbound.
    pub const UNPINNED: &str = "unpinned";
    /// Time of one operation without a waiter.
    pub const ALONE_NS: &str = "alone_ns";
    /// Prefix of the name of an idle state: the number of times that the CPUs of the trial entered the state.
    pub const IDLE: &str = "idle_";
}

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: "wake",
    title: "Wake-up of a waiting thread",
    question: "how long until a waiting thread runs again?",
    unit: "ns",
    quantity: "wake_up",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    pair_roles: "the row wakes the column",
    named_by: Some("primitive"),
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("primitive", "primitive").in_table("primitive").ranked(),
    Parameter::new(names::GAP_NS, "gap").unit(Unit::Ns).in_table("after").preferring(Preferred::Least),
    Parameter::new(MASK, MASK),
];

/// Aggregated over passes, because wake-ups within a pass are dependent.
const fn share_of(place: RanOn) -> Quantity {
    Quantity::value(place.share(), place.title(), Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::ShareOverPasses)
}

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::SLEPT, "slept")
        .headline(0)
        .in_table()
        .meaning("time until a sleeping thread runs again"),
    Quantity::events(names::HOT, "hot").headline(1).in_table(),
    Quantity::events(names::MIXED, "slept or hot")
        .headline(2)
        .in_table()
        .meaning("time until a thread runs again that slept or was still polling"),
    Quantity::events(names::FIRST_OF_ALL, "first").in_table(),
    Quantity::events(names::LAST_OF_ALL, "last").headline(3).in_table(),
    Quantity::events(names::WAKER, "waker").in_table(),
    Quantity::time(names::ALONE_NS, "alone ns").headline(4).in_table(),
    Quantity::events(names::FIRST, "first"),
    share_of(RanOn::SameCpu),
    share_of(RanOn::Sibling),
    share_of(RanOn::SameL3),
    share_of(RanOn::Elsewhere),
    Quantity::value("hot_share", "hot share", Unit::Share).within([0.0, 1.0]),
    Quantity::time("slept_mean_ns", "slept mean ns"),
    Quantity::count("samples", "samples"),
    Quantity::count("negative", "negative"),
    Quantity::value(runtime_names::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(runtime_names::COLLECTIONS, "collections"),
];
