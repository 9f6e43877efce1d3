//! What else went on: switches of a thread, and time that CPUs lost to the host or to interrupts.

use super::clock::os;
use coretalk_model::{CpuId, CpuSet, Picos};
use std::collections::BTreeMap;
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
        (status == 0).then_some(Switches { voluntary: usage.ru_nvcsw as u32, involuntary: usage.ru_nivcsw as u32 })
    }

    /// Those since an earlier count.
    pub fn since(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.wrapping_sub(earlier.voluntary),
            involuntary: self.involuntary.wrapping_sub(earlier.involuntary),
        }
    }
}

/// Time of one CPU since the system started, in ticks of [`tick_ms`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Doing nothing, waiting for a disk included.
    pub idle: u64,
    /// Stolen by the host, or in interrupts.
    pub lost: u64,
    /// Everything, idle included.
    pub all: u64,
}

/// The accounts of all CPUs at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts(BTreeMap<CpuId, CpuTime>);

impl Accounts {
    /// Now; `None` where the system keeps no accounts.
    pub fn read() -> Option<Accounts> {
        Accounts::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(stat: &str) -> Option<Accounts> {
        let accounts: BTreeMap<CpuId, CpuTime> = stat.lines().filter_map(account).collect();
        (!accounts.is_empty()).then_some(Accounts(accounts))
    }

    /// Milliseconds that this CPU lost to the host or to interrupts since an earlier moment; in steps of 10 ms on most
    /// systems. `None` for a CPU that has no account.
    pub fn lost_ms_since(&self, earlier: &Accounts, cpu: CpuId) -> Option<f32> {
        let ticks = self.0.get(&cpu)?.lost.saturating_sub(earlier.0.get(&cpu)?.lost);
        Some(ticks as f32 * tick_ms()? as f32)
    }

    /// How many of these CPUs were busy since an earlier moment, on average.
    fn busy_since(&self, earlier: &Accounts, cpus: &CpuSet) -> Option<f64> {
        let mut busy = 0.0;
        for cpu in cpus.iter() {
            let (now, before) = (self.0.get(&cpu)?, earlier.0.get(&cpu)?);
            let all = now.all.saturating_sub(before.all);
            if all > 0 {
                busy += all.saturating_sub(now.idle.saturating_sub(before.idle)) as f64 / all as f64;
            }
        }
        Some(busy)
    }
}

/// `cpu3 user nice system idle iowait irq softirq steal guest guest_nice`; guest time is within user time.
fn account(line: &str) -> Option<(CpuId, CpuTime)> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = CpuId(words.next()?.parse().ok()?);
    let [user, nice, system, idle, iowait, irq, softirq, steal] = {
        let mut fields = words.map(|word| word.parse::<u64>().ok());
        let mut next = || fields.next().flatten();
        [next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?]
    };
    // A line that begins with "cpu " is the sum of all, and has no number: `next` has read a tick count there, which
    // leaves too few fields or a CPU that nobody asks about.
    if line.as_bytes().get(3) == Some(&b' ') {
        return None;
    }
    let idle = idle + iowait;
    let lost = irq + softirq + steal;
    Some((cpu, CpuTime { idle, lost, all: user + nice + system + idle + lost }))
}

fn tick_ms() -> Option<f64> {
    // SAFETY: no memory involved.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    (hz > 0).then(|| 1000.0 / hz as f64)
}

/// Share of these CPUs that others keep busy right now, watched for 50 ms (longer on small machines, where one tick of
/// the accounts would already be much); `None` where the system keeps no accounts.
pub fn share_of_others(cpus: &CpuSet) -> Option<f64> {
    let count = cpus.len().max(1);
    let window = Duration::from_millis((400 / count as u64).clamp(50, 200));
    let (before, own_before, begun) = (Accounts::read()?, os::process_cpu(), os::monotonic());
    std::thread::sleep(window);
    let busy = Accounts::read()?.busy_since(&before, cpus)?;
    let wall = os::monotonic().saturating_sub(begun).max(Picos(1));
    let own = os::process_cpu().saturating_sub(own_before).secs() / wall.secs();
    Some((busy - own).max(0.0) / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 100 0 1 2 3 0 0\ncpu3 0 0 0 0 0 0 0 0 0 0\nintr 5 0\n";
    const AFTER: &str = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 15 0 15 180 10 1 2 3 0 0\ncpu3 20 0 0 70 0 2 3 5 9 0\nintr 6\n";

    #[test]
    fn accounts_are_read_by_cpu() {
        let (before, after) = (Accounts::parse(BEFORE).unwrap(), Accounts::parse(AFTER).unwrap());
        assert_eq!(before.0.len(), 2);
        let tick = tick_ms().unwrap() as f32;
        assert_eq!(after.lost_ms_since(&before, CpuId(0)), Some(0.0));
        assert_eq!(after.lost_ms_since(&before, CpuId(3)), Some(10.0 * tick));
        assert_eq!(after.lost_ms_since(&before, CpuId(1)), None, "an unknown CPU is no quiet one");
        let both = CpuSet::from_list("0,3").unwrap();
        assert!((after.busy_since(&before, &both).unwrap() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn no_accounts_are_no_zero() {
        assert_eq!(Accounts::parse("intr 5\n"), None);
        assert_eq!(Accounts::parse("cpu0 1 2\n"), None);
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
