//! What a runtime has to do for a way of waiting, and what a pass of it found out.

use super::names;
use crate::adapters::pass::Pass;
use crate::adapters::protocol::{Events, MOST_OPERATIONS, Operation, RuntimeWork};
use crate::series::RequestError;
use coretalk_model::Flag;
use coretalk_model::runtime::names::TOTAL_NS;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::stats::ANALYSES;

/// What a runtime has to do for a trial.
pub fn work(spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
    let events = match spec.parameters.text("mode") {
        None => Events::Each,
        Some(names::NO_CLOCK) => Events::Together,
        Some(mode) => {
            let sentence = format!("a runtime times round trips, and has no mode `{mode}`");
            return Err(RequestError::Unfit(sentence.into()));
        }
    };
    let each = |all: f64| (all / ANALYSES[0] as f64).ceil() as u64;
    let most = options.number("samples").map_or(MOST_OPERATIONS, each);
    Ok(RuntimeWork { operation: Operation::Wait, events, most })
}

/// What a pass found out.
pub fn result(spec: &TrialSpec, pass: &Pass) -> Observed {
    let mut observed = pass.observed();
    if pass.hangs_on_slices(&spec.placement, 1) {
        observed.flags.set(Flag::SharedSpin);
    }
    let trips = pass.count as f64;
    observed.value(names::LOOP_NS, pass.ns_per_operation());
    observed.count(names::SAMPLES, pass.count);
    observed.count(TOTAL_NS, pass.ns);
    if spec.parameters.text("mode") == Some(names::NO_CLOCK) {
        observed.value(names::TRIPS_PER_S, 1e9 / pass.ns_per_operation());
        observed.count(names::DURATION_US, pass.ns / 1_000);
    }
    if let Some(events) = &pass.events {
        observed.histogram(names::TRIP, events.clone());
        let clock_ns = pass.clock_ns();
        if let Some(clock_ns) = clock_ns {
            observed.value(names::CLOCK_NS, clock_ns);
        }
        if let Some(mean_ns) = events.mean_ns() {
            observed.value(names::MEAN_NS, mean_ns);
            if let Some(clock_ns) = clock_ns {
                observed.value(names::NET_NS, mean_ns - clock_ns);
            }
        }
    }
    if let Some(cpu_ns) = pass.cpu_ns() {
        observed.value(names::CPU_NS, cpu_ns as f64 / trips);
    }
    if let Some([given, taken]) = pass.switches() {
        observed.value(names::SLEEPS, given as f64 / trips);
        observed.value(names::TAKEN, taken as f64 / trips);
    }
    observed
}
