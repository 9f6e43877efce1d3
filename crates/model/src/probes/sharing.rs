//! `sharing`: the distance between writes of two threads at which neither slows the other down.

use super::ProbeDeclaration;
use crate::quantity::{Better, Parameter, Quantity, Unit};
use crate::sharing::names;

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: names::PROBE,
    title: "Sharing distance",
    question: "how far apart must two threads write to avoid false sharing?",
    unit: "ns",
    quantity: "write",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] =
    &[Parameter::new(names::DISTANCE, "distance bytes").unit(Unit::Bytes).in_table("bytes apart")];

const QUANTITIES: &[Quantity] = &[
    Quantity::time(names::SHARED_NS, "ns both")
        .headline(0)
        .in_table()
        .meaning("time of an addition while both threads add"),
    Quantity::time(names::ALONE_NS, "ns alone").in_table(),
    Quantity::value(names::SLOWDOWN, "slowdown", Unit::Ratio).better(Better::Lower).in_table(),
    Quantity::count("samples", "samples"),
];
