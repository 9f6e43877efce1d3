//! Options about runtimes in other languages, of the commands whose lists may name them.

use clap::Args;

/// Options about runtimes in other languages.
#[derive(Debug, Clone, Default, Args)]
pub struct RuntimeArgs {
    /// Processes of each runtime that is measured, 1 to 64: each settles at a speed of its own (default: 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub forks: Option<u32>,
}
