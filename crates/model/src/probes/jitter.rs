//! `jitter`: interruptions of each CPU.

use super::ProbeDeclaration;
use crate::jitter::names;
use crate::quantity::{Aggregate, Better, Quantity, Unit};

/// What the probe asks, varies and reports.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: names::PROBE,
    title: "Quiet and noisy CPUs",
    question: "how much time does each CPU lose, to what, and how long is the longest gap?",
    unit: "ns",
    quantity: "gap",
    parameters: &[],
    quantities: QUANTITIES,
    ..ProbeDeclaration::EMPTY
};

/// Accumulated times are reported as means. Trials are judged by the observation time, but as that is no property of
/// the machine, tables show the lost time.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::GAPS, "gaps").in_table(),
    of_lost_time(names::LOST, "lost").displayed().lost_time().in_table(),
    Quantity::count(names::WATCHED, "watched ms").unit(Unit::Ms).in_table(),
    of_lost_time(names::SWITCH, "switch share"),
    of_lost_time(names::QUOTA, "quota share"),
    of_lost_time(names::TICK, "tick share"),
    of_lost_time(names::INTERRUPT, "interrupt share"),
    of_lost_time(names::STEAL, "steal share"),
    of_lost_time(names::UNEXPLAINED, "unexplained share"),
    Quantity::rate(names::RATE, "gaps per s", "gaps")
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::time(names::LOOK_NS, "look ns"),
    Quantity::value(names::WATCHED_SHARE, "watched share", Unit::Share).headline(0).within([0.0, 1.0]),
    Quantity::count(names::SAMPLES, "samples").unit(Unit::Ms),
];

const fn of_lost_time(id: &'static str, title: &'static str) -> Quantity {
    Quantity::value(id, title, Unit::Share)
        .within([0.0, 1.0])
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses)
}
