//! The system's counts of interruptions of a CPU.

#[cfg(all(target_os = "linux", not(miri)))]
pub use reading::InterruptReading;

/// The system's counts for one CPU over a pass; `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SystemCounts {
    /// Timer ticks.
    pub ticks: Option<u64>,
    /// Other interrupts.
    pub interrupts: Option<u64>,
    /// Steal time in milliseconds, in steps of 10.
    pub stolen_ms: Option<f64>,
    /// Time for which the quota of the control group stopped this process, in milliseconds, summed over CPUs.
    pub throttled_ms: Option<f64>,
}

/// [`InterruptReading`]: interrupts from `/proc/interrupts`, steal from `/proc/stat`.
#[cfg(all(target_os = "linux", not(miri)))]
mod reading {
    use super::SystemCounts;
    use crate::host::{cgroup::read_quota, facts::CpuTimes, root::SystemRoot};
    use coretalk_model::CpuId;
    use std::collections::BTreeMap;

    /// The system's counts at one moment.
    #[derive(Debug, Clone)]
    pub struct InterruptReading {
        interrupts: Option<Interrupts>,
        times: Option<CpuTimes>,
        throttled_us: Option<u64>,
    }

    impl InterruptReading {
        /// Reads the current counts.
        pub fn now() -> InterruptReading {
            let root = SystemRoot::live();
            let interrupts = root.peek("/proc/interrupts").and_then(|text| Interrupts::parse(&text));
            let throttled_us = read_quota(&root).and_then(|quota| quota.throttled_us);
            InterruptReading { interrupts, times: CpuTimes::read(&root), throttled_us }
        }

        /// The interruptions of a CPU since an earlier moment.
        pub fn since(&self, earlier: &InterruptReading, cpu: CpuId) -> SystemCounts {
            let interrupts = self.interrupts.as_ref().zip(earlier.interrupts.as_ref());
            let counted = interrupts.map_or(SystemCounts::default(), |(now, before)| now.since(before, cpu));
            let times = self.times.as_ref().zip(earlier.times.as_ref());
            let stolen_ms =
                times.and_then(|(now, before)| now.since(before).steal_ms(&[cpu].into_iter().collect()));
            let throttled = self.throttled_us.zip(earlier.throttled_us);
            let throttled_ms = throttled.map(|(now, before)| now.saturating_sub(before) as f64 / 1e3);
            SystemCounts { stolen_ms, throttled_ms, ..counted }
        }
    }

    /// Rows of the timer on x86, and of Arm's architected timer.
    const TICKS: [&str; 2] = ["LOC", "arch_timer"];
    /// Rows that do not count interrupts of a CPU.
    const NO_INTERRUPTS: [&str; 2] = ["ERR", "MIS"];

    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    struct Interrupts {
        by_cpu: BTreeMap<CpuId, [u64; 2]>,
    }

    impl Interrupts {
        fn parse(text: &str) -> Option<Interrupts> {
            let mut lines = text.lines();
            let cpus: Vec<CpuId> = lines
                .next()?
                .split_whitespace()
                .map(|word| word.strip_prefix("CPU").and_then(|id| id.parse().ok()).map(CpuId))
                .collect::<Option<_>>()?;
            let mut by_cpu: BTreeMap<CpuId, [u64; 2]> = cpus.iter().map(|&cpu| (cpu, [0, 0])).collect();
            for line in lines {
                let Some((row, rest)) = line.split_once(':') else { continue };
                if NO_INTERRUPTS.contains(&row.trim()) {
                    continue;
                }
                let mut words = rest.split_whitespace().peekable();
                let mut counts = Vec::with_capacity(cpus.len());
                while counts.len() < cpus.len()
                    && let Some(count) = words.peek().and_then(|word| word.parse::<u64>().ok())
                {
                    counts.push(count);
                    words.next();
                }
                let is_tick = TICKS.contains(&row.trim()) || words.any(|word| TICKS.contains(&word));
                for (cpu, count) in cpus.iter().zip(counts) {
                    if let Some(sums) = by_cpu.get_mut(cpu) {
                        sums[usize::from(!is_tick)] += count;
                    }
                }
            }
            Some(Interrupts { by_cpu })
        }

        fn since(&self, earlier: &Interrupts, cpu: CpuId) -> SystemCounts {
            let readings = self.by_cpu.get(&cpu).zip(earlier.by_cpu.get(&cpu));
            let since =
                readings.map(|(now, before)| [0, 1].map(|kind| now[kind].saturating_sub(before[kind])));
            SystemCounts {
                ticks: since.map(|since| since[0]),
                interrupts: since.map(|since| since[1]),
                stolen_ms: None,
                throttled_ms: None,
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const BEFORE: &str = "           CPU0       CPU2\n  4:        142          0   IO-APIC   4-edge      ttyS0\nLOC:     100000     200000   Local timer interrupts\nRES:         10         20   Rescheduling interrupts\nERR:          5\n";

        #[test]
        fn ticks_and_other_interrupts_are_counted_for_each_cpu() {
            let before = Interrupts::parse(BEFORE).unwrap();
            let after = BEFORE
                .replace("100000", "100250")
                .replace("  20 ", "  27 ")
                .replace("ERR:          5", "ERR:          9");
            let after = Interrupts::parse(&after).unwrap();
            let since = |cpu| after.since(&before, CpuId(cpu));
            assert_eq!((since(0).ticks, since(0).interrupts), (Some(250), Some(0)));
            assert_eq!((since(2).ticks, since(2).interrupts), (Some(0), Some(7)));
            assert_eq!(since(1), SystemCounts::default());
            let arm =
                "           CPU0       CPU1\n 11:       1000       2000     GICv3  27 Level     arch_timer\n";
            assert_eq!(Interrupts::parse(arm).unwrap().by_cpu[&CpuId(1)], [2000, 0]);
            assert_eq!(Interrupts::parse("nothing of the kind"), None);
        }
    }
}
