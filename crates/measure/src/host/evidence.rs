//! What else went on: switches of a thread, and time that CPUs lost to the host or to interrupts.

use super::cgroup;
use super::clock::os;
use super::facts::CpuTimes;
use super::root::SystemRoot;
use coretalk_model::{CpuId, CpuSet, Picos};
use std::time::Duration;

/// Context switches of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// It gave the CPU away (slept).
    pub voluntary: u32,
    /// The CPU was taken from it.
    pub involuntary: u32,
}

impl Switches {
    /// Those of the calling thread so far; one system call. `None` where the system does not count.
    pub fn of_this_thread() -> Option<Switches> {
        // SAFETY: an all-zero `rusage` is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is writable.
        let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        (status == 0)
            .then_some(Switches { voluntary: usage.ru_nvcsw as u32, involuntary: usage.ru_nivcsw as u32 })
    }

    /// Those since an earlier count.
    pub fn since(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.wrapping_sub(earlier.voluntary),
            involuntary: self.involuntary.wrapping_sub(earlier.involuntary),
        }
    }
}

/// How often CPUs were held back so far: by the quota of a control group, which stops all of them, and by heat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttles {
    cpus: CpuSet,
    /// Periods in which a group of this process used its share up.
    by_quota: Option<u64>,
    /// Events of each CPU, in order; empty where the system counts none, as on most guests and on Arm.
    by_heat: Vec<u64>,
}

impl Throttles {
    /// What the counters say of some CPUs.
    pub fn read(root: &SystemRoot, cpus: &CpuSet) -> Throttles {
        let by_quota = cgroup::read_quota(root).and_then(|quota| quota.throttled_periods);
        let of_cpu = |cpu: CpuId| {
            root.number::<u64>(&format!(
                "/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"
            ))
        };
        // One missing file tells that there are none, which saves a thousand looks.
        let by_heat = cpus.iter().map_while(of_cpu).collect();
        Throttles { cpus: cpus.clone(), by_quota, by_heat }
    }

    /// The CPUs that were held back since an earlier reading of the same ones.
    pub fn since(&self, earlier: &Throttles) -> CpuSet {
        if self.by_quota.zip(earlier.by_quota).is_some_and(|(now, then)| now > then) {
            return self.cpus.clone();
        }
        let counts = self.by_heat.iter().zip(&earlier.by_heat);
        self.cpus.iter().zip(counts).filter(|(_, (now, then))| now > then).map(|(cpu, _)| cpu).collect()
    }
}

/// Share of these CPUs that others keep busy right now, watched for 50 ms (longer on small machines, where one tick of
/// the accounts would already be much); `None` where the system keeps no accounts.
pub fn share_of_others(cpus: &CpuSet) -> Option<f64> {
    let count = cpus.len().max(1) as f64;
    let window = Duration::from_millis((400 / cpus.len().max(1) as u64).clamp(50, 200));
    let (before, own_before, begun) = (cpu_times()?, os::process_cpu(), os::monotonic());
    std::thread::sleep(window);
    let busy = cpu_times()?.since(&before).busy_fraction(cpus)?;
    let wall = os::monotonic().saturating_sub(begun).max(Picos(1));
    let own = os::process_cpu().saturating_sub(own_before).secs() / wall.secs();
    Some((busy - own / count).max(0.0))
}

/// What the CPUs have spent their time on so far; `None` where the system does not say.
pub fn cpu_times() -> Option<CpuTimes> {
    CpuTimes::read(&SystemRoot::live())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_counter_names_the_cpus_that_were_held_back() {
        let cpus = CpuSet::from_iter([CpuId(1), CpuId(3)]);
        let at =
            |by_quota, by_heat: &[u64]| Throttles { cpus: cpus.clone(), by_quota, by_heat: by_heat.to_vec() };
        let before = at(Some(4), &[7, 9]);
        assert!(at(Some(4), &[7, 9]).since(&before).is_empty());
        assert_eq!(at(Some(4), &[7, 10]).since(&before), CpuSet::from_iter([CpuId(3)]));
        assert_eq!(at(Some(5), &[7, 9]).since(&before), cpus, "a quota stops all");
        assert!(at(None, &[]).since(&before).is_empty(), "unknown is not throttled");
        let live = Throttles::read(&SystemRoot::live(), &cpus);
        assert!(live.by_heat.len() <= cpus.len());
    }

    #[test]
    fn a_share_is_a_share() {
        let cpus = super::super::affinity::current_mask().unwrap();
        if let Some(share) = share_of_others(&cpus) {
            assert!((0.0..=1.1).contains(&share), "{share}");
        }
        assert!(Switches::of_this_thread().is_some());
    }
}
