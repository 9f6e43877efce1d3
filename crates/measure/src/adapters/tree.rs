//! The processes and threads of an adapter: whose a thread is, where it may run, and what it has used.

use crate::host::command::tree::processes;
use coretalk_model::CpuId;
use std::collections::BTreeMap;
use std::fs;

/// What an adapter consists of at one moment.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// What each process has used, threads that ended included, in nanoseconds; `None` where the system does not say.
    pub(super) processes: BTreeMap<u32, Option<u64>>,
    /// Each thread.
    pub(super) threads: BTreeMap<u32, Thread>,
}

/// What a thread has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Thread {
    /// Its process.
    pub(super) process: u32,
    /// CPU time in nanoseconds; `None` where the system does not count (`CONFIG_SCHED_INFO`).
    pub(super) cpu_ns: Option<u64>,
    /// How long it was ready and had no CPU, in nanoseconds.
    pub(super) run_delay_ns: Option<u64>,
    /// Voluntary and involuntary switches.
    pub(super) switches: Option<[u64; 2]>,
    /// Whether it slept: what a thread that runs has used is added to it with a tick, and until then it is too little.
    pub(super) sleeps: bool,
}

/// Processes that are looked at.
const MOST: usize = 256;

impl Tree {
    /// A process and everything below it, now. Whoever ends meanwhile is passed over.
    pub(super) fn of(root: u32) -> Tree {
        let mut tree = Tree::default();
        for (process, threads) in processes([root].into_iter(), MOST) {
            tree.processes.insert(process, used_by(process));
            let read = |thread| (thread, Thread::read(process, &format!("/proc/{process}/task/{thread}")));
            tree.threads.extend(threads.into_iter().map(read));
        }
        tree
    }

    /// How long threads other than these were kept waiting since an earlier moment, in nanoseconds.
    pub(super) fn delays_since(&self, before: &Tree, but: &[u32]) -> u64 {
        let others = self.threads.iter().filter(|(thread, _)| !but.contains(thread));
        let delay = |(thread, now): (&u32, &Thread)| {
            let earlier = before.threads.get(thread).and_then(|thread| thread.run_delay_ns).unwrap_or(0);
            now.run_delay_ns.map_or(0, |now| now.saturating_sub(earlier))
        };
        others.map(delay).sum()
    }

    /// CPU time of all processes since an earlier moment, in nanoseconds.
    pub(super) fn used_since(&self, before: &Tree) -> Option<u64> {
        let used = self.processes.iter().map(|(process, now)| {
            let earlier = before.processes.get(process).copied().flatten().unwrap_or(0);
            now.map(|now| now.saturating_sub(earlier))
        });
        used.sum()
    }

    /// CPU time of threads that were there at an earlier moment, in nanoseconds since then.
    pub(super) fn used_by_known(&self, before: &Tree) -> Option<u64> {
        let known = before.threads.iter().filter_map(|(thread, earlier)| {
            let now = self.threads.get(thread)?;
            Some(now.cpu_ns.zip(earlier.cpu_ns).map(|(now, earlier)| now.saturating_sub(earlier)))
        });
        known.sum()
    }
}

impl Thread {
    fn read(process: u32, folder: &str) -> Thread {
        // First, so that whoever slept then has all its time counted.
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

    /// What it used since an earlier moment.
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

/// Where a thread runs, as the scheduler counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Whereabouts {
    /// The CPU that it runs on, or ran on last.
    pub(super) cpu: Option<CpuId>,
    /// How often it has moved to another CPU; `None` where the system does not say (`CONFIG_SCHED_DEBUG`).
    pub(super) migrations: Option<u64>,
}

impl Whereabouts {
    /// Those of a thread now. Reads two files, 30 µs in all, so that it is done before and after a pass.
    pub(super) fn of(thread: u32) -> Whereabouts {
        // The CPU first: a move in between is one more that is expected, never one too many.
        let cpu = cpu_of(thread);
        let sched = read(&format!("/proc/{thread}/task/{thread}/sched"));
        let migrations = sched.lines().find_map(|line| line.trim_start().strip_prefix("se.nr_migrations"));
        let migrations = migrations.and_then(|rest| rest.trim_start_matches([' ', ':']).trim().parse().ok());
        Whereabouts { cpu, migrations }
    }
}

/// The CPU that a thread runs on, or ran on last; `None` where there is no such thread.
pub(super) fn cpu_of(thread: u32) -> Option<CpuId> {
    // The thirty-ninth field (proc_pid_stat(5)), counted behind the name, which may hold anything.
    let stat = read(&format!("/proc/{thread}/task/{thread}/stat"));
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(36)?.parse().ok().map(CpuId)
}

/// How long the calling thread has been kept waiting for a CPU so far, in nanoseconds; 0 where the system does not say,
/// which excuses nothing.
pub(super) fn own_delay_ns() -> u64 {
    Thread::read(0, "/proc/thread-self").run_delay_ns.unwrap_or(0)
}

/// How long the hypervisor has kept CPUs to itself so far, in nanoseconds; 0 where the system does not say, which excuses
/// nothing.
pub(super) fn stolen_ns() -> u64 {
    // The eighth number of the first line, in hundredths of a second (proc_stat(5)).
    const TICK_NS: u64 = 10_000_000;
    let stat = read("/proc/stat");
    let steal = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    steal.map_or(0, |ticks| ticks * TICK_NS)
}

/// The process that a thread belongs to; `None` where there is no such thread, or it has ended.
pub(super) fn owner(thread: u32) -> Option<u32> {
    let status = read(&format!("/proc/{thread}/status"));
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let has_ended = field("State:").is_some_and(|state| state.starts_with(['Z', 'X']));
    field("Tgid:").filter(|_| !has_ended)?.parse().ok()
}

/// CPU time of a process, in nanoseconds, threads that ended included.
fn used_by(process: u32) -> Option<u64> {
    // As `clock_getcpuclockid` makes it (Linux, include/linux/posix-timers.h): the complement of the process, and 2 for
    // what the scheduler counted.
    const SCHED: libc::clockid_t = 2;
    let clock = (!(process as libc::clockid_t) << 3) | SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable; a clock that does not exist is refused.
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
    fn this_process_is_a_tree_with_this_thread_in_it() {
        let own = std::process::id();
        let before = Tree::of(own);
        let thread = current_thread() as u32;
        assert_eq!((before.threads[&thread].process, owner(thread)), (own, Some(own)));
        let mut sum = 0u64;
        for number in 0..20_000_000u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
        let after = Tree::of(own);
        let used = after.threads[&thread].since(&before.threads[&thread]);
        let all = after.used_since(&before);
        if let (Some(used), Some(all)) = (used.cpu_ns, all) {
            // What the system has not yet added to a thread that runs is a tick at most.
            assert!(used > 0 && all + 20_000_000 > used, "{used} of {all}");
        }
    }

    #[test]
    fn moves_of_a_thread_are_counted() {
        let cpus = current_mask().unwrap();
        let thread = current_thread() as u32;
        let before = Whereabouts::of(thread);
        let [first, last] = [cpus.first().unwrap(), cpus.iter().last().unwrap()];
        for cpu in [first, last, first] {
            set_mask(&CpuSet::from_iter([cpu])).unwrap();
        }
        let after = Whereabouts::of(thread);
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
        // The system may take a moment to forget it.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while owner(number).is_some() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(owner(number), None);
    }
}
