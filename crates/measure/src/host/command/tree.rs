//! Processes of a program: their threads' affinity, and their end.

use super::Usage;
use coretalk_model::CpuSet;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use std::{fs, io};

const MAX_PROCESSES: usize = 4096;
/// Poll interval for the end of a killed process, which normally takes microseconds.
const POLL_INTERVAL: Duration = Duration::from_micros(100);

/// Makes this process adopt orphans among its descendants. Before Linux 3.4 this is impossible, and daemons survive.
pub fn adopt_orphans() {
    // SAFETY: the call sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Makes the calling process die with the thread that created it, even if that thread is killed without cleaning up.
pub fn die_with_parent() {
    // SAFETY: the call sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

#[derive(Debug)]
pub struct ThreadInfo {
    pub thread: u32,
    pub mask: CpuSet,
    /// Time spent waiting for a CPU; `None` without `CONFIG_SCHED_INFO`.
    pub waited: Option<Duration>,
}

/// Threads of these processes and all their descendants. Processes that end meanwhile are skipped.
pub fn threads(roots: impl Iterator<Item = u32>) -> Vec<ThreadInfo> {
    let mut seen = Vec::new();
    for (process, threads) in processes(roots, MAX_PROCESSES) {
        for thread in threads {
            let file = |name: &str| {
                fs::read_to_string(format!("/proc/{process}/task/{thread}/{name}")).unwrap_or_default()
            };
            let status = file("status");
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            let mask = list.and_then(|list| CpuSet::from_list(list.trim()).ok());
            seen.extend(mask.map(|mask| ThreadInfo { thread, mask, waited: waited(&file("schedstat")) }));
        }
    }
    seen
}

/// These processes and their descendants, at most `most`, with their threads. An ended process has no threads.
pub(crate) fn processes(roots: impl Iterator<Item = u32>, most: usize) -> Vec<(u32, Vec<u32>)> {
    let mut known: BTreeSet<u32> = roots.collect();
    let mut todo: Vec<u32> = known.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(process) = todo.pop() {
        let threads = threads_of(process);
        for thread in &threads {
            let children = children_of(&format!("/proc/{process}/task/{thread}/children"));
            todo.extend(children.into_iter().filter(|child| known.len() < most && known.insert(*child)));
        }
        found.push((process, threads));
    }
    found
}

/// Second value of `schedstat`: nanoseconds on a run queue.
fn waited(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Waits until a child has ended, without reaping it. Fails if it is no child of this process.
pub fn until_end(pid: u32) -> io::Result<()> {
    loop {
        // SAFETY: an all-zero structure is valid, and writable.
        let status = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        let error = io::Error::last_os_error();
        match status {
            0 => return Ok(()),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

/// Peak memory in bytes of all reaped children.
pub fn children_peak_bytes() -> u64 {
    // SAFETY: an all-zero structure is valid, and writable.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    usage.ru_maxrss as u64 * 1024
}

pub fn children() -> Vec<u32> {
    let tasks = numbers_in("/proc/self/task");
    tasks.into_iter().flat_map(|task| children_of(&format!("/proc/self/task/{task}/children"))).collect()
}

/// All live processes of this user with the given environment entry.
pub fn marked(entry: &str) -> Vec<u32> {
    let has_entry = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
    };
    numbers_in("/proc").into_iter().filter(has_entry).collect()
}

/// Whether a child has ended, without reaping it. Fails if it is no child of this process.
pub fn has_ended(pid: u32) -> io::Result<bool> {
    // SAFETY: an all-zero structure is valid, and writable.
    let (status, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        (libc::waitid(libc::P_PID, pid, &mut info, flags), info)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above has filled in the fields of a child, or left zeros.
    Ok(unsafe { info.si_pid() } != 0)
}

/// Whether a process has ended or is exiting. Its memory may be released before it becomes a zombie.
pub fn is_exiting(pid: u32) -> bool {
    /// `PF_EXITING` in Linux's include/linux/sched.h. The kernel sets it before it releases the memory.
    const EXITING: u64 = 0x4;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The flags are the seventh value after the name, which may contain spaces and parentheses.
    let flags =
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_none_or(|flags| flags & EXITING != 0)
}

pub fn kill_group(leader: u32) {
    // SAFETY: the call takes only numbers. The leader is an unreaped child, so the id of its group is valid.
    unsafe { libc::kill(-(leader as libc::pid_t), libc::SIGKILL) };
}

/// Kills a process: an unreaped child, whose id is valid, or a process found a moment ago.
pub fn kill(pid: u32) {
    // SAFETY: the call takes only numbers.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
}

/// Reaps a child. Returns its status and the resources used by it and its children. Fails if it is no child of this
/// process or does not end by the deadline, as in an uninterruptible wait.
pub fn wait_for(pid: u32, deadline: Instant) -> io::Result<(i32, Usage)> {
    loop {
        let mut status = 0;
        // SAFETY: an all-zero structure is valid, and both arguments are writable.
        let (found, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid as libc::pid_t, &mut status, libc::WNOHANG, &mut usage), usage)
        };
        if found > 0 {
            return Ok((status, Usage::from_rusage(&usage)));
        }
        let error = io::Error::last_os_error();
        if found < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other(format!("process {pid} was killed but does not exit")));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Threads of a process. Read repeatedly, since a list may lack a live thread (`next_tid` in Linux's fs/proc/base.c).
fn threads_of(process: u32) -> Vec<u32> {
    const MAX_READS: usize = 8;
    let mut known = BTreeSet::new();
    for _ in 0..MAX_READS {
        let before = known.len();
        known.extend(numbers_in(&format!("/proc/{process}/task")));
        if before > 0 && known.len() == before {
            break;
        }
    }
    known.into_iter().collect()
}

fn children_of(path: &str) -> Vec<u32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
