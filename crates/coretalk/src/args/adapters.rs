//! Options of `adapters`.

use super::options::takes;
use clap::{Args, Subcommand};
use std::ffi::OsString;

/// Options of `adapters`.
#[derive(Debug, Clone, Args)]
pub struct AdaptersArgs {
    /// The subcommand (default: list available adapters).
    #[command(subcommand)]
    pub command: Option<AdaptersCommand>,
}

/// Subcommands of `adapters`.
#[derive(Debug, Clone, Subcommand)]
pub enum AdaptersCommand {
    /// Run everything that a program offers and report what is wrong
    #[command(args = takes(&[&["cpus", "output", "quiet"]]))]
    Check(CheckArgs),
}

/// Options of `adapters check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// The program and its arguments (see docs/adapters.md)
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub words: Vec<OsString>,
}
