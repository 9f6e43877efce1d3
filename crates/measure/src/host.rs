//! The machine that this process runs on.

pub mod cgroup;
pub mod doctor;
pub mod facts;
#[cfg(test)]
mod fixture;
pub mod root;
pub mod sysfs;
