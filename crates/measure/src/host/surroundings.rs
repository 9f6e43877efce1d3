//! Everything that the real machine reads from system files.

use super::cgroup::{group_cpus, read_allowance};
use super::doctor::{self, LiveFacts};
use super::evidence::cpu_times;
use super::facts::{libc_version, read_environment};
use super::root::SystemRoot;
use super::spread::Spread;
use super::sysfs::{listed_online, read_topology};
use crate::machine::{Allowance, MachineError};
use coretalk_model::{ClockFacts, CpuId, CpuSet, DoctorFinding, Environment, LossReason, Topology};
use std::time::Duration;

pub fn read() -> Result<(Topology, Allowance), MachineError> {
    let root = SystemRoot::live();
    let topology = read_topology(&root)?;
    let allowance = read_allowance(&root, topology.cpus())?;
    Ok((topology, allowance))
}

/// CPUs that are online and in the cpuset of this process; `None` if unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    online: Option<CpuSet>,
    cpuset: Option<CpuSet>,
}

impl Present {
    pub fn now() -> Present {
        Present::read(&SystemRoot::live())
    }

    fn read(root: &SystemRoot) -> Present {
        Present { online: listed_online(root).ok().flatten(), cpuset: group_cpus(root).ok().flatten() }
    }

    pub fn absence(&self, cpu: CpuId) -> Option<LossReason> {
        let lacks = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| !set.contains(cpu));
        if lacks(&self.online) {
            Some(LossReason::Offline)
        } else {
            Some(LossReason::Cpuset).filter(|_| lacks(&self.cpuset))
        }
    }
}

/// Conditions of a measurement except clock, page size and priority.
pub fn environment() -> Environment {
    read_environment(&SystemRoot::live())
}

/// All checks of `doctor`. Observes the CPUs for 200 ms and, if they are busy, for another `longer` (at most 800 ms).
pub fn examine(
    pinning: Result<(), &str>,
    clock: Option<Result<&ClockFacts, &str>>,
    offsets: Option<Spread>,
    longer: Duration,
) -> Vec<DoctorFinding> {
    let before = cpu_times();
    let observe = |span| {
        std::thread::sleep(span);
        Some(cpu_times()?.since(before.as_ref()?))
    };
    // Load within 200 ms may be transient.
    let recent = match observe(Duration::from_millis(200)) {
        Some(recent) if doctor::needs_longer_observation(&recent) => {
            observe(longer.min(Duration::from_millis(800)))
        }
        recent => recent,
    };
    let libc = libc_version();
    let (pinning, recent, libc) = (Some(pinning), recent.as_ref(), libc.as_deref());
    let live = LiveFacts { pinning, clock, offsets, recent, libc };
    doctor::examine(&SystemRoot::live(), &live)
}

/// Size of a cache line in bytes; 64 if the system does not report it (many Arm kernels).
pub fn line_bytes() -> usize {
    let path = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size";
    SystemRoot::live().number(path).unwrap_or(64)
}
