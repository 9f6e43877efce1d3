//! Semaphores of the system: [`Eventfd`], with a system call per permit given or taken, and the C library's [`SemT`].

use super::bounded::Permits;
use super::ends::GUARD_INTERVAL;
use std::cell::UnsafeCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::FromRawFd;

/// An event counter in semaphore mode.
#[derive(Debug)]
pub struct Eventfd(File);

impl Permits for Eventfd {
    fn with(permits: u32, _: u32) -> io::Result<Eventfd> {
        // SAFETY: no pointer is passed.
        let fd = unsafe { libc::eventfd(permits, libc::EFD_SEMAPHORE | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and has no other owner.
        Ok(Eventfd(unsafe { File::from_raw_fd(fd) }))
    }

    fn try_take(&self) -> bool {
        // Only the kernel knows whether there is a permit. A separate test would cost another system call.
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

/// An unnamed POSIX semaphore. It is boxed, since it must not move.
pub struct SemT(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: any thread may call the functions of a semaphore, at the same time as others.
unsafe impl Send for SemT {}
// SAFETY: as above.
unsafe impl Sync for SemT {}

impl std::fmt::Debug for SemT {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SemT")
    }
}

impl Permits for SemT {
    fn with(permits: u32, _: u32) -> io::Result<SemT> {
        // SAFETY: all zeros is a valid value of the type, which is plain data. It is initialised below.
        let plain = unsafe { MaybeUninit::<libc::sem_t>::zeroed().assume_init() };
        let semaphore = Box::new(UnsafeCell::new(plain));
        // SAFETY: the memory is ours, does not move, and is not yet used.
        if unsafe { libc::sem_init(semaphore.get(), 0, permits) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(SemT(semaphore))
    }

    #[inline]
    fn try_take(&self) -> bool {
        // SAFETY: the semaphore is initialised and alive.
        unsafe { libc::sem_trywait(self.0.get()) == 0 }
    }

    fn take(&self) -> bool {
        let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is writable.
        if unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut until) } != 0 {
            return false;
        }
        until.tv_nsec += GUARD_INTERVAL.subsec_nanos() as libc::c_long;
        if until.tv_nsec >= 1_000_000_000 {
            until.tv_sec += 1;
            until.tv_nsec -= 1_000_000_000;
        }
        // SAFETY: the semaphore is initialised and alive, and the time is valid.
        unsafe { libc::sem_timedwait(self.0.get(), &until) == 0 }
    }

    #[inline]
    fn give(&self) {
        // SAFETY: the semaphore is initialised and alive.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

impl Drop for SemT {
    fn drop(&mut self) {
        // SAFETY: the semaphore is initialised. This is the last owner, so no thread waits on it.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}
