//! [`Running`]: an adapter as a process: started, spoken to, and gone afterwards with everything that it started.

use super::Adapter;
use super::error::AdapterError;
use super::lines::{Lines, NoLine};
use super::strays::{Family, MARK};
use super::tree::Tree;
use crate::host::command::launcher::prepare;
use crate::host::command::tree;
use crate::stop::Stop;
use coretalk_model::CpuSet;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long the end of what was killed may take, in all.
const LAST_WAIT: Duration = Duration::from_millis(800);
/// How long an adapter may take to end once it has closed a pipe.
const GRACE: Duration = Duration::from_millis(500);
/// How long children of an adapter that has ended may take to end, too: a process of Python's that counts resources does
/// so once it is told nothing more.
const LINGER: Duration = Duration::from_secs(3);
/// How long it has to end on SIGTERM.
const TERM: Duration = Duration::from_secs(1);
/// Between two looks whether it has ended.
const BREATH: Duration = Duration::from_millis(1);
/// Marks differ by it.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// An adapter as a process.
pub(super) struct Running {
    pid: u32,
    stdin: Option<ChildStdin>,
    lines: Lines,
    mark: String,
    family: Family,
    is_gone: bool,
    is_swept: bool,
}

impl Running {
    /// Starts an adapter with one word. It ends with the thread that calls this.
    ///
    /// # Errors
    /// [`AdapterError::NotStarted`], or the system does not let us watch it.
    pub(super) fn start(
        adapter: &Adapter,
        word: &str,
        allowed: &CpuSet,
        guard: Option<(&str, &str)>,
    ) -> Result<Running, AdapterError> {
        tree::adopt_orphans();
        let Some((program, arguments)) = adapter.command.split_first() else {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(AdapterError::NotStarted { program: adapter.name.clone(), source });
        };
        // Relaxed: only that no two are equal matters.
        let number = STARTED.fetch_add(1, Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let value = format!("{}-{number}-{}", std::process::id(), since.as_nanos());
        let mut command = Command::new(program);
        command.args(arguments).arg(word).stdin(Stdio::piped());
        command.envs(adapter.environment.iter().map(|(name, value)| (name, value)));
        command.envs(guard).env(MARK, &value);
        let mut command = prepare(command, Some(allowed));
        let (family, mut child) = Family::found(|| command.spawn(), Child::id).map_err(|source| {
            AdapterError::NotStarted { program: program.to_string_lossy().into_owned(), source }
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdin, Some(stdout), Some(stderr)) = pipes else {
            let source = io::Error::other("a pipe is missing");
            return Err(AdapterError::System { what: "open pipes to an adapter", source });
        };
        let lines = Lines::new(OwnedFd::from(stdout), stderr)
            .map_err(|source| AdapterError::System { what: "read from an adapter", source })?;
        Ok(Running {
            pid: child.id(),
            stdin,
            lines,
            mark: format!("{MARK}={value}"),
            family,
            is_gone: false,
            is_swept: false,
        })
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// What it prints.
    pub(super) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Everything that it consists of.
    pub(super) fn tree(&self) -> Tree {
        Tree::of(self.pid)
    }

    /// Says a line.
    ///
    /// # Errors
    /// It has ended, or reads no more.
    pub(super) fn say(&mut self, line: &str, awaited: &'static str) -> Result<(), AdapterError> {
        let text = format!("{line}\n");
        let said = match &mut self.stdin {
            // One write of few bytes: a pipe takes all of them or none.
            Some(stdin) => stdin.write_all(text.as_bytes()),
            None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        };
        said.map_err(|_| self.lost("input", awaited))
    }

    /// The next line that it prints, and when it was there.
    ///
    /// # Errors
    /// What became of it instead.
    pub(super) fn hear(
        &mut self,
        deadline: Instant,
        limit: Duration,
        awaited: &'static str,
        stop: &Stop,
    ) -> Result<(String, Instant), AdapterError> {
        self.hear_and(deadline, limit, awaited, stop, &mut || ())
    }

    /// The same; meanwhile something is done every 20 ms.
    ///
    /// # Errors
    /// As [`Running::hear`].
    pub(super) fn hear_and(
        &mut self,
        deadline: Instant,
        limit: Duration,
        awaited: &'static str,
        stop: &Stop,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(String, Instant), AdapterError> {
        self.lines.next(deadline, stop, meanwhile).map_err(|reason| match reason {
            NoLine::Deadline => AdapterError::Hung { limit, awaited },
            NoLine::Closed => self.lost("output", awaited),
            NoLine::TooLong => AdapterError::LongLine { most: super::lines::MAX_BYTES },
            NoLine::Stopped => AdapterError::Interrupted,
            NoLine::Failed(source) => AdapterError::System { what: "read from an adapter", source },
        })
    }

    /// What became of an adapter whose pipe is closed: it has ended, or is about to, or goes on without it.
    fn lost(&mut self, stream: &'static str, awaited: &'static str) -> AdapterError {
        if self.ends_within(GRACE) {
            let said = self.lines.last_words();
            return AdapterError::Crashed { end: self.bury(), awaited, said };
        }
        AdapterError::ClosedPipe { stream, awaited }
    }

    fn ends_within(&mut self, span: Duration) -> bool {
        let deadline = Instant::now() + span;
        loop {
            // A child that nobody has waited for, or one that is gone already.
            if tree::has_ended(self.pid).unwrap_or(true) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            // It may wait for somebody to read what it prints.
            let _ = self.lines.waiting();
            std::thread::sleep(BREATH);
        }
    }

    /// Closes its input and expects it to end.
    ///
    /// # Errors
    /// It does not end, or not well, or leaves processes behind; nothing of it is left in any case.
    pub(super) fn close(&mut self, patience: Duration) -> Result<(), AdapterError> {
        if self.is_gone {
            return Ok(());
        }
        drop(self.stdin.take());
        if !self.ends_within(patience) {
            // SAFETY: takes numbers; the process is a child that nobody has waited for, so the number is its own.
            unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGTERM) };
            let has_ended = self.ends_within(TERM);
            self.kill();
            return Err(match has_ended {
                true => AdapterError::Stayed { patience },
                false => AdapterError::IgnoredSigterm,
            });
        }
        let said = self.lines.last_words();
        // Until it is waited for, its group is its own, and whoever is left of it is counted before it is ended.
        let deadline = Instant::now() + LINGER;
        while !self.left().is_empty() && Instant::now() < deadline {
            std::thread::sleep(BREATH);
        }
        let left = self.left().len();
        let end = self.bury();
        self.sweep();
        match (left, end.as_str()) {
            (0, SUCCESS) => Ok(()),
            (0, _) => Err(AdapterError::Crashed { end, awaited: "its end", said }),
            (left, _) => Err(AdapterError::LeftBehind { left }),
        }
    }

    /// Ends it at once, with everything that it started.
    pub(super) fn kill(&mut self) {
        drop(self.stdin.take());
        if !self.is_gone {
            let below: Vec<u32> = self.tree().processes.into_keys().collect();
            tree::kill_group(self.pid);
            below.into_iter().for_each(tree::kill);
            self.bury();
        }
        self.sweep();
    }

    /// Waits for the process, which has ended or was killed, and says how it ended.
    fn bury(&mut self) -> String {
        if self.is_gone {
            return "an unknown status".to_owned();
        }
        // While it is not waited for, the number of its group is not given to anybody else.
        tree::kill_group(self.pid);
        let waited = tree::wait_for(self.pid, Instant::now() + LAST_WAIT);
        self.is_gone = waited.is_ok();
        if self.is_gone {
            Family::forget(self.pid);
        }
        let Ok((status, _)) = waited else { return "no status: it does not go".to_owned() };
        let status = ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(0), _) => SUCCESS.to_owned(),
            (Some(code), _) => format!("exit status {code}"),
            (_, signal) => format!("signal {}", signal.unwrap_or_default()),
        }
    }

    /// Whoever of it is still there once it has ended: by its mark, or as an orphan that has become ours.
    fn left(&self) -> Vec<u32> {
        [tree::marked(&self.mark), self.family.strays()].concat()
    }

    /// Ends whoever is left.
    fn sweep(&mut self) {
        if std::mem::replace(&mut self.is_swept, true) {
            return;
        }
        let deadline = Instant::now() + LAST_WAIT;
        loop {
            let left = self.left();
            if left.is_empty() || Instant::now() >= deadline {
                return;
            }
            for process in left {
                tree::kill(process);
                // An orphan is a child of ours; of all others somebody else takes care.
                let _ = tree::wait_for(process, deadline);
            }
        }
    }
}

/// How a process ends well.
pub(super) const SUCCESS: &str = "exit status 0";

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
