//! [`Visit`]: the result of one pass over one cell, reduced from a recording. [`RecordedRound`]: concurrent visits.

use crate::{Flags, Home, KernelId, Picos, Recording, TrialFailure};

/// The purpose of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Purpose {
    /// To choose the hint.
    Pilot,
    /// For the map.
    Map,
    /// Alone on the idle machine, to check parallel measurements.
    Gate,
    /// To repeat a doubtful measurement.
    Again,
    /// For the ladder.
    Ladder,
    /// For the distribution of single round trips.
    Tails,
    /// As another tool measures.
    Imitation,
    /// As another tool measures, with the two CPUs exchanged, if the tool measures both directions.
    ImitationBack,
}

impl Purpose {
    /// Every purpose, in the order of the codes in run files. Append new purposes; never reorder.
    pub const ALL: [Purpose; 8] = [
        Purpose::Pilot,
        Purpose::Map,
        Purpose::Gate,
        Purpose::Again,
        Purpose::Ladder,
        Purpose::Tails,
        Purpose::Imitation,
        Purpose::ImitationBack,
    ];

    /// Whether results need the single samples of such visits, so that their recordings are always kept.
    pub fn keeps_recordings(self) -> bool {
        matches!(self, Purpose::Tails | Purpose::Imitation | Purpose::ImitationBack)
    }

    /// The stable name in JSON lines and the run file.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Pilot => "pilot",
            Purpose::Map => "map",
            Purpose::Gate => "gate",
            Purpose::Again => "again",
            Purpose::Ladder => "ladder",
            Purpose::Tails => "tails",
            Purpose::Imitation => "imitation",
            Purpose::ImitationBack => "imitation-back",
        }
    }
}

/// The result of one pass over one cell, derived from raw ticks. A kept recording holds the ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Index of the pair in the list of cells of the plan.
    pub cell: u32,
    /// Start time within the segment.
    pub started: Picos,
    /// Mean core clock of both CPUs, before and after, in GHz; `None` if not measured.
    pub core_ghz: Option<f32>,
    /// Flags set in this visit.
    pub flags: Flags,
    /// One summary for each span, in the order of the recording.
    pub spans: Vec<SpanSummary>,
}

/// The result of one kernel on the lines of one home in one visit.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanSummary {
    /// The kernel.
    pub kernel: KernelId,
    /// The node that holds the lines.
    pub home: Home,
    /// Half round trip in nanoseconds (for `xfer` one read): mean over lines of the medians within a line.
    pub location_ns: f32,
    /// Standard error of `location_ns` from the spread over lines alone, in nanoseconds; `None` for a single line.
    pub line_error_ns: Option<f32>,
    /// Fastest batch, half round trip in nanoseconds.
    pub floor_ns: f32,
    /// Spread over lines, p90 ÷ p10; `None` with fewer than 8 lines.
    pub line_spread: Option<f32>,
    /// Number of batches kept.
    pub kept: u32,
    /// Number of batches dropped as stalls.
    pub dropped: u32,
}

/// One round with its results.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRound {
    /// The purpose of the round.
    pub purpose: Purpose,
    /// Pass number within the purpose, from 0.
    pub pass: u32,
    /// Start time within the segment.
    pub started: Picos,
    /// Duration.
    pub elapsed: Picos,
    /// Results of the trials.
    pub trials: Vec<RecordedTrial>,
}

/// One trial of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTrial {
    /// Index of the pair in the list of cells of the plan.
    pub cell: u32,
    /// The visit, or the failure.
    pub outcome: Result<Visit, TrialFailure>,
    /// The recording, if raw ticks are kept, as for few CPUs.
    pub raw: Option<Box<Recording>>,
}
