//! Runs a program on a set of CPUs: everything that belongs to it is bound there, watched, timed, and gone afterwards.
//!
//! The mask is set between fork and exec, so that no instruction of the program runs elsewhere and every thread and
//! process that it starts inherits it. A small process forks it where there is one, so that its memory is its own. A process group and the role of a subreaper make sure that nothing is left behind:
//! whoever is orphaned becomes a child of this process, which ends it.

pub(crate) mod capture;
pub mod launcher;
mod migrations;
pub(crate) mod tree;
pub mod watchdog;

use crate::stop::Stop;
use capture::Capture;
pub use capture::Printed;
use coretalk_model::{CpuId, CpuSet};
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

/// How often a program that runs is looked at: whether somebody wishes to end, and whether it stays on its CPUs.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// When it is looked at first, and the pause before the second look; each pause after is twice the one before, until they
/// are as long as [`SAMPLE_INTERVAL`]: what programs start they start early, and much of it is gone soon.
const EARLY: Duration = Duration::from_millis(2);
/// A look at hundreds of processes takes milliseconds, perhaps on a CPU of theirs: at most a part in so many of the time.
const SAMPLE_SHARE: u32 = 100;
/// How long the end of what was killed may take: a process in an uninterruptible wait does not die at once.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// What is to be run.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The program, looked up in `PATH`.
    pub program: &'a OsString,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Variables that it has beside those of this process.
    pub environment: &'a [(String, String)],
    /// Where it may run.
    pub cpus: &'a CpuSet,
    /// Who ends what it leaves, should this process be killed.
    pub watchdog: Option<&'a Watchdog>,
    /// The program that is a launcher by the word [`launcher::LAUNCH`]; without one this process forks.
    pub launcher: Option<&'a Path>,
    /// When it is given up.
    pub limit: Duration,
    /// One of its CPUs that is not there any more: asked at each look, and the program is ended then. What ran on fewer
    /// CPUs says nothing, and threads that wait for each other on one CPU may take minutes where they took milliseconds.
    pub lost: &'a dyn Fn() -> Option<CpuId>,
}

/// A program that ended by itself.
#[derive(Debug)]
pub struct Finished {
    /// From before the fork to its end.
    pub wall: Duration,
    /// How it ended.
    pub status: ExitStatus,
    /// What it and its children used.
    pub usage: Usage,
    /// How often the system moved one of its threads from CPU to CPU; `None` where the system does not count.
    pub migrations: Option<u64>,
    /// How it stayed on its CPUs.
    pub stay: Stay,
    /// Processes that it left behind, which were ended.
    pub orphans: u32,
    /// What it printed.
    pub stdout: Printed,
    /// What it complained about.
    pub stderr: Printed,
}

/// What processes used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// The most memory that one of them held, in bytes; `None` where it held less than whoever forked it, whose memory the
    /// system counts until the program takes its place.
    pub peak_bytes: Option<u64>,
    /// Switches, voluntary and not.
    pub switches: u64,
}

/// How a program stayed on its CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stay {
    /// Some thread of it was allowed to run elsewhere.
    pub left: bool,
    /// Some thread of it was bound more tightly.
    pub narrowed: bool,
    /// The most threads that were seen at a time, of all its processes.
    pub tasks: usize,
    /// How long its threads were ready and had no CPU, together and as far as was seen; `None` where the system does not
    /// say.
    pub waited: Option<Duration>,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// It could not be started.
    #[error("start `{program}`")]
    NotStarted {
        /// Which.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// It ran longer than it may; it was ended.
    #[error("run for more than {} s", .limit.as_secs_f64())]
    TimedOut {
        /// How long it might.
        limit: Duration,
        /// What it had printed.
        stdout: Box<Printed>,
        /// What it had complained about.
        stderr: Box<Printed>,
    },
    /// Somebody wished to end.
    #[error("interrupted")]
    Interrupted,
    /// A CPU of it went away; it was ended.
    #[error("run on CPU {cpu}, which went away")]
    LostCpu {
        /// The CPU.
        cpu: CpuId,
    },
    /// The system would not let us watch it.
    #[error("watch a program")]
    Watch(#[source] io::Error),
}

/// Runs a program to its end. Children that this process starts meanwhile are taken for the program's, and ended with it.
///
/// # Errors
/// [`RunFailure`]; nothing of the program is left then.
pub fn run(launch: &Launch<'_>, stop: &Stop) -> Result<Finished, RunFailure> {
    tree::adopt_orphans();
    let mut others = tree::children();
    let begun = Instant::now();
    // Whoever was to start it may have done so, and be gone.
    let (parent, stdout, stderr) = Parent::start(launch).inspect_err(|_| drop(end_orphans(&others)))?;
    if let Parent::Launcher(launched) = &parent {
        others.push(launched.helper());
    }
    let mut watched = Watched::new(parent, stdout, stderr, launch.cpus, others.clone())
        .inspect_err(|_| drop(end_orphans(&others)))
        .map_err(RunFailure::Watch)?;
    let ended = watched.until_end(begun + launch.limit, launch.lost, stop);
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
        // What ends this process may have ended the launcher as well.
        Err(_) if stop.is_raised() => return Err(RunFailure::Interrupted),
        Err(error) => return Err(RunFailure::Watch(error)),
    };
    let wall = reaped.wall.unwrap_or(at - begun);
    let mut usage = reaped.usage;
    usage.peak_bytes = usage.peak_bytes.filter(|bytes| *bytes > reaped.floor_bytes.saturating_add(SLACK));
    let (status, migrations) = (ExitStatus::from_raw(reaped.status), reaped.migrations);
    Ok(Finished { wall, status, usage, migrations, stay: watched.stay(), orphans, stdout, stderr })
}

