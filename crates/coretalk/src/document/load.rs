//! How busy the measured threads kept each CPU while a run of queues went on.

use super::known;
use coretalk_model::series::LoadCurve;
use schemars::JsonSchema;
use serde::Serialize;

/// CPU time of measured threads over the run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoadDoc {
    /// How long a step is. Segments follow each other without what lay between them.
    step_s: f64,
    /// Those that took part, by number.
    cpus: Vec<CpuLoadDoc>,
}

/// One CPU.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CpuLoadDoc {
    cpu: u32,
    /// Share of each step; null where the system does not tell.
    load: Vec<Option<f64>>,
}

impl LoadDoc {
    pub(super) fn of(curve: &LoadCurve) -> LoadDoc {
        let cpus = curve.cpus.iter().map(|(cpu, shares)| CpuLoadDoc {
            cpu: cpu.0,
            load: shares.iter().map(|share| share.and_then(known)).collect(),
        });
        LoadDoc { step_s: curve.step.secs(), cpus: cpus.collect() }
    }
}
