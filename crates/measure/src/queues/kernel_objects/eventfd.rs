//! [`Eventfd`]: a counting semaphore in the kernel; a system call for every permit, given or taken.

use super::super::bounded::Permits;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;

/// An event counter in the mode of a semaphore.
#[derive(Debug)]
pub struct Eventfd(File);

impl Permits for Eventfd {
    fn with(permits: u32, _: u32) -> io::Result<Eventfd> {
        // SAFETY: no pointer is passed.
        let fd = unsafe { libc::eventfd(permits, libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and belongs to nobody else.
        Ok(Eventfd(unsafe { File::from_raw_fd(fd) }))
    }

    fn try_take(&self) -> bool {
        // Whether there is one only the kernel knows: asking first would be one more system call.
        self.take()
    }

    fn take(&self) -> bool {
        // An interrupted read took nothing.
        matches!((&self.0).read(&mut [0; 8]), Ok(8))
    }

    fn give(&self) {
        // Fails only at 2⁶⁴ − 2 permits.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }
}
