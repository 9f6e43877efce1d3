//! [`Environment`]: the conditions of a measurement. [`DoctorFinding`]: the result of a check of `doctor`.

use crate::CpuSet;
use crate::selection::CpuUse;
use std::collections::BTreeMap;

/// Everything about the machine that could explain a number. `None` means unknown.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Environment {
    /// The user's own name for the machine (`--label`).
    pub label: Option<String>,
    /// Host name. Private, exported only on request.
    pub host: Option<String>,
    /// Name of the scenario of a simulated machine; `None` on a real machine.
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
    /// Mitigations by name, as the kernel reports them.
    pub mitigations: BTreeMap<String, String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Actual page size of the measured lines, in bytes.
    pub page_bytes: Option<u64>,
    /// All different frequency governors.
    pub governor: Option<String>,
    /// Frequency driver.
    pub frequency_driver: Option<String>,
    /// Whether boost (turbo) is on.
    pub boost: Option<bool>,
    /// Idle driver.
    pub idle_driver: Option<String>,
    /// Hypervisor (`kvm`, `vmware` and others); `None` without signs of a hypervisor, see `platform_evidence`.
    pub hypervisor: Option<String>,
    /// Whether the system runs directly on the hardware; `None` if unknown.
    pub bare_metal: Option<bool>,
    /// Evidence for `hypervisor` and `bare_metal`, as a sentence.
    pub platform_evidence: Option<String>,
    /// Emulator that executes every instruction (`qemu-tcg`, `qemu-aarch64`); `None` without signs of an emulator.
    pub emulator: Option<String>,
    /// How atomic operations are executed, if the architecture has several ways.
    pub atomics: Option<Atomics>,
    /// C library and version.
    pub libc: Option<String>,
    /// The clock of the measurement.
    pub clock: ClockFacts,
    /// CPUs isolated from the scheduler (`isolcpus`).
    pub isolated: CpuSet,
    /// CPU use by which `quiet:N` selected CPUs, so that a resumed run repeats the selection; `None` if not used.
    pub cpu_use: Option<CpuUse>,
    /// Load average over one minute at the start.
    pub load_1min: Option<f64>,
    /// Share of the CPUs that other programs used during the measurement, 0 to 1. The maximum over the segments.
    pub others_share: Option<f64>,
    /// Throttling by the CPU quota of the control group during all parts of the run; `None` if no group reports it.
    pub throttled: Option<Throttled>,
    /// Compiler that built the tool.
    pub compiler: Option<String>,
    /// Build profile and target features of the tool, in one line.
    pub build: Option<String>,
    /// Structured build facts; `None` if simulated, and in runs of tools without such facts.
    pub build_facts: Option<BuildFacts>,
    /// Version of the tool.
    pub tool_version: String,
    /// Versions of the libraries of measured queues and locks, and the `allocator` of messages on the heap.
    pub libraries: BTreeMap<String, String>,
    /// Versions of the runtimes of other languages, by the prefix (before the colon) of their subjects.
    pub runtimes: BTreeMap<String, String>,
    /// The granted priority: `nice -20`, `fifo 50`, `normal` and others.
    pub priority: Option<String>,
    /// Notes of the user (`--note fabric=1800MHz`).
    pub notes: BTreeMap<String, String>,
}

named! {
    /// How a program is linked with the C library.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Linking {
        /// Runs on systems without the C library.
        Static = "static",
        /// Uses the C library of the system.
        #[default]
        Dynamic = "dynamic",
    }
}

named! {
    /// How aarch64 executes atomic operations.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Atomics {
        /// One instruction of the Large System Extensions.
        Lse = "lse",
        /// Load-exclusive and store-exclusive, retried until they succeed.
        LlSc = "ll-sc",
    }
}

/// How the tool was built. `None` means unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct BuildFacts {
    /// Target triple, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// How the tool is linked with the C library.
    pub linking: Linking,
    /// Target features that code may use, such as `sse2`.
    pub features: Vec<String>,
    /// Build profile: `debug`, `release`, or `dist`.
    pub profile: String,
    /// Optimisation level of the measuring crate: `0` to `3`, `s` or `z`.
    pub opt_level: String,
    /// Commit of the source; ends in `-dirty` if files differed from the commit.
    pub commit: Option<String>,
    /// Day of the last change of the lock file, which fixes the versions of all libraries: `2026-11-24`.
    pub lock_date: Option<String>,
    /// Version of SQLite.
    pub sqlite: Option<String>,
}

