//! [`Visit`]: what one pass said about one cell, reduced from a recording.

use crate::{Flags, Home, KernelId, Picos};

/// Why a cell was visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Purpose {
    /// To choose the hint.
    Pilot,
    /// For the map.
    Map,
    /// Alone on the idle machine, to judge what was measured in parallel.
    Gate,
    /// Again, because the first result was doubtful.
    Again,
    /// For the ladder.
    Ladder,
    /// For the distribution of single round trips.
    Tails,
    /// As another tool would.
    Imitation,
    /// The same with the two CPUs exchanged, where the tool measures both directions.
    ImitationBack,
}

impl Purpose {
    /// Every purpose; the position is the code in run files: append, never reorder.
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

    /// Whether results need single samples of it, so that its recordings are always kept.
    pub fn keeps_recordings(self) -> bool {
        matches!(self, Purpose::Tails | Purpose::Imitation | Purpose::ImitationBack)
    }

    /// The stable name used in JSON lines and the run file.
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

/// What one pass said about one cell. Derived: the raw ticks it came from are in the recording, where that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Position of the pair in the plan's list of cells.
    pub cell: u32,
    /// When it began, on the machine's time line.
    pub started: Picos,
    /// Core clock in GHz, mean over both CPUs, before and after; `None` where it could not be measured.
    pub core_ghz: Option<f32>,
    /// Evidence found in this visit.
    pub flags: Flags,
    /// One for each span, in the order of the recording.
    pub spans: Vec<SpanSummary>,
}

/// What one kernel on the lines of one home took in one visit.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanSummary {
    /// The code that ran.
    pub kernel: KernelId,
    /// Where the lines lived.
    pub home: Home,
    /// Half round trip in nanoseconds (for `xfer` one read): mean over lines of the medians within a line.
    pub location_ns: f32,
    /// Standard error of `location_ns` from the spread over lines alone, in nanoseconds; `None` for a single line.
    pub line_error_ns: Option<f32>,
    /// Fastest batch, half round trip in nanoseconds.
    pub floor_ns: f32,
    /// Spread over lines, p90 ÷ p10; `None` with fewer than 8 lines.
    pub line_spread: Option<f32>,
    /// Batches kept.
    pub kept: u32,
    /// Batches dropped as gaps, with count and never silently.
    pub dropped: u32,
}
