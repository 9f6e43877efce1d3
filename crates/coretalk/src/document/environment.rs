//! The environment block.

use super::{Identity, known};
use coretalk_model::environment::{Atomics, BuildFacts};
use coretalk_model::{DoctorFinding, Environment};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run was measured under. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentDoc {
    pub(crate) label: Option<String>,
    /// Private: null unless identity was asked for.
    pub(crate) host: Option<String>,
    /// Scenario of a simulated machine.
    pub(crate) simulated: Option<String>,
    pub(crate) cpu_model: Option<String>,
    pub(crate) microcode: Option<String>,
    pub(crate) firmware: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) mitigations: BTreeMap<String, String>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) page_bytes: Option<u64>,
    pub(crate) governor: Option<String>,
    pub(crate) frequency_driver: Option<String>,
    pub(crate) boost: Option<bool>,
    pub(crate) idle_driver: Option<String>,
    /// Null where nothing points to one: see `bare_metal`.
    pub(crate) hypervisor: Option<String>,
    /// Whether nothing stands between the system and the hardware; null where nothing says so.
    pub(crate) bare_metal: Option<bool>,
    /// What says so.
    pub(crate) platform_evidence: Option<String>,
    /// What executes every instruction in place of a processor; null where nothing points to one.
    pub(crate) emulator: Option<String>,
    /// How compare-and-swap is executed on aarch64: `lse` or `ll-sc`; null elsewhere.
    pub(crate) atomics: Option<&'static str>,
    pub(crate) libc: Option<String>,
    pub(crate) clock: ClockDoc,
    /// CPUs that the kernel keeps from its scheduler, as a list; empty where there are none.
    pub(crate) isolated: String,
    pub(crate) load_1min: Option<f64>,
    /// Share of the CPUs that other programs took while this was measured, 0 to 1.
    pub(crate) others_share: Option<f64>,
    /// What the CPU quota of the control group did while this was measured; `null` where no group counts it.
    pub(crate) throttled: Option<ThrottledDoc>,
    pub(crate) compiler: Option<String>,
    /// Profile, optimisation, target and its features in one line.
    pub(crate) build: Option<String>,
    /// How the tool was built; null where simulated, and in runs of tools that did not say.
    pub(crate) build_facts: Option<BuildDoc>,
    /// Libraries whose queues and locks are measured, with their versions, and the allocator; empty where simulated.
    pub(crate) libraries: BTreeMap<String, String>,
    /// Runtimes in other languages that took part (`java`), with their versions.
    pub(crate) runtimes: BTreeMap<String, String>,
    pub(crate) priority: Option<String>,
    /// What only the user knows.
    pub(crate) notes: BTreeMap<String, String>,
    pub(crate) doctor: Vec<FindingDoc>,
}

/// The clock that measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClockDoc {
    pub(crate) source: Option<String>,
    pub(crate) hz: Option<f64>,
    pub(crate) hz_error_ppm: Option<f64>,
    pub(crate) cost_ns: Option<f64>,
    pub(crate) step_ns: Option<f64>,
    pub(crate) invariant: Option<bool>,
    pub(crate) kernel_source: Option<String>,
    pub(crate) hint_ns: Option<f64>,
    pub(crate) hint_cycles: Option<f64>,
}

/// How the tool was built; its version, compiler and C library stand beside it. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildDoc {
    /// Target triple.
    pub(crate) target: String,
    /// With the C library: `static` or `dynamic`.
    pub(crate) linking: &'static str,
    /// Features of the target that code may use.
    pub(crate) features: Vec<String>,
    /// `debug`, `release` or `dist`.
    pub(crate) profile: String,
    /// Of the crate that measures.
    pub(crate) opt_level: String,
    /// With `-dirty` where files differed from it.
    pub(crate) commit: Option<String>,
    /// Day of the last change of the lock file.
    pub(crate) lock_date: Option<String>,
    /// Version of SQLite.
    pub(crate) sqlite: Option<String>,
}

impl BuildDoc {
    fn of(facts: BuildFacts) -> BuildDoc {
        let BuildFacts { target, linking, features, profile, opt_level, commit, lock_date, sqlite } = facts;
        BuildDoc { target, linking: linking.name(), features, profile, opt_level, commit, lock_date, sqlite }
    }
}

/// One check of `doctor`, or of `selftest`.
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
pub struct ThrottledDoc {
    /// Periods in which the process was stopped.
    pub(crate) times: u64,
    /// For how long, in seconds, summed over CPUs.
    pub(crate) seconds: Option<f64>,
    /// When it was first seen, in seconds since that part of the run began.
    pub(crate) from_s: Option<f64>,
}

impl EnvironmentDoc {
    pub(super) fn of(
        environment: &Environment,
        findings: &[DoctorFinding],
        identity: Identity,
    ) -> EnvironmentDoc {
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
            emulator: environment.emulator,
            atomics: environment.atomics.map(Atomics::name),
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
            build_facts: environment.build_facts.map(BuildDoc::of),
            libraries: environment.libraries,
            runtimes: environment.runtimes,
            priority: environment.priority,
            notes: environment.notes,
            doctor: findings.iter().map(FindingDoc::of).collect(),
        }
    }
}

impl FindingDoc {
    pub(super) fn of(finding: &DoctorFinding) -> FindingDoc {
        let DoctorFinding { id, verdict, text, fix } = finding.clone();
        FindingDoc { id, verdict: verdict.name(), text, fix }
    }
}
