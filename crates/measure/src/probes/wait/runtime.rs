//! Work orders and results of runtimes for wait strategies.

use super::names;
use super::trials::Mode;
use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::{AdapterOperation, Events, MAX_OPERATIONS, RuntimeWork};
use crate::series::{RequestError, per_pass};
use coretalk_model::runtime::names::TOTAL_NS;
use coretalk_model::series::{Observed, Parameters, TrialSpec};
use coretalk_model::{Flag, Histogram};

pub fn work(spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
    let (operation, events) = match Mode::from_spec(spec)? {
        Mode::Timed => (AdapterOperation::Wait, Events::Each),
        Mode::NoClock => (AdapterOperation::Wait, Events::Together),
        Mode::Alternate => (AdapterOperation::Alternate, Events::Each),
        Mode::Cost => (AdapterOperation::Cost, Events::Together),
        Mode::Clock => (AdapterOperation::Clock, Events::Each),
        Mode::Sibling => {
            let sentence = "a runtime does not say what its waiting takes from a sibling";
            return Err(RequestError::Unfit(sentence.into()));
        }
    };
    let most = per_pass(options, "samples", 1).unwrap_or(MAX_OPERATIONS);
    Ok(RuntimeWork { operation, events, most })
}

pub fn result(spec: &TrialSpec, pass: &AdapterPass) -> Observed {
    let mut observed = pass.observed();
    observed.count(names::SAMPLES, pass.count);
    observed.count(TOTAL_NS, pass.ns);
    // The mode was validated when the pass was ordered.
    match Mode::from_spec(spec).unwrap_or(Mode::Timed) {
        Mode::Cost => {
            // The role waits for no other thread. So the time in which it was preempted is not part of a call.
            let used_ns = pass.roles.first().and_then(|role| role.cpu_ns);
            let ns = used_ns.map_or(pass.ns, |used_ns| used_ns.min(pass.ns));
            observed.value(names::CALL_NS, ns as f64 / pass.count as f64);
            return observed;
        }
        Mode::Clock => {
            if let Some(events) = &pass.events {
                observed.histogram(names::CLOCK, events.clone());
                if let Some(mean_ns) = events.mean_ns() {
                    observed.value(names::MEAN_NS, mean_ns);
                }
            }
            return observed;
        }
        Mode::NoClock => {
            observed.value(names::TRIPS_PER_S, 1e9 / pass.ns_per_operation());
            observed.count(names::DURATION_US, pass.ns / 1_000);
        }
        Mode::Timed | Mode::Alternate | Mode::Sibling => {}
    }
    if pass.waits_for_quanta(&spec.placement, 1) {
        observed.flags.set(Flag::SharedSpin);
    }
    let trips = pass.count as f64;
    observed.value(names::LOOP_NS, pass.ns_per_operation());
    if let Some(events) = &pass.events {
        let mut every = events.clone();
        match pass.events_of.get(AdapterOperation::PLAIN) {
            Some(plain) => {
                observed.histogram(names::HINT, events.clone());
                observed.histogram(names::PLAIN, plain.clone());
                every.add(plain);
            }
            None => observed.histogram(names::TRIP, events.clone()),
        }
        trip_values(&mut observed, &every, pass.clock_ns());
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

fn trip_values(observed: &mut Observed, events: &Histogram, clock_ns: Option<f64>) {
    let mean_ns = events.mean_ns();
    let net_ns = mean_ns.zip(clock_ns).map(|(mean_ns, clock_ns)| mean_ns - clock_ns);
    for (name, ns) in [(names::CLOCK_NS, clock_ns), (names::MEAN_NS, mean_ns), (names::NET_NS, net_ns)] {
        if let Some(ns) = ns {
            observed.value(name, ns);
        }
    }
}
