//! What a runtime in another language says beside its numbers.

use super::{known, rounded, significant};
use coretalk_model::runtime::names;
use coretalk_model::series::{ProcessResult, TrialResult};
use schemars::JsonSchema;
use serde::Serialize;

/// What a runtime says beside its numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuntimeDoc {
    /// One for each process that made passes: the interval of the median is over these.
    processes: Vec<ProcessDoc>,
    /// Total time ÷ total operations (messages, round trips) in nanoseconds, rare pauses included; null where not told.
    overall_ns: Option<f64>,
    /// Collections of garbage over all passes; null where not told.
    collections: Option<u64>,
    /// Share of the CPU time that threads other than the measured ones took, 0 to 1; null where not told.
    outside_share: Option<f64>,
}

/// One process of a runtime.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProcessDoc {
    passes: u32,
    /// What the trial is judged by: the median over its passes, in the unit of that.
    median: Option<f64>,
}

impl RuntimeDoc {
    /// Of a trial that a runtime performed; `None` for what this program did itself.
    pub(super) fn of(trial: &TrialResult) -> Option<RuntimeDoc> {
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
