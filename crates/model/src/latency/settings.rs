//! [`LatencySettings`]: the resolved settings of a latency run, which are stored in the run.

use crate::stats::ANALYSES;
use crate::{CpuId, Home, Picos, Protocol, Tool};

/// The settings of a latency run. All CPUs exist and may be used, and all defaults are resolved.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LatencySettings {
    /// The CPUs in matrix order.
    pub cpus: Vec<CpuId>,
    /// The selected pairs.
    pub pairs: PairChoice,
    /// The protocols, with one map for each.
    pub protocols: Vec<Protocol>,
    /// The wait hint of spinning protocols.
    pub hint: HintChoice,
    /// The node that holds the lines.
    pub home: HomeSetting,
    /// Number of lines per span; `None` for a default that depends on the size of the machine.
    pub lines: Option<u32>,
    /// Adaptive counts, or fixed counts for comparability.
    pub counts: Counts,
    /// Number of pairs at the same time.
    pub parallel: Parallel,
    /// Requested relative half width of the interval (0.02 is ± 2 %).
    pub precision: f64,
    /// Maximum number of analyses of a wide cell: two, or more for a requested precision or budget.
    #[cfg_attr(feature = "serde", serde(rename = "looks", default = "usual_analyses"))]
    pub analyses: u32,
    /// Maximum machine time.
    pub budget: Picos,
    /// Distribution of the passes over time.
    pub spacing: Spacing,
    /// Seed of the schedule and of every random choice.
    pub seed: u64,
    /// Distribution of single round trips, if requested.
    pub tails: Option<Tails>,
    /// Other tools to imitate on every pair. If not empty, nothing else is measured.
    pub imitate: Vec<Tool>,
    /// Whether to measure the ladder on representative pairs.
    pub ladder: bool,
    /// Whether raw ticks are kept whatever the size of the machine.
    pub keep_raw: bool,
}

impl LatencySettings {
    /// Default half width, as a share.
    pub const PRECISION: f64 = 0.02;

    /// The required relative half width for a map of this protocol.
    pub fn precision_of(&self, protocol: Protocol) -> f64 {
        if protocol.is_latency() { self.precision } else { super::one_way::PRECISION }
    }

    /// The default settings for more than 16 CPUs: every pair under `cas`, adaptively to ± 2 %, within a minute.
    pub fn for_cpus(cpus: Vec<CpuId>) -> LatencySettings {
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

fn usual_analyses() -> u32 {
    ANALYSES.len() as u32
}

/// The pairs to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PairChoice {
    /// Every unordered pair.
    All,
    /// A few pairs for each relation.
    Representatives,
    /// Only threads of one core.
    Siblings,
    /// These pairs.
    Listed(Vec<[CpuId; 2]>),
}

/// The wait hint in the kernel of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HintChoice {
    /// Chosen once per run. A hint needs a gain of 5 %.
    Auto,
    /// No hint.
    None,
    /// One pause.
    Pause,
}

/// The node that holds the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HomeSetting {
    /// The node of each CPU of the pair, if different. The better node is the headline.
    Auto,
    /// One node for every pair.
    Node(Home),
}

/// The number of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Counts {
    /// Until the precision or the budget is reached, with analyses at fixed numbers of passes.
    Adaptive,
    /// A fixed number of samples and round trips for each cell.
    Fixed {
        /// Number of batches.
        samples: u32,
        /// Round trips in each batch.
        iterations: u32,
    },
}

/// The number of pairs measured at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Parallel {
    /// Serial if that fits in 15 s, otherwise the number of pairs that the equivalence gate allows.
    Auto,
    /// At most this number; 1 is serial.
    AtMost(u32),
}

/// Distribution of the passes over time, if a sweep is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Spacing {
    /// Passes at least 60 ms apart, enough for independent passes.
    Brief,
    /// Passes over most of the budget, to observe the plateaus of a guest.
    Watch,
}

/// Distribution of single round trips, per pair.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tails {
    /// Rate of the messages whose latency is derived from the recorded round trips, in messages per second.
    pub rate_per_s: f64,
}
