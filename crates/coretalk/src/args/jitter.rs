//! Options of `jitter`.

use crate::args::series::SeriesArgs;
use crate::args::value;
use clap::Args;
use coretalk_measure::probes::jitter::WATCHED_MS;
use coretalk_model::Picos;
use coretalk_model::series::Parameters;

/// Ratio of the budget to the watched time. It is above 1, because every pass also starts and ends threads.
const MARGIN: f64 = 1.2;

/// Options of `jitter`.
#[derive(Debug, Clone, Default, Args)]
pub struct JitterArgs {
    /// Time to watch all CPUs, for example 30s (default: 5s)
    #[arg(long = "for", value_name = "TIME", value_parser = value::budget)]
    pub watched: Option<Picos>,
}

impl JitterArgs {
    fn watched(&self) -> Picos {
        self.watched.unwrap_or(Picos::from_secs(WATCHED_MS / 1e3))
    }
}

impl SeriesArgs for JitterArgs {
    fn probe(&self) -> &'static str {
        coretalk_model::jitter::names::PROBE
    }

    fn options(&self) -> Parameters {
        Parameters::default().with("samples", self.watched().ns() / 1e6)
    }

    fn fewest_cpus(&self) -> usize {
        1
    }

    fn budget(&self) -> Picos {
        Picos::from_secs(self.watched().secs() * MARGIN + 0.5)
    }
}
