//! Work orders and results of runtimes for wake-ups.

use super::{GAPS_NS, names};
use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::{AdapterOperation, Events, MAX_OPERATIONS, RuntimeWork};
use crate::series::{RequestError, per_pass};
use coretalk_model::series::{Observed, Parameters, TrialSpec};

/// Tolerance as a share of the wake-ups. The waiter slept each time if it made at least `1 - FEW` voluntary switches
/// per wake-up: the first wait may find all threads ready. It never slept if it made at most `FEW`.
const FEW: f64 = 0.01;

pub fn work(spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
    let gap_ns = spec.parameters.number(names::GAP_NS).unwrap_or(GAPS_NS[1]) as u64;
    let most = per_pass(options, "samples", 1).unwrap_or(MAX_OPERATIONS);
    Ok(RuntimeWork { operation: AdapterOperation::Wake { gap_ns }, events: Events::Each, most })
}

/// Converts a runtime's pass into a result. Single waits may have slept or not; the system counts only the total.
pub fn result(pass: &AdapterPass) -> Observed {
    let mut observed = pass.observed();
    observed.count("samples", pass.count);
    let slept = pass.roles[1].switches.map(|[voluntary, _]| voluntary as f64 / pass.count as f64);
    let name = match slept {
        Some(slept) if slept >= 1.0 - FEW => names::SLEPT,
        Some(slept) if slept <= FEW => names::HOT,
        _ => names::MIXED,
    };
    if let Some(events) = &pass.events {
        observed.histogram(name, events.clone());
        if let Some(mean_ns) = events.mean_ns().filter(|_| name == names::SLEPT) {
            observed.value("slept_mean_ns", mean_ns);
        }
    }
    if let Some(slept) = slept {
        observed.value("hot_share", (1.0 - slept).max(0.0));
    }
    observed
}
