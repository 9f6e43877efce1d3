//! Options of `latency`: for a map, and for trials after idle gaps or under load.

use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, AutoOr, PairsWord};
use crate::args::words::{HintWord, one_of, protocol};
use clap::Args;
use coretalk_measure::probes::latency_under_load::names;
use coretalk_model::series::Parameters;
use coretalk_model::{Protocol, Tool};

impl LatencyArgs {
    /// Whether trials are requested instead of a map.
    pub fn asks_for_trials(&self) -> bool {
        self.gap.is_some() || !self.load.is_empty()
    }
}

impl SeriesArgs for LatencyArgs {
    fn probe(&self) -> &'static str {
        "latency"
    }

    fn options(&self) -> Parameters {
        let gaps = self
            .gap
            .as_ref()
            .map(|gaps| gaps.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        let loads = list(&self.load);
        Parameters::default()
            .with_some(names::GAP_NS, gaps)
            .with_some(names::IDLE_STATES, self.keep_awake.then_some(names::KEPT_OUT))
            .with_some(names::LOAD, loads)
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }

    fn has_neighbours(&self) -> bool {
        !self.load.is_empty()
    }
}

/// Options of `latency`.
#[derive(Debug, Clone, Default, Args)]
pub struct LatencyArgs {
    /// Protocols of cache-line transfer: cas, store, msg, xfer, one-way; one matrix each (default: cas)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = protocol())]
    pub protocol: Vec<Protocol>,
    /// Instruction between polls of a spinning loop (default: auto, chosen once per run)
    #[arg(long, value_name = "HINT")]
    pub hint: Option<HintWord>,
    /// Imitate these tools: their loop, counts and statistic, one pair at a time
    #[arg(long = "as", value_name = "LIST", value_delimiter = ',', value_parser = tool(),
          conflicts_with_all = ["protocol", "hint", "home", "lines", "tails", "rate", "parallel", "precision"])]
    pub imitate: Vec<Tool>,
    /// With --as core-to-core-latency: its iterations per sample, and its samples
    #[arg(value_name = "ITERATIONS SAMPLES", num_args = 1..=2, requires = "imitate",
          conflicts_with_all = ["samples", "iterations"], value_parser = clap::value_parser!(u32).range(1..=value::MAX_SAMPLES))]
    pub tool_counts: Vec<u32>,
    /// NUMA node of the measured cache lines (default: auto, tries the node of each CPU and keeps the faster)
    #[arg(long, value_name = "auto|NODE", value_parser = value::node)]
    pub home: Option<AutoOr>,
    /// Pairs to measure: all, representatives, or a list such as 0-1,4-9 (default: all)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
    /// Number of cache lines per visit to a pair (default: depends on machine size)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub lines: Option<u32>,
    /// Also measure the distribution of single round trips
    #[arg(long)]
    pub tails: bool,
    /// Message rate at which the distribution corrects coordinated omission (default: 10k/s)
    #[arg(long, value_name = "N/s", requires = "tails", value_parser = value::rate)]
    pub rate: Option<f64>,
    /// Number of pairs measured concurrently (default: auto, one unless that takes too long)
    #[arg(long, value_name = "auto|N", value_parser = value::parallel)]
    pub parallel: Option<AutoOr>,
    /// Instead of a map, measure handoffs after an idle gap: 1us..1s (powers of ten) or a list such as 1us,5ms
    #[arg(long, value_name = "TIME", value_parser = value::gaps,
          conflicts_with_all = ["protocol", "hint", "imitate", "home", "lines", "samples", "iterations", "tails", "rate",
                                "parallel", "keep_raw", "by", "color"])]
    pub gap: Option<value::Gaps>,
    /// With --gap: repeat each wake-up with CPU idle states disabled (/dev/cpu_dma_latency, needs root)
    #[arg(long, requires = "gap")]
    pub keep_awake: bool,
    /// Instead of a map, measure handoffs while neighbouring CPUs are busy: none, compute, stream, pingpong
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          conflicts_with_all = ["protocol", "hint", "imitate", "home", "lines", "samples", "iterations", "tails", "rate",
                                "parallel", "keep_raw", "by", "color"])]
    pub load: Vec<String>,
    /// Fixed number of samples per pair, also with --as
    #[arg(long, value_name = "N", requires = "iterations", value_parser = clap::value_parser!(u32).range(1..=value::MAX_SAMPLES))]
    pub samples: Option<u32>,
    /// Fixed number of round trips per sample
    #[arg(long, value_name = "N", requires = "samples", value_parser = clap::value_parser!(u32).range(1..=value::MAX_ITERATIONS))]
    pub iterations: Option<u32>,
}

fn tool() -> impl clap::builder::TypedValueParser<Value = Tool> {
    one_of(Tool::ALL, Tool::name)
}
