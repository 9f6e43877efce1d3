//! [`Environment`]: what a number was measured under, and [`DoctorFinding`]: what `doctor` says about it.

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
    /// Hypervisor (`kvm`, `vmware` …); `None` where nothing points to one, see `platform_evidence`.
    pub hypervisor: Option<String>,
    /// Whether nothing stands between the system and the hardware; `None` where nothing says so.
    pub bare_metal: Option<bool>,
    /// What says so: a sentence.
    pub platform_evidence: Option<String>,
    /// What executes every instruction in place of a processor (`qemu-tcg`, `qemu-aarch64`); `None` where nothing points
    /// to one.
    pub emulator: Option<String>,
    /// How atomic operations are executed, where an architecture has several ways.
    pub atomics: Option<Atomics>,
    /// C library and version.
    pub libc: Option<String>,
    /// The clock that measured.
    pub clock: ClockFacts,
    /// CPUs that the kernel keeps from its scheduler (`isolcpus`).
    pub isolated: CpuSet,
    /// Load average over a minute at the start.
    pub load_1min: Option<f64>,
    /// Share of the CPUs that other programs took while this was measured, 0 to 1: of the segment where they took most.
    pub others_share: Option<f64>,
    /// How often and how long the quota of the control group stopped the process while this was measured, over all parts
    /// of the run; `None` where no group counts it.
    pub throttled: Option<Throttled>,
    /// Compiler that built the tool.
    pub compiler: Option<String>,
    /// Build profile and target features of the tool, in one line.
    pub build: Option<String>,
    /// How the tool was built, fact by fact; `None` where simulated, and in runs of tools that did not say.
    pub build_facts: Option<BuildFacts>,
    /// Version of the tool.
    pub tool_version: String,
    /// Libraries whose queues and locks are measured, with their versions, and the `allocator` behind messages on the
    /// heap.
    pub libraries: BTreeMap<String, String>,
    /// Runtimes in other languages that took part, by the word before the colon of what they perform, with their versions.
    pub runtimes: BTreeMap<String, String>,
    /// What was granted of priority: `nice -20`, `fifo 50`, `normal` …
    pub priority: Option<String>,
    /// What only the user knows (`--note fabric=1800MHz`).
    pub notes: BTreeMap<String, String>,
}

named! {
    /// How a program is linked with the C library.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Linking {
        /// It runs on systems without that library.
        Static = "static",
        /// It uses the system's.
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
        /// Exclusive pairs of load and store, tried again until they succeed.
        LlSc = "ll-sc",
    }
}

/// How the tool was built. Unknown is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct BuildFacts {
    /// Target triple, such as `x86_64-unknown-linux-gnu`.
    pub target: String,
    /// How it is linked with the C library.
    pub linking: Linking,
    /// Features of the target that code may use, such as `sse2`.
    pub features: Vec<String>,
    /// Build profile: `debug`, `release`, or `dist`.
    pub profile: String,
    /// Optimisation of the crate that measures: `0` to `3`, `s` or `z`.
    pub opt_level: String,
    /// Commit of the source, with `-dirty` where files differed from it.
    pub commit: Option<String>,
    /// Day of the last change of the lock file, which names the version of every library: `2026-11-24`.
    pub lock_date: Option<String>,
    /// Version of SQLite.
    pub sqlite: Option<String>,
}

/// What a CPU quota did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Throttled {
    /// Periods in which the process was stopped.
    pub times: u64,
    /// For how long, in seconds, summed over CPUs; `None` where the group does not say.
    pub seconds: Option<f64>,
    /// Until when it had not been seen, in seconds since that part of the run began: it began then, or until somebody
    /// looked again, which is half a second, and for a program that `place` runs the time that it takes.
    pub from_s: Option<f64>,
}

impl Throttled {
    /// As a run file keeps it.
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

    /// The same read back; `None` for anything else.
    pub fn from_json(text: &str) -> Option<Throttled> {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        let number = |key: &str| value.get(key)?.as_f64();
        Some(Throttled {
            times: value.get("times")?.as_u64()?,
            seconds: number("seconds"),
            from_s: number("from_s"),
        })
    }

    /// What two parts of a run saw.
    pub fn and(self, other: Throttled) -> Throttled {
        Throttled {
            times: self.times.saturating_add(other.times),
            seconds: self.seconds.zip(other.seconds).map(|(a, b)| a + b),
            from_s: self.from_s.or(other.from_s),
        }
    }
}

/// What stands in [`Environment::hypervisor`] for one that does not tell its name.
pub const UNNAMED: &str = "unnamed";

/// A hypervisor in words: `kvm`, or that it has no name.
///
/// ```
/// use coretalk_model::environment::{UNNAMED, hypervisor_words};
/// assert_eq!((hypervisor_words("kvm"), hypervisor_words(UNNAMED)), ("kvm", "an unnamed hypervisor"));
/// ```
pub fn hypervisor_words(name: &str) -> &str {
    if name == UNNAMED { "an unnamed hypervisor" } else { name }
}

