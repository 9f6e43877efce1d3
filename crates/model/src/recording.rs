//! [`Recording`]: what one trial produced, raw; nothing of it is converted, averaged or judged. [`Departure`]: a CPU that
//! went away while a run went on.

use crate::{CpuId, KernelId, Picos};
use std::fmt;

/// The NUMA node whose memory held the measured lines; node 0 on machines that report none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Home(pub u32);

/// What one pair of CPUs did in one round: one span for each kernel and home, and what disturbed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// When the trial began, on the machine's time line.
    pub started: Picos,
    /// How long it took, rendezvous and clock probes included.
    pub elapsed: Picos,
    /// The timed spans, in the order asked.
    pub spans: Vec<Span>,
    /// Core clock of each role in GHz, before and after; `None` where the machine cannot tell.
    pub core_ghz: Vec<Option<[f32; 2]>>,
    /// What went on beside the measurement.
    pub disturbance: Disturbance,
}

/// Everything that one kernel timed on the lines of one home.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The code that ran.
    pub kernel: KernelId,
    /// Where the lines lived.
    pub home: Home,
    /// Round trips in each batch (for `xfer`: dependent reads).
    pub round_trips: u32,
    /// The samples.
    pub samples: Samples,
}

/// Raw samples in ticks of the machine's counter.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples {
    /// Ticks of each batch, line by line: the visits of line 0, then those of line 1, and so on.
    Batches {
        /// Visits (batches) of each line.
        visits: u32,
        /// `lines × visits` values.
        ticks: Vec<u32>,
    },
    /// Ticks of single events, one value each, in the order they happened.
    Events {
        /// Ticks, the clock's own cost included.
        ticks: Vec<u32>,
    },
    /// Counts of single events by value, for observations too long to keep one by one.
    Counts {
        /// `(ticks, how often)`, by rising value.
        counts: Vec<(u64, u64)>,
    },
}

/// Evidence of what disturbed a trial. Counts are exact; a zero is a measured zero, `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Disturbance {
    /// Involuntary context switches of the workers.
    pub involuntary_switches: Option<u32>,
    /// Voluntary context switches of the workers.
    pub voluntary_switches: Option<u32>,
    /// A worker was found on another CPU than its own.
    pub migrated: bool,
    /// Time stolen, or spent in interrupts, on the two CPUs, in milliseconds.
    pub steal_ms: Option<f32>,
    /// The coordinating thread had to share a measured CPU.
    pub coordinator_shared: bool,
    /// A sibling of a measured core was busy with something else.
    pub sibling_busy: bool,
    /// Heat slowed a CPU of the trial, somewhere in the batch of rounds around it.
    pub throttled: bool,
    /// The quota of the control group stopped the process, somewhere in the batch of rounds around it.
    pub quota: bool,
    /// Other programs took more than a tenth of the CPUs in the batch of rounds around it.
    pub others_busy: bool,
    /// Memory for the home of the lines lies on another node, since theirs has none left: some of the lines may be there.
    pub lines_elsewhere: bool,
}

/// A core clock that moves by more than this within a visit or a pass moves what that says as much.
const CLOCK_DRIFT: f32 = 0.02;
/// Less time than this share, taken by the hypervisor or interrupts, changes nothing that could be seen.
const STEAL_SHARE: f64 = 0.01;

/// Whether a core clock in GHz moved, from before to after.
pub fn clock_moved([before, after]: [f32; 2]) -> bool {
    (after / before - 1.0).abs() > CLOCK_DRIFT
}

/// Whether so many milliseconds, of so much time, were taken away from a visit or a pass.
pub fn was_stolen(steal_ms: Option<f32>, elapsed: Picos) -> bool {
    steal_ms.is_some_and(|ms| f64::from(ms) * 1e-3 > STEAL_SHARE * elapsed.secs())
}

