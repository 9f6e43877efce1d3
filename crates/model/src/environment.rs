//! [`Environment`]: what a number was measured under, and [`Finding`]: what `doctor` says about it.

use crate::CpuSet;
use std::collections::BTreeMap;

/// Everything about the machine that could explain a number. Unknown is `None`, never an empty guess.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Environment {
    /// The user's own name for the machine (`--label`).
    pub label: Option<String>,
    /// Host name: private, left out of exports unless asked for.
    pub host: Option<String>,
    /// Name of the scenario where the machine is simulated; `None` on a real one.
    pub simulated: Option<String>,
    /// Brand string of the CPU.
    pub cpu_model: Option<String>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Firmware vendor, version and date (DMI).
    pub firmware: Option<String>,
    /// Operating system kernel, name and release.
    pub kernel: Option<String>,
    /// Architecture (`x86_64`, `aarch64`).
    pub arch: Option<String>,
    /// Mitigations by name, as the kernel states them.
    pub mitigations: BTreeMap<String, String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Page size really obtained for measured lines, in bytes.
    pub page_bytes: Option<u64>,
    /// Frequency governor, all different ones.
    pub governor: Option<String>,
    /// Frequency driver.
    pub frequency_driver: Option<String>,
    /// Whether boost (turbo) is on.
    pub boost: Option<bool>,
    /// Idle driver.
    pub idle_driver: Option<String>,
    /// Hypervisor (`kvm`, `vmware` …); `None` on bare metal as far as the CPU says.
    pub hypervisor: Option<String>,
    /// C library and version.
    pub libc: Option<String>,
    /// The clock that measured.
    pub clock: ClockFacts,
    /// CPUs that the kernel keeps from its scheduler (`isolcpus`).
    pub isolated: CpuSet,
    /// Load average over a minute at the start.
    pub load_1min: Option<f64>,
    /// Compiler that built the tool.
    pub compiler: Option<String>,
    /// Build profile and target features of the tool.
    pub build: Option<String>,
    /// Version of the tool.
    pub tool_version: String,
    /// Libraries whose queues and locks are measured, with their versions, and the `allocator` behind messages on the
    /// heap.
    pub libraries: BTreeMap<String, String>,
    /// What was granted of priority: `nice -20`, `fifo 50`, `normal` …
    pub priority: Option<String>,
    /// What only the user knows (`--note fabric=1800MHz`).
    pub notes: BTreeMap<String, String>,
}

/// What is known of the clock that measured.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ClockFacts {
    /// `tsc`, `cntvct`, `monotonic-raw`, `simulated`.
    pub source: String,
    /// Ticks per second.
    pub hz: f64,
    /// Bound of the relative error of `hz`, in parts per million.
    pub hz_error_ppm: Option<f64>,
    /// Median cost of a start-stop pair of reads, in nanoseconds.
    pub cost_ns: Option<f64>,
    /// Smallest visible step, in nanoseconds.
    pub step_ns: Option<f64>,
    /// Whether the counter keeps its rate in every power state.
    pub invariant: Option<bool>,
    /// What the kernel keeps time with.
    pub kernel_source: Option<String>,
    /// Cost of one wait hint (PAUSE, YIELD), in nanoseconds.
    pub hint_ns: Option<f64>,
    /// The same in core cycles.
    pub hint_cycles: Option<f64>,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Verdict {
    /// Nothing to worry about.
    Ok,
    /// The check could not be made here.
    CannotTell,
    /// Numbers are valid but may be worse or wider than the hardware allows.
    Warn,
    /// Numbers would be wrong or cannot be had.
    Fail,
}

impl Verdict {
    /// The stable name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::CannotTell => "cannot-tell",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }
}

/// One check of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// Stable kebab-case id, listed in FORMAT.md.
    pub id: String,
    /// How grave it is.
    pub verdict: Verdict,
    /// One sentence: what was found and what it does to numbers.
    pub text: String,
    /// The command that would change it, where there is one.
    pub fix: Option<String>,
}
