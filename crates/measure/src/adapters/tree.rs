//! Processes and threads of an adapter: owner, CPU and CPU time of each.

use crate::host::command::tree::processes;
use coretalk_model::CpuId;
use std::collections::BTreeMap;
use std::fs;

#[derive(Debug, Default)]
pub(super) struct ProcessTree {
    /// CPU time of each process in nanoseconds, with its ended threads; `None` if the system does not report it.
    pub(super) processes: BTreeMap<u32, Option<u64>>,
    pub(super) threads: BTreeMap<u32, Thread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Thread {
    pub(super) process: u32,
    /// CPU time in nanoseconds; `None` without `CONFIG_SCHED_INFO`.
    pub(super) cpu_ns: Option<u64>,
    /// Time runnable without a CPU, in nanoseconds.
    pub(super) run_delay_ns: Option<u64>,
    pub(super) switches: Option<[u64; 2]>,
    /// Whether the thread slept. The CPU time of a running thread is incomplete until the next tick.
    pub(super) sleeps: bool,
}

const MAX_PROCESSES: usize = 256;

impl ProcessTree {
    /// Takes a snapshot of a process and its descendants. Processes that end meanwhile are skipped.
    pub(super) fn new(root: u32) -> ProcessTree {
        let mut tree = ProcessTree::default();
        for (process, threads) in processes([root].into_iter(), MAX_PROCESSES) {
            tree.processes.insert(process, used_by(process));
            let read = |thread| (thread, Thread::read(process, &format!("/proc/{process}/task/{thread}")));
            tree.threads.extend(threads.into_iter().map(read));
        }
        tree
    }

    /// Time that all threads except `excluded` waited for a CPU since `before`, in nanoseconds.
    pub(super) fn delays_since(&self, before: &ProcessTree, excluded: &[u32]) -> u64 {
        let others = self.threads.iter().filter(|(thread, _)| !excluded.contains(thread));
        let delay = |(thread, now): (&u32, &Thread)| {
            let earlier = before.threads.get(thread).and_then(|thread| thread.run_delay_ns).unwrap_or(0);
            now.run_delay_ns.map_or(0, |now| now.saturating_sub(earlier))
        };
        others.map(delay).sum()
    }

    /// CPU time of all processes since `before`, in nanoseconds.
    pub(super) fn used_since(&self, before: &ProcessTree) -> Option<u64> {
        let used = self.processes.iter().map(|(process, now)| {
            let earlier = before.processes.get(process).copied().flatten().unwrap_or(0);
            now.map(|now| now.saturating_sub(earlier))
        });
        used.sum()
    }

    /// CPU time since `before` of the threads that existed then, in nanoseconds.
    pub(super) fn used_by_known(&self, before: &ProcessTree) -> Option<u64> {
        let known = before.threads.iter().filter_map(|(thread, earlier)| {
            let now = self.threads.get(thread)?;
            Some(now.cpu_ns.zip(earlier.cpu_ns).map(|(now, earlier)| now.saturating_sub(earlier)))
        });
        known.sum()
    }
}

impl Thread {
    fn read(process: u32, folder: &str) -> Thread {
        // The state is read first. If the thread slept then, its CPU time is complete.
        let status = read(&format!("{folder}/status"));
        let schedstat = read(&format!("{folder}/schedstat"));
        let mut numbers = schedstat.split_whitespace().map(|word| word.parse().ok());
        let (cpu_ns, run_delay_ns) = (numbers.next().flatten(), numbers.next().flatten());
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let number = |name: &str| -> Option<u64> { field(name)?.parse().ok() };
        let switches = number("voluntary_ctxt_switches:").zip(number("nonvoluntary_ctxt_switches:"));
        let sleeps = field("State:").is_some_and(|state| state.starts_with(['S', 'D']));
        Thread { process, cpu_ns, run_delay_ns, switches: switches.map(<[u64; 2]>::from), sleeps }
    }

