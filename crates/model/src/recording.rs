//! [`Recording`]: raw output of one trial, not converted, averaged or judged. [`CpuLoss`]: a CPU lost during a run.

use crate::{CpuId, KernelId, Picos};
use std::fmt;

/// The NUMA node of the measured lines; 0 on machines without reported nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Home(pub u32);

/// Output of one pair of CPUs in one round: one span per kernel and home, and the disturbances.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Start time within the segment.
    pub started: Picos,
    /// Duration, including rendezvous and clock probes.
    pub elapsed: Picos,
    /// The timed spans, in the requested order.
    pub spans: Vec<Span>,
    /// Core clock of each role in GHz, before and after; `None` if unknown.
    pub core_ghz: Vec<Option<[f32; 2]>>,
    /// Disturbances during the measurement.
    pub disturbance: Disturbance,
}

/// The samples of one kernel on the lines of one home.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The timed kernel.
    pub kernel: KernelId,
    /// The NUMA node of the lines.
    pub home: Home,
    /// Round trips per batch (for `xfer`: dependent reads).
    pub round_trips: u32,
    /// The samples.
    pub samples: Samples,
}

/// Raw samples in ticks of the machine's counter.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples {
    /// Ticks of each batch, line by line: the visits of line 0, then the visits of line 1, and so on.
    Batches {
        /// Number of visits (batches) per line.
        visits: u32,
        /// `lines × visits` values.
        ticks: Vec<u32>,
    },
    /// Ticks of single events, in order of occurrence.
    Events {
        /// Ticks, including the cost of the clock.
        ticks: Vec<u32>,
    },
    /// Histogram of single events, if there are too many to store one by one.
    Counts {
        /// `(ticks, count)`, by rising value.
        counts: Vec<(u64, u64)>,
    },
}

/// Evidence of disturbances. Counts are exact. 0 is a measured zero, `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Disturbance {
    /// Involuntary context switches of the workers.
    pub involuntary_switches: Option<u32>,
    /// Voluntary context switches of the workers.
    pub voluntary_switches: Option<u32>,
    /// Whether a worker was found on another CPU than its own.
    pub migrated: bool,
    /// Time stolen, or spent in interrupts, on the two CPUs, in milliseconds.
    pub steal_ms: Option<f32>,
    /// Whether the coordinating thread had to share a measured CPU.
    pub coordinator_shared: bool,
    /// Whether an SMT sibling of a measured CPU was busy.
    pub sibling_busy: bool,
    /// Whether heat slowed a CPU of the trial during the surrounding batch of rounds.
    pub throttled: bool,
    /// Whether the quota of the control group throttled the process during the surrounding batch of rounds.
    pub quota: bool,
    /// Whether other programs used more than a tenth of the CPUs during the surrounding batch of rounds.
    pub others_busy: bool,
    /// Whether the home node had no free memory left, so that some of the lines may be on another node.
    pub lines_elsewhere: bool,
}

/// Relative change of the core clock during a visit or pass above which the result is flagged (`Flag::Freq`).
const CLOCK_DRIFT: f32 = 0.02;
/// Share of the elapsed time, stolen by the hypervisor or spent in interrupts, below which no effect is visible.
const STEAL_SHARE: f64 = 0.01;

/// Whether a core clock in GHz changed.
pub fn clock_moved([before, after]: [f32; 2]) -> bool {
    (after / before - 1.0).abs() > CLOCK_DRIFT
}

/// Whether the stolen time is a relevant share of the elapsed time.
pub fn was_stolen(steal_ms: Option<f32>, elapsed: Picos) -> bool {
    steal_ms.is_some_and(|ms| f64::from(ms) * 1e-3 > STEAL_SHARE * elapsed.secs())
}

