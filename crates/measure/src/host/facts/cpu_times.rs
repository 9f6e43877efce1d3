//! [`CpuTimes`]: time per CPU and state, from `/proc/stat`.

use crate::host::root::SystemRoot;
use coretalk_model::cpu::MAX_CPU;
use coretalk_model::selection::CpuUse;
use coretalk_model::{CpuId, CpuSet};
use std::collections::BTreeMap;

/// Unit of `/proc/stat`: hundredths of a second (`USER_HZ`), whatever the kernel's own tick is.
const JIFFY_MS: f64 = 10.0;

/// Busy fraction of all CPUs above which pairs are measured one at a time, to spare other programs.
pub const BUSY_FRACTION: f64 = 0.05;

/// Time per CPU and state, since boot or between two readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuTimes {
    by_cpu: BTreeMap<CpuId, Times>,
}

/// Times in jiffies. `user` includes guest time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    user: u64,
    nice: u64,
    system: u64,
    idle: u64,
    iowait: u64,
    irq: u64,
    softirq: u64,
    steal: u64,
}

impl CpuTimes {
    /// Times since boot; `None` if `/proc/stat` lists no CPU.
    pub fn read(root: &SystemRoot) -> Option<CpuTimes> {
        let stat = root.peek("/proc/stat")?;
        let by_cpu: BTreeMap<CpuId, Times> = stat.lines().filter_map(parse_line).collect();
        (!by_cpu.is_empty()).then_some(CpuTimes { by_cpu })
    }

    /// Times since `earlier` of CPUs in both readings. A counter that decreases counts as 0; iowait may decrease.
    pub fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        let common =
            self.by_cpu.iter().filter_map(|(&cpu, now)| Some((cpu, now.minus(earlier.by_cpu.get(&cpu)?))));
        CpuTimes { by_cpu: common.collect() }
    }

    /// Milliseconds taken from these CPUs by the hypervisor and interrupts, in steps of 10; `None` if a CPU is unknown.
    pub fn stolen_ms(&self, cpus: &CpuSet) -> Option<f64> {
        let each = |cpu| self.by_cpu.get(&cpu).map(|times| times.steal + times.irq + times.softirq);
        Some(sum(cpus, each)? as f64 * JIFFY_MS)
    }

    /// Milliseconds taken from these CPUs by the hypervisor, in steps of 10; `None` if a CPU is unknown.
    pub fn steal_ms(&self, cpus: &CpuSet) -> Option<f64> {
        Some(sum(cpus, |cpu| self.by_cpu.get(&cpu).map(|times| times.steal))? as f64 * JIFFY_MS)
    }

    /// Fraction of these CPUs' time taken by the hypervisor, 0 to 1; `None` if no time passed or a CPU is unknown.
    pub fn steal_fraction(&self, cpus: &CpuSet) -> Option<f64> {
        self.fraction(cpus, |times| times.steal)
    }

    /// Busy fraction of these CPUs' time, 0 to 1; `None` if no time passed or a CPU is unknown. Waits for a disk and
    /// stolen time count as idle, since nothing in this system uses the CPU then.
    pub fn busy_fraction(&self, cpus: &CpuSet) -> Option<f64> {
        self.fraction(cpus, |times| times.user + times.nice + times.system + times.irq + times.softirq)
    }

    /// Share of its time that each CPU was not idle, 0 to 1. Stolen time counts as busy. CPUs without time are left
    /// out.
    pub fn use_of_each(&self) -> CpuUse {
        let share = |times: &Times| 1.0 - (times.idle + times.iowait) as f64 / times.total() as f64;
        let known = self.by_cpu.iter().filter(|(_, times)| times.total() > 0);
        known.map(|(&cpu, times)| (cpu, share(times))).collect()
    }

    /// Milliseconds used by programs on these CPUs, in steps of 10; `None` if a CPU is unknown.
    pub fn busy_ms(&self, cpus: &CpuSet) -> Option<f64> {
        let each = |cpu| self.by_cpu.get(&cpu).map(|times| times.user + times.nice + times.system);
        Some(sum(cpus, each)? as f64 * JIFFY_MS)
    }

    /// Seconds between the readings, in steps of 10 ms. This is the maximum over the CPUs.
    pub fn span_s(&self) -> f64 {
        self.by_cpu.values().map(Times::total).max().unwrap_or(0) as f64 * JIFFY_MS * 1e-3
    }

    /// All known CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.by_cpu.keys().copied().collect()
    }

    fn fraction(&self, cpus: &CpuSet, part: impl Fn(&Times) -> u64) -> Option<f64> {
        let total = sum(cpus, |cpu| self.by_cpu.get(&cpu).map(Times::total))?;
        let part = sum(cpus, |cpu| self.by_cpu.get(&cpu).map(&part))?;
        (total > 0).then(|| part as f64 / total as f64)
    }
}

