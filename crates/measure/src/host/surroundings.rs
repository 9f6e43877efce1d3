//! What the real machine takes from the system's files, in one place.

use super::cgroup::read_allowance;
use super::clock::Spread;
use super::doctor::{self, LiveFacts};
use super::evidence::cpu_times;
use super::facts::{libc_version, read_environment};
use super::root::SystemRoot;
use super::sysfs::read_topology;
use crate::machine::{Allowance, MachineError};
use coretalk_model::{ClockFacts, Environment, Finding, Topology};
use std::time::Duration;

/// Which CPUs share what, and which of them this process may use.
pub fn read() -> Result<(Topology, Allowance), MachineError> {
    let root = SystemRoot::live();
    let topology = read_topology(&root)?;
    let allowance = read_allowance(&root, topology.cpus())?;
    Ok((topology, allowance))
}

/// What numbers are measured under, but for clock, page size and priority.
pub fn environment() -> Environment {
    read_environment(&SystemRoot::live())
}

/// Every check of `doctor`; watches the CPUs for a moment first.
pub fn examine(clock: &ClockFacts, offsets: Option<Spread>) -> Vec<Finding> {
    let before = cpu_times();
    std::thread::sleep(Duration::from_millis(200));
    let recent = before.and_then(|before| Some(cpu_times()?.since(&before)));
    let libc = libc_version();
    let live = LiveFacts { clock: Some(clock), offsets, recent: recent.as_ref(), libc: libc.as_deref() };
    doctor::examine(&SystemRoot::live(), &live)
}

/// Bytes of a cache line; 64 where the system does not say (many Arm kernels).
pub fn line_bytes() -> usize {
    let path = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size";
    SystemRoot::live().number(path).unwrap_or(64)
}
