//! Work orders and results of runtimes for queues.

use super::names;
use crate::adapters::pass::AdapterPass;
use crate::adapters::protocol::{AdapterOperation, Events, MAX_OPERATIONS, Payload, RuntimeWork};
use crate::queues::payload;
use crate::series::{RequestError, per_pass};
use coretalk_model::Flag;
use coretalk_model::runtime::names::TOTAL_NS;
use coretalk_model::series::{Observed, Parameters, TrialSpec};

pub fn work(spec: &TrialSpec, options: &Parameters) -> Result<RuntimeWork, RequestError> {
    let payload = spec.parameters.text("payload").unwrap_or("u64");
    let payload = match payload::Payload::parse(payload)? {
        payload::Payload::U64 => Payload::U64,
        payload::Payload::String => Payload::String,
        payload::Payload::Bytes(_) => {
            let name = spec.parameters.text("queue").unwrap_or_default();
            let sentence = format!("`{name}` with {payload}: messages of a runtime are u64 or string");
            return Err(RequestError::Unfit(sentence.into()));
        }
    };
    let capacity = spec.parameters.number("capacity").unwrap_or(1.0) as u64;
    Ok(RuntimeWork {
        operation: AdapterOperation::Queue { capacity, payload },
        events: Events::Together,
        most: per_pass(options, "messages", 1).unwrap_or(MAX_OPERATIONS),
    })
}

pub fn result(spec: &TrialSpec, pass: &AdapterPass) -> Observed {
    let mut observed = pass.observed();
    let capacity = spec.parameters.number("capacity").map_or(1, |capacity| capacity as u64);
    if pass.waits_for_quanta(&spec.placement, capacity) {
        observed.flags.set(Flag::SharedSpin);
    }
    observed.value(names::RATE, 1e9 / pass.ns_per_operation());
    observed.count(names::MESSAGES, pass.count);
    observed.count(TOTAL_NS, pass.ns);
    for (side, role) in pass.roles.iter().enumerate() {
        if let Some(cpu_ns) = role.cpu_ns {
            observed.count(names::CPU_NS[side], cpu_ns);
        }
        if let Some([voluntary, involuntary]) = role.switches {
            observed.count(names::VOLUNTARY[side], voluntary);
            observed.count(names::INVOLUNTARY[side], involuntary);
        }
    }
    observed
}
