//! `latency`: the time that a cache line takes between CPUs. Its trials add an idle gap or busy neighbours.

use super::ProbeDeclaration;
use super::wake::names as wake;
use crate::idle_gaps::names;
use crate::latency::PROBE;
use crate::quantity::{Better, Parameter, Preferred, Quantity, Unit};

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: PROBE,
    title: "Latency between CPUs",
    question: "how long does a cache line take from one CPU to another?",
    unit: "ns",
    quantity: "half_round_trip",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(names::GAP_NS, "gap").unit(Unit::Ns).in_table("after").preferring(Preferred::Least),
    Parameter::new(names::RECEIVER, "receiver").in_table("receiver"),
    Parameter::new(names::IDLE_STATES, "idle states").in_table("idle states"),
    Parameter::new(names::LOAD, "load").in_table("load"),
    Parameter::new(names::WHERE, "neighbours").in_table("neighbours"),
];

/// A sleeping receiver reports the quantities of [`wake`].
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::ROUND_TRIP, "round trip").in_table(),
    Quantity::events(wake::SLEPT, "wake-up").headline(2).in_table(),
    Quantity::time(names::HALF_NET_NS, "half, net ns")
        .of_median(names::ROUND_TRIP, 0.5)
        .headline(1)
        .in_table()
        .meaning("half a round trip, minus half a clock read"),
    Quantity::time(names::IDLE_NS, "idle ns").in_table(),
    Quantity::time(names::LOADED_NS, "loaded ns").in_table(),
    Quantity::value(names::RATIO, "ratio", Unit::Ratio)
        .better(Better::Lower)
        .headline(0)
        .in_table()
        .meaning("loaded time over idle time"),
    Quantity::events(wake::HOT, "hot").headline(3),
    Quantity::events(wake::WAKER, "waker"),
    Quantity::events(wake::FIRST, "first"),
    Quantity::time("clock_ns", "clock ns"),
    Quantity::value("hot_share", "hot share", Unit::Share).within([0.0, 1.0]),
    Quantity::time("slept_mean_ns", "slept mean ns"),
    Quantity::count("samples", "samples"),
    Quantity::count("negative", "negative"),
];
