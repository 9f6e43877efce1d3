//! Options of `adapters`.

use super::options::takes;
use clap::{Args, Subcommand};
use std::ffi::OsString;

/// Options of `adapters`.
#[derive(Debug, Clone, Args)]
pub struct AdaptersArgs {
    /// What to do with adapters (default: list those that are here).
    #[command(subcommand)]
    pub command: Option<AdaptersCommand>,
}

/// What to do with adapters.
#[derive(Debug, Clone, Subcommand)]
pub enum AdaptersCommand {
    /// Run everything that a program offers, and say what is wrong
    #[command(args = takes(&[&["cpus", "output", "quiet"]]))]
    Check(CheckArgs),
}

/// Options of `adapters check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// The program and its arguments, as described in docs/adapters.md
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub words: Vec<OsString>,
}
