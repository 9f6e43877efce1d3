//! Options of `wake`.

use super::Family;
use crate::cli::value::{self, PairsWord};
use clap::Args;
use coretalk_model::series::Parameters;

/// Options of `wake`.
#[derive(Debug, Clone, Default, Args)]
pub struct WakeArgs {
    /// Primitives; `coretalk probes` lists them (default: semaphore,std-mutex,condvar-one,park,eventfd,pipe)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub primitive: Vec<String>,
    /// Which pairs, waker first: all, representatives, or a list such as 0-1,9-4 (default: representatives)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
    /// Wake-ups of each trial, as far as the budget allows (default: 50000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: Option<u32>,
}

impl Family for WakeArgs {
    fn probe(&self) -> &'static str {
        "wake"
    }

    fn asked(&self) -> Parameters {
        let primitives = (!self.primitive.is_empty()).then(|| self.primitive.join(","));
        let samples = self.samples.map_or(coretalk_measure::probes::wake::SAMPLES, f64::from);
        Parameters::default().with_some("primitive", primitives).with("samples", samples)
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }

    fn may_share_a_cpu(&self) -> bool {
        true
    }
}