/// Pages are counted in batches, each CPU for itself, so that two children that do the same differ: seen by 170 KiB.
const SLACK: u64 = 512 << 10;

enum Ended {
    ByItself(Instant),
    TimedOut,
    Stopped,
    LostCpu(CpuId),
}

/// A program that runs.
struct Watched<'a> {
    parent: Parent,
    cpus: &'a CpuSet,
    stdout: Capture,
    stderr: Capture,
    stay: Stay,
    /// What each of its threads had waited when it was seen last, by its number.
    waited: BTreeMap<u32, Duration>,
    /// Children that this process had before, and who launched it.
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
                // Whoever cannot be watched is not left alone.
                let mut parent = parent;
                tree::kill_group(parent.pid());
                let _ = parent.reap(Instant::now() + LAST_WAIT);
                Err(stdout.err().or(stderr.err()).unwrap_or_else(io::Error::last_os_error))
            }
        }
    }

    fn until_end(
        &mut self,
        limit: Instant,
        lost: &dyn Fn() -> Option<CpuId>,
        stop: &Stop,
    ) -> io::Result<Ended> {
        let (mut due, mut pause) = (Instant::now() + EARLY, EARLY);
        loop {
            if self.wait(due.min(limit).saturating_duration_since(Instant::now()).min(SAMPLE_INTERVAL))? {
                let at = Instant::now();
                // A zombie still says where it was allowed to run.
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
                let looked = Instant::now();
                pause = SAMPLE_INTERVAL.min(2 * pause);
                due = looked + pause.max(SAMPLE_SHARE * (looked - now));
            }
        }
    }

    /// Waits for output, the end, or so long; whether it has ended.
    fn wait(&mut self, span: Duration) -> io::Result<bool> {
        let watch = |fd: Option<i32>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let mut fds =
            [watch(self.parent.end()), watch(self.stdout.descriptor()), watch(self.stderr.descriptor())];
        // Where the end cannot be waited for it is asked for each millisecond.
        let is_told = self.parent.end().is_some();
        let span = if is_told { span } else { span.min(Duration::from_millis(1)) };
        let span_ms = span.as_micros().div_ceil(1000) as libc::c_int;
        // SAFETY: three structures that are writable.
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
        if is_told { Ok(fds[0].revents != 0) } else { tree::has_ended(self.parent.pid()) }
    }

    /// Looks where it may run: the program, what it has started, and whoever was orphaned and became a child of ours.
    fn sample(&mut self) {
        let adopted = tree::children().into_iter().filter(|child| !self.others.contains(child));
        let seen = tree::threads(adopted.chain([self.parent.pid()]));
        self.stay.tasks = self.stay.tasks.max(seen.len());
        for tree::Seen { thread, mask, waited } in seen {
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

    /// Ends whatever is left of it, and says how it ended, what all used, and how many were left.
    fn clear_away(&mut self) -> io::Result<(Reaped, u32)> {
        // While the leader is not waited for, the number of its group is not given to anybody else.
        tree::kill_group(self.parent.pid());
        let reaped = self.parent.reap(Instant::now() + LAST_WAIT);
        let ended = end_orphans(&self.others);
        let (reaped, (usage, orphans)) = (reaped?, ended?);
        self.stdout.read()?;
        self.stderr.read()?;
        Ok((Reaped { usage: reaped.usage.with(usage), ..reaped }, orphans))
    }

    fn output(&mut self) -> (Printed, Printed) {
        (self.stdout.take(), self.stderr.take())
    }
}

/// Ends what became a child of this process meanwhile; says what it used, and how many there were.
fn end_orphans(others: &[u32]) -> io::Result<(Usage, u32)> {
    let (mut usage, mut orphans, deadline) = (Usage::default(), 0, Instant::now() + LAST_WAIT);
    // Children of an orphan that ends become orphans in turn.
    loop {
        let left: Vec<u32> = tree::children().into_iter().filter(|child| !others.contains(child)).collect();
        if left.is_empty() {
            return Ok((usage, orphans));
        }
        left.iter().for_each(|&orphan| tree::kill(orphan));
        for orphan in left {
            usage = usage.with(tree::wait_for(orphan, deadline)?.1);
            orphans += 1;
        }
    }
}

impl Usage {
    fn of(usage: &libc::rusage) -> Usage {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Usage {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            peak_bytes: Some(usage.ru_maxrss as u64 * 1024),
            switches: usage.ru_nvcsw as u64 + usage.ru_nivcsw as u64,
        }
    }

    fn with(self, other: Usage) -> Usage {
        Usage {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
            switches: self.switches + other.switches,
        }
    }
}