/// Effect of a CPU quota.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Throttled {
    /// Number of periods with throttling.
    pub times: u64,
    /// Throttled time in seconds, summed over CPUs; `None` if the group does not report it.
    pub seconds: Option<f64>,
    /// Earliest possible start of the throttling, in seconds since the start of its segment. Throttling is checked
    /// every half second, or after a program that `place` runs.
    pub from_s: Option<f64>,
}

impl Throttled {
    /// The JSON form in run files.
    ///
    /// ```
    /// use coretalk_model::environment::Throttled;
    ///
    /// let throttled = Throttled { times: 12, seconds: Some(0.6), from_s: Some(1.5) };
    /// assert_eq!(Throttled::from_json(&throttled.to_json()), Some(throttled));
    /// assert_eq!(Throttled::from_json("12"), None);
    /// ```
    pub fn to_json(&self) -> String {
        serde_json::json!({ "times": self.times, "seconds": self.seconds, "from_s": self.from_s }).to_string()
    }

    /// Parses the JSON form in run files; `None` for other text.
    pub fn from_json(text: &str) -> Option<Throttled> {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        let number = |key: &str| value.get(key)?.as_f64();
        Some(Throttled {
            times: value.get("times")?.as_u64()?,
            seconds: number("seconds"),
            from_s: number("from_s"),
        })
    }

    /// The throttling of two parts of a run together.
    pub fn and(self, other: Throttled) -> Throttled {
        Throttled {
            times: self.times.saturating_add(other.times),
            seconds: self.seconds.zip(other.seconds).map(|(a, b)| a + b),
            from_s: self.from_s.or(other.from_s),
        }
    }
}

/// Value of [`Environment::hypervisor`] for a hypervisor without a known name.
pub const UNNAMED: &str = "unnamed";

/// The hypervisor for use in a sentence: its name, or `an unnamed hypervisor`.
///
/// ```
/// use coretalk_model::environment::{UNNAMED, hypervisor_words};
/// assert_eq!((hypervisor_words("kvm"), hypervisor_words(UNNAMED)), ("kvm", "an unnamed hypervisor"));
/// ```
pub fn hypervisor_words(name: &str) -> &str {
    if name == UNNAMED { "an unnamed hypervisor" } else { name }
}

/// The platform of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Virtualization<'a> {
    /// Hardware, with evidence.
    BareMetal,
    /// A hypervisor with this name, which may move virtual CPUs and report a false topology.
    Guest(&'a str),
    /// An emulator with this name, which executes every instruction. Times do not describe hardware.
    Emulated(&'a str),
    /// No evidence, as on many Arm systems.
    Unknown,
}

/// Share of the CPUs used by other programs, above which the numbers of a run are in doubt. CPU time is counted in
/// steps of 10 ms. On a few CPUs, over 0.2 s, shares below this limit are rounding noise.
pub const DISTURBED_SHARE: f64 = 0.1;

impl Environment {
    /// The CPU model of a scenario without a stated model.
    pub fn cpu_model_of(scenario: &str) -> String {
        format!("simulated {scenario}")
    }

    /// The CPU model, unless it is only the [name of the scenario](Environment::cpu_model_of).
    pub fn stated_cpu_model(&self) -> Option<&str> {
        let of_scenario = self.simulated.as_deref().map(Environment::cpu_model_of);
        self.cpu_model.as_deref().filter(|model| of_scenario.as_deref() != Some(model))
    }

    /// The platform of the system. Missing signs of a hypervisor are no evidence of hardware.
    ///
    /// ```
    /// # use coretalk_model::{Environment, environment::Virtualization};
    /// let arm = Environment::default();
    /// assert_eq!(arm.virtualization(), Virtualization::Unknown);
    /// assert_eq!(Environment { bare_metal: Some(true), ..arm }.virtualization(), Virtualization::BareMetal);
    /// ```
    pub fn virtualization(&self) -> Virtualization<'_> {
        match (&self.emulator, &self.hypervisor) {
            (Some(name), _) => Virtualization::Emulated(name),
            (None, Some(name)) => Virtualization::Guest(name),
            (None, None) if self.bare_metal == Some(true) => Virtualization::BareMetal,
            (None, None) => Virtualization::Unknown,
        }
    }

    /// Merges facts known only after a segment: the largest share of other programs, and the sum of throttling.
    pub fn note_surroundings(&mut self, of_segment: &Environment) {
        let shares = [self.others_share, of_segment.others_share];
        self.others_share = shares.into_iter().flatten().max_by(f64::total_cmp);
        self.throttled = match (self.throttled, of_segment.throttled) {
            (Some(earlier), Some(now)) => Some(earlier.and(now)),
            (earlier, now) => earlier.or(now),
        };
    }

    /// The share of the CPUs used by other programs, if this share disturbed the measurement.
    pub fn disturbance(&self) -> Option<f64> {
        self.others_share.filter(|share| *share > DISTURBED_SHARE)
    }
}

