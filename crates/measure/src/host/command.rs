//! Runs a program on a set of CPUs: everything that belongs to it is bound there, watched, timed, and gone afterwards.
//!
//! The mask is set between fork and exec, so that no instruction of the program runs elsewhere and every thread and
//! process that it starts inherits it. A process group and the role of a subreaper make sure that nothing is left behind:
//! whoever is orphaned becomes a child of this process, which ends it.

mod capture;
pub mod guard;
mod migrations;
mod tree;

use super::affinity;
use crate::stop::Stop;
use capture::Capture;
pub use capture::Printed;
use coretalk_model::CpuSet;
use guard::Guard;
use migrations::Migrations;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a program that runs is looked at: whether somebody wishes to end, and whether it stays on its CPUs.
const LOOK: Duration = Duration::from_millis(100);
/// When it is looked at first, and the pause before the second look; each pause after is twice the one before, until they
/// are as long as [`LOOK`]: what programs start they start early, and much of it is gone soon.
const EARLY: Duration = Duration::from_millis(2);
/// A look at hundreds of processes takes milliseconds, perhaps on a CPU of theirs: at most a part in so many of the time.
const LOOK_SHARE: u32 = 100;
/// How long the end of what was killed may take: a process in an uninterruptible wait does not die at once.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// The program, looked up in `PATH`.
    pub program: &'a OsString,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// Where it may run.
    pub cpus: &'a CpuSet,
    /// Who ends what it leaves, should this process be killed.
    pub guard: Option<&'a Guard>,
    /// When it is given up.
    pub limit: Duration,
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
    /// The most memory that one of them held, in bytes; `None` where it held less than this process, whose memory the
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
    let own_bytes = own_memory();
    let migrations = Migrations::watch();
    let others = tree::children();
    let begun = Instant::now();
    let child = start(launch)?;
    let mut watched = Watched::new(child, launch.cpus, others).map_err(RunFailure::Watch)?;
    let ended = watched.until_end(begun + launch.limit, stop);
    let (status, mut usage, orphans) = watched.clear_away().map_err(RunFailure::Watch)?;
    let (stdout, stderr) = watched.output();
    let wall = match ended.map_err(RunFailure::Watch)? {
        Ended::ByItself(at) => at - begun,
        Ended::TimedOut => {
            let [stdout, stderr] = [stdout, stderr].map(Box::new);
            return Err(RunFailure::TimedOut { limit: launch.limit, stdout, stderr });
        }
        Ended::Stopped => return Err(RunFailure::Interrupted),
    };
    usage.peak_bytes = usage.peak_bytes.filter(|bytes| *bytes > own_bytes);
    let migrations = migrations.and_then(Migrations::count);
    Ok(Finished { wall, status, usage, migrations, stay: watched.stay, orphans, stdout, stderr })
}

fn start(launch: &Launch<'_>) -> Result<Child, RunFailure> {
    let mut command = Command::new(launch.program);
    command.args(launch.arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.envs(launch.guard.map(Guard::mark));
    let cpus = launch.cpus.clone();
    let bind = move || {
        tree::die_with_parent();
        affinity::set_mask(&cpus)
    };
    // SAFETY: between fork and exec the closure makes two system calls on memory that was there before the fork; it
    // allocates nothing and takes no lock.
    unsafe { command.pre_exec(bind) };
    let program = || launch.program.to_string_lossy().into_owned();
    command.spawn().map_err(|source| RunFailure::NotStarted { program: program(), source })
}

enum Ended {
    ByItself(Instant),
    TimedOut,
    Stopped,
}

/// A program that runs.
struct Watched<'a> {
    child: Child,
    cpus: &'a CpuSet,
    /// Readable once it has ended; `None` where the system is older than that (Linux 5.3).
    end: Option<OwnedFd>,
    stdout: Capture,
    stderr: Capture,
    stay: Stay,
    /// Children that this process had before.
    others: Vec<u32>,
}

