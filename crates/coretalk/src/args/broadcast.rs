//! Options of `broadcast`.

use crate::args::series::{SeriesArgs, list};
use clap::Args;
use coretalk_model::series::Parameters;

/// Options of `broadcast`.
#[derive(Debug, Clone, Default, Args)]
pub struct BroadcastArgs {
    /// Numbers of readers, on the CPUs after the writer's (default: powers of two, and all CPUs)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub readers: Vec<String>,
}

impl SeriesArgs for BroadcastArgs {
    fn probe(&self) -> &'static str {
        "broadcast"
    }

    fn options(&self) -> Parameters {
        Parameters::default().with_some("readers", list(&self.readers))
    }
}
