//! Disturbances: context switches, throttling, and CPU time used by the hypervisor, by interrupts or by other programs.

use super::cgroup;
use super::clock::sources;
use super::facts::CpuTimes;
use super::root::SystemRoot;
use coretalk_model::environment::{DISTURBED_SHARE, Throttled};
use coretalk_model::selection::CpuUse;
use coretalk_model::{CpuId, CpuSet, Picos};
use std::time::Duration;

/// Context switches of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// The thread slept.
    pub voluntary: u32,
    /// The thread was preempted.
    pub involuntary: u32,
}

impl Switches {
    /// Switches of the calling thread so far; `None` if the system does not count them. Costs one system call.
    pub fn of_this_thread() -> Option<Switches> {
        // SAFETY: an all-zero `rusage` is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is writable.
        let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        (status == 0)
            .then_some(Switches { voluntary: usage.ru_nvcsw as u32, involuntary: usage.ru_nivcsw as u32 })
    }

    /// Switches since `earlier`.
    pub fn since(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.wrapping_sub(earlier.voluntary),
            involuntary: self.involuntary.wrapping_sub(earlier.involuntary),
        }
    }
}

/// Thermal throttling events so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Throttles {
    cpus: CpuSet,
    /// Events per CPU. Empty if the system has no counters, as on most guests and on Arm.
    counts: Vec<u64>,
}

impl Throttles {
    /// Reads the counters of some CPUs.
    pub fn read(root: &SystemRoot, cpus: &CpuSet) -> Throttles {
        let of_cpu = |cpu: CpuId| {
            root.number::<u64>(&format!(
                "/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"
            ))
        };
        // The first missing file ends the loop, which saves a thousand accesses.
        let counts = cpus.iter().map_while(of_cpu).collect();
        Throttles { cpus: cpus.clone(), counts }
    }