    pub(super) fn since(&self, before: &Thread) -> super::RoleAccount {
        let less = |now: Option<u64>, earlier: Option<u64>| {
            now.zip(earlier).map(|(now, earlier)| now.saturating_sub(earlier))
        };
        super::RoleAccount {
            cpu_ns: less(self.cpu_ns, before.cpu_ns),
            run_delay_ns: less(self.run_delay_ns, before.run_delay_ns),
            switches: self
                .switches
                .zip(before.switches)
                .map(|(now, earlier)| [0, 1].map(|kind| now[kind].saturating_sub(earlier[kind]))),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Whereabouts {
    pub(super) cpu: Option<CpuId>,
    /// Number of migrations; `None` without `CONFIG_SCHED_DEBUG`.
    pub(super) migrations: Option<u64>,
}

impl Whereabouts {
    /// Reads the state of a thread. It takes 30 µs for two files, so it is called only before and after a pass.
    pub(super) fn read(thread: u32) -> Whereabouts {
        // The CPU is read first. A migration between the two reads then never counts as one too many.
        let cpu = cpu_of(thread);
        let sched = read(&format!("/proc/{thread}/task/{thread}/sched"));
        let migrations = sched.lines().find_map(|line| line.trim_start().strip_prefix("se.nr_migrations"));
        let migrations = migrations.and_then(|rest| rest.trim_start_matches([' ', ':']).trim().parse().ok());
        Whereabouts { cpu, migrations }
    }
}

/// Current or last CPU of a thread; `None` if it does not exist.
pub(super) fn cpu_of(thread: u32) -> Option<CpuId> {
    // Field 39 (proc_pid_stat(5)), counted from after the name, which may contain spaces.
    let stat = read(&format!("/proc/{thread}/task/{thread}/stat"));
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(36)?.parse().ok().map(CpuId)
}

/// Time that the calling thread has waited for a CPU so far, in nanoseconds. An unknown time is 0 and excuses nothing.
pub(super) fn own_delay_ns() -> u64 {
    Thread::read(0, "/proc/thread-self").run_delay_ns.unwrap_or(0)
}

/// Time stolen by the hypervisor so far, in nanoseconds. An unknown time is 0 and excuses nothing.
pub(super) fn stolen_ns() -> u64 {
    // The eighth value of the first line, in hundredths of a second (proc_stat(5)).
    const TICK_NS: u64 = 10_000_000;
    let stat = read("/proc/stat");
    let steal = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    steal.map_or(0, |ticks| ticks * TICK_NS)
}

pub(super) fn owner(thread: u32) -> Option<u32> {
    let status = read(&format!("/proc/{thread}/status"));
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let has_ended = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
    field("Tgid:").filter(|_| !has_ended)?.parse().ok()
}

fn used_by(process: u32) -> Option<u64> {
    // The clock id of `clock_getcpuclockid` (Linux, include/linux/posix-timers.h): the complement of the process id,
    // shifted by three bits, and 2 for scheduler time.
    const SCHED: libc::clockid_t = 2;
    let clock = (!(process as libc::clockid_t) << 3) | SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable. The system refuses a clock that does not exist.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::affinity::{current_mask, current_thread, set_mask};
    use coretalk_model::CpuSet;

    #[test]
    fn the_tree_of_this_process_contains_this_thread() {
        let pid = std::process::id();
        let before = ProcessTree::new(pid);
        let thread = current_thread() as u32;
        assert_eq!((before.threads[&thread].process, owner(thread)), (pid, Some(pid)));
        let mut sum = 0u64;
        for number in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
        let after = ProcessTree::new(pid);
        let used = after.threads[&thread].since(&before.threads[&thread]);
        let all = after.used_since(&before);
        if let (Some(used), Some(all)) = (used.cpu_ns, all) {
            // The counter of a running thread lags by at most one tick.
            assert!(used > 0 && all + 20_000_000 > used, "{used} of {all}");
        }
    }

    #[test]
    fn moves_of_a_thread_are_counted() {
        let cpus = current_mask().unwrap();
        let thread = current_thread() as u32;
        let before = Whereabouts::read(thread);
        let [first, last] = [cpus.first().unwrap(), cpus.iter().last().unwrap()];
        for cpu in [first, last, first] {
            set_mask(&CpuSet::from_iter([cpu])).unwrap();
        }
        let after = Whereabouts::read(thread);
        set_mask(&cpus).unwrap();
        assert_eq!(after.cpu, Some(first));
        match before.migrations.zip(after.migrations) {
            Some((before, after)) if first != last => assert!(after >= before + 2, "{before} {after}"),
            Some((before, after)) => assert_eq!(before, after),
            None => println!("skipped: this kernel does not count migrations"),
        }
    }

    #[test]
    fn a_thread_that_has_ended_has_no_owner() {
        let thread = std::thread::spawn(|| current_thread() as u32);
        let number = thread.join().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while owner(number).is_some() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(owner(number), None);
    }
}
