//! `broadcast`: the time until the first and the last of many readers see a write.

use super::ProbeDeclaration;
use crate::quantity::{Parameter, Preferred, Quantity};

/// Names of the quantities.
pub mod names {
    /// Number of readers.
    pub const READERS: &str = "readers";
    /// Time from the write until the first reader sees it.
    pub const FIRST: &str = "first";
    /// Time from the write until the last reader sees it.
    pub const LAST: &str = "last";
}

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: "broadcast",
    title: "Broadcast",
    question: "how long until the first and the last of many readers see what one thread writes?",
    unit: "ns",
    quantity: "sight",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] =
    &[Parameter::new(names::READERS, "readers").in_table("readers").preferring(Preferred::Most)];

const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::FIRST, "first").in_table(),
    Quantity::events(names::LAST, "last")
        .headline(0)
        .in_table()
        .meaning("time until the last reader sees the write"),
    Quantity::time("clock_ns", "clock ns"),
    Quantity::count("samples", "samples"),
    Quantity::count("negative", "negative"),
];
