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
    /// Why there is no value: no visit was made in the state of the machine that the headline is from.
    reason: Option<String>,
}

impl LadderDoc {
    pub(super) fn of(row: &LadderRow) -> LadderDoc {
        LadderDoc {
            relation: row.relation.name(),
            classes: row.classes.clone(),
            step: row.step.clone(),
            kernel: row.kernel.to_string(),
            median: row.latency_ns.and_then(|latency| known(latency.point)),
            ci: row.latency_ns.as_ref().and_then(ci),
            range: row.range_ns.and_then(|[low, high]| Some([known(low)?, known(high)?])),
            unit: "ns",
            pairs: row.pairs,
            reason: row.reason.clone(),
        }
    }
}
