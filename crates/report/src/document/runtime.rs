//! Results that only runtimes of other languages have.

use super::{known, rounded, significant};
use coretalk_model::runtime::names;
use coretalk_model::series::{ProcessResult, TrialResult};
use schemars::JsonSchema;
use serde::Serialize;

/// Additional results of a runtime.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuntimeDoc {
    /// Processes that made passes; the interval of the median is computed over them.
    processes: Vec<ProcessDoc>,
    /// Total time ÷ operations (messages, round trips) in nanoseconds, including rare pauses; null if not reported.
    overall_ns: Option<f64>,
    /// Number of garbage collections over all passes; null if not reported.
    collections: Option<u64>,
    /// Share of the CPU time used by threads other than the measured ones, 0 to 1; null if not reported.
    outside_share: Option<f64>,
}

/// One process of a runtime.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProcessDoc {
    /// Number of passes.
    passes: u32,
    /// Median of the headline over its passes, in the unit of the headline.
    median: Option<f64>,
}

impl RuntimeDoc {
    pub(super) fn new(trial: &TrialResult) -> Option<RuntimeDoc> {
        let process = |process: &ProcessResult| ProcessDoc {
            passes: process.passes,
            median: known(process.value).map(rounded),
        };
        (!trial.processes.is_empty()).then(|| RuntimeDoc {
            processes: trial.processes.iter().map(process).collect(),
            overall_ns: trial.overall_ns().and_then(significant),
            collections: trial.counts.get(names::COLLECTIONS).copied(),
            outside_share: trial.values.get(names::OUTSIDE).and_then(|share| significant(share.point)),
        })
    }
}
