//! Options for runtimes of other languages, shared by the commands that can measure them.

use crate::args::value::{self, AdapterWord, HelpersWord};
use clap::Args;

/// Options for runtimes of other languages.
#[derive(Debug, Clone, Default, Args)]
pub struct RuntimeArgs {
    /// Program that measures NAME:… (see docs/adapters.md); arguments are separated by spaces, without a shell
    #[arg(long, value_name = "NAME=COMMAND", value_parser = value::adapter)]
    pub adapter: Vec<AdapterWord>,
    /// Number of processes of each measured runtime, 1 to 64: their speeds in steady state differ (default: 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub forks: Option<u32>,
    /// CPUs for other threads of runtimes, such as compilers: as for --cpus, or same for the measured CPUs (default: allowed
    /// CPUs that are not measured, if any)
    #[arg(long, value_name = "CPUS|same", value_parser = value::helpers)]
    pub helpers: Option<HelpersWord>,
}
