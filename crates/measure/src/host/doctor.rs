//! [`examine`]: checks for everything that could disturb a measurement. Changes nothing.

mod cpus;
mod frequency;
mod system;

pub use system::needs_longer_observation;

use super::facts::CpuTimes;
use super::root::SystemRoot;
use super::spread::Spread;
use coretalk_model::Verdict::{CannotTell, Fail, Ok, Warn};
use coretalk_model::{ClockFacts, DoctorFinding, Verdict};

/// Facts that are not in files.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveFacts<'a> {
    /// The measuring clock, or why it is unusable; `None` if untested.
    pub clock: Option<Result<&'a ClockFacts, &'a str>>,
    /// Largest offset between the counters of CPUs.
    pub offsets: Option<Spread>,
    /// Whether threads can be pinned, or why not; `None` if untested.
    pub pinning: Option<Result<(), &'a str>>,
    /// CPU times during the observation before a measurement.
    pub recent: Option<&'a CpuTimes>,
    /// Version of the C library, from [`libc_version`](super::facts::libc_version).
    pub libc: Option<&'a str>,
}

impl<'a> LiveFacts<'a> {
    fn usable_clock(&self) -> Option<&'a ClockFacts> {
        self.clock.and_then(Result::ok)
    }
}

/// One check of `doctor`.
#[derive(Debug, Clone, Copy)]
pub struct CheckSpec {
    /// Stable kebab-case id.
    pub id: &'static str,
    /// What is checked, and why, in a few words.
    pub about: &'static str,
    /// All possible verdicts.
    pub verdicts: &'static [Verdict],
    examine: fn(&SystemRoot, &LiveFacts) -> Report,
}

/// All checks in the order of reports: access, other load, clocks, memory, rights.
pub const CHECKS: &[CheckSpec] = &[
    CheckSpec {
        id: "affinity",
        about: "whether threads can be pinned to CPUs, without which nothing can be measured",
        verdicts: &[Ok, CannotTell, Fail],
        examine: cpus::affinity,
    },
    CheckSpec {
        id: "cpuset",
        about: "which CPUs the cgroup and the affinity mask allow this process to use",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: cpus::cpuset,
    },
    CheckSpec {
        id: "cpu-quota",
        about: "a cgroup CPU quota stops spinning threads for tens of milliseconds",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: cpus::quota,
    },
    CheckSpec {
        id: "isolated-cpus",
        about: "isolated CPUs are the quietest and are left out by default",
        verdicts: &[Ok, CannotTell, Warn],
        examine: cpus::isolated,
    },
    CheckSpec {
        id: "smt",
        about: "whether cores have several hardware threads",
        verdicts: &[Ok, CannotTell],
        examine: cpus::smt,
    },
    CheckSpec {
        id: "topology",
        about: "whether the reported groups of CPUs nest, and which CPUs are offline",
        verdicts: &[Ok, CannotTell, Warn],
        examine: cpus::topology,
    },
    CheckSpec {
        id: "hypervisor",
        about: "a host may move virtual CPUs and invent their topology; an emulator cannot show hardware timing",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: system::hypervisor,
    },
    CheckSpec {
        id: "steal",
        about: "time the host gave to other guests",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::steal,
    },
    CheckSpec {
        id: "load",
        about: "how busy other programs keep the CPUs",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: system::load,
    },
    CheckSpec {
        id: "governor",
        about: "how quickly core clocks rise under load",
        verdicts: &[Ok, CannotTell, Warn],
        examine: frequency::governor,
    },
    CheckSpec {
        id: "boost",
        about: "whether cores may run above their nominal clock",
        verdicts: &[Ok, CannotTell, Warn],
        examine: frequency::boost,
    },
    CheckSpec {
        id: "kernel-idle",
        about: "how long an idle CPU takes to wake up",
        verdicts: &[Ok, CannotTell, Warn],
        examine: frequency::kernel_idle,
    },
    CheckSpec {
        id: "clock-source",
        about: "whether the counter used for measuring can be read, and the kernel trusts it",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: frequency::source,
    },
    CheckSpec {
        id: "tsc-invariant",
        about: "whether the counter keeps its rate in every power state",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: frequency::invariant,
    },
    CheckSpec {
        id: "tsc-sync",
        about: "how far apart the counters of different CPUs are",
        verdicts: &[Ok, CannotTell, Warn, Fail],
        examine: frequency::sync,
    },
    CheckSpec {
        id: "huge-pages",
        about: "whether huge pages are available, which avoid TLB misses",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::huge_pages,
    },
    CheckSpec {
        id: "node-memory",
        about: "whether every NUMA node with CPUs has memory that this process may use",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::node_memory,
    },
    CheckSpec {
        id: "numa-balancing",
        about: "whether the kernel unmaps and moves pages during a measurement",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::numa_balancing,
    },
    CheckSpec {
        id: "rlimits",
        about: "whether priority can be raised and memory locked",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::rlimits,
    },
    CheckSpec {
        id: "libc",
        about: "whose mutexes, threads and system call wrappers are measured",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::libc,
    },
    CheckSpec {
        id: "microcode",
        about: "whether newer microcode is known, which may change numbers",
        verdicts: &[Ok, CannotTell, Warn],
        examine: system::microcode,
    },
];

/// Performs all checks in the order of [`CHECKS`].
///
/// ```
/// use coretalk_measure::host::doctor::{CHECKS, LiveFacts, examine};
/// use coretalk_measure::host::root::SystemRoot;
///
/// let findings = examine(&SystemRoot::new("/no/such/system"), &LiveFacts::default());
/// assert_eq!(findings.len(), CHECKS.len());
/// assert!(findings.iter().all(|finding| finding.verdict == coretalk_model::Verdict::CannotTell));
/// ```
pub fn examine(root: &SystemRoot, live: &LiveFacts) -> Vec<DoctorFinding> {
    let finding = |check: &CheckSpec| {
        let Report { verdict, text, fix } = (check.examine)(root, live);
        DoctorFinding { id: check.id.to_owned(), verdict, text, fix }
    };
    CHECKS.iter().map(finding).collect()
}

struct Report {
    verdict: Verdict,
    text: String,
    fix: Option<String>,
}

fn ok(text: impl Into<String>) -> Report {
    Report { verdict: Ok, text: text.into(), fix: None }
}

fn cannot_tell(text: impl Into<String>) -> Report {
    Report { verdict: CannotTell, ..ok(text) }
}

fn warn(text: impl Into<String>) -> Report {
    Report { verdict: Warn, ..ok(text) }
}

fn fail(text: impl Into<String>) -> Report {
    Report { verdict: Fail, ..ok(text) }
}

impl Report {
    fn fix(self, command: impl Into<String>) -> Report {
        Report { fix: Some(command.into()), ..self }
    }
}

/// Formats a fraction as `12 %`, with one decimal below 10 %.
fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests;
