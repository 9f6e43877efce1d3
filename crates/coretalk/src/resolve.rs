//! From what was typed to what is meant: every name is known, every CPU exists and may be used, every default is filled in.

pub mod cpus;
pub mod files;
pub mod machine;
pub mod map;
pub mod output;
pub mod placement;
pub mod run_options;
pub mod source;
pub mod trials;
pub mod verbosity;
