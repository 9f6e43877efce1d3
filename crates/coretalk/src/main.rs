//! The command line.
pub mod run;

fn main() {}
