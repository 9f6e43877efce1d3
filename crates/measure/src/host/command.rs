//! Runs a program on a set of CPUs: pins it, watches it, measures its time and removes everything that it started.
//!
//! The affinity is set between fork and exec. So every instruction runs on these CPUs, and all threads and processes
//! inherit them. A launcher does the fork if one is available; then the peak memory is that of the program. The program
//! has its own process group. This process is a subreaper: it adopts orphans and kills them.

pub(crate) mod capture;
pub mod counters;
pub mod launcher;
pub(crate) mod tree;
pub mod watchdog;

use crate::stop::Stop;
use capture::Capture;
pub use capture::Printed;
use coretalk_model::{CpuId, CpuSet};
use counters::EventCounts;
use launcher::Parent;
use launcher::Reaped;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};
use watchdog::Watchdog;

/// Maximum interval between two samples of a running program. A sample reads the stop flag and affinities of threads.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// First interval, doubled up to [`SAMPLE_INTERVAL`]. Most processes start early, and many are short-lived.
const FIRST_INTERVAL: Duration = Duration::from_millis(2);
/// Minimum ratio of interval to sampling time. It takes milliseconds to sample hundreds of processes.
const SAMPLE_SHARE: u32 = 100;
/// Maximum wait for killed processes. A process in an uninterruptible wait does not end at once.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// A program to run and its conditions.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The program, looked up in `PATH`.
    pub program: &'a OsString,
    /// Arguments of the program.
    pub arguments: &'a [OsString],
    /// Environment variables added to those of this process.
    pub environment: &'a [(String, String)],
    /// Affinity of the program.
    pub cpus: &'a CpuSet,
    /// Kills leftover processes if this process is killed.
    pub watchdog: Option<&'a Watchdog>,
    /// Executable that serves as a launcher with the argument [`launcher::LAUNCH`]. Without it this process forks.
    pub launcher: Option<&'a Path>,
    /// Time limit.
    pub limit: Duration,
    /// Returns a CPU of the program that went offline. It is called with each sample; a CPU ends the program. A result
    /// with fewer CPUs would be meaningless and may take minutes instead of milliseconds.
    pub lost: &'a dyn Fn() -> Option<CpuId>,
}

/// A program that ended by itself.
#[derive(Debug)]
pub struct Finished {
    /// Time from before the fork to the end.
    pub wall: Duration,
    /// How the program ended.
    pub status: ExitStatus,
    /// Resources used by the program and its children.
    pub usage: Usage,
    /// Events that the system counted in the program and its children.
    pub counts: EventCounts,
    /// Observed affinity of the program's threads.
    pub stay: Stay,
    /// Number of processes that the program left behind. They were killed.
    pub orphans: u32,
    /// Standard output.
    pub stdout: Printed,
    /// Standard error.
    pub stderr: Printed,
}

/// Resources used by processes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak memory of one process in bytes. Linux also counts the memory of the parent; `None` if the peak does not
    /// exceed it.
    pub peak_bytes: Option<u64>,
    /// Voluntary and involuntary context switches.
    pub switches: u64,
}

/// Affinity of a program's threads as sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stay {
    /// Whether a thread was allowed to run outside the CPUs.
    pub left: bool,
    /// Whether a thread was limited to fewer CPUs.
    pub narrowed: bool,
    /// Maximum number of threads at once, over all processes of the program.
    pub tasks: usize,
    /// Sampled time that the threads waited for a CPU in total; `None` if the system does not report it.
    pub waited: Option<Duration>,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The program could not be started.
    #[error("start `{program}`")]
    NotStarted {
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program exceeded its time limit and was killed.
    #[error("run for more than {} s", .limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// Standard output so far.
        stdout: Box<Printed>,
        /// Standard error so far.
        stderr: Box<Printed>,
    },
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// A CPU of the program went offline, and the program was killed.
    #[error("run on CPU {cpu}, which went away")]
    LostCpu {
        /// The CPU.
        cpu: CpuId,
    },
    /// A system call that watches the program failed.
    #[error("watch a program")]
    Watch(#[source] io::Error),
}

