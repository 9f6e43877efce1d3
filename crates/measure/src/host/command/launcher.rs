//! `Launched`: a program started by a small launcher process. `Parent`: this process or a launcher.
//!
//! The peak memory of a process survives exec. Memory that the child of a fork inherits from its parent counts for the
//! new program (`setmax_mm_hiwater_rss` in Linux's fs/exec.c). The child of a fresh launcher holds two megabytes; a
//! child of this process would hold many.

use super::counters::{Counters, EventCounts};
use super::watchdog::Watchdog;
use super::{Launch, RunFailure, Usage, tree};
use crate::host::affinity;
use coretalk_model::CpuSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Subcommand that makes this program a launcher.
pub const LAUNCH: &str = "launch";
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Maximum bytes of a word. No command has as many (`ARG_MAX` of common systems is 2 MiB).
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct Program<'a> {
    pub(super) name: &'a OsStr,
    pub(super) arguments: &'a [OsString],
    pub(super) environment: &'a [(String, String)],
    pub(super) cpus: &'a CpuSet,
}

#[derive(Debug)]
pub(super) struct Launched {
    helper: Child,
    socket: UnixStream,
    pid: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Reaped {
    pub(super) status: i32,
    /// Resources used by the program and the children that it waited for.
    pub(super) usage: Usage,
    /// Minimum peak memory in bytes that any program with this parent reports.
    pub(super) floor_bytes: u64,
    pub(super) counts: EventCounts,
    /// Time from before the fork to the end of the program; `None` if the caller measured it.
    pub(super) wall: Option<Duration>,
}

#[derive(Debug)]
pub(super) enum LaunchRefused {
    Program(io::Error),
    /// The launcher could not be started, or failed before it began.
    Launcher,
    /// The launcher began and failed before it reported the start. The program may have run.
    Lost(io::Error),
}

impl Launched {
    /// Starts a program through a new launcher. Also returns its standard output and standard error.
    pub(super) fn start(
        launcher: &Path,
        watchdog: Option<&Watchdog>,
        program: &Program<'_>,
    ) -> Result<(Launched, ChildStdout, ChildStderr), LaunchRefused> {
        let (mut helper, mut socket) =
            Launched::helper_for(launcher, watchdog, program).map_err(|_| LaunchRefused::Launcher)?;
        let streams = helper.stdout.take().zip(helper.stderr.take());
        let refused = match (Launched::send_program(&mut socket, program), streams) {
            (Ok((0, pid)), Some((stdout, stderr))) => {
                return Ok((Launched { helper, socket, pid: pid as u32 }, stdout, stderr));
            }
            (Ok((errno, _)), _) => LaunchRefused::Program(io::Error::from_raw_os_error(errno as i32)),
            (Err(Silent::Before), _) => LaunchRefused::Launcher,
            (Err(Silent::After(error)), _) => {
                return Err(LaunchRefused::Lost(end_launcher(&mut helper, error)));
            }
        };
        // The launcher has ended, or ends when its input is closed.
        let _ = helper.kill();
        let _ = helper.wait();
        match refused {
            // The launcher may have reported its begin just before it ended.
            LaunchRefused::Launcher if read_number(&mut socket).is_ok() => {
                Err(LaunchRefused::Lost(no_answer()))
            }
            refused => Err(refused),
        }
    }

