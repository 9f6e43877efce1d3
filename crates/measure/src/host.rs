//! The machine that this process runs on.

#[cfg(target_os = "linux")]
pub mod affinity;
#[cfg(target_os = "linux")]
pub mod arena;
#[cfg(target_os = "linux")]
pub(crate) mod attempt;
#[cfg(target_os = "linux")]
mod batch;
pub mod cgroup;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod command;
#[cfg(target_os = "linux")]
pub mod core_clock;
pub mod doctor;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
pub mod evidence;
#[cfg(target_os = "linux")]
pub(crate) mod executor;
pub mod facts;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(any(test, not(target_os = "linux")))]
mod foreign;
#[cfg(target_os = "linux")]
pub(crate) mod futex;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod priority;
pub mod root;
pub mod spread;
#[cfg(target_os = "linux")]
mod surroundings;
pub mod sysfs;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod work;
#[cfg(target_os = "linux")]
pub mod worker;
#[cfg(target_os = "linux")]
pub mod workers;

#[cfg(not(target_os = "linux"))]
pub use foreign::HostMachine;
#[cfg(target_os = "linux")]
pub use machine::HostMachine;