/// Why a trial has no recording, as data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TrialFailure {
    /// The system refused to pin a thread, so nothing was timed.
    #[error("a thread could not be pinned to CPU {cpu} (errno {errno})")]
    NotPinned {
        /// The CPU.
        cpu: CpuId,
        /// The error number.
        errno: i32,
    },
    /// The CPU went offline or left the cpuset during the measurement.
    #[error("CPU {cpu} was taken away during the run")]
    CpuLost {
        /// The CPU.
        cpu: CpuId,
    },
    /// The threads exceeded the time limit of the trial.
    #[error("the threads did not finish within {limit}")]
    TimedOut {
        /// The limit.
        limit: Picos,
    },
    /// The thread of the partner ended or hung.
    #[error("the thread on CPU {cpu} stopped responding")]
    PartnerLost {
        /// The CPU of the partner.
        cpu: CpuId,
    },
    /// The two sides counted different numbers of hand-overs, so their time is meaningless.
    #[error("the two sides counted {sent} and {received} hand-overs")]
    Unverified {
        /// Number of hand-overs counted by the initiator.
        sent: u64,
        /// Number of hand-overs counted by the responder.
        received: u64,
    },
    /// Messages were lost, duplicated or damaged. The queue under test does not work.
    #[error("messages were lost, doubled or damaged")]
    Damaged,
    /// The system or a command failed.
    #[error("{reason}")]
    Command {
        /// The failed action.
        reason: CommandReason,
        /// How the command ended; `None` if it did not end by itself, or if it succeeded without the required effect.
        end: Option<CommandEnd>,
        /// Standard output, shortened to its beginning and end.
        stdout: String,
        /// Standard error, shortened likewise.
        stderr: String,
    },
    /// The system refused a resource: descriptors, threads or processes, memory.
    #[error("{}", no_resources(*errno))]
    NoResources {
        /// The error number.
        errno: i32,
    },
    /// The run was interrupted before this trial ended.
    #[error("interrupted")]
    Interrupted,
}

const ENOMEM: i32 = 12;
const EAGAIN: i32 = 11;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

fn no_resources(errno: i32) -> String {
    let (what, limit) = match errno {
        EAGAIN => ("thread or process", "raise `ulimit -u`, or pids.max of the control group"),
        EMFILE => ("open file", "raise `ulimit -n`"),
        ENFILE => ("open file", "raise fs.file-max"),
        ENOMEM => ("piece of memory", "free some, or raise memory.max of the control group"),
        _ => ("resource", "see `ulimit -a`"),
    };
    format!("the system refused another {what} (errno {errno}): {limit}")
}

const STOPPED: &str = "; the CPU quota stopped this process meanwhile";

impl TrialFailure {
    /// Whether the measured subject is defective: its counts or messages are wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, TrialFailure::Unverified { .. } | TrialFailure::Damaged)
    }

    /// Whether the cause is outside the measured subject: an interruption, a limit of this process, or a missing CPU.
    pub fn came_from_outside(&self) -> bool {
        matches!(self, TrialFailure::Interrupted | TrialFailure::NoResources { .. }) || self.missed_a_cpu()
    }

    /// Whether a CPU was missing. The trial can be retried once the CPU is back.
    pub fn missed_a_cpu(&self) -> bool {
        matches!(self, TrialFailure::NotPinned { .. } | TrialFailure::CpuLost { .. })
    }

    /// The missing CPU, if proven. Linux refuses to pin to a CPU that is offline or outside the cpuset with `EINVAL`.
    pub fn lost_cpu(&self) -> Option<CpuId> {
        match *self {
            TrialFailure::CpuLost { cpu } | TrialFailure::NotPinned { cpu, errno: EINVAL } => Some(cpu),
            _ => None,
        }
    }

    /// If this is a timeout, a lost partner or a command without an `end`, adds that a CPU quota stopped the process.
    #[must_use]
    pub fn under_quota(self) -> TrialFailure {
        match self {
            TrialFailure::TimedOut { .. } | TrialFailure::PartnerLost { .. } => {
                TrialFailure::from_reason(format!("{self}{STOPPED}"))
            }
            TrialFailure::Command { reason, end: None, stdout, stderr } => {
                TrialFailure::Command { reason: reason.under_quota(), end: None, stdout, stderr }
            }
            other => other,
        }
    }

    /// The failure for an error number of Linux that means an exhausted limit; `None` for other numbers.
    pub fn no_resources(errno: Option<i32>) -> Option<TrialFailure> {
        errno
            .filter(|errno| [EAGAIN, EMFILE, ENFILE, ENOMEM].contains(errno))
            .map(|errno| TrialFailure::NoResources { errno })
    }

    /// The failure for a refusal with this error number. `what` follows "refused to".
    pub fn refused(what: &str, errno: i32) -> TrialFailure {
        TrialFailure::no_resources(Some(errno)).unwrap_or_else(|| {
            TrialFailure::from_reason(format!("the system refused to {what} (errno {errno})"))
        })
    }

    /// A failure described by one sentence, which is shown after "failed: ".
    pub fn from_reason(reason: impl Into<String>) -> TrialFailure {
        let (stdout, stderr) = (String::new(), String::new());
        TrialFailure::Command { reason: CommandReason::Other(reason.into()), end: None, stdout, stderr }
    }

    /// A failure with the output of the measured program, which may be private.
    pub fn with_words(reason: impl Into<String>, stderr: impl Into<String>) -> TrialFailure {
        let stdout = String::new();
        TrialFailure::Command {
            reason: CommandReason::Other(reason.into()),
            end: None,
            stdout,
            stderr: stderr.into(),
        }
    }
}

