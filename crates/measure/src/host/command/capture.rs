//! [`Capture`]: keeps the beginning and the end of a program's output.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes kept from the beginning and from the end. Results are printed at the end, errors at either.
const KEPT: usize = 256 << 10;

#[derive(Debug)]
pub struct Capture {
    pipe: Option<File>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    pub fn new(pipe: OwnedFd) -> io::Result<Capture> {
        let fd = pipe.as_raw_fd();
        // SAFETY: the descriptor is ours and open. The calls take numbers only.
        let status =
            unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | libc::O_NONBLOCK) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Capture { pipe: Some(pipe.into()), head: Vec::new(), tail: VecDeque::new(), dropped: 0 })
    }

    /// Descriptor to poll; `None` once the pipe is closed.
    pub fn descriptor(&self) -> Option<i32> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        // 256 reads exceed the capacity of a pipe many times. The limit keeps endless output from blocking this
        // process.
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

    pub fn take(&mut self) -> Printed {
        let mut printed = Printed {
            head: std::mem::take(&mut self.head),
            tail: std::mem::take(&mut self.tail).into(),
            dropped: std::mem::take(&mut self.dropped),
        };
        if printed.dropped == 0 {
            printed.head.append(&mut printed.tail);
        }
        printed
    }
}

/// Kept output of one stream. Beginning and end stay separate if bytes in the middle are missing. So a search matches
/// neither across the gap nor in a note about the gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    head: Vec<u8>,
    /// Empty if nothing is missing.
    tail: Vec<u8>,
    dropped: u64,
}

impl Printed {
    /// The complete output, or the number of dropped bytes.
    pub fn whole(&self) -> Result<&[u8], u64> {
        if self.dropped == 0 { Ok(&self.head) } else { Err(self.dropped) }
    }

    /// The complete lines at the end: all lines, or the lines after the first line break that follows the gap.
    pub fn last_lines(&self) -> &[u8] {
        if self.dropped == 0 {
            return &self.head;
        }
        // A progress bar ends its lines with a carriage return.
        let begin = self.tail.iter().position(|byte| matches!(byte, b'\n' | b'\r')).map(|end| end + 1);
        &self.tail[begin.unwrap_or(self.tail.len())..]
    }

    /// The first and last `kept` characters. A line between them states how much is missing.
    pub fn cut(&self, kept: usize) -> String {
        let letters = |bytes: &[u8]| -> Vec<char> { String::from_utf8_lossy(bytes).chars().collect() };
        let (head, tail) = (letters(&self.head), letters(&self.tail));
        let text = |letters: &[char]| letters.iter().collect::<String>();
        if self.dropped > 0 {
            let (head, tail) = (&head[..head.len().min(kept)], &tail[tail.len().saturating_sub(kept)..]);
            return format!("{}\n[at least {} bytes left out]\n{}", text(head), self.dropped, text(tail));
        }
        if head.len() <= 2 * kept {
            return text(&head);
        }
        let left_out = head.len() - 2 * kept;
        format!(
            "{}\n[{left_out} characters left out]\n{}",
            text(&head[..kept]),
            text(&head[head.len() - kept..])
        )
    }
}

#[cfg(test)]
impl From<&str> for Printed {
    fn from(text: &str) -> Printed {
        Printed { head: text.into(), ..Printed::default() }
    }
}

#[cfg(test)]
impl Printed {
    /// Output with `dropped` bytes missing between `head` and `tail`.
    pub fn with_a_gap(head: &str, dropped: u64, tail: &str) -> Printed {
        Printed { head: head.into(), tail: tail.into(), dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(parts: &[&[u8]]) -> Printed {
        let mut capture = Capture { pipe: None, head: Vec::new(), tail: VecDeque::new(), dropped: 0 };
        parts.iter().for_each(|part| capture.keep(part));
        capture.take()
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let part: &[u8] = &[b'a'; 16 << 10];
        let printed = captured(&[&[part; 64][..], &[b"\nthe end"]].concat());
        let missing = 64 * (16 << 10) + 8 - 2 * KEPT as u64;
        assert_eq!(printed.whole(), Err(missing));
        assert_eq!(printed.last_lines(), b"the end");
        let shown = printed.cut(9);
        assert_eq!(shown, format!("aaaaaaaaa\n[at least {missing} bytes left out]\na\nthe end"));
    }

    #[test]
    fn output_that_fits_is_complete() {
        let printed = captured(&[&vec![b'a'; KEPT], b"the end"]);
        assert_eq!(printed.whole().map(<[u8]>::len), Ok(KEPT + 7));
        assert_eq!(printed.last_lines().len(), KEPT + 7);
    }

    #[test]
    fn a_line_cut_by_the_gap_is_left_out() {
        assert_eq!(captured(&[&vec![b'7'; 2 * KEPT + 1]]).last_lines(), b"");
    }

    #[test]
    fn long_output_keeps_its_ends() {
        let long = Printed::from(("a".repeat(10_000) + "end").as_str());
        let kept = long.cut(4096);
        assert!(kept.ends_with("end") && kept.contains("[1811 characters left out]"), "{}", kept.len());
    }
}
