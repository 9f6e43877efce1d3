//! The machine that this process runs on.

pub mod cgroup;
#[cfg(test)]
mod fixture;
pub mod root;
pub mod sysfs;
