//! Options of `spawn`.

use crate::args::runtime::RuntimeArgs;
use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, PairsWord};
use clap::Args;
use coretalk_model::series::Parameters;

/// Options of `spawn`.
#[derive(Debug, Clone, Default, Args)]
pub struct SpawnArgs {
    /// Kinds: {names}; and RUNTIME:NAME of a runtime of another language, such as cpp:jthread (default: all kinds
    /// except runtimes)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Pairs to measure, creator first, for kinds that can start on a given CPU: all, representatives, or a list such
    /// as 0-1,9-4 (default: representatives)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
    /// Minimum number of creations per trial over all passes, if the budget allows; passes last as long as the
    /// precision requires and make more (default: 10000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: Option<u32>,
    /// Runtimes of other languages.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}

impl SeriesArgs for SpawnArgs {
    fn probe(&self) -> &'static str {
        "spawn"
    }

    fn options(&self) -> Parameters {
        let kinds = list(&self.kind);
        let samples = self.samples.map_or(coretalk_measure::probes::spawn::SAMPLES, f64::from);
        Parameters::default().with_some("kind", kinds).with("samples", samples)
    }

    fn runtime(&self) -> Option<&RuntimeArgs> {
        Some(&self.runtime)
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }

    fn may_share_a_cpu(&self) -> bool {
        true
    }

    fn fewest_cpus(&self) -> usize {
        1
    }
}
