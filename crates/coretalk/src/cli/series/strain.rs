//! `latency` after silences and under loads: trials in place of a map.

use super::Family;
use crate::cli::args::LatencyArgs;
use crate::cli::value::PairsWord;
use coretalk_measure::probes::strain::names;
use coretalk_model::series::Parameters;

impl LatencyArgs {
    /// Whether trials are asked for, and not a map.
    pub fn asks_for_trials(&self) -> bool {
        self.gap.is_some() || !self.load.is_empty()
    }
}

impl Family for LatencyArgs {
    fn probe(&self) -> &'static str {
        "latency"
    }

    fn asked(&self) -> Parameters {
        let gaps = self
            .gap
            .as_ref()
            .map(|gaps| gaps.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        let loads = (!self.load.is_empty()).then(|| self.load.join(","));
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
