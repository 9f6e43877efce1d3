//! `spawn`: the cost of starting a thread or a process, and the time until it runs.

use super::ProbeDeclaration;
use crate::quantity::{Aggregate, InRanking, Parameter, Preferred, Quantity, Unit};
use crate::runtime::names as runtime_names;
use crate::series::MASK;

/// Names of the distributions and values. A is the time before the creation, B the return of the call, and C the first
/// statement of the new thread or process. D is the time at which the creator knows that it has ended.
pub mod names {
    /// Time until the creator continues (A to B).
    pub const COST: &str = "cost";
    /// Time until the first statement of the new thread or process (A to C).
    pub const LATENCY: &str = "latency";
    /// Time until the creator knows that the new thread or process has ended (A to D).
    pub const JOIN: &str = "join";
    /// Latency of the first, cold creation of each pass.
    pub const FIRST: &str = "first";
    /// First statement minus return of the creation (C − B), signed. Median of a pass.
    pub const AFTER_RETURN_NS: &str = "after_return_ns";
    /// Number of creations in which the new thread or process ran before the call returned.
    pub const CHILD_FIRST: &str = "child_first";
    /// Number of creations, including the first of each pass.
    pub const SAMPLES: &str = "samples";
    /// Resident memory of the process that creates processes.
    pub const PARENT_MIB: &str = "parent_rss_mib";
}

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: "spawn",
    title: "Creation of threads and processes",
    question: "what does it cost to start a thread or a process, and how long until it runs?",
    unit: "ns",
    quantity: "creation",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    named_by: Some("kind"),
    not_reported_by_runtimes: &[names::AFTER_RETURN_NS, names::CHILD_FIRST],
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("kind", "kind").in_table("kind").ranked(),
    Parameter::new("pause_ns", "pause").unit(Unit::Ns).in_table("pause").preferring(Preferred::Least),
    Parameter::new(MASK, MASK),
    Parameter::new("parent_mib", "parent mib").unit(Unit::Mebibytes).in_ranking(InRanking::OfSubject),
];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::COST, "cost").in_table().with_headline(),
    Quantity::events(names::LATENCY, "latency")
        .headline(0)
        .in_table()
        .meaning("time until the first statement runs"),
    Quantity::events(names::JOIN, "join").in_table(),
    // A signed difference: histograms cannot record negative values.
    Quantity::value(names::AFTER_RETURN_NS, "C-B ns", Unit::Ns)
        .aggregate(Aggregate::MedianOverEvents("samples"))
        .in_table(),
    Quantity::events(names::FIRST, "first"),
    Quantity::value(names::PARENT_MIB, "parent rss mib", Unit::Mebibytes),
    Quantity::count(names::CHILD_FIRST, "child first"),
    Quantity::count(names::SAMPLES, "samples"),
    Quantity::value(runtime_names::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(runtime_names::COLLECTIONS, "collections"),
];
