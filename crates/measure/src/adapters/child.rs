//! [`Running`]: starts the process of an adapter, exchanges lines with it, and removes it with all its descendants.

use super::Adapter;
use super::error::AdapterError;
use super::lines::{Lines, NoLine};
use super::orphans::{MARK, OrphanTracker};
use super::tree::ProcessTree;
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

const REAP_LIMIT: Duration = Duration::from_millis(800);
/// Time that an adapter may take to end after it closed a pipe.
const GRACE: Duration = Duration::from_millis(500);
/// Time that child processes get to end. Python's resource tracker ends only after its pipe is closed.
const LINGER: Duration = Duration::from_secs(3);
const SIGTERM_LIMIT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
static STARTED: AtomicU64 = AtomicU64::new(0);

pub(super) struct Running {
    pid: u32,
    stdin: Option<ChildStdin>,
    lines: Lines,
    mark: String,
    tracker: OrphanTracker,
    is_gone: bool,
    is_swept: bool,
}

impl Running {
    /// Starts an adapter with the argument `word`. The process ends with the calling thread.
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
        // Relaxed: numbers only have to be unique.
        let number = STARTED.fetch_add(1, Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let value = format!("{}-{number}-{}", std::process::id(), since.as_nanos());
        let mut command = Command::new(program);
        command.args(arguments).arg(word).stdin(Stdio::piped());
        command.envs(adapter.environment.iter().map(|(name, value)| (name, value)));
        command.envs(guard).env(MARK, &value);
        let mut command = prepare(command, Some(allowed));
        let (tracker, mut child) = OrphanTracker::start(|| command.spawn(), Child::id).map_err(|source| {
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
            tracker,
            is_gone: false,
            is_swept: false,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    pub(super) fn tree(&self) -> ProcessTree {
        ProcessTree::new(self.pid)
    }

    pub(super) fn say(&mut self, line: &str, awaited: &'static str) -> Result<(), AdapterError> {
        let text = format!("{line}\n");
        let written = match &mut self.stdin {
            // A pipe accepts a short write completely or not at all.
            Some(stdin) => stdin.write_all(text.as_bytes()),
            None => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
        };
        written.map_err(|_| self.closed_pipe_error("input", awaited))
    }

    pub(super) fn hear(
        &mut self,
        deadline: Instant,
        limit: Duration,
        awaited: &'static str,
        stop: &Stop,
    ) -> Result<(String, Instant), AdapterError> {
        self.hear_and(deadline, limit, awaited, stop, &mut || ())
    }

    /// Does the same as [`Running::hear`] and calls `meanwhile` every 20 ms.
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
            NoLine::Closed => self.closed_pipe_error("output", awaited),
            NoLine::TooLong => AdapterError::LongLine { most: super::lines::MAX_BYTES },
            NoLine::Stopped => AdapterError::Interrupted,
            NoLine::Failed(source) => AdapterError::System { what: "read from an adapter", source },
        })
    }

    /// The error for a closed pipe. The adapter has ended, is about to end, or continues without the pipe.
    fn closed_pipe_error(&mut self, stream: &'static str, awaited: &'static str) -> AdapterError {
        if self.ends_within(GRACE) {
            let said = self.lines.last_words();
            return AdapterError::Crashed { end: self.reap(), awaited, said };
        }
        AdapterError::ClosedPipe { stream, awaited }
    }

    fn ends_within(&mut self, span: Duration) -> bool {
        let deadline = Instant::now() + span;
        loop {
            // Also true for a child that has ended but is not reaped, and for a child that is gone.
            if tree::has_ended(self.pid).unwrap_or(true) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            // Reads output, because the adapter may be blocked on a full pipe.
            let _ = self.lines.waiting();
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Closes the input and waits until the adapter ends. All its processes are gone afterwards, even after an error.
    pub(super) fn close(&mut self, patience: Duration) -> Result<(), AdapterError> {
        if self.is_gone {
            return Ok(());
        }
        drop(self.stdin.take());
        if !self.ends_within(patience) {
            // SAFETY: the call takes only numbers. The process is an unreaped child, so its id is valid.
            unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGTERM) };
            let has_ended = self.ends_within(SIGTERM_LIMIT);
            self.kill();
            return Err(match has_ended {
                true => AdapterError::Stayed { patience },
                false => AdapterError::IgnoredSigterm,
            });
        }
        let said = self.lines.last_words();
        // Counts leftover processes before `reap` kills the process group.
        let deadline = Instant::now() + LINGER;
        while !self.leftover_processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        let left = self.leftover_processes().len();
        let end = self.reap();
        self.sweep();
        match (left, end.as_str()) {
            (0, SUCCESS) => Ok(()),
            (0, _) => Err(AdapterError::Crashed { end, awaited: "its end", said }),
            (left, _) => Err(AdapterError::LeftBehind { left }),
        }
    }

    pub(super) fn kill(&mut self) {
        drop(self.stdin.take());
        if !self.is_gone {
            let below: Vec<u32> = self.tree().processes.into_keys().collect();
            tree::kill_group(self.pid);
            below.into_iter().for_each(tree::kill);
            self.reap();
        }
        self.sweep();
    }

    /// Reaps the process, which has ended or was killed. Returns how it ended.
    fn reap(&mut self) -> String {
        if self.is_gone {
            return "an unknown status".to_owned();
        }
        // The id of the group cannot be reused until the process is reaped.
        tree::kill_group(self.pid);
        let waited = tree::wait_for(self.pid, Instant::now() + REAP_LIMIT);
        self.is_gone = waited.is_ok();
        if self.is_gone {
            OrphanTracker::forget(self.pid);
        }
        let Ok((status, _)) = waited else { return "no status: it does not go".to_owned() };
        let status = ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(0), _) => SUCCESS.to_owned(),
            (Some(code), _) => format!("exit status {code}"),
            (_, signal) => format!("signal {}", signal.unwrap_or_default()),
        }
    }

    /// Processes that outlive the adapter: those with its mark, and orphans that this process adopted.
    fn leftover_processes(&self) -> Vec<u32> {
        [tree::marked(&self.mark), self.tracker.orphans()].concat()
    }

    fn sweep(&mut self) {
        if std::mem::replace(&mut self.is_swept, true) {
            return;
        }
        let deadline = Instant::now() + REAP_LIMIT;
        loop {
            let left = self.leftover_processes();
            if left.is_empty() || Instant::now() >= deadline {
                return;
            }
            for process in left {
                tree::kill(process);
                // An adopted orphan is a child of this process; others are reaped by their own parents.
                let _ = tree::wait_for(process, deadline);
            }
        }
    }
}

pub(super) const SUCCESS: &str = "exit status 0";

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