/// Milliseconds taken from these CPUs by the hypervisor and interrupts since boot, in steps of 10; `None` if unknown.
pub fn steal_ms(root: &SystemRoot, cpus: &CpuSet) -> Option<f64> {
    CpuTimes::read(root)?.stolen_ms(cpus)
}

fn sum(cpus: &CpuSet, each: impl Fn(CpuId) -> Option<u64>) -> Option<u64> {
    cpus.iter().try_fold(0u64, |sum, cpu| sum.checked_add(each(cpu)?))
}

/// Parses `cpu3 user nice system idle iowait irq softirq steal …`. The line without a CPU number is the sum.
fn parse_line(line: &str) -> Option<(CpuId, Times)> {
    let mut words = line.split_ascii_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?.parse().ok().filter(|&cpu| cpu <= MAX_CPU)?;
    // Larger values (20 million years) could overflow the sums.
    let mut next = || words.next()?.parse::<u64>().ok().filter(|&jiffies| jiffies < 1 << 56);
    let times = Times {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
    };
    Some((CpuId(cpu), times))
}

impl Times {
    fn minus(&self, earlier: &Times) -> Times {
        Times {
            user: self.user.saturating_sub(earlier.user),
            nice: self.nice.saturating_sub(earlier.nice),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    fn total(&self) -> u64 {
        let working = self.user + self.nice + self.system + self.irq + self.softirq;
        working + self.idle + self.iowait + self.steal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    fn times(stat: &str) -> Option<CpuTimes> {
        CpuTimes::read(SystemTree::with_files(&[("/proc/stat", stat)]).root())
    }

    fn cpus(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    const EARLIER: &str = "cpu  40 0 20 300 0 0 0 0 0 0\n\
        cpu0 20 0 10 150 9 0 0 0 0 0\n\
        cpu1 20 0 10 150 0 0 0 0 0 0\n\
        intr 5 0 0\nctxt 9\n";
    const LATER: &str =
        "cpu0 30 0 10 230 5 1 2 7 0 0\ncpu1 20 0 10 250 0 0 0 0 0 0\ncpu2 1 1 1 1 1 1 1 1 0 0\n";

    #[test]
    fn two_readings_give_what_was_spent_between_them() {
        let spent = times(LATER).unwrap().since(&times(EARLIER).unwrap());
        assert_eq!(spent.cpus(), cpus("0-1"), "CPU 2 was not there before");
        assert_eq!(spent.stolen_ms(&cpus("0")), Some(100.0), "steal 7, irq 1, softirq 2");
        assert_eq!(spent.steal_fraction(&cpus("0")), Some(0.07));
        assert_eq!(spent.busy_fraction(&cpus("0")), Some(0.13));
        assert_eq!(spent.busy_fraction(&cpus("0-1")), Some(0.065));
        // Of 100 jiffies, 80 idle; iowait went backwards. CPU 1 was idle throughout.
        let uses = spent.use_of_each().into_iter().map(|(cpu, share)| (cpu.0, (share * 100.0).round()));
        assert_eq!(uses.collect::<Vec<_>>(), [(0, 20.0), (1, 0.0)]);
    }

    #[test]
    fn missing_counters_make_times_unknown() {
        assert_eq!([times("cpu0 1 2 3 4\n"), times("ctxt 1\n")], [None, None]);
        assert_eq!(CpuTimes::read(SystemTree::new().root()), None);
        let all = times(LATER).unwrap();
        assert_eq!(all.stolen_ms(&cpus("0,7")), None, "CPU 7 has no line");
        assert_eq!(all.busy_fraction(&cpus("7")), None);
        assert_eq!(all.busy_fraction(&CpuSet::new()), None);
        assert_eq!(all.since(&all).busy_fraction(&cpus("0-1")), None, "no time has passed");
    }

    #[test]
    fn steal_time_since_boot_is_summed() {
        let tree = SystemTree::with_files(&[("/proc/stat", LATER)]);
        assert_eq!(steal_ms(tree.root(), &cpus("0,2")), Some(130.0));
    }
}
