//! `Launched`: a program that a small process has started, so that what the system counts as its memory is its own.
//!
//! The most memory that a process held outlives the change to another program: what the child of a fork had of its parent
//! is counted for whatever it becomes (`setmax_mm_hiwater_rss` in Linux's fs/exec.c). The child of a
//! process of this program that has just begun holds two megabytes; a child of this process would hold many.
//!
//! `Parent`: whose child a program is: of this process, or of a small one that was started for it.

use super::migrations::Migrations;
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

/// The word that makes this program a launcher.
pub const LAUNCH: &str = "launch";
/// How long the launcher may take to answer: it does nothing but that.
const ANSWER: Duration = Duration::from_secs(30);
/// More than the words of any command (`ARG_MAX` of common systems is 2 MiB).
const MAX_BYTES: u64 = 64 << 20;

/// A program and where it may run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program<'a> {
    pub(super) name: &'a OsStr,
    pub(super) arguments: &'a [OsString],
    pub(super) environment: &'a [(String, String)],
    pub(super) cpus: &'a CpuSet,
}

/// A program that runs as the child of a launcher.
#[derive(Debug)]
pub(super) struct Launched {
    helper: Child,
    line: UnixStream,
    pid: u32,
}

/// What a launcher says of a program that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reaped {
    /// As `wait` gives it.
    pub(super) status: i32,
    /// What it and the children that it waited for used.
    pub(super) usage: Usage,
    /// Bytes that any program started here would be said to have held.
    pub(super) floor_bytes: u64,
    /// How often the system moved its threads; `None` where the system does not count.
    pub(super) migrations: Option<u64>,
    /// From before the fork to its end; `None` where whoever asks was there.
    pub(super) wall: Option<Duration>,
}

/// Why nothing was launched.
#[derive(Debug)]
pub(super) enum Refused {
    /// The program could not be started.
    Program(io::Error),
    /// There is no launcher, or it did not begin.
    Launcher,
    /// It began and did not come to say whether the program runs: whatever there is of that may have done its work.
    Lost(io::Error),
}

impl Launched {
    /// Starts a launcher, and a program through it, whose two streams are handed over.
    ///
    /// # Errors
    /// [`Refused`].
    pub(super) fn start(
        launcher: &Path,
        watchdog: Option<&Watchdog>,
        program: &Program<'_>,
    ) -> Result<(Launched, ChildStdout, ChildStderr), Refused> {
        let (mut helper, mut line) =
            Launched::helper_for(launcher, watchdog, program).map_err(|_| Refused::Launcher)?;
        let streams = helper.stdout.take().zip(helper.stderr.take());
        let refused = match (Launched::order(&mut line, program), streams) {
            (Ok((0, pid)), Some((stdout, stderr))) => {
                return Ok((Launched { helper, line, pid: pid as u32 }, stdout, stderr));
            }
            (Ok((errno, _)), _) => Refused::Program(io::Error::from_raw_os_error(errno as i32)),
            (Err(Silent::Before), _) => Refused::Launcher,
            (Err(Silent::After(error)), _) => return Err(Refused::Lost(gone(&mut helper, error))),
        };
        // It has ended, or ends when it is told nothing more.
        let _ = helper.kill();
        let _ = helper.wait();
        match refused {
            // It may have begun a moment before its end.
            Refused::Launcher if read_number(&mut line).is_ok() => Err(Refused::Lost(no_answer())),
            refused => Err(refused),
        }
    }

