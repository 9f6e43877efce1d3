//! [`Capture`]: what a program prints, its beginning and end kept.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes kept of the beginning, and as many of the end: numbers are printed at the end, errors at either.
const KEPT: usize = 256 << 10;

/// One stream of a program.
#[derive(Debug)]
pub struct Capture {
    pipe: Option<File>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// Reads from a pipe, never waiting for it.
    ///
    /// # Errors
    /// The system's reason.
    pub fn new(pipe: OwnedFd) -> io::Result<Capture> {
        let fd = pipe.as_raw_fd();
        // SAFETY: the descriptor is ours and open; the calls take numbers only.
        let status =
            unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | libc::O_NONBLOCK) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Capture { pipe: Some(pipe.into()), head: Vec::new(), tail: VecDeque::new(), dropped: 0 })
    }

    /// What to wait on; `None` once everybody has closed the pipe.
    pub fn descriptor(&self) -> Option<i32> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Takes what is there.
    ///
    /// # Errors
    /// The system's reason.
    pub fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        // At most what one pipe holds many times over, so that a program that prints without end does not keep us.
        for _ in 0..256 {
            let Some(pipe) = &mut self.pipe else { return Ok(()) };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.keep(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }

    /// What was printed; where bytes are missing, a line says how many.
    pub fn take(&mut self) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.head);
        if self.dropped > 0 {
            all.extend_from_slice(format!("\n[{} bytes left out]\n", self.dropped).as_bytes());
        }
        all.extend(std::mem::take(&mut self.tail));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut capture = Capture { pipe: None, head: Vec::new(), tail: VecDeque::new(), dropped: 0 };
        for _ in 0..64 {
            capture.keep(&[b'a'; 16 << 10]);
        }
        capture.keep(b"the end");
        let kept = capture.take();
        assert!(kept.starts_with(b"aaa") && kept.ends_with(b"the end"));
        let missing = (64 * (16 << 10) + 7) - 2 * KEPT;
        assert!(String::from_utf8(kept).unwrap().contains(&format!("[{missing} bytes left out]")));
    }
}
