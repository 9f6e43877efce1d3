//! [`Parent`]: whose child a program is: of this process, or of a small one that was started for it.

use super::launcher::{Launched, Program, Reaped, Refused, prepare};
use super::migrations::Migrations;
use super::watchdog::Watchdog;
use super::{Launch, RunFailure, tree};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Instant;

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
    /// [`RunFailure`]; nothing runs then.
    pub(super) fn start(launch: &Launch<'_>) -> Result<(Parent, ChildStdout, ChildStderr), RunFailure> {
        let Launch { program, arguments, cpus, .. } = *launch;
        let not_started =
            |source| RunFailure::NotStarted { program: program.to_string_lossy().into_owned(), source };
        if let Some(launcher) = launch.launcher {
            let program = Program { name: program, arguments, cpus };
            match Launched::start(launcher, launch.watchdog, &program) {
                Ok((launched, stdout, stderr)) => return Ok((Parent::Launcher(launched), stdout, stderr)),
                Err(Refused::Program(source)) => return Err(not_started(source)),
                // The file of this program may be gone, as after an update: then memory is not known, and all else is.
                Err(Refused::Launcher) => {}
            }
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).envs(launch.watchdog.map(Watchdog::mark));
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
