//! [`Recording`]: what one trial produced, raw. Nothing here is converted, averaged or judged.

use crate::{CpuId, KernelId, Picos};

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
}

/// Why a trial has no recording: a reason can be stored, shown and acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// The system or a command did not do what it should: what happened, and what the command printed.
    #[error("{reason}")]
    Command {
        /// What happened, ready to follow "failed: ".
        reason: String,
        /// How it ended; `None` where it did not end by itself, or ended well and did not do what it should.
        end: Option<CommandEnd>,
        /// What it wrote to standard output, cut to its beginning and end.
        stdout: String,
        /// What it wrote to standard error, cut in the same way.
        stderr: String,
    },
    /// The run was interrupted before this trial ended.
    #[error("interrupted")]
    Interrupted,
}

impl TrialFailure {
    /// Whether a CPU was not there: it may be back later, and what failed without it can be tried again.
    pub fn missed_a_cpu(&self) -> bool {
        matches!(self, TrialFailure::NotPinned { .. } | TrialFailure::CpuLost { .. })
    }

    /// A failure that is one sentence, ready to follow "failed: ".
    pub fn of(reason: impl Into<String>) -> TrialFailure {
        let (stdout, stderr) = (String::new(), String::new());
        TrialFailure::Command { reason: reason.into(), end: None, stdout, stderr }
    }
}

/// How a command ended that did not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum CommandEnd {
    /// With this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}