/// Runs a program to its end. Other children that this process starts meanwhile count as the program's and are killed.
/// After an error all processes of the program are gone.
pub fn run(launch: &Launch<'_>, stop: &Stop) -> Result<Finished, RunFailure> {
    tree::adopt_orphans();
    let mut others = tree::children();
    let begun = Instant::now();
    // A launcher may have started the program before it failed.
    let (parent, stdout, stderr) = Parent::start(launch).inspect_err(|_| drop(end_orphans(&others)))?;
    if let Parent::Launcher(launched) = &parent {
        others.push(launched.helper());
    }
    let mut watched = Watched::new(parent, stdout, stderr, launch.cpus, others.clone())
        .inspect_err(|_| drop(end_orphans(&others)))
        .map_err(RunFailure::Watch)?;
    let ended = watched.watch_until_end(begun + launch.limit, launch.lost, stop);
    let cleared = watched.clear_away();
    let (stdout, stderr) = watched.output();
    let at = match ended.map_err(RunFailure::Watch)? {
        Ended::ByItself(at) => at,
        Ended::TimedOut => {
            let [stdout, stderr] = [stdout, stderr].map(Box::new);
            return Err(RunFailure::TimedOut { limit: launch.limit, stdout, stderr });
        }
        Ended::Stopped => return Err(RunFailure::Interrupted),
        Ended::LostCpu(cpu) => return Err(RunFailure::LostCpu { cpu }),
    };
    let (reaped, orphans) = match cleared {
        Ok(cleared) => cleared,
        // The cause of the stop may have killed the launcher as well.
        Err(_) if stop.is_raised() => return Err(RunFailure::Interrupted),
        Err(error) => return Err(RunFailure::Watch(error)),
    };
    let wall = reaped.wall.unwrap_or(at - begun);
    let mut usage = reaped.usage;
    usage.peak_bytes = usage.peak_bytes.filter(|bytes| *bytes > reaped.floor_bytes.saturating_add(SLACK));
    let (status, counts) = (ExitStatus::from_raw(reaped.status), reaped.counts);
    Ok(Finished { wall, status, usage, counts, stay: watched.stay(), orphans, stdout, stderr })
}

/// The kernel counts pages in batches per CPU, so identical children differ. Differences of 170 KiB were measured.
const SLACK: u64 = 512 << 10;

enum Ended {
    ByItself(Instant),
    TimedOut,
    Stopped,
    LostCpu(CpuId),
}

struct Watched<'a> {
    parent: Parent,
    cpus: &'a CpuSet,
    stdout: Capture,
    stderr: Capture,
    stay: Stay,
    /// Waiting time of each thread at its last sample, by thread id.
    waited: BTreeMap<u32, Duration>,
    /// Earlier children of this process, and the launcher.
    others: Vec<u32>,
}

