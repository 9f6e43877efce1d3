//! How long to look before sleeping, as `wait` found it.

use super::{Ci, known};
use crate::RunReport;
use coretalk_model::wait::{Crossover, crossovers};
use schemars::JsonSchema;
use serde::Serialize;

/// How long to look before sleeping.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SpinDoc {
    /// `spin`.
    kind: &'static str,
    /// CPUs in role order.
    placement: Vec<u32>,
    /// A wait below this is cheaper spent looking: the CPU time of a sleep and of the wake-up that ends it, in
    /// nanoseconds.
    spin_ns: Option<f64>,
    /// Its interval.
    ci: Option<Ci>,
    /// The best way of looking there.
    strategy: String,
    /// By how much later a sleeper goes on, in nanoseconds; may be negative.
    later_ns: Option<f64>,
    /// Its interval.
    later_ci: Option<Ci>,
}

/// Everything that follows from a run.
pub(super) fn of_report(report: &RunReport) -> Vec<SpinDoc> {
    let result = report.series.as_ref().map(|series| &series.result);
    result.into_iter().flat_map(crossovers).map(SpinDoc::of).collect()
}

impl SpinDoc {
    fn of(found: Crossover) -> SpinDoc {
        let interval = |[_, low, high]: [f64; 3]| Some([known(low)?, known(high)?]);
        SpinDoc {
            kind: "spin",
            placement: found.placement.iter().map(|cpu| cpu.0).collect(),
            spin_ns: known(found.spin_ns[0]),
            ci: interval(found.spin_ns),
            strategy: found.spinning,
            later_ns: known(found.later_ns[0]),
            later_ci: interval(found.later_ns),
        }
    }
}
