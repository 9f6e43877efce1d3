//! Results of a runtime's pass on contention.

use super::observation::{ContendObservation, rates};
use crate::adapters::pass::{AdapterPass, RoleShare};
use coretalk_model::TickRate;
use coretalk_model::contend::names;
use coretalk_model::series::Observed;

pub fn result(pass: &AdapterPass) -> Observed {
    let mut observed = pass.observed();
    let observation = |share: &RoleShare| ContendObservation {
        added: share.added,
        operations: share.operations,
        window: share.window,
        ..ContendObservation::default()
    };
    let observations: Vec<ContendObservation> = pass.shares.iter().map(observation).collect();
    // Windows are in nanoseconds.
    rates(&mut observed, &observations, TickRate { hz: 1e9 });
    let added: u64 = pass.shares.iter().map(|share| share.added).sum();
    observed.count(names::EXPECTED, added);
    // Passes with a wrong number in memory were rejected earlier.
    observed.count(names::FINAL, added);
    // The system's counts cover the whole pass, not the windows.
    let per_addition = |count: u64| count as f64 / added as f64;
    if let Some(cpu_ns) = pass.cpu_ns() {
        observed.value(names::CPU_NS, per_addition(cpu_ns));
    }
    if let Some([given, taken]) = pass.switches() {
        observed.value(names::VOLUNTARY, per_addition(given));
        observed.value(names::INVOLUNTARY, per_addition(taken));
    }
    observed
}
