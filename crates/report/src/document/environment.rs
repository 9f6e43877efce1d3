//! The environment of a measurement.

use super::{Identity, known};
use coretalk_model::environment::{Atomics, BuildFacts};
use coretalk_model::{DoctorFinding, Environment};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Conditions of a measurement. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnvironmentDoc {
    pub(crate) label: Option<String>,
    /// Host name; private, null unless identity was requested.
    pub(crate) host: Option<String>,
    /// Scenario of a simulated machine; null on real machines.
    pub(crate) simulated: Option<String>,
    pub(crate) cpu_model: Option<String>,
    pub(crate) microcode: Option<String>,
    pub(crate) firmware: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) arch: Option<String>,
    pub(crate) mitigations: BTreeMap<String, String>,
    pub(crate) memory_bytes: Option<u64>,
    /// Actual page size of the measured lines.
    pub(crate) page_bytes: Option<u64>,
    pub(crate) governor: Option<String>,
    pub(crate) frequency_driver: Option<String>,
    pub(crate) boost: Option<bool>,
    pub(crate) idle_driver: Option<String>,
    /// Name of the hypervisor; null without evidence of one (see `bare_metal`).
    pub(crate) hypervisor: Option<String>,
    /// Whether the system runs directly on hardware; null without evidence.
    pub(crate) bare_metal: Option<bool>,
    /// Evidence for `hypervisor` and `bare_metal`, as a sentence.
    pub(crate) platform_evidence: Option<String>,
    /// Name of an emulator that executes every instruction; null without evidence of one.
    pub(crate) emulator: Option<String>,
    /// Implementation of compare-and-swap on aarch64, `lse` or `ll-sc`; null on other architectures.
    pub(crate) atomics: Option<&'static str>,
    pub(crate) libc: Option<String>,
    pub(crate) clock: ClockDoc,
    /// CPUs isolated from the scheduler, as a CPU list; empty if there are none.
    pub(crate) isolated: String,
    pub(crate) load_1min: Option<f64>,
    /// Share of the CPUs used by other programs during the measurement, 0 to 1, in the segment where it was largest.
    pub(crate) others_share: Option<f64>,
    /// Throttling by the CPU quota of the control group during the measurement; null if no group counts it.
    pub(crate) throttled: Option<ThrottledDoc>,
    pub(crate) compiler: Option<String>,
    /// Build profile, optimisation, target and target features in one line.
    pub(crate) build: Option<String>,
    /// How the tool was built; null on simulated machines, and in runs of versions that did not record it.
    pub(crate) build_facts: Option<BuildDoc>,
    /// Libraries whose queues and locks are measured, and the allocator, with their versions; empty if simulated.
    pub(crate) libraries: BTreeMap<String, String>,
    /// Runtimes of other languages that took part (`java`), with their versions.
    pub(crate) runtimes: BTreeMap<String, String>,
    /// Granted priority: `nice -20`, `fifo 50`, `normal` and so on.
    pub(crate) priority: Option<String>,
    /// Facts stated by the user with `--note`.
    pub(crate) notes: BTreeMap<String, String>,
    pub(crate) doctor: Vec<FindingDoc>,
}

/// The measuring clock. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClockDoc {
    pub(crate) source: Option<String>,
    /// Ticks per second.
    pub(crate) hz: Option<f64>,
    /// Bound on the relative error of `hz`, in parts per million.
    pub(crate) hz_error_ppm: Option<f64>,
    /// Median cost of a start and a stop read, in nanoseconds.
    pub(crate) cost_ns: Option<f64>,
    /// Smallest observed step, in nanoseconds.
    pub(crate) step_ns: Option<f64>,
    /// Whether the counter has a constant rate in every power state.
    pub(crate) invariant: Option<bool>,
    pub(crate) kernel_source: Option<String>,
    /// Cost of one wait hint (PAUSE, YIELD), in nanoseconds.
    pub(crate) hint_ns: Option<f64>,
    pub(crate) hint_cycles: Option<f64>,
}

/// How the tool was built, except version, compiler and C library. Null is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BuildDoc {
    /// Target triple.
    pub(crate) target: String,
    /// Linking of the C library: `static` or `dynamic`.
    pub(crate) linking: &'static str,
    /// Target features that code may use.
    pub(crate) features: Vec<String>,
    /// Build profile: `debug`, `release` or `dist`.
    pub(crate) profile: String,
    /// Optimisation level of the measuring crate.
    pub(crate) opt_level: String,
    /// Commit of the sources, with `-dirty` if files differed from it.
    pub(crate) commit: Option<String>,
    /// Day of the last change of the lock file.
    pub(crate) lock_date: Option<String>,
    /// Version of SQLite.
    pub(crate) sqlite: Option<String>,
}

impl BuildDoc {
    fn new(facts: BuildFacts) -> BuildDoc {
        let BuildFacts { target, linking, features, profile, opt_level, commit, lock_date, sqlite } = facts;
        BuildDoc { target, linking: linking.name(), features, profile, opt_level, commit, lock_date, sqlite }
    }
}

/// One check of `doctor` or `selftest`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingDoc {
    /// Stable name of the check.
    id: String,
    /// `ok`, `cannot-tell`, `warn` or `fail`.
    verdict: &'static str,
    /// The finding and its effect on numbers, as a sentence.
    text: String,
    /// Command that fixes it; null if there is none.
    fix: Option<String>,
}

/// Throttling by a CPU quota.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ThrottledDoc {
    /// Number of periods in which the process was stopped.
    pub(crate) times: u64,
    /// Stopped time in seconds, summed over CPUs; null if not reported.
    pub(crate) seconds: Option<f64>,
    /// Earliest possible start, in seconds since the start of that part of the run.
    pub(crate) from_s: Option<f64>,
}

impl EnvironmentDoc {
    pub(super) fn new(
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
            build_facts: environment.build_facts.map(BuildDoc::new),
            libraries: environment.libraries,
            runtimes: environment.runtimes,
            priority: environment.priority,
            notes: environment.notes,
            doctor: findings.iter().map(FindingDoc::new).collect(),
        }
    }
}

impl FindingDoc {
    pub(super) fn new(finding: &DoctorFinding) -> FindingDoc {
        let DoctorFinding { id, verdict, text, fix } = finding.clone();
        FindingDoc { id, verdict: verdict.name(), text, fix }
    }
}
