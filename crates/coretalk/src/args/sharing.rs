//! Options of `sharing`.

use crate::args::series::{SeriesArgs, list};
use crate::args::value::{self, PairsWord};
use clap::Args;
use coretalk_model::series::Parameters;

/// Options of `sharing`.
#[derive(Debug, Clone, Default, Args)]
pub struct SharingArgs {
    /// Distances between the writes of the two threads, in bytes (default: 8,16,32,64,128,256)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub distance: Vec<String>,
    /// Pairs to measure: all, representatives, or a list such as 0-1,9-4 (default: representatives)
    #[arg(long, value_name = "PAIRS", value_parser = value::pairs)]
    pub pairs: Option<PairsWord>,
}

impl SeriesArgs for SharingArgs {
    fn probe(&self) -> &'static str {
        "sharing"
    }

    fn options(&self) -> Parameters {
        Parameters::default().with_some("distance", list(&self.distance))
    }

    fn pairs(&self) -> Option<&PairsWord> {
        self.pairs.as_ref()
    }
}
