//! `jitter`: interruptions of each CPU.

use super::ProbeDeclaration;
use crate::jitter::names;
use crate::quantity::{Aggregate, Better, Quantity, Unit};

/// Texts, parameters and quantities of the probe.
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

/// Trials are judged by the observation time, which is no property of the machine, so tables show the lost time.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::GAPS, "gaps").in_table(),
    lost_share(names::LOST, "lost").displayed().lost_time().in_table(),
    Quantity::count(names::WATCHED, "watched ms").unit(Unit::Ms).in_table(),
    lost_share(names::SWITCH, "switch share"),
    lost_share(names::QUOTA, "quota share"),
    lost_share(names::TICK, "tick share"),
    lost_share(names::INTERRUPT, "interrupt share"),
    lost_share(names::STEAL, "steal share"),
    lost_share(names::UNEXPLAINED, "unexplained share"),
    Quantity::rate(names::RATE, "gaps per s", "gaps")
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::time(names::LOOK_NS, "look ns"),
    Quantity::value(names::WATCHED_SHARE, "watched share", Unit::Share).headline(0).within([0.0, 1.0]),
    Quantity::count(names::SAMPLES, "samples").unit(Unit::Ms),
];

const fn lost_share(id: &'static str, title: &'static str) -> Quantity {
    Quantity::value(id, title, Unit::Share)
        .within([0.0, 1.0])
        .better(Better::Lower)
        .aggregate(Aggregate::MeanOverPasses)
}