    /// CPUs throttled since an earlier reading of the same CPUs.
    pub fn since(&self, earlier: &Throttles) -> CpuSet {
        let counts = self.counts.iter().zip(&earlier.counts);
        self.cpus.iter().zip(counts).filter(|(_, (now, then))| now > then).map(|(cpu, _)| cpu).collect()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct QuotaThrottling {
    periods: u64,
    /// Sum over CPUs; `None` if a cgroup does not report it.
    us: Option<u64>,
}

/// Retry interval for cgroups without counters. A controller may be enabled later.
const RETRY_INTERVAL: Picos = Picos::from_ms(200);

impl QuotaThrottling {
    const NONE: QuotaThrottling = QuotaThrottling { periods: 0, us: Some(0) };

    fn read(root: &SystemRoot) -> Option<QuotaThrottling> {
        let quota = cgroup::read_quota(root)?;
        Some(QuotaThrottling { periods: quota.throttled_periods?, us: quota.throttled_us })
    }
}

/// Watches throttling by a CPU quota during measurements.
#[derive(Debug, Default)]
pub struct QuotaWatch {
    began: Picos,
    first: Option<QuotaThrottling>,
    latest: Option<QuotaThrottling>,
    read_at: Picos,
    /// Earliest start of the throttling: the last reading without it. Readings may be seconds apart while work runs.
    throttled_from: Option<Picos>,
}

impl QuotaWatch {
    /// Begins to watch.
    pub fn begin() -> QuotaWatch {
        let (began, first) = (sources::monotonic(), QuotaThrottling::read(&SystemRoot::live()));
        QuotaWatch { began, first, latest: first, read_at: began, throttled_from: None }
    }

    /// Reads the counters. Returns whether the process was throttled since the last reading.
    pub fn sample(&mut self) -> bool {
        let at = sources::monotonic();
        // New counters are looked for only every 200 ms.
        if self.latest.is_none() && at.saturating_sub(self.read_at) < RETRY_INTERVAL {
            return false;
        }
        self.record(QuotaThrottling::read(&SystemRoot::live()), at)
    }

    fn record(&mut self, now: Option<QuotaThrottling>, at: Picos) -> bool {
        if self.first.is_none() && now.is_some() {
            // A newly enabled counter begins at zero.
            (self.first, self.latest) = (Some(QuotaThrottling::NONE), Some(QuotaThrottling::NONE));
        }
        let stopped = now.zip(self.latest).is_some_and(|(now, before)| now.periods > before.periods);
        self.latest = now.or(self.latest);
        if stopped {
            self.throttled_from.get_or_insert(self.read_at.saturating_sub(self.began));
        }
        self.read_at = at;
        stopped
    }

    /// Throttling since the beginning; `None` if no cgroup has counters.
    pub fn throttled(&self) -> Option<Throttled> {
        let (first, latest) = self.first.zip(self.latest)?;
        let us = first.us.zip(latest.us).map(|(first, latest)| latest.saturating_sub(first));
        Some(Throttled {
            times: latest.periods.saturating_sub(first.periods),
            seconds: us.map(|us| us as f64 / 1e6),
            from_s: self.throttled_from.map(Picos::secs),
        })
    }
}

/// Share of these CPUs used by other programs now; `None` if the system has no counters. Takes 50 to 200 ms. With fewer
/// CPUs it takes longer, since one tick of the counters is a larger share.
pub fn share_of_others(cpus: &CpuSet) -> Option<f64> {
    let count = cpus.len().max(1) as f64;
    let window = Duration::from_millis((400 / cpus.len().max(1) as u64).clamp(50, 200));
    let (before, own_before, begun) = (cpu_times()?, sources::process_cpu(), sources::monotonic());
    std::thread::sleep(window);
    let busy = cpu_times()?.since(&before).busy_fraction(cpus)?;
    let wall = sources::monotonic().saturating_sub(begun).max(Picos(1));
    let own = sources::process_cpu().saturating_sub(own_before).secs() / wall.secs();
    Some((busy - own / count).max(0.0))
}

/// Busy share of each CPU over 300 ms, which are thirty steps of the system's counters; `None` without counters.
pub fn use_of_cpus() -> Option<CpuUse> {
    let before = cpu_times()?;
    std::thread::sleep(Duration::from_millis(300));
    Some(cpu_times()?.since(&before).use_of_each())
}

/// CPU use of other programs during measurements, in consecutive windows and in total.
#[derive(Debug, Default)]
pub struct Others {
    cpus: CpuSet,
    first: Option<Account>,
    latest: Option<Account>,
    recent: Option<f64>,
}

/// Minimum window. The counters of the system have steps of 10 ms.
const WINDOW: Picos = Picos::from_ms(200);

#[derive(Debug, Clone)]
struct Account {
    at: Picos,
    times: CpuTimes,
    own_cpu: Picos,
}

impl Account {
    /// `children` is the CPU time of children that still run.
    fn now(children: Picos) -> Option<Account> {
        let own_cpu = sources::process_cpu() + sources::children_cpu() + children;
        Some(Account { at: sources::monotonic(), times: cpu_times()?, own_cpu })
    }

    fn others_since(&self, earlier: &Account, cpus: &CpuSet) -> Option<f64> {
        let busy = self.times.since(&earlier.times).busy_fraction(cpus)?;
        let wall = self.at.saturating_sub(earlier.at).max(Picos(1));
        let own = self.own_cpu.saturating_sub(earlier.own_cpu).secs() / wall.secs();
        Some((busy - own / cpus.len().max(1) as f64).clamp(0.0, 1.0))
    }
}

impl Others {
    /// Begins to watch these CPUs. `children` is the CPU time of children that still run.
    pub fn watch(cpus: CpuSet, children: Picos) -> Others {
        let first = Account::now(children);
        Others { cpus, latest: first.clone(), first, recent: None }
    }

    /// Ends the window if it is long enough. `children` returns the CPU time of children that still run.
    pub fn sample(&mut self, children: impl FnOnce() -> Picos) {
        let Some(begun) = &self.latest else { return };
        // Reading the counters of many CPUs takes a millisecond.
        if sources::monotonic().saturating_sub(begun.at) < WINDOW {
            return;
        }
        let Some(now) = Account::now(children()) else { return };
        self.recent = now.others_since(begun, &self.cpus);
        self.latest = Some(now);
    }

    /// Whether the share of other programs in the last window makes results doubtful.
    pub fn disturb(&self) -> bool {
        self.recent.is_some_and(|share| share > DISTURBED_SHARE)
    }

    /// Share of other programs over all completed windows; `None` if there is no window or no counter.
    pub fn share(&self) -> Option<f64> {
        self.recent?;
        self.latest.as_ref()?.others_since(self.first.as_ref()?, &self.cpus)
    }
}

/// CPU times so far; `None` if the system does not report them.
pub fn cpu_times() -> Option<CpuTimes> {
    CpuTimes::read(&SystemRoot::live())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_counter_identifies_the_throttled_cpus() {
        let cpus = CpuSet::from_iter([CpuId(1), CpuId(3)]);
        let at = |counts: &[u64]| Throttles { cpus: cpus.clone(), counts: counts.to_vec() };
        let before = at(&[7, 9]);
        assert!(at(&[7, 9]).since(&before).is_empty());
        assert_eq!(at(&[7, 10]).since(&before), CpuSet::from_iter([CpuId(3)]));
        assert!(at(&[]).since(&before).is_empty(), "unknown is not throttled");
        assert!(Throttles::read(&SystemRoot::live(), &cpus).counts.len() <= cpus.len());
    }

    #[test]
    fn throttling_starts_at_the_last_reading_without_it() {
        let count = |periods, us| Some(QuotaThrottling { periods, us: Some(us) });
        let began = Picos::from_ms(500);
        let first = count(4, 900);
        let mut watch = QuotaWatch { began, first, latest: first, read_at: began, throttled_from: None };
        assert!(!watch.record(count(4, 900), Picos::from_ms(700)));
        assert!(watch.record(count(9, 400_900), Picos::from_ms(1_500)));
        assert!(!watch.record(None, Picos::from_ms(1_600)), "a file that is gone for a moment");
        assert!(watch.record(count(10, 450_900), Picos::from_ms(1_700)));
        let throttled = watch.throttled().unwrap();
        // Throttled at an unknown time between the readings at 0.2 and 1 s.
        assert_eq!((throttled.times, throttled.seconds, throttled.from_s), (6, Some(0.45), Some(0.2)));
        assert_eq!(QuotaWatch::default().throttled(), None, "unknown is not zero");
    }

    #[test]
    fn work_longer_than_the_interval_may_have_been_throttled_from_the_start() {
        let count = |periods| Some(QuotaThrottling { periods, us: None });
        let mut watch = QuotaWatch { first: count(0), latest: count(0), ..QuotaWatch::default() };
        assert!(watch.record(count(63), Picos::from_ms(6_500)));
        assert_eq!(watch.throttled().unwrap().from_s, Some(0.0));
    }

    #[test]
    fn a_newly_enabled_counter_starts_at_zero() {
        let mut watch = QuotaWatch::default();
        assert!(!watch.record(None, Picos::from_ms(400)));
        assert!(watch.record(Some(QuotaThrottling { periods: 3, us: Some(150_000) }), Picos::from_ms(600)));
        let throttled = watch.throttled().unwrap();
        assert_eq!((throttled.times, throttled.seconds, throttled.from_s), (3, Some(0.15), Some(0.4)));
    }

    #[test]
    fn time_of_this_process_and_its_children_is_not_that_of_others() {
        use crate::host::fixture::SystemTree;
        let cpus: CpuSet = [CpuId(0), CpuId(1)].into_iter().collect();
        let account = |stat: &str, at, own| Account {
            at: Picos::from_ms(at),
            times: CpuTimes::read(SystemTree::with_files(&[("/proc/stat", stat)]).root()).unwrap(),
            own_cpu: Picos::from_ms(own),
        };
        let before = account("cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n", 0, 0);
        // Both CPUs were busy for a second, one of them with this process.
        let after = |own| account("cpu0 100 0 0 0 0 0 0 0 0 0\ncpu1 90 0 10 0 0 0 0 0 0 0\n", 1_000, own);
        assert_eq!(after(0).others_since(&before, &cpus), Some(1.0));
        assert_eq!(after(1_000).others_since(&before, &cpus), Some(0.5));
        assert_eq!(after(2_500).others_since(&before, &cpus), Some(0.0), "accounts are not exact");
        let mut others = Others { cpus, first: Some(before.clone()), latest: Some(before), recent: None };
        assert_eq!((others.share(), others.disturb()), (None, false), "no window has ended");
        others.recent = Some(0.98);
        others.latest = Some(after(1_000));
        assert_eq!((others.share(), others.disturb()), (Some(0.5), true));
    }

    #[test]
    fn the_share_of_others_is_plausible() {
        let cpus = super::super::affinity::current_mask().unwrap();
        if let Some(share) = share_of_others(&cpus) {
            assert!((0.0..=1.1).contains(&share), "{share}");
        }
        assert!(Switches::of_this_thread().is_some());
    }
}
