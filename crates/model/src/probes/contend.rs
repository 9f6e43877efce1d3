//! `contend`: the cost of changing one number from many threads.

use super::ProbeDeclaration;
use crate::contend::names;
use crate::quantity::{Aggregate, Better, InRanking, Parameter, Preferred, Quantity, Unit, Unranked};
use crate::runtime::names as runtime_names;

/// Texts, parameters and quantities of the probe.
pub const DECLARATION: ProbeDeclaration = ProbeDeclaration {
    id: names::PROBE,
    title: "Contention on one counter",
    question: "what does it cost when many threads update one counter?",
    unit: "ns",
    quantity: "contention",
    parameters: PARAMETERS,
    quantities: QUANTITIES,
    named_by: Some("method"),
    not_reported_by_runtimes: &[names::ACQUIRE, names::RUN_LENGTH, names::JAIN_1MS],
    ..ProbeDeclaration::EMPTY
};

/// Methods without a rank. A counter per thread bounds the cost of every lock, and a data race loses updates.
const NEVER_RANKED: &[(&str, Unranked)] = &[("per-thread", Unranked::Bound), ("racy", Unranked::WrongAnswer)];

const PARAMETERS: &[Parameter] = &[
    Parameter::new("method", "method")
        .in_table("method")
        .in_ranking(InRanking::Subject { never: NEVER_RANKED }),
    Parameter::new("threads", "threads").in_table("threads").preferring(Preferred::Most),
    Parameter::new("arrange", "arrange"),
    Parameter::new("critical_ns", "critical").unit(Unit::Ns),
    Parameter::new("parallel_ns", "parallel").unit(Unit::Ns),
    Parameter::new("read_share", "read share").unit(Unit::Share).in_ranking(InRanking::OfSubject),
];

/// Trials are judged by wall time ÷ operations of all threads, which falls with the number of threads even under
/// contention. The time per operation of one thread does not fall.
const QUANTITIES: &[Quantity] = &[
    Quantity::events(names::ACQUIRE, "acquire").in_table(),
    Quantity::time(names::THREAD_NS, "thread ns")
        .displayed()
        .in_table()
        .meaning("time per operation and thread")
        .formula("wall time × threads / operations"),
    Quantity::time(names::WALL_NS, "wall ns").headline(0).in_table(),
    Quantity::rate(names::RATE, "ops per s", "ops"),
    Quantity::rate(names::SLOWEST, "slowest ops per s", "ops"),
    Quantity::value(names::JAIN, "jain", Unit::Number).within([0.0, 1.0]).better(Better::Higher),
    Quantity::value(names::JAIN_1MS, "jain 1ms", Unit::Number).within([0.0, 1.0]).better(Better::Higher),
    Quantity::value(names::SHARE_MIN, "share min", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::SHARE_MAX, "share max", Unit::Share).within([0.0, 1.0]),
    Quantity::value(names::RUN_LENGTH, "run length", Unit::Number),
    Quantity::value(names::OVERLAP, "overlap", Unit::Share).within([0.0, 1.0]),
    Quantity::time(names::CPU_NS, "cpu ns per op"),
    Quantity::value(names::VOLUNTARY, "voluntary switches per op", Unit::Number),
    Quantity::value(names::INVOLUNTARY, "involuntary switches per op", Unit::Number),
    Quantity::count(names::FINAL, "final count").compared(),
    Quantity::count(names::EXPECTED, "expected count").compared(),
    Quantity::count(names::OPERATIONS, "operations"),
    Quantity::value(runtime_names::OUTSIDE, "outside", Unit::Share)
        .within([0.0, 1.0])
        .aggregate(Aggregate::MeanOverPasses),
    Quantity::count(runtime_names::COLLECTIONS, "collections"),
];