    /// A launcher that has been told nothing yet.
    fn helper_for(
        launcher: &Path,
        watchdog: Option<&Watchdog>,
        program: &Program<'_>,
    ) -> io::Result<(Child, UnixStream)> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_read_timeout(Some(ANSWER))?;
        let mut command = Command::new(launcher);
        command.args(["work", LAUNCH]).stdin(Stdio::from(OwnedFd::from(theirs)));
        // What the launcher has, the program inherits.
        command.envs(variables(program.environment)).envs(watchdog.map(Watchdog::mark));
        Ok((prepare(command, None).spawn()?, line))
    }

    /// Tells it what to start; gives the number of the error, else zero and the number of the program.
    fn order(line: &mut UnixStream, program: &Program<'_>) -> Result<(u64, u64), Silent> {
        let cpus = program.cpus.to_string();
        let words = [program.name, OsStr::new(&cpus)].map(OsStrExt::as_bytes);
        let words = words.into_iter().chain(program.arguments.iter().map(|word| word.as_bytes()));
        number(line, 2 + program.arguments.len() as u64)
            .and_then(|()| words.into_iter().try_for_each(|word| block(line, word)))
            .and_then(|()| read_number(line))
            .map_err(|_| Silent::Before)?;
        let mut next = || read_number(line).map_err(Silent::After);
        Ok((next()?, next()?))
    }

    /// The program.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The launcher.
    pub(super) fn helper(&self) -> u32 {
        self.helper.id()
    }

    /// Readable once the program has ended.
    pub(super) fn end(&self) -> RawFd {
        self.line.as_raw_fd()
    }

    /// Has the program waited for, which has ended or is about to; until then its number is its own.
    ///
    /// # Errors
    /// The launcher is gone, which says how it ended, or does not answer.
    pub(super) fn reap(&mut self) -> io::Result<Reaped> {
        match self.told() {
            Err(error) => Err(gone(&mut self.helper, error)),
            told => told,
        }
    }

    fn told(&mut self) -> io::Result<Reaped> {
        // The news of its end come first; they wait for it, where it was killed a moment ago.
        let wall_ns = read_number(&mut self.line)?;
        number(&mut self.line, 1)?;
        let mut next = || read_number(&mut self.line);
        let reaped = Reaped {
            status: next()? as i32,
            usage: Usage {
                user_s: next()? as f64 / 1e6,
                system_s: next()? as f64 / 1e6,
                peak_bytes: Some(next()?),
                switches: next()?,
            },
            floor_bytes: next()?,
            migrations: next()?.checked_sub(1),
            wall: Some(Duration::from_nanos(wall_ns)),
        };
        self.helper.wait()?;
        Ok(reaped)
    }
}

/// Until when a launcher had answered.
enum Silent {
    /// It did not say that it begins.
    Before,
    /// It did.
    After(io::Error),
}

/// Why a launcher does not answer any more, which has begun.
fn gone(helper: &mut Child, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        let _ = helper.kill();
        let _ = helper.wait();
        return no_answer();
    }
    // Its end of the line is closed by its own end alone.
    match helper.wait() {
        Ok(status) => io::Error::other(format!("the process that had started it ended first ({status})")),
        Err(error) => error,
    }
}

fn no_answer() -> io::Error {
    io::Error::other(format!("the process that had started it gave no answer for {} s", ANSWER.as_secs()))
}

impl Drop for Launched {
    fn drop(&mut self) {
        // Where it was reaped it has ended; else its program ends with it.
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}

fn variables(environment: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    environment.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// A command that is a group of its own, ends with the thread that starts it, and stays on these CPUs; where none are
/// named, on those of whoever starts it.
pub(crate) fn prepare(mut command: Command, cpus: Option<&CpuSet>) -> Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let cpus = cpus.cloned();
    let bind = move || {
        tree::die_with_parent();
        cpus.as_ref().map_or(Ok(()), affinity::set_mask)
    };
    // SAFETY: between fork and exec the closure makes two system calls on memory that was there before the fork; it
    // allocates nothing and takes no lock.
    unsafe { command.pre_exec(bind) };
    command
}

/// What a launcher does: starts the program that its standard input names, and says how it ended.
///
/// # Errors
/// Whoever asked is gone, or the system refuses to wait for the program.
pub fn serve() -> io::Result<()> {
    let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let count = read_number(&mut line)?;
    let words: Vec<OsString> = (0..count).map(|_| read_block(&mut line)).collect::<io::Result<_>>()?;
    let [name, cpus, arguments @ ..] = words.as_slice() else {
        return Err(io::Error::other("a program and its CPUs were expected"));
    };
    let cpus = CpuSet::from_list(&cpus.to_string_lossy()).map_err(io::Error::other)?;
    let floor_bytes = floor(&cpus);
    let migrations = Migrations::watch();
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null());
    let command = &mut prepare(command, Some(&cpus));
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    // From here on the program may have run, whatever becomes of us.
    number(&mut line, 0)?;
    let begun = Instant::now();
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            number(&mut line, error.raw_os_error().unwrap_or(libc::EIO) as u64)?;
            return number(&mut line, 0);
        }
    };
    number(&mut line, 0)?;
    number(&mut line, u64::from(child.id()))?;
    // Its streams end with the program and what that has started, not with us.
    // SAFETY: numbers only; nothing of this process prints after this.
    unsafe {
        libc::close(libc::STDOUT_FILENO);
        libc::close(libc::STDERR_FILENO);
    }
    tree::until_end(child.id())?;
    number(&mut line, begun.elapsed().as_nanos() as u64)?;
    // Whoever asked ends what is left of its group, while the number of the group is its own.
    read_number(&mut line)?;
    let (status, usage) = tree::wait_for(child.id(), Instant::now() + ANSWER)?;
    let micros = |seconds: f64| (seconds * 1e6) as u64;
    let migrations = migrations.and_then(Migrations::count).map_or(0, |count| count + 1);
    let said = [
        u64::from(status as u32),
        micros(usage.user_s),
        micros(usage.system_s),
        usage.peak_bytes.unwrap_or(0),
        usage.switches,
        floor_bytes,
        migrations,
    ];
    said.into_iter().try_for_each(|value| number(&mut line, value))
}