/// Properties of the measuring clock.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ClockFacts {
    /// `tsc`, `cntvct`, `monotonic-raw` or `simulated`.
    pub source: String,
    /// Ticks per second.
    pub hz: f64,
    /// Bound of the relative error of `hz`, in parts per million.
    pub hz_error_ppm: Option<f64>,
    /// Median cost of a pair of reads (start and stop), in nanoseconds.
    pub cost_ns: Option<f64>,
    /// Smallest observed step, in nanoseconds.
    pub step_ns: Option<f64>,
    /// Whether the counter has a constant rate in every power state.
    pub invariant: Option<bool>,
    /// Clock source of the kernel.
    pub kernel_source: Option<String>,
    /// Cost of one wait hint (PAUSE, YIELD), in nanoseconds.
    pub hint_ns: Option<f64>,
    /// Cost of one wait hint, in core cycles.
    pub hint_cycles: Option<f64>,
}

named! {
    /// Severity of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Verdict {
        /// No problem.
        Ok = "ok",
        /// The check is not possible on this system.
        CannotTell = "cannot-tell",
        /// Numbers are valid, but may be higher or less precise than the hardware allows.
        Warn = "warn",
        /// Numbers are not trustworthy or not possible.
        Fail = "fail",
    }
}

/// The result of one check of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DoctorFinding {
    /// Stable kebab-case id, listed by `coretalk doctor`.
    pub id: String,
    /// Severity.
    pub verdict: Verdict,
    /// One sentence: the finding and its effect on numbers.
    pub text: String,
    /// The command that fixes the problem, if any.
    pub fix: Option<String>,
}

/// Checks of the hardware or of the host of a guest. No command on this system can change their results.
pub const GIVEN_CHECKS: [&str; 7] =
    ["hypervisor", "simulated", "node-memory", "steal", "topology", "tsc-invariant", "tsc-sync"];

impl DoctorFinding {
    fn is_given(&self) -> bool {
        self.fix.is_none() && GIVEN_CHECKS.contains(&self.id.as_str())
    }
}

/// The most important result of `doctor`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FirstStep<'a> {
    /// The gravest finding that can be fixed.
    Fix(&'a DoctorFinding),
    /// The gravest finding, if none can be fixed.
    Expect(&'a DoctorFinding),
    /// No check warns.
    Nothing {
        /// Number of checks that passed.
        passed: usize,
        /// Number of checks that were not possible.
        unknown: usize,
    },
}

impl<'a> FirstStep<'a> {
    /// Selects from all findings; among equally grave findings, the first.
    pub fn from_findings(findings: &'a [DoctorFinding]) -> FirstStep<'a> {
        let with_verdict = |verdict| findings.iter().filter(move |finding| finding.verdict == verdict);
        let mut grave = with_verdict(Verdict::Fail).chain(with_verdict(Verdict::Warn));
        let nothing = FirstStep::Nothing {
            passed: with_verdict(Verdict::Ok).count(),
            unknown: with_verdict(Verdict::CannotTell).count(),
        };
        let fix = grave.clone().find(|finding| !finding.is_given()).map(FirstStep::Fix);
        fix.or_else(|| grave.next().map(FirstStep::Expect)).unwrap_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixable_findings_come_before_others() {
        let finding =
            |id: &str, verdict| DoctorFinding { id: id.into(), verdict, text: String::new(), fix: None };
        let guest = finding("hypervisor", Verdict::Warn);
        let governor = finding("governor", Verdict::Warn);
        let load = finding("load", Verdict::Fail);
        let fine = [finding("smt", Verdict::Ok), finding("libc", Verdict::CannotTell)];
        let all = [guest.clone(), governor.clone(), load.clone()];
        assert_eq!(FirstStep::from_findings(&all), FirstStep::Fix(&load));
        assert_eq!(FirstStep::from_findings(&all[..2]), FirstStep::Fix(&governor));
        assert_eq!(FirstStep::from_findings(&all[..1]), FirstStep::Expect(&guest));
        assert_eq!(FirstStep::from_findings(&fine), FirstStep::Nothing { passed: 1, unknown: 1 });
        let emulated = [DoctorFinding { fix: Some("coretalk --machine sim:laptop-smt".into()), ..guest }];
        assert_eq!(FirstStep::from_findings(&emulated), FirstStep::Fix(&emulated[0]));
    }
}