/// What the system runs on: the hardware or a hypervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Virtualization<'a> {
    /// The hardware, by evidence.
    BareMetal,
    /// A hypervisor of this name, which may move virtual CPUs and invent their structure.
    Guest(&'a str),
    /// A program of this name executes every instruction: no time says anything about hardware.
    Emulated(&'a str),
    /// Nothing tells: many Arm systems cannot.
    Unknown,
}

/// The share of the CPUs from which on other programs make a number doubtful, and a run disturbed. The accounts of the
/// system count hundredths of a second: below, a fifth of a second on a few CPUs tells nothing.
pub const DISTURBED_SHARE: f64 = 0.1;

impl Environment {
    /// The CPU model that a scenario reports where it states none.
    pub fn cpu_model_of(scenario: &str) -> String {
        format!("simulated {scenario}")
    }

    /// The CPU model, unless it is only the [name of the scenario](Environment::cpu_model_of).
    pub fn stated_cpu_model(&self) -> Option<&str> {
        let of_scenario = self.simulated.as_deref().map(Environment::cpu_model_of);
        self.cpu_model.as_deref().filter(|model| of_scenario.as_deref() != Some(model))
    }

    /// What the system stands on. Silence about a hypervisor is no evidence of hardware.
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

    /// Takes over what is known only once everything is measured: what other programs took in the segment that has ended,
    /// where that is more than in earlier ones, and what a quota did in it.
    pub fn note_surroundings(&mut self, of_segment: &Environment) {
        let shares = [self.others_share, of_segment.others_share];
        self.others_share = shares.into_iter().flatten().max_by(f64::total_cmp);
        self.throttled = match (self.throttled, of_segment.throttled) {
            (Some(earlier), Some(now)) => Some(earlier.and(now)),
            (earlier, now) => earlier.or(now),
        };
    }

    /// The share of the CPUs that other programs took while this was measured, where that disturbed it.
    pub fn disturbance(&self) -> Option<f64> {
        self.others_share.filter(|share| *share > DISTURBED_SHARE)
    }
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

named! {
    /// How grave a finding is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Verdict {
        /// Nothing to worry about.
        Ok = "ok",
        /// The check could not be made here.
        CannotTell = "cannot-tell",
        /// Numbers are valid but may be worse or wider than the hardware allows.
        Warn = "warn",
        /// Numbers cannot be trusted, or cannot be had.
        Fail = "fail",
    }
}

/// One check of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DoctorFinding {
    /// Stable kebab-case id, listed by `coretalk doctor`.
    pub id: String,
    /// How grave it is.
    pub verdict: Verdict,
    /// One sentence: what was found and what it does to numbers.
    pub text: String,
    /// The command that would change it, where there is one.
    pub fix: Option<String>,
}

/// Checks whose subject is the hardware or the host of a guest: no command of this system changes it.
pub const GIVEN_CHECKS: [&str; 7] =
    ["hypervisor", "simulated", "node-memory", "steal", "topology", "tsc-invariant", "tsc-sync"];

impl DoctorFinding {
    /// Whether nothing on this system changes it.
    fn is_given(&self) -> bool {
        self.fix.is_none() && GIVEN_CHECKS.contains(&self.id.as_str())
    }
}

/// What findings of `doctor` ask for first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FirstStep<'a> {
    /// The gravest finding that somebody can change.
    Fix(&'a DoctorFinding),
    /// The gravest finding, where nobody can change any.
    Expect(&'a DoctorFinding),
    /// No check warns.
    Nothing {
        /// Checks that passed.
        passed: usize,
        /// Checks that could not be made.
        unknown: usize,
    },
}

impl<'a> FirstStep<'a> {
    /// From all findings; of several of one gravity the first counts.
    pub fn of(findings: &'a [DoctorFinding]) -> FirstStep<'a> {
        let of = |verdict| findings.iter().filter(move |finding| finding.verdict == verdict);
        let mut grave = of(Verdict::Fail).chain(of(Verdict::Warn));
        let nothing =
            FirstStep::Nothing { passed: of(Verdict::Ok).count(), unknown: of(Verdict::CannotTell).count() };
        let fix = grave.clone().find(|finding| !finding.is_given()).map(FirstStep::Fix);
        fix.or_else(|| grave.next().map(FirstStep::Expect)).unwrap_or(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_fixed_comes_before_what_cannot_be_changed() {
        let finding =
            |id: &str, verdict| DoctorFinding { id: id.into(), verdict, text: String::new(), fix: None };
        let guest = finding("hypervisor", Verdict::Warn);
        let governor = finding("governor", Verdict::Warn);
        let load = finding("load", Verdict::Fail);
        let fine = [finding("smt", Verdict::Ok), finding("libc", Verdict::CannotTell)];
        let all = [guest.clone(), governor.clone(), load.clone()];
        assert_eq!(FirstStep::of(&all), FirstStep::Fix(&load));
        assert_eq!(FirstStep::of(&all[..2]), FirstStep::Fix(&governor));
        assert_eq!(FirstStep::of(&all[..1]), FirstStep::Expect(&guest));
        assert_eq!(FirstStep::of(&fine), FirstStep::Nothing { passed: 1, unknown: 1 });
        let emulated = [DoctorFinding { fix: Some("coretalk --machine sim:laptop-smt".into()), ..guest }];
        assert_eq!(FirstStep::of(&emulated), FirstStep::Fix(&emulated[0]));
    }
}
