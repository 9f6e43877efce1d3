//! Tests of the command line: refusals, options, help, generated files, simulated runs, and interrupted runs.

#[cfg(target_os = "linux")]
mod adapted;
#[cfg(target_os = "linux")]
mod adapters;
mod advising;
#[cfg(target_os = "linux")]
mod build;
mod claims;
mod compared;
mod comparing;
mod departing;
mod documented;
mod effects;
mod generated;
mod hostile;
#[cfg(target_os = "linux")]
mod kill;
mod latency_under_load;
#[cfg(unix)]
mod limits;
mod placements;
mod places;
mod probes;
#[cfg(target_os = "linux")]
mod programs;
mod queue;
mod queue_load;
mod reading_back;
mod refusals;
mod report;
mod runtimes;
mod selections;
#[cfg(target_os = "linux")]
mod selftest;
mod series;
#[cfg(target_os = "linux")]
mod signals;
mod simulated;
mod suite;
#[cfg(target_os = "linux")]
mod taken;
pub mod tool;
mod topology;
mod versus;
mod viewing;
mod wait;
#[cfg(target_os = "linux")]
mod written;