    fn helper_for(
        launcher: &Path,
        watchdog: Option<&Watchdog>,
        program: &Program<'_>,
    ) -> io::Result<(Child, UnixStream)> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(ANSWER_LIMIT))?;
        let mut command = Command::new(launcher);
        command.args(["work", LAUNCH]).stdin(Stdio::from(OwnedFd::from(theirs)));
        // The program inherits the launcher's environment.
        command.envs(variables(program.environment)).envs(watchdog.map(Watchdog::mark));
        Ok((prepare(command, None).spawn()?, socket))
    }

    /// Sends the program to start. Returns the error number or 0, and the process id.
    fn send_program(socket: &mut UnixStream, program: &Program<'_>) -> Result<(u64, u64), Silent> {
        let cpus = program.cpus.to_string();
        let words = [program.name, OsStr::new(&cpus)].map(OsStrExt::as_bytes);
        let words = words.into_iter().chain(program.arguments.iter().map(|word| word.as_bytes()));
        write_number(socket, 2 + program.arguments.len() as u64)
            .and_then(|()| words.into_iter().try_for_each(|word| write_block(socket, word)))
            .and_then(|()| read_number(socket))
            .map_err(|_| Silent::Before)?;
        let mut next = || read_number(socket).map_err(Silent::After);
        Ok((next()?, next()?))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn helper(&self) -> u32 {
        self.helper.id()
    }

    pub(super) fn end(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Reaps the program, whose id is valid until then. Fails if the launcher has ended or does not answer.
    pub(super) fn reap(&mut self) -> io::Result<Reaped> {
        match self.read_report() {
            Err(error) => Err(end_launcher(&mut self.helper, error)),
            outcome => outcome,
        }
    }

    fn read_report(&mut self) -> io::Result<Reaped> {
        // The end is reported first. This read waits for it if the program was just killed.
        let wall_ns = read_number(&mut self.socket)?;
        write_number(&mut self.socket, 1)?;
        let mut next = || read_number(&mut self.socket);
        let reaped = Reaped {
            status: next()? as i32,
            usage: Usage {
                user_s: next()? as f64 / 1e6,
                system_s: next()? as f64 / 1e6,
                peak_bytes: Some(next()?),
                switches: next()?,
            },
            floor_bytes: next()?,
            counts: {
                let mut counts = EventCounts::default();
                for count in &mut counts.0 {
                    *count = next()?.checked_sub(1);
                }
                counts
            },
            wall: Some(Duration::from_nanos(wall_ns)),
        };
        self.helper.wait()?;
        Ok(reaped)
    }
}

/// Whether a launcher stopped answering before or after it reported its begin.
enum Silent {
    Before,
    After(io::Error),
}

/// Waits for the end of a launcher that began but no longer answers, and kills it after a timeout. Returns the error.
fn end_launcher(helper: &mut Child, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        let _ = helper.kill();
        let _ = helper.wait();
        return no_answer();
    }
    // The launcher's socket closes only when the launcher ends.
    match helper.wait() {
        Ok(status) => io::Error::other(format!("the process that had started it ended first ({status})")),
        Err(error) => error,
    }
}

fn no_answer() -> io::Error {
    io::Error::other(format!(
        "the process that had started it gave no answer for {} s",
        ANSWER_LIMIT.as_secs()
    ))
}

impl Drop for Launched {
    fn drop(&mut self) {
        // If the program was reaped, the launcher has ended. Otherwise the program ends with the launcher.
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}

fn variables(environment: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Prepares a command with its own process group. The command ends with the calling thread and runs on `cpus` if given.
pub(crate) fn prepare(mut command: Command, cpus: Option<&CpuSet>) -> Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let cpus = cpus.cloned();
    let bind = move || {
        tree::die_with_parent();
        cpus.as_ref().map_or(Ok(()), affinity::set_mask)
    };
    // SAFETY: between fork and exec the closure makes two system calls on memory that existed before the fork. It
    // allocates nothing and takes no lock.
    unsafe { command.pre_exec(bind) };
    command
}

/// Main function of a launcher: starts the program named on standard input and reports its end. Fails if the caller is
/// gone or the system refuses to wait for the program.
pub fn serve() -> io::Result<()> {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let count = read_number(&mut socket)?;
    let words: Vec<OsString> = (0..count).map(|_| read_block(&mut socket)).collect::<io::Result<_>>()?;
    let [name, cpus, arguments @ ..] = words.as_slice() else {
        return Err(io::Error::other("a program and its CPUs were expected"));
    };
    let cpus = CpuSet::from_list(&cpus.to_string_lossy()).map_err(io::Error::other)?;
    let floor_bytes = peak_floor_bytes(&cpus);
    let counters = Counters::watch();
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null());
    let command = &mut prepare(command, Some(&cpus));
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    // From here on the program may have run even if this process fails.
    write_number(&mut socket, 0)?;
    let begun = Instant::now();
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            write_number(&mut socket, error.raw_os_error().unwrap_or(libc::EIO) as u64)?;
            return write_number(&mut socket, 0);
        }
    };
    write_number(&mut socket, 0)?;
    write_number(&mut socket, u64::from(child.id()))?;
    // The streams are closed here, so that they end with the program and its children.
    // SAFETY: the calls take only numbers. This process prints nothing afterwards.
    unsafe {
        libc::close(libc::STDOUT_FILENO);
        libc::close(libc::STDERR_FILENO);
    }
    tree::until_end(child.id())?;
    write_number(&mut socket, begun.elapsed().as_nanos() as u64)?;
    // The caller kills the remaining group now, while its id is valid.
    read_number(&mut socket)?;
    let (status, usage) = tree::wait_for(child.id(), Instant::now() + ANSWER_LIMIT)?;
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    // Zero means unknown.
    let counts = counters.counts().0.map(|count| count.map_or(0, |count| count + 1));
    let numbers = [
        u64::from(status as u32),
        micros(usage.user_s),
        micros(usage.system_s),
        usage.peak_bytes.unwrap_or(0),
        usage.switches,
        floor_bytes,
    ];
    numbers.into_iter().chain(counts).try_for_each(|value| write_number(&mut socket, value))
}

