//! `queue`: messages per second between threads through a bounded queue.

use super::ProbeDeclaration;
use crate::quantity::{Aggregate, Better, Parameter, Preferred, Quantity, Unit};
use crate::queue::names;
use crate::runtime::names as runtime_names;

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: names::PROBE,
    title: "Throughput of a bounded queue",
    question: "how many messages per second pass between threads through a bounded queue?",
    unit: "messages/s",
    quantity: "throughput",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    pair_roles: "from the intended send time of a message until it is received; the row produces, the column consumes",
    named_by: Some("queue"),
    ..ProbeDeclaration::EMPTY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("queue", "queue").in_table("queue").ranked(),
    Parameter::new("capacity", "capacity").in_table("capacity").preferring(Preferred::Nearest(1000.0)),
    Parameter::new("payload", "payload").in_table("payload").preferring(Preferred::Named("u64")),
    Parameter::new("rate_per_s", "rate").unit(Unit::PerSecond("messages")),
    Parameter::new("producers", "producers"),
    Parameter::new("consumers", "consumers"),
    Parameter::new("batch", "batch").in_table("batch"),
];

/// Tables show trials that form no matrix: at a fixed rate, or with several producers or consumers.
const QUANTITIES: &[Quantity] = &[
    // At a fixed rate, the headline is the delay, because the rate itself was requested.
    Quantity::events(names::CORRECTED, "corrected")
        .headline(0)
        .in_table()
        .meaning("time from when a message was due until it was received"),
    Quantity::events(names::UNCORRECTED, "uncorrected").in_table(),
    Quantity::events(names::OF_BATCH[0], "first of batch")
        .in_table()
        .meaning("as corrected, of the first message of each batch"),
    Quantity::events(names::OF_BATCH[1], "last of batch")
        .in_table()
        .meaning("as corrected, of the last message of each batch"),
    Quantity::rate(names::RATE, "messages/s", "messages").headline(1).in_table(),
    Quantity::value(names::FAIRNESS[0], "fair producers", Unit::Number)
        .within([0.0, 1.0])
        .better(Better::Higher)
        .in_table()
        .meaning("share of the producer with fewest messages ÷ an equal share"),
    Quantity::value(names::FAIRNESS[1], "fair consumers", Unit::Number)
        .within([0.0, 1.0])
        .better(Better::Higher)
        .in_table()
        .meaning("share of the consumer with fewest messages ÷ an equal share"),
    Quantity::value(names::SHARE, "share", Unit::Share).within([0.0, 1.0]).of_each_role(),
    Quantity::value(names::LARGEST[0], "producer share max", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::LARGEST[1], "consumer share max", Unit::Share).within([0.0, 1.0]),
    Quantity::count(names::KEPT, "passes kept").aggregate(Aggregate::SumOverStates),
    Quantity::count(names::MISSED, "passes missed").aggregate(Aggregate::SumOverStates),
    Quantity::count(names::MESSAGES, "messages"),
    Quantity::count(names::FULL, "full"),
    Quantity::count(names::EMPTY, "empty"),
    Quantity::count(names::CPU_NS[0], "producer cpu ns").unit(Unit::Ns),
    Quantity::count(names::CPU_NS[1], "consumer cpu ns").unit(Unit::Ns),
    Quantity::count(names::VOLUNTARY[0], "producer voluntary"),
    Quantity::count(names::VOLUNTARY[1], "consumer voluntary"),
    Quantity::count(names::INVOLUNTARY[0], "producer involuntary"),
    Quantity::count(names::INVOLUNTARY[1], "consumer involuntary"),
    Quantity::value(runtime_names::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(runtime_names::COLLECTIONS, "collections"),
    Quantity::count(runtime_names::TOTAL_NS, "total ns").unit(Unit::Ns),
];