/// Why a trial has no recording: a reason can be stored, shown and acted on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TrialFailure {
    /// The system refused the binding, so nothing was timed.
    #[error("a thread could not be pinned to CPU {cpu} (errno {errno})")]
    NotPinned {
        /// The CPU.
        cpu: CpuId,
        /// The system's reason.
        errno: i32,
    },
    /// The CPU went away while it was being measured (hot-unplug, cpuset change).
    #[error("CPU {cpu} was taken away during the run")]
    CpuLost {
        /// The CPU.
        cpu: CpuId,
    },
    /// The threads did not finish within the limit of their trial.
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
    /// The number of hand-overs that the two sides counted differ: nothing can be said about their time.
    #[error("the two sides counted {sent} and {received} hand-overs")]
    Unverified {
        /// Counted by the initiator.
        sent: u64,
        /// Counted by the responder.
        received: u64,
    },
    /// Messages that were counted are not those that were sent: what passed them on does not work.
    #[error("messages were lost, doubled or damaged")]
    Damaged,
    /// The system or a command did not do what it should: what happened, and what the command printed.
    #[error("{reason}")]
    Command {
        /// What happened.
        reason: CommandReason,
        /// How it ended; `None` where it did not end by itself, or ended well and did not do what it should.
        end: Option<CommandEnd>,
        /// What it wrote to standard output, cut to its beginning and end.
        stdout: String,
        /// What it wrote to standard error, cut in the same way.
        stderr: String,
    },
    /// The system did not give what it takes: descriptors, threads or processes, memory.
    #[error("{}", no_resources(*errno))]
    NoResources {
        /// The system's reason.
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

/// What was refused, and which limit to raise, by what Linux says where a limit is reached.
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
    /// Whether what was done is not what was asked for, so that what is measured does not work.
    pub fn is_wrong(&self) -> bool {
        matches!(self, TrialFailure::Unverified { .. } | TrialFailure::Damaged)
    }

    /// Whether it says nothing of what was measured: an interruption, a limit of this process, or a CPU that was away.
    pub fn came_from_outside(&self) -> bool {
        matches!(self, TrialFailure::Interrupted | TrialFailure::NoResources { .. }) || self.missed_a_cpu()
    }

    /// Whether a CPU was not there: it may be back later, and what failed without it can be tried again.
    pub fn missed_a_cpu(&self) -> bool {
        matches!(self, TrialFailure::NotPinned { .. } | TrialFailure::CpuLost { .. })
    }

    /// The CPU that was not there when it failed, as far as the failure proves it: Linux refuses a binding with `EINVAL` where
    /// the CPU is offline or outside the cpuset at that moment.
    pub fn lost_cpu(&self) -> Option<CpuId> {
        match *self {
            TrialFailure::CpuLost { cpu } | TrialFailure::NotPinned { cpu, errno: EINVAL } => Some(cpu),
            _ => None,
        }
    }

    /// The same where a CPU quota stopped the process meanwhile: threads that are stopped do not finish, and seem to be gone,
    /// and programs are late.
    #[must_use]
    pub fn under_quota(self) -> TrialFailure {
        match self {
            TrialFailure::TimedOut { .. } | TrialFailure::PartnerLost { .. } => {
                TrialFailure::of(format!("{self}{STOPPED}"))
            }
            TrialFailure::Command { reason, end: None, stdout, stderr } => {
                TrialFailure::Command { reason: reason.under_quota(), end: None, stdout, stderr }
            }
            other => other,
        }
    }

    /// The failure where this error number of Linux says that a limit of this process or of the machine is reached, which is
    /// no fault of what is measured; `None` of others.
    pub fn no_resources(errno: Option<i32>) -> Option<TrialFailure> {
        errno
            .filter(|errno| [EAGAIN, EMFILE, ENFILE, ENOMEM].contains(errno))
            .map(|errno| TrialFailure::NoResources { errno })
    }

    /// What the system refused with this error number: `what` is ready to follow "refused to".
    pub fn refused(what: &str, errno: i32) -> TrialFailure {
        TrialFailure::no_resources(Some(errno))
            .unwrap_or_else(|| TrialFailure::of(format!("the system refused to {what} (errno {errno})")))
    }

    /// A failure that is one sentence, ready to follow "failed: ".
    pub fn of(reason: impl Into<String>) -> TrialFailure {
        let (stdout, stderr) = (String::new(), String::new());
        TrialFailure::Command { reason: CommandReason::Other(reason.into()), end: None, stdout, stderr }
    }

    /// The same with the words of the program that was measured, which may be private.
    pub fn with_words(reason: impl Into<String>, words: impl Into<String>) -> TrialFailure {
        let stdout = String::new();
        TrialFailure::Command {
            reason: CommandReason::Other(reason.into()),
            end: None,
            stdout,
            stderr: words.into(),
        }
    }
}

/// What a command, or the system, did not do. The text is ready to follow "failed: " and is what run files hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "String", into = "String")
)]
pub enum CommandReason {
    /// The pattern of a metric found no number in the output.
    NoNumber {
        /// The metric.
        metric: String,
        /// Bytes before the lines that were searched, which were not kept.
        dropped_bytes: u64,
    },
    /// Anything else, in words.
    Other(String),
}

impl CommandReason {
    const PATTERN: &str = "the pattern of metric ";
    const NONE_IN: &str = " found no number in ";
    const LAST_LINES: &str = "the last lines of its output, and ";

    /// The reason that this text states; `None` of any other text.
    fn no_number(text: &str) -> Option<CommandReason> {
        let (metric, place) = text.strip_prefix(Self::PATTERN)?.split_once(Self::NONE_IN)?;
        let dropped = place.strip_prefix(Self::LAST_LINES).and_then(|rest| rest.split(' ').next());
        let dropped_bytes = dropped.map_or(Some(0), |bytes| bytes.parse().ok())?;
        let reason = CommandReason::NoNumber { metric: metric.to_owned(), dropped_bytes };
        (reason.to_string() == text).then_some(reason)
    }

