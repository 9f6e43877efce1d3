//! Options about runtimes in other languages, of the commands whose lists may name them.

use crate::args::value::{self, AdapterWord, HelpersWord};
use clap::Args;

/// Options about runtimes in other languages.
#[derive(Debug, Clone, Default, Args)]
pub struct RuntimeArgs {
    /// A program that performs what NAME:… stands for, as docs/adapters.md describes; words are separated by blanks, and
    /// no shell reads them
    #[arg(long, value_name = "NAME=COMMAND", value_parser = value::adapter)]
    pub adapter: Vec<AdapterWord>,
    /// Processes of each runtime that is measured, 1 to 64: each settles at a speed of its own (default: 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub forks: Option<u32>,
    /// Where other threads of runtimes run, such as compilers: a list of CPUs, or same for the CPUs that are measured
    /// (default: allowed CPUs that are not measured, where there are some)
    #[arg(long, value_name = "CPUS|same", value_parser = value::helpers)]
    pub helpers: Option<HelpersWord>,
}
