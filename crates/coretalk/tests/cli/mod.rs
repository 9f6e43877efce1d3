//! The command line: refusals, options, help, what is generated, and runs on simulated machines.

mod effects;
mod generated;
mod refusals;
mod simulated;
mod tool;
