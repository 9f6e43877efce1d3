//! [`Spec`]: the contents of a scenario file, with defaults.

use super::structure::{Reported, StructureSpec};
use crate::pricing::{Arch, Costs};
use coretalk_model::{CpuId, CpuSelection, CpuSet, LossReason, Relation};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// A built-in scenario to start from. Never set after reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub based_on: Option<String>,
    pub name: String,
    /// Seed of the hardware: CPU and pair factors, slices, better homes, clock offsets, defects.
    pub hardware_seed: u32,
    pub arch: Arch,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    pub reported: Reported,
    pub structure: StructureSpec,
    /// Half round trip of a line transfer, by true relation.
    pub latency_ns: BTreeMap<Relation, f64>,
    /// Slowdown of spins without a wait hint, by relation; 1 by default.
    pub eager_penalty: BTreeMap<Relation, f64>,
    pub variation: Variation,
    pub homes: Homes,
    pub counter: CounterSpec,
    pub core_clock: CoreClock,
    pub costs: Costs,
    pub noise: NoiseSpec,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowed>,
    pub failures: Failures,
}

/// Permanent differences between CPUs, pairs and lines; standard deviations are relative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variation {
    pub cpu_sd: f64,
    pub pair_sd: f64,
    /// Between the 16 slices. Their mean is exactly 1 for every pair and home.
    pub line_sd: f64,
    /// Between the two directions. Visible only in `one-way`, since it cancels in a round trip.
    pub asymmetry_sd: f64,
    /// Share of pairs that are permanently slower by 1.3 to 2.
    pub defect_share: f64,
}

/// Effect of the lines' memory node on a transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Homes {
    /// For pairs across nodes: the worse home relative to the better home.
    pub penalty: f64,
    /// For lines on a node of neither CPU.
    pub remote: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CounterSpec {
    pub hz: f64,
    pub step_ticks: u32,
    /// Cost of a start-stop pair of reads. Every sample includes it.
    pub cost_ns: f64,
    /// Standard deviation of the CPUs' offsets. Visible only in `one-way`.
    pub offset_sd_ns: f64,
}

/// The clock of the cores. Latency is inversely proportional to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CoreClock {
    pub ghz: f64,
    pub slow_class_ghz: f64,
    pub drift_sd: f64,
    pub drift_ms: f64,
    /// Share of time that a CPU spends one frequency step lower, 50 ms at a time.
    pub step_share: f64,
    pub step_factor: f64,
    /// Thermal or power throttling of all cores from a time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<HeldBack>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldBack {
    pub from_ms: u32,
    /// Factor on the clock before.
    pub factor: f64,
}

/// Temporary effects, keyed by the seed of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoiseSpec {
    pub batch_sd: f64,
    /// For the single round trips of events.
    pub event_sd: f64,
    pub spike_share: f64,
    pub spike_factor: [f64; 2],
    /// Correlated noise between batches: lag-1 correlation and standard deviation.
    pub ar_rho: f64,
    pub ar_sd: f64,
    /// Slow drift of all latencies without evidence.
    pub drift_sd: f64,
    pub drift_ms: f64,
    /// Share of contaminated trials, as a whole or on one run of lines. A repetition is clean.
    pub bad_share: f64,
    pub bad_factor: [f64; 2],
    /// Slowdown per additional pair of a round.
    pub parallel_bias: f64,
    /// Share of time that the sibling of a core (or the neighbour of a vCPU) is busy, 50 ms at a time.
    pub sibling_share: f64,
    pub sibling_factor: [f64; 2],
}

/// A recurring hold-up of CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    pub name: String,
    pub per_second: f64,
    pub us: [f64; 2],
    pub rhythm: Rhythm,
    pub seen_as: StallEvidence,
    /// Start time. By default the stalls start at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<u32>,
    /// Affected CPUs. By default all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rhythm {
    Random,
    Periodic,
}

/// The system's counter that records a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallEvidence {
    Switch,
    Steal,
    Quota,
    Nothing,
}

/// One of the states between which the whole machine moves. Values that a state does not set are unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSpec {
    pub name: String,
    pub weight: f64,
    pub dwell_ms: f64,
    /// Factor on the differences between lines.
    #[serde(default = "one")]
    pub line_scale: f64,
    #[serde(default)]
    pub latency_ns: BTreeMap<Relation, f64>,
    /// Latency of kernels that spin without a wait hint.
    #[serde(default)]
    pub eager_ns: BTreeMap<Relation, f64>,
    /// The host has put the CPUs onto one core, whose units they share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_core: bool,
}

fn one() -> f64 {
    1.0
}

/// CPUs of the machine: numbers, or names that [`names::resolve`](super::names::resolve) replaces by numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "CpuSet")]
pub struct Cpus {
    pub set: CpuSet,
    pub names: Option<CpuSelection>,
}

impl Deref for Cpus {
    type Target = CpuSet;
    fn deref(&self) -> &CpuSet {
        &self.set
    }
}