/// What a command or the system failed to do. The text, shown after "failed: ", is stored in run files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "String", into = "String")
)]
pub enum CommandReason {
    /// The pattern of a metric matched no number in the output.
    NoNumber {
        /// The metric.
        metric: String,
        /// Bytes of output before the searched lines that were not kept.
        dropped_bytes: u64,
    },
    /// Any other reason.
    Other(String),
}

impl CommandReason {
    const PATTERN: &str = "the pattern of metric ";
    const NONE_IN: &str = " found no number in ";
    const LAST_LINES: &str = "the last lines of its output, and ";

    fn no_number(text: &str) -> Option<CommandReason> {
        let (metric, place) = text.strip_prefix(Self::PATTERN)?.split_once(Self::NONE_IN)?;
        let dropped = place.strip_prefix(Self::LAST_LINES).and_then(|rest| rest.split(' ').next());
        let dropped_bytes = dropped.map_or(Some(0), |bytes| bytes.parse().ok())?;
        let reason = CommandReason::NoNumber { metric: metric.to_owned(), dropped_bytes };
        (reason.to_string() == text).then_some(reason)
    }

    /// A quota cannot cause `NoNumber`.
    fn under_quota(self) -> CommandReason {
        match self {
            CommandReason::Other(text) => CommandReason::Other(text + STOPPED),
            reason @ CommandReason::NoNumber { .. } => reason,
        }
    }
}

impl fmt::Display for CommandReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pattern, none_in) = (Self::PATTERN, Self::NONE_IN);
        match self {
            CommandReason::NoNumber { metric, dropped_bytes: 0 } => {
                write!(f, "{pattern}{metric}{none_in}its output")
            }
            CommandReason::NoNumber { metric, dropped_bytes } => write!(
                f,
                "{pattern}{metric}{none_in}{}{dropped_bytes} earlier bytes were not kept; make it print less, or the number last",
                Self::LAST_LINES
            ),
            CommandReason::Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for CommandReason {
    fn from(text: String) -> CommandReason {
        CommandReason::no_number(&text).unwrap_or(CommandReason::Other(text))
    }
}

impl From<CommandReason> for String {
    fn from(reason: CommandReason) -> String {
        reason.to_string()
    }
}

/// How an unsuccessful command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CommandEnd {
    /// The command ended with this exit status.
    Status(i32),
    /// This signal ended the command.
    Signal(i32),
}

named! {
    /// Why no thread can run pinned to a CPU.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum LossReason {
        /// Offline: switched off by the kernel or unplugged by the hypervisor.
        Offline = "offline",
        /// Removed from the control group of this process.
        Cpuset = "cpuset",
        /// Online and allowed, but the system refuses to pin to the CPU.
        PinRefused = "pin-refused",
        /// A pinned thread does not run, because a thread of real-time priority occupies the CPU.
        NotRun = "not-run",
    }
}

/// A CPU lost during a run. The run continues without it and is partial.
///
/// ```
/// use coretalk_model::{LossReason, CpuId, CpuLoss, Picos};
///
/// let departure = CpuLoss { cpu: CpuId(3), after: Picos::from_ms(3_100), why: LossReason::Offline };
/// let (key, value) = departure.to_decision(0);
/// assert_eq!(CpuLoss::of_decision(&key, &value), Some((0, departure)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuLoss {
    /// The CPU.
    pub cpu: CpuId,
    /// Time of detection since the start of the segment, at most half a second late.
    pub after: Picos,
    /// The reason.
    pub why: LossReason,
}

/// Error number of Linux for pinning to an unavailable CPU.
const EINVAL: i32 = 22;
/// Error number for a CPU that another thread occupies.
const EBUSY: i32 = 16;
const KEY: &str = "departed";