impl<'a> Watched<'a> {
    fn new(
        parent: Parent,
        stdout: ChildStdout,
        stderr: ChildStderr,
        cpus: &'a CpuSet,
        others: Vec<u32>,
    ) -> io::Result<Watched<'a>> {
        match (Capture::new(stdout.into()), Capture::new(stderr.into())) {
            (Ok(stdout), Ok(stderr)) => {
                let (stay, waited) = (Stay::default(), BTreeMap::new());
                Ok(Watched { parent, cpus, stdout, stderr, stay, waited, others })
            }
            (stdout, stderr) => {
                // An unwatched program must not keep running.
                let mut parent = parent;
                tree::kill_group(parent.pid());
                let _ = parent.reap(Instant::now() + LAST_WAIT);
                Err(stdout.err().or(stderr.err()).unwrap_or_else(io::Error::last_os_error))
            }
        }
    }

    fn watch_until_end(
        &mut self,
        limit: Instant,
        lost: &dyn Fn() -> Option<CpuId>,
        stop: &Stop,
    ) -> io::Result<Ended> {
        let (mut due, mut pause) = (Instant::now() + FIRST_INTERVAL, FIRST_INTERVAL);
        loop {
            if self.wait(due.min(limit).saturating_duration_since(Instant::now()).min(SAMPLE_INTERVAL))? {
                let at = Instant::now();
                // A zombie still reports its affinity.
                self.sample();
                return Ok(Ended::ByItself(at));
            }
            if stop.is_raised() {
                return Ok(Ended::Stopped);
            }
            let now = Instant::now();
            if now >= limit {
                return Ok(Ended::TimedOut);
            }
            if now >= due {
                self.sample();
                if let Some(cpu) = lost() {
                    return Ok(Ended::LostCpu(cpu));
                }
                let sampled = Instant::now();
                pause = SAMPLE_INTERVAL.min(2 * pause);
                due = sampled + pause.max(SAMPLE_SHARE * (sampled - now));
            }
        }
    }

    /// Waits for output, the end of the program or `span`. Returns whether the program has ended.
    fn wait(&mut self, span: Duration) -> io::Result<bool> {
        let watch = |fd: Option<i32>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let mut fds =
            [watch(self.parent.end()), watch(self.stdout.descriptor()), watch(self.stderr.descriptor())];
        // If no file descriptor reports the end, the end is polled each millisecond.
        let has_descriptor = self.parent.end().is_some();
        let span = if has_descriptor { span } else { span.min(Duration::from_millis(1)) };
        let span_ms = span.as_micros().div_ceil(1000) as libc::c_int;
        // SAFETY: `fds` holds three writable structures.
        let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, span_ms) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
        }
        if fds[1].revents != 0 {
            self.stdout.read()?;
        }
        if fds[2].revents != 0 {
            self.stderr.read()?;
        }
        if has_descriptor { Ok(fds[0].revents != 0) } else { tree::has_ended(self.parent.pid()) }
    }

    fn sample(&mut self) {
        let adopted = tree::children().into_iter().filter(|child| !self.others.contains(child));
        let threads = tree::threads(adopted.chain([self.parent.pid()]));
        self.stay.tasks = self.stay.tasks.max(threads.len());
        for tree::ThreadInfo { thread, mask, waited } in threads {
            self.stay.left |= !mask.is_subset(self.cpus);
            self.stay.narrowed |= mask.is_subset(self.cpus) && mask != *self.cpus;
            if let Some(waited) = waited {
                self.waited.insert(thread, waited);
            }
        }
    }

    fn stay(&self) -> Stay {
        let waited = (!self.waited.is_empty()).then(|| self.waited.values().sum());
        Stay { waited, ..self.stay }
    }

    /// Kills all remaining processes. Returns the end of the program, total usage and the number of orphans.
    fn clear_away(&mut self) -> io::Result<(Reaped, u32)> {
        // The id of the group cannot be reused until the leader is reaped.
        tree::kill_group(self.parent.pid());
        let reaped = self.parent.reap(Instant::now() + LAST_WAIT);
        let ended = end_orphans(&self.others);
        let (reaped, (usage, orphans)) = (reaped?, ended?);
        self.stdout.read()?;
        self.stderr.read()?;
        Ok((Reaped { usage: reaped.usage.plus(usage), ..reaped }, orphans))
    }

    fn output(&mut self) -> (Printed, Printed) {
        (self.stdout.take(), self.stderr.take())
    }
}

/// Kills children that this process has adopted meanwhile. Returns their usage and number.
fn end_orphans(others: &[u32]) -> io::Result<(Usage, u32)> {
    let (mut usage, mut orphans, deadline) = (Usage::default(), 0, Instant::now() + LAST_WAIT);
    // Children of a killed orphan become orphans in turn.
    loop {
        let remaining: Vec<u32> =
            tree::children().into_iter().filter(|child| !others.contains(child)).collect();
        if remaining.is_empty() {
            return Ok((usage, orphans));
        }
        remaining.iter().for_each(|&orphan| tree::kill(orphan));
        for orphan in remaining {
            usage = usage.plus(tree::wait_for(orphan, deadline)?.1);
            orphans += 1;
        }
    }
}

impl Usage {
    fn from_rusage(usage: &libc::rusage) -> Usage {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            peak_bytes: Some(usage.ru_maxrss as u64 * 1024),
            switches: usage.ru_nvcsw as u64 + usage.ru_nivcsw as u64,
        }
    }

    fn plus(self, other: Usage) -> Usage {
        Usage {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
            switches: self.switches + other.switches,
        }
    }
}
