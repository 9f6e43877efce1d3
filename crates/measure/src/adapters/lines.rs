//! [`Lines`]: reads the output of an adapter line by line, with a deadline and a maximum length.

use super::protocol::cut;
use crate::stop::Stop;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ChildStderr;
use std::time::{Duration, Instant};

/// Maximum bytes of a line. The events of a pass fit, and memory is bounded.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Bytes kept from the end of standard error. Only its last line is shown.
const KEPT: usize = 4 << 10;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) struct Lines {
    stdout: Option<File>,
    stderr: Option<File>,
    buffer: Vec<u8>,
    /// Number of bytes at the front of the buffer that were already returned.
    used: usize,
    arrived_at: Instant,
    stderr_tail: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum NoLine {
    Deadline,
    Closed,
    TooLong,
    Stopped,
    Failed(io::Error),
}

impl Lines {
    pub(super) fn new(stdout: OwnedFd, stderr: ChildStderr) -> io::Result<Lines> {
        let stderr = OwnedFd::from(stderr);
        unblock(&stdout)?;
        unblock(&stderr)?;
        let (stdout, stderr) = (Some(stdout.into()), Some(stderr.into()));
        Ok(Lines {
            stdout,
            stderr,
            buffer: Vec::new(),
            used: 0,
            arrived_at: Instant::now(),
            stderr_tail: Vec::new(),
        })
    }

    pub(super) fn next(
        &mut self,
        deadline: Instant,
        stop: &Stop,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(String, Instant), NoLine> {
        loop {
            if let Some(line) = self.take() {
                return Ok((line, self.arrived_at));
            }
            if self.buffer.len() - self.used >= MAX_BYTES {
                return Err(NoLine::TooLong);
            }
            if self.stdout.is_none() {
                return Err(NoLine::Closed);
            }
            if stop.is_raised() {
                return Err(NoLine::Stopped);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(NoLine::Deadline);
            }
            self.wait(POLL_INTERVAL.min(deadline - now)).map_err(NoLine::Failed)?;
            meanwhile();
        }
    }

    /// The pending line or the beginning of it, without waiting; `None` if there is none.
    pub(super) fn waiting(&mut self) -> io::Result<Option<String>> {
        self.wait(Duration::ZERO)?;
        let rest = &self.buffer[self.used..];
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok((!rest.is_empty()).then(|| String::from_utf8_lossy(line).into_owned()))
    }

    pub(super) fn last_words(&mut self) -> String {
        let _ = self.read_stderr();
        let text = String::from_utf8_lossy(&self.stderr_tail);
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(cut).unwrap_or_default()
    }

    fn take(&mut self) -> Option<String> {
        let rest = &self.buffer[self.used..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(&rest[..end]).trim_end_matches('\r').to_owned();
        self.used += end + 1;
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.used = 0;
        }
        Some(line)
    }

    fn wait(&mut self, span: Duration) -> io::Result<()> {
        let watch = |pipe: &Option<File>| libc::pollfd {
            fd: pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut fds = [watch(&self.stdout), watch(&self.stderr)];
        let span_ms = span.as_micros().div_ceil(1000) as libc::c_int;
        // SAFETY: `fds` holds two writable structures.
        let ready = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, span_ms) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        if fds[0].revents != 0 {
            self.read_stdout()?;
        }
        if fds[1].revents != 0 {
            self.read_stderr()?;
        }
        Ok(())
    }

    fn read_stdout(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let room = (MAX_BYTES + 1).saturating_sub(self.buffer.len()) as u64;
        let Some(pipe) = &mut self.stdout else { return Ok(()) };
        let ended = pipe.by_ref().take(room).read_to_end(&mut self.buffer);
        self.arrived_at = Instant::now();
        match ended {
            // Fewer bytes than requested: the pipe is closed.
            Ok(read) if (read as u64) < room => self.stdout = None,
            Ok(_) => {}
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read_stderr(&mut self) -> io::Result<()> {
        let mut chunk = [0; KEPT];
        // 256 reads exceed the capacity of a pipe many times. The limit keeps endless output from blocking this
        // process.
        for _ in 0..256 {
            let Some(pipe) = &mut self.stderr else { return Ok(()) };
            match pipe.read(&mut chunk) {
                Ok(0) => self.stderr = None,
                Ok(count) => {
                    self.stderr_tail.extend_from_slice(&chunk[..count]);
                    let excess = self.stderr_tail.len().saturating_sub(KEPT);
                    self.stderr_tail.drain(..excess);
                }
                Err(error) if is_transient(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn unblock(pipe: &OwnedFd) -> io::Result<()> {
    let fd = pipe.as_raw_fd();
    // SAFETY: the descriptor is ours and open; the calls take numbers only.
    let status = unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | libc::O_NONBLOCK) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
