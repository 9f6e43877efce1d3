//! [`LatencySettings`]: what is meant by a latency run, after every default is resolved. Stored in the run.

use crate::stats::ANALYSES;
use crate::{CpuId, Home, Picos, Protocol, Tool};

/// What to measure, as meant: every CPU exists and may be used, every default is filled in.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LatencySettings {
    /// The CPUs in matrix order.
    pub cpus: Vec<CpuId>,
    /// Which pairs of them.
    pub pairs: PairChoice,
    /// One map each.
    pub protocols: Vec<Protocol>,
    /// The wait hint of spinning protocols.
    pub hint: HintChoice,
    /// Whose memory holds the lines.
    pub home: HomeSetting,
    /// Places per span; `None` takes what suits the size of the machine.
    pub lines: Option<u32>,
    /// Adaptive, or fixed for comparability.
    pub counts: Counts,
    /// How many pairs at the same time.
    pub parallel: Parallel,
    /// Half-width of the interval to reach, relative (0.02 is ± 2 %).
    pub precision: f64,
    /// How many analyses a cell gets at most whose interval is still wide: two, or as many as the budget allows where a
    /// precision or a budget was asked for.
    #[cfg_attr(feature = "serde", serde(rename = "looks", default = "usual_analyses"))]
    pub analyses: u32,
    /// Upper bound of machine time.
    pub budget: Picos,
    /// How passes are spread over time.
    pub spacing: Spacing,
    /// Drives the schedule and every random choice.
    pub seed: u64,
    /// Distribution of single round trips.
    pub tails: Option<Tails>,
    /// Other tools to imitate on every pair; when not empty nothing else is measured.
    pub imitate: Vec<Tool>,
    /// Whether to measure the ladder on representative pairs.
    pub ladder: bool,
    /// Whether raw ticks are kept whatever the size of the machine.
    pub keep_raw: bool,
}

impl LatencySettings {
    /// Half-width asked for where nothing was said, as a share.
    pub const PRECISION: f64 = 0.02;

    /// How narrow the intervals of a map of this protocol have to be, as a share of the value.
    pub fn precision_of(&self, protocol: Protocol) -> f64 {
        if protocol.is_latency() { self.precision } else { super::one_way::PRECISION }
    }

    /// A map of these CPUs as `coretalk latency` means it without options on a machine of more than 16 CPUs: every pair
    /// under `cas`, adaptively to ± 2 %, within a minute.
    pub fn of(cpus: Vec<CpuId>) -> LatencySettings {
        LatencySettings {
            cpus,
            pairs: PairChoice::All,
            protocols: vec![Protocol::Cas],
            hint: HintChoice::Auto,
            home: HomeSetting::Auto,
            lines: None,
            counts: Counts::Adaptive,
            parallel: Parallel::Auto,
            precision: LatencySettings::PRECISION,
            analyses: usual_analyses(),
            budget: Picos::from_ms(60_000),
            spacing: Spacing::Brief,
            seed: 1,
            tails: None,
            imitate: Vec::new(),
            ladder: true,
            keep_raw: false,
        }
    }
}

/// Runs of older versions had no others.
fn usual_analyses() -> u32 {
    ANALYSES.len() as u32
}

/// Which pairs are measured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PairChoice {
    /// Every unordered pair.
    All,
    /// A few for each relation.
    Representatives,
    /// Only threads of one core.
    Siblings,
    /// These.
    Listed(Vec<[CpuId; 2]>),
}

/// The wait hint of the map's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HintChoice {
    /// Chosen once per run, and only for a gain of 5 %.
    Auto,
    /// None.
    None,
    /// One pause.
    Pause,
}

/// Whose memory holds the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HomeSetting {
    /// Each side's node where they differ; the better one is the headline.
    Auto,
    /// One node for every pair.
    Node(Home),
}

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Counts {
    /// Until the precision or the budget is reached, at fixed analyses.
    Adaptive,
    /// So many samples of so many round trips for each cell, whatever comes out.
    Fixed {
        /// Batches in all.
        samples: u32,
        /// Round trips in each.
        iterations: u32,
    },
}

/// How many pairs are measured at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Parallel {
    /// One wherever that fits in 15 s; beyond, as many as the equivalence gate allows.
    Auto,
    /// At most so many; 1 is serial.
    AtMost(u32),
}

/// How passes are spread over time where a sweep is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Spacing {
    /// Passes at least 60 ms apart: enough for independent passes.
    Brief,
    /// Passes spread over most of the budget, to see a guest's plateaus.
    Watch,
}

/// Distribution of single round trips, per pair.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tails {
    /// Rate of the messages whose latency the recorded gaps imply, in messages per second.
    pub rate_per_s: f64,
}