impl CpuLoss {
    /// Whether the CPU was missing before anything was measured.
    pub fn is_at_once(&self) -> bool {
        self.after < AT_ONCE
    }

    /// The failure of trials that need the CPU.
    pub fn failure(&self) -> TrialFailure {
        let cpu = self.cpu;
        match self.why {
            LossReason::PinRefused => TrialFailure::NotPinned { cpu, errno: EINVAL },
            // The pin succeeded but was never confirmed. Trials are retried once the CPU runs threads.
            LossReason::NotRun => TrialFailure::NotPinned { cpu, errno: EBUSY },
            // The CPU was allowed at the start, and was lost later.
            LossReason::Offline | LossReason::Cpuset => TrialFailure::CpuLost { cpu },
        }
    }

    /// The form in run files: a key, and a value in JSON.
    pub fn to_decision(&self, segment: u32) -> (String, String) {
        let key = format!("{KEY}:{segment}:{}", self.cpu);
        (key, format!(r#"{{"after_ps":{},"why":"{}"}}"#, self.after.0, self.why.name()))
    }

    /// Parses the form in run files, with the number of the segment; `None` for other decisions.
    pub fn of_decision(key: &str, value: &str) -> Option<(u32, CpuLoss)> {
        let (segment, cpu) = key.strip_prefix(KEY)?.strip_prefix(':')?.split_once(':')?;
        let value: serde_json::Value = serde_json::from_str(value).ok()?;
        let why = value.get("why")?.as_str()?;
        let why = LossReason::named(why)?;
        let after = Picos(value.get("after_ps")?.as_u64()?);
        Some((segment.parse().ok()?, CpuLoss { cpu: CpuId(cpu.parse().ok()?), after, why }))
    }
}

const AT_ONCE: Picos = Picos::from_ms(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_a_run_file_and_nothing_else_is_taken_for_one() {
        for why in LossReason::ALL {
            let departure = CpuLoss { cpu: CpuId(12), after: Picos::from_ms(700), why };
            let (key, value) = departure.to_decision(4);
            assert_eq!(CpuLoss::of_decision(&key, &value), Some((4, departure)));
        }
        for (key, value) in [
            ("departed:1", "{}"),
            ("departed:0:1", "null"),
            ("departed:0:1", r#"{"after_ps":1,"why":"eaten"}"#),
            ("hint:cas", r#"{"after_ps":1,"why":"offline"}"#),
        ] {
            assert_eq!(CpuLoss::of_decision(key, value), None, "{key} {value}");
        }
    }

    #[test]
    fn lost_cpus_and_refused_pins_have_different_failures() {
        for after in [Picos::ZERO, Picos::from_ms(2_000)] {
            let failure = |why| CpuLoss { cpu: CpuId(3), after, why }.failure().to_string();
            assert_eq!(failure(LossReason::Offline), "CPU 3 was taken away during the run");
            assert_eq!(failure(LossReason::Cpuset), failure(LossReason::Offline));
            assert_eq!(failure(LossReason::PinRefused), "a thread could not be pinned to CPU 3 (errno 22)");
            assert_eq!(failure(LossReason::NotRun), "a thread could not be pinned to CPU 3 (errno 16)");
            let is_tried_again =
                |why: &LossReason| CpuLoss { cpu: CpuId(3), after, why: *why }.failure().missed_a_cpu();
            assert!(LossReason::ALL.iter().all(is_tried_again));
        }
    }

    #[test]
    fn an_exhausted_limit_is_named_and_is_not_a_refused_pin() {
        for (errno, limits) in [
            (11, &["thread or process (errno 11)", "ulimit -u", "pids.max"][..]),
            (24, &["open file (errno 24)", "ulimit -n"]),
            (23, &["open file (errno 23)", "fs.file-max"]),
            (12, &["memory (errno 12)", "memory.max"]),
        ] {
            let failure = TrialFailure::refused("start a thread", errno);
            assert_eq!(failure, TrialFailure::NoResources { errno });
            assert!(failure.came_from_outside() && !failure.missed_a_cpu());
            let text = failure.to_string();
            assert!(limits.iter().all(|limit| text.contains(limit)) && !text.contains("pinned"), "{text}");
        }
        let denied = TrialFailure::refused("start a thread", 1);
        assert_eq!(denied.to_string(), "the system refused to start a thread (errno 1)");
    }
}
