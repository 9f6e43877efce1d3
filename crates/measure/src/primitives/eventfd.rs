//! An event descriptor of Linux: a counter that a reader sleeps on.

use super::{Primitive, Rounds};
use crate::stage::{Guard, Halt};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

/// A counter in the kernel.
#[derive(Debug)]
pub struct EventFd {
    file: File,
    rounds: Rounds,
}

impl Primitive for EventFd {
    type Held<'a> = ();

    fn new() -> io::Result<EventFd> {
        // SAFETY: two numbers go in, a descriptor or −1 comes out; no memory involved.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor has just been made, and nobody else knows it.
        let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(EventFd { file: owned.into(), rounds: Rounds::default() })
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // An interrupted read is looked into like a call of `unblock`.
            let _ = (&self.file).read(&mut [0; 8]);
            if self.rounds.has(round) {
                return Ok(());
            }
            guard.check()?;
        }
    }

    fn wake(&self, (): (), round: u64) {
        self.rounds.set(round);
        self.unblock();
    }

    fn unblock(&self) {
        // Fails only where the counter would overflow, after 2⁶⁴ calls.
        let _ = (&self.file).write(&1u64.to_ne_bytes());
    }
}