    /// The same where a CPU quota stopped the process meanwhile, which takes no number out of an output.
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

/// How a command ended that did not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CommandEnd {
    /// With this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

named! {
    /// Why no thread can be held on a CPU.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
    pub enum Absence {
        /// The kernel has switched it off, or the hypervisor has unplugged it.
        Offline = "offline",
        /// The control group of this process no longer holds it.
        Cpuset = "cpuset",
        /// It is online and allowed, and threads are not held on it.
        PinRefused = "pin-refused",
        /// A thread that is pinned to it does not run: another one of real-time priority keeps it.
        NotRun = "not-run",
    }
}

/// A CPU that went away while a run went on: the run goes on without it and is partial.
///
/// ```
/// use coretalk_model::{Absence, CpuId, Departure, Picos};
///
/// let departure = Departure { cpu: CpuId(3), after: Picos::from_ms(3_100), why: Absence::Offline };
/// let (key, value) = departure.to_decision(0);
/// assert_eq!(Departure::of_decision(&key, &value), Some((0, departure)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The CPU.
    pub cpu: CpuId,
    /// When it was missed, since this part of the run began; half a second late at most.
    pub after: Picos,
    /// What the system says of it.
    pub why: Absence,
}

/// What Linux says where a thread cannot be held on a CPU.
const EINVAL: i32 = 22;
/// What stands for a CPU that another thread keeps.
const EBUSY: i32 = 16;
/// What a run file calls departures among its decisions; the number of the segment and of the CPU follow.
const KEY: &str = "departed";

impl Departure {
    /// Whether it was missed as soon as it was to be used.
    pub fn is_at_once(&self) -> bool {
        self.after < AT_ONCE
    }

    /// Why what needs the CPU has nothing to say.
    pub fn failure(&self) -> TrialFailure {
        let cpu = self.cpu;
        match self.why {
            Absence::PinRefused => TrialFailure::NotPinned { cpu, errno: EINVAL },
            // The pin was accepted and never proven: tried again once the CPU runs threads.
            Absence::NotRun => TrialFailure::NotPinned { cpu, errno: EBUSY },
            // Whoever named it was allowed to: it went between the reading of the machine and now.
            Absence::Offline | Absence::Cpuset => TrialFailure::CpuLost { cpu },
        }
    }

    /// As a run file keeps it: a key, and a value in JSON.
    pub fn to_decision(&self, segment: u32) -> (String, String) {
        let key = format!("{KEY}:{segment}:{}", self.cpu);
        (key, format!(r#"{{"after_ps":{},"why":"{}"}}"#, self.after.0, self.why.name()))
    }

    /// The same read back, with the number of its segment; `None` for other decisions.
    pub fn of_decision(key: &str, value: &str) -> Option<(u32, Departure)> {
        let (segment, cpu) = key.strip_prefix(KEY)?.strip_prefix(':')?.split_once(':')?;
        let value: serde_json::Value = serde_json::from_str(value).ok()?;
        let why = value.get("why")?.as_str()?;
        let why = Absence::named(why)?;
        let after = Picos(value.get("after_ps")?.as_u64()?);
        Some((segment.parse().ok()?, Departure { cpu: CpuId(cpu.parse().ok()?), after, why }))
    }
}

/// Earlier than this a CPU was missed before anything was measured.
const AT_ONCE: Picos = Picos::from_ms(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_survives_a_run_file_and_nothing_else_is_taken_for_one() {
        for why in Absence::ALL {
            let departure = Departure { cpu: CpuId(12), after: Picos::from_ms(700), why };
            let (key, value) = departure.to_decision(4);
            assert_eq!(Departure::of_decision(&key, &value), Some((4, departure)));
        }
        for (key, value) in [
            ("departed:1", "{}"),
            ("departed:0:1", "null"),
            ("departed:0:1", r#"{"after_ps":1,"why":"eaten"}"#),
            ("hint:cas", r#"{"after_ps":1,"why":"offline"}"#),
        ] {
            assert_eq!(Departure::of_decision(key, value), None, "{key} {value}");
        }
    }

    #[test]
    fn only_a_cpu_that_refused_a_pin_is_said_to_have() {
        for after in [Picos::ZERO, Picos::from_ms(2_000)] {
            let failure = |why| Departure { cpu: CpuId(3), after, why }.failure().to_string();
            assert_eq!(failure(Absence::Offline), "CPU 3 was taken away during the run");
            assert_eq!(failure(Absence::Cpuset), failure(Absence::Offline));
            assert_eq!(failure(Absence::PinRefused), "a thread could not be pinned to CPU 3 (errno 22)");
            assert_eq!(failure(Absence::NotRun), "a thread could not be pinned to CPU 3 (errno 16)");
            let is_tried_again =
                |why: &Absence| Departure { cpu: CpuId(3), after, why: *why }.failure().missed_a_cpu();
            assert!(Absence::ALL.iter().all(is_tried_again));
        }
    }

    #[test]
    fn a_limit_that_is_reached_is_named_and_is_no_refused_pin() {
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