/// What a program is said to have held that never ran: the child of a fork that is told to become a folder.
fn floor(cpus: &CpuSet) -> u64 {
    if prepare(Command::new("/"), Some(cpus)).spawn().is_ok() {
        // Nobody can become a folder; where somebody does, nothing can be told apart.
        return u64::MAX;
    }
    tree::children_peak_bytes()
}

fn number(to: &mut UnixStream, value: u64) -> io::Result<()> {
    to.write_all(&value.to_le_bytes())
}

fn block(to: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    number(to, bytes.len() as u64)?;
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

/// Whose child a program is.
pub(super) enum Parent {
    /// Ours.
    Own {
        child: Child,
        /// Readable once it has ended; `None` where the system is older than that (Linux 5.3).
        end: Option<OwnedFd>,
        migrations: Option<Migrations>,
        floor_bytes: u64,
    },
    /// That of a small process.
    Launcher(Launched),
}

impl Parent {
    /// Starts a program, through a launcher where there is one.
    ///
    /// # Errors
    /// [`RunFailure`]; what a launcher had started before it was lost are children of this process then.
    pub(super) fn start(launch: &Launch<'_>) -> Result<(Parent, ChildStdout, ChildStderr), RunFailure> {
        let Launch { program, arguments, environment, cpus, .. } = *launch;
        let not_started =
            |source| RunFailure::NotStarted { program: program.to_string_lossy().into_owned(), source };
        if let Some(launcher) = launch.launcher {
            let program = Program { name: program, arguments, environment, cpus };
            match Launched::start(launcher, launch.watchdog, &program) {
                Ok((launched, stdout, stderr)) => return Ok((Parent::Launcher(launched), stdout, stderr)),
                Err(Refused::Program(source)) => return Err(not_started(source)),
                Err(Refused::Lost(source)) => return Err(RunFailure::Watch(source)),
                // The file of this program may be gone, as after an update: then memory is not known, and all else is.
                Err(Refused::Launcher) => {}
            }
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.envs(variables(environment)).envs(launch.watchdog.map(Watchdog::mark));
        let (migrations, floor_bytes) = (Migrations::watch(), own_memory());
        let mut child = prepare(command, Some(cpus)).spawn().map_err(not_started)?;
        let missing = || RunFailure::Watch(io::Error::other("a pipe is missing"));
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        // SAFETY: the call takes two numbers; the process is our child and not yet waited for, so the number is its own.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id() as libc::pid_t, 0) };
        // SAFETY: the descriptor is fresh and nobody else has it.
        let end = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
        Ok((Parent::Own { child, end, migrations, floor_bytes }, stdout, stderr))
    }

    /// The number of the program.
    pub(super) fn pid(&self) -> u32 {
        match self {
            Parent::Own { child, .. } => child.id(),
            Parent::Launcher(launched) => launched.pid(),
        }
    }

    /// Readable once the program has ended; `None` where that has to be asked for.
    pub(super) fn end(&self) -> Option<i32> {
        match self {
            Parent::Own { end, .. } => end.as_ref().map(AsRawFd::as_raw_fd),
            Parent::Launcher(launched) => Some(launched.end()),
        }
    }

    /// Waits for the program, which has ended or is about to.
    ///
    /// # Errors
    /// It does not go, or its launcher does not answer.
    pub(super) fn reap(&mut self, deadline: Instant) -> io::Result<Reaped> {
        match self {
            Parent::Own { child, migrations, floor_bytes, .. } => {
                let (status, usage) = tree::wait_for(child.id(), deadline)?;
                let migrations = migrations.take().and_then(Migrations::count);
                Ok(Reaped { status, usage, floor_bytes: *floor_bytes, migrations, wall: None })
            }
            Parent::Launcher(launched) => launched.reap(),
        }
    }
}

/// What this process holds, in bytes.
fn own_memory() -> u64 {
    // SAFETY: asks for a number, no memory involved.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    // Where it cannot be read nothing can be told apart.
    pages.map_or(u64::MAX, |pages| pages * page as u64)
}
