//! The environment block.

use super::{Identity, known};
use coretalk_model::{Environment, Finding};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run was measured under. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentDoc {
    label: Option<String>,
    /// Private: null unless identity was asked for.
    host: Option<String>,
    /// Scenario of a simulated machine.
    simulated: Option<String>,
    cpu_model: Option<String>,
    microcode: Option<String>,
    firmware: Option<String>,
    kernel: Option<String>,
    arch: Option<String>,
    mitigations: BTreeMap<String, String>,
    memory_bytes: Option<u64>,
    page_bytes: Option<u64>,
    governor: Option<String>,
    frequency_driver: Option<String>,
    boost: Option<bool>,
    idle_driver: Option<String>,
    /// Null where nothing points to one: see `bare_metal`.
    hypervisor: Option<String>,
    /// Whether nothing stands between the system and the hardware; null where nothing says so.
    bare_metal: Option<bool>,
    /// What says so.
    platform_evidence: Option<String>,
    libc: Option<String>,
    clock: ClockDoc,
    /// CPUs that the kernel keeps from its scheduler, as a list; empty where there are none.
    isolated: String,
    load_1min: Option<f64>,
    /// Share of the CPUs that other programs took while this was measured, 0 to 1.
    others_share: Option<f64>,
    /// What the CPU quota of the control group did while this was measured; `null` where no group counts it.
    throttled: Option<ThrottledDoc>,
    compiler: Option<String>,
    build: Option<String>,
    /// Libraries whose queues and locks are measured, with their versions, and the allocator; empty where simulated.
    libraries: BTreeMap<String, String>,
    priority: Option<String>,
    /// What only the user knows.
    notes: BTreeMap<String, String>,
    doctor: Vec<FindingDoc>,
}

/// The clock that measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClockDoc {
    source: Option<String>,
    hz: Option<f64>,
    hz_error_ppm: Option<f64>,
    cost_ns: Option<f64>,
    step_ns: Option<f64>,
    invariant: Option<bool>,
    kernel_source: Option<String>,
    hint_ns: Option<f64>,
    hint_cycles: Option<f64>,
}

/// One check of `doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingDoc {
    id: String,
    /// `ok`, `cannot-tell`, `warn` or `fail`.
    verdict: &'static str,
    text: String,
    fix: Option<String>,
}

/// What a CPU quota did.
#[derive(Debug, Serialize, JsonSchema)]
struct ThrottledDoc {
    /// Periods in which the process was stopped.
    times: u64,
    /// For how long, in seconds, summed over CPUs.
    seconds: Option<f64>,
    /// When it was first seen, in seconds since that part of the run began.
    from_s: Option<f64>,
}

impl EnvironmentDoc {
    pub(super) fn of(environment: &Environment, findings: &[Finding], identity: Identity) -> EnvironmentDoc {
        let environment = environment.clone();
        let clock = environment.clock;
        let number = |value: Option<f64>| value.and_then(known);
        EnvironmentDoc {
            label: environment.label,
            host: environment.host.filter(|_| identity == Identity::Included),
            simulated: environment.simulated,
            cpu_model: environment.cpu_model,
            microcode: environment.microcode,
            firmware: environment.firmware,
            kernel: environment.kernel,
            arch: environment.arch,
            mitigations: environment.mitigations,
            memory_bytes: environment.memory_bytes,
            page_bytes: environment.page_bytes,
            governor: environment.governor,
            frequency_driver: environment.frequency_driver,
            boost: environment.boost,
            idle_driver: environment.idle_driver,
            hypervisor: environment.hypervisor,
            bare_metal: environment.bare_metal,
            platform_evidence: environment.platform_evidence,
            libc: environment.libc,
            clock: ClockDoc {
                source: Some(clock.source).filter(|source| !source.is_empty()),
                hz: known(clock.hz).filter(|&hz| hz > 0.0),
                hz_error_ppm: number(clock.hz_error_ppm),
                cost_ns: number(clock.cost_ns),
                step_ns: number(clock.step_ns),
                invariant: clock.invariant,
                kernel_source: clock.kernel_source,
                hint_ns: number(clock.hint_ns),
                hint_cycles: number(clock.hint_cycles),
            },
            isolated: environment.isolated.to_string(),
            load_1min: number(environment.load_1min),
            others_share: number(environment.others_share),
            throttled: environment.throttled.map(|throttled| ThrottledDoc {
                times: throttled.times,
                seconds: number(throttled.seconds),
                from_s: number(throttled.from_s),
            }),
            compiler: environment.compiler,
            build: environment.build,
            libraries: environment.libraries,
            priority: environment.priority,
            notes: environment.notes,
            doctor: findings
                .iter()
                .map(|finding| FindingDoc {
                    id: finding.id.clone(),
                    verdict: finding.verdict.name(),
                    text: finding.text.clone(),
                    fix: finding.fix.clone(),
                })
                .collect(),
        }
    }
}