/// Peak memory reported for a program that never ran. It is measured with a fork whose exec of a directory fails.
fn peak_floor_bytes(cpus: &CpuSet) -> u64 {
    if prepare(Command::new("/"), Some(cpus)).spawn().is_ok() {
        // The exec of a directory cannot succeed. If it does, no floor is known.
        return u64::MAX;
    }
    tree::children_peak_bytes()
}

fn write_number(to: &mut UnixStream, value: u64) -> io::Result<()> {
    to.write_all(&value.to_le_bytes())
}

fn write_block(to: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    write_number(to, bytes.len() as u64)?;
    to.write_all(bytes)
}

fn read_number(from: &mut UnixStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_block(from: &mut UnixStream) -> io::Result<OsString> {
    let length = read_number(from)?;
    if length > MAX_BYTES {
        return Err(io::Error::other("a word is too long"));
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(OsString::from_vec(bytes))
}

pub(super) enum Parent {
    Own {
        child: Child,
        /// Descriptor that becomes readable when the program has ended; `None` before Linux 5.3.
        end: Option<OwnedFd>,
        counters: Option<Counters>,
        floor_bytes: u64,
    },
    Launcher(Launched),
}

impl Parent {
    /// Starts a program, through a launcher if available. Processes of a failed launcher become children of this
    /// process.
    pub(super) fn start(launch: &Launch<'_>) -> Result<(Parent, ChildStdout, ChildStderr), RunFailure> {
        let Launch { program, arguments, environment, cpus, .. } = *launch;
        let not_started =
            |source| RunFailure::NotStarted { program: program.to_string_lossy().into_owned(), source };
        if let Some(launcher) = launch.launcher {
            let program = Program { name: program, arguments, environment, cpus };
            match Launched::start(launcher, launch.watchdog, &program) {
                Ok((launched, stdout, stderr)) => return Ok((Parent::Launcher(launched), stdout, stderr)),
                Err(LaunchRefused::Program(source)) => return Err(not_started(source)),
                Err(LaunchRefused::Lost(source)) => return Err(RunFailure::Watch(source)),
                // The executable may be gone after an update. Then only the peak memory is unknown.
                Err(LaunchRefused::Launcher) => {}
            }
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.envs(variables(environment)).envs(launch.watchdog.map(Watchdog::mark));
        let (counters, floor_bytes) = (Some(Counters::watch()), own_memory_bytes());
        let mut child = prepare(command, Some(cpus)).spawn().map_err(not_started)?;
        let missing = || RunFailure::Watch(io::Error::other("a pipe is missing"));
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        // SAFETY: the call takes two numbers. The process is an unreaped child, so its id is valid.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        // SAFETY: the descriptor is new and has no other owner.
        let end = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
        Ok((Parent::Own { child, end, counters, floor_bytes }, stdout, stderr))
    }

    pub(super) fn pid(&self) -> u32 {
        match self {
            Parent::Own { child, .. } => child.id(),
            Parent::Launcher(launched) => launched.pid(),
        }
    }

    /// Descriptor that becomes readable when the program has ended; `None` if the end has to be polled.
    pub(super) fn end(&self) -> Option<i32> {
        match self {
            Parent::Own { end, .. } => end.as_ref().map(AsRawFd::as_raw_fd),
            Parent::Launcher(launched) => Some(launched.end()),
        }
    }

    /// Reaps the program, which has ended or is about to. Fails if it does not end or its launcher does not answer.
    pub(super) fn reap(&mut self, deadline: Instant) -> io::Result<Reaped> {
        match self {
            Parent::Own { child, counters, floor_bytes, .. } => {
                let (status, usage) = tree::wait_for(child.id(), deadline)?;
                let counts = counters.take().map_or_else(EventCounts::default, Counters::counts);
                Ok(Reaped { status, usage, floor_bytes: *floor_bytes, counts, wall: None })
            }
            Parent::Launcher(launched) => launched.reap(),
        }
    }
}

fn own_memory_bytes() -> u64 {
    // SAFETY: the call only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    // If the file is unreadable, no peak can be attributed to the program.
    pages.map_or(u64::MAX, |pages| pages * page as u64)
}
