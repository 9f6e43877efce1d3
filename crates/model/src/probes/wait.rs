//! `wait`: the cost of strategies for waiting for another thread.

use super::ProbeDeclaration;
use crate::quantity::{Aggregate, Better, Parameter, Quantity, Unit};
use crate::runtime::names as runtime_names;
use crate::wait::names;

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: names::PROBE,
    title: "Ways of waiting",
    question: "what does each way of waiting for another thread cost?",
    unit: "ns",
    quantity: "round_trip",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    pair_roles: "the row times the trips",
    named_by: Some("strategy"),
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("strategy", "strategy").in_table("strategy").ranked(),
    Parameter::new("partner", "partner").in_table("partner").ranked(),
    Parameter::new("mode", "mode").in_table("mode"),
];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::TRIP, "trip")
        .headline(0)
        .in_table()
        .meaning("round trip, including one clock read"),
    Quantity::events(names::HINT, "hint").headline(1).in_table(),
    Quantity::events(names::PLAIN, "plain").in_table(),
    Quantity::events(names::CLOCK, "clock").headline(2).in_table(),
    Quantity::time(names::LOOP_NS, "loop ns").headline(5).in_table(),
    Quantity::time(names::MEAN_NS, "mean ns").in_table(),
    Quantity::time(names::CLOCK_NS, "clock ns").in_table(),
    Quantity::time(names::NET_NS, "net ns").in_table(),
    Quantity::value(names::SPINS, "spins", Unit::Number).in_table(),
    Quantity::time(names::CPU_NS, "CPU ns").in_table(),
    Quantity::value(names::SLEEPS, "sleeps", Unit::Number).in_table(),
    Quantity::time(names::CALL_NS, "call ns").headline(4).in_table(),
    Quantity::value(names::CALL_CYCLES, "cycles", Unit::Cycles).better(Better::Lower).in_table(),
    Quantity::value(names::SLOWDOWN, "slowdown", Unit::Ratio).better(Better::Lower).headline(3).in_table(),
    Quantity::rate(names::TRIPS_PER_S, "trips per s", "trips"),
    Quantity::value(names::PACKAGE_NJ, "package nj per trip", Unit::Nanojoules).better(Better::Lower),
    Quantity::value(names::TAKEN, "involuntary switches per trip", Unit::Number),
    Quantity::count(names::SAMPLES, "samples"),
    Quantity::count(names::NEGATIVE, "negative net"),
    Quantity::count(names::DURATION_US, "duration us").unit(Unit::Us),
    Quantity::value(runtime_names::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(runtime_names::COLLECTIONS, "collections"),
    Quantity::count(runtime_names::TOTAL_NS, "total ns").unit(Unit::Ns),
];