impl From<Cpus> for CpuSet {
    fn from(cpus: Cpus) -> CpuSet {
        cpus.set
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cpus, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Ok(set) = CpuSet::from_list(&text) {
            return Ok(Cpus { set, names: None });
        }
        let names = CpuSelection::parse(&text).map_err(D::Error::custom)?;
        Ok(Cpus { names: Some(names), ..Cpus::default() })
    }
}

/// The CPUs that the process may use. By default all CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<Cpus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<Cpus>,
    /// CPUs isolated from the scheduler (`isolcpus`). They are allowed, but not in the inherited mask.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub isolated: Cpus,
}

/// Injected failures, for tests of robustness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failures {
    /// CPUs that refuse workers.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub refuse_pin: Cpus,
    /// Refuses a requested real-time priority or niceness.
    pub refuse_priority: bool,
    /// CPUs on which trials never end by themselves.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub hang: Cpus,
    /// Time after which a hanging trial is given up.
    pub hang_limit_ms: u32,
    /// CPUs whose threads die.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub die: Cpus,
    /// CPUs with which the two sides count different numbers of hand-offs.
    #[serde(skip_serializing_if = "CpuSet::is_empty")]
    pub miscount: Cpus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miscount_until_ms: Option<u32>,
    /// Another program keeps the machine busy when the run begins.
    pub busy: bool,
    /// Share of the CPUs that other programs use during measurements, by the system's accounting.
    pub others: f64,
    /// CPUs that are lost and may come back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<Away>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<ClockStep>,
    /// Time at which the run is interrupted, as by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_ms: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Away {
    pub cpu: CpuId,
    pub at_ms: u32,
    /// Time of return. By default the CPU never returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_ms: Option<u32>,
    #[serde(default = "offline")]
    pub why: LossReason,
}

fn offline() -> LossReason {
    LossReason::Offline
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStep {
    pub at_ms: u32,
    pub by_us: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            based_on: None,
            name: "unnamed".to_owned(),
            hardware_seed: 1,
            arch: Arch::X86,
            hypervisor: None,
            reported: Reported::True,
            structure: StructureSpec::default(),
            latency_ns: BTreeMap::new(),
            eager_penalty: BTreeMap::new(),
            variation: Variation::default(),
            homes: Homes::default(),
            counter: CounterSpec::default(),
            core_clock: CoreClock::default(),
            costs: Costs::default(),
            noise: NoiseSpec::default(),
            stalls: Vec::new(),
            states: Vec::new(),
            allowance: None,
            failures: Failures::default(),
        }
    }
}

impl Default for Variation {
    fn default() -> Variation {
        Variation { cpu_sd: 0.01, pair_sd: 0.01, line_sd: 0.08, asymmetry_sd: 0.01, defect_share: 0.0 }
    }
}

impl Default for Homes {
    fn default() -> Homes {
        // 1.86: pairs inside one socket, 107.6 or 200.5 ns depending on where a single-home tool had its line (7R13).
        Homes { penalty: 1.15, remote: 1.86 }
    }
}

impl Default for CounterSpec {
    fn default() -> CounterSpec {
        // The guest of docs/evidence.md: TSC at 2.596 GHz, a fenced pair of reads 18 ns.
        CounterSpec { hz: 2.596e9, step_ticks: 1, cost_ns: 18.0, offset_sd_ns: 5.0 }
    }
}

impl Default for CoreClock {
    fn default() -> CoreClock {
        CoreClock {
            ghz: 4.0,
            slow_class_ghz: 3.0,
            drift_sd: 0.002,
            drift_ms: 500.0,
            step_share: 0.0,
            step_factor: 0.92,
            held_back: None,
        }
    }
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            rendezvous_us: 20.0,
            probes_us: 6.0,
            line_ns: 30.0,
            hint_ns: 10.0,
            // A blocked wake-up takes 1 to 3 µs and a switch of threads 1.1 µs (lmbench and schbench on desktop parts).
            // The exits are those of C1, C2 and C6 as intel_idle and acpi_idle state them.
            syscall_ns: 110.0,
            switch_ns: 1_100.0,
            wake_ns: 1_600.0,
            idle_exit: vec![[0.0, 300.0], [200.0, 18_000.0], [5_000.0, 60_000.0]],
        }
    }
}

impl Default for NoiseSpec {
    fn default() -> NoiseSpec {
        NoiseSpec {
            batch_sd: 0.03,
            event_sd: 0.08,
            spike_share: 0.005,
            spike_factor: [1.3, 4.0],
            ar_rho: 0.0,
            ar_sd: 0.0,
            drift_sd: 0.0,
            drift_ms: 300.0,
            bad_share: 0.001,
            bad_factor: [1.3, 4.0],
            parallel_bias: 0.0,
            sibling_share: 0.0,
            sibling_factor: [1.3, 2.0],
        }
    }
}

impl Default for Failures {
    fn default() -> Failures {
        Failures {
            refuse_pin: Cpus::default(),
            refuse_priority: false,
            hang: Cpus::default(),
            hang_limit_ms: 1000,
            die: Cpus::default(),
            miscount: Cpus::default(),
            miscount_until_ms: None,
            busy: false,
            others: 0.0,
            departures: Vec::new(),
            clock_step: None,
            stop_at_ms: None,
        }
    }
}
