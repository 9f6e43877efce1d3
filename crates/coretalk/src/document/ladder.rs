//! One number of the ladder.

use super::{Ci, ci, known};
use coretalk_model::latency::LadderRow;
use schemars::JsonSchema;
use serde::Serialize;

/// A step under a relation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LadderDoc {
    relation: &'static str,
    /// Kinds of the two cores, the faster first; null on a machine with one kind.
    classes: Option<[String; 2]>,
    /// A protocol, or `as:` and a tool.
    step: String,
    kernel: String,
    median: Option<f64>,
    ci: Option<Ci>,
    /// Lowest and highest pair.
    range: Option<Ci>,
    unit: &'static str,
    pairs: u32,
}

impl LadderDoc {
    pub(super) fn of(row: &LadderRow) -> LadderDoc {
        LadderDoc {
            relation: row.relation.name(),
            classes: row.classes.clone(),
            step: row.step.clone(),
            kernel: row.kernel.to_string(),
            median: known(row.latency_ns.point),
            ci: ci(&row.latency_ns),
            range: known(row.range_ns[0]).zip(known(row.range_ns[1])).map(|(low, high)| [low, high]),
            unit: "ns",
            pairs: row.pairs,
        }
    }
}