impl<'a> Watched<'a> {
    fn new(child: Child, cpus: &'a CpuSet, others: Vec<u32>) -> io::Result<Watched<'a>> {
        let leader = child.id();
        Watched::over(child, cpus, others).inspect_err(|_| {
            // Whoever cannot be watched is not left alone.
            tree::kill_group(leader);
            let _ = tree::wait_for(leader, Instant::now() + LAST_WAIT);
        })
    }

    fn over(mut child: Child, cpus: &'a CpuSet, others: Vec<u32>) -> io::Result<Watched<'a>> {
        let missing = || io::Error::other("a pipe is missing");
        let stdout = Capture::new(child.stdout.take().ok_or_else(missing)?.into())?;
        let stderr = Capture::new(child.stderr.take().ok_or_else(missing)?.into())?;
        // SAFETY: the call takes two numbers; the process is our child and not yet waited for, so the number is its own.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        // SAFETY: the descriptor is fresh and nobody else has it.
        let end = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
        Ok(Watched { child, cpus, end, stdout, stderr, stay: Stay::default(), others })
    }

    fn until_end(&mut self, limit: Instant, stop: &Stop) -> io::Result<Ended> {
        let (mut due, mut pause) = (Instant::now() + EARLY, EARLY);
        loop {
            if self.wait(due.min(limit).saturating_duration_since(Instant::now()).min(LOOK))? {
                let at = Instant::now();
                // A zombie still says where it was allowed to run.
                self.look();
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
                self.look();
                let looked = Instant::now();
                pause = LOOK.min(2 * pause);
                due = looked + pause.max(LOOK_SHARE * (looked - now));
            }
        }
    }

    /// Waits for output, the end, or so long; whether it has ended.
    fn wait(&mut self, span: Duration) -> io::Result<bool> {
        let watch = |fd: Option<i32>| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 };
        let mut fds = [
            watch(self.end.as_ref().map(AsRawFd::as_raw_fd)),
            watch(self.stdout.descriptor()),
            watch(self.stderr.descriptor()),
        ];
        // Where the end cannot be waited for it is asked for each millisecond.
        let span = if self.end.is_some() { span } else { span.min(Duration::from_millis(1)) };
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
        if self.end.is_some() { Ok(fds[0].revents != 0) } else { tree::has_ended(self.child.id()) }
    }

    /// Looks where it may run: the program, what it has started, and whoever was orphaned and became a child of ours.
    fn look(&mut self) {
        let adopted = tree::children().into_iter().filter(|child| !self.others.contains(child));
        let masks = tree::masks(adopted.chain([self.child.id()]));
        self.stay.tasks = self.stay.tasks.max(masks.len());
        for mask in masks {
            self.stay.left |= !mask.is_subset(self.cpus);
            self.stay.narrowed |= mask.is_subset(self.cpus) && mask != *self.cpus;
        }
    }

    /// Ends whatever is left of it, and says how it ended, what all used, and how many were left.
    fn clear_away(&mut self) -> io::Result<(ExitStatus, Usage, u32)> {
        let deadline = Instant::now() + LAST_WAIT;
        // While the leader is not waited for, the number of its group is not given to anybody else.
        tree::kill_group(self.child.id());
        let (status, mut usage) = tree::wait_for(self.child.id(), deadline)?;
        let mut orphans = 0;
        // Children of an orphan that ends become orphans in turn.
        loop {
            let left: Vec<u32> =
                tree::children().into_iter().filter(|child| !self.others.contains(child)).collect();
            if left.is_empty() {
                break;
            }
            for orphan in left {
                tree::kill(orphan);
                usage = usage.with(tree::wait_for(orphan, deadline)?.1);
                orphans += 1;
            }
        }
        self.stdout.read()?;
        self.stderr.read()?;
        Ok((ExitStatus::from_raw(status), usage, orphans))
    }

    fn output(&mut self) -> (Printed, Printed) {
        (self.stdout.take(), self.stderr.take())
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

/// What this process holds, in bytes, and a little more: pages are counted in batches.
fn own_memory() -> u64 {
    const SLACK: u64 = 512 << 10;
    // SAFETY: asks for a number, no memory involved.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    // Where it cannot be read nothing can be told apart.
    pages.map_or(u64::MAX, |pages| pages * page as u64 + SLACK)
}
