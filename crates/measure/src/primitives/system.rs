//! Primitives of the system: eventfd, pipe (one byte per round), and mutexes and semaphores of the C library.

use super::{Primitive, RoundCounter};
use crate::kernel_context::{Guard, Halt};
use std::cell::UnsafeCell;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};

/// A counter in the kernel (eventfd).
#[derive(Debug)]
pub struct EventFd {
    file: File,
    rounds: RoundCounter,
}

impl Primitive for EventFd {
    type Held<'a> = ();

    fn new() -> io::Result<EventFd> {
        // SAFETY: the call takes two numbers and returns a descriptor or −1.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(EventFd { file: owned.into(), rounds: RoundCounter::default() })
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // An interrupted read is handled like a call of `unblock`.
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
        // Fails only if the counter would overflow, after 2⁶⁴ calls.
        let _ = (&self.file).write(&1u64.to_ne_bytes());
    }
}

/// Both ends of a pipe.
#[derive(Debug)]
pub struct Pipe {
    read: PipeReader,
    write: PipeWriter,
    rounds: RoundCounter,
}

impl Primitive for Pipe {
    type Held<'a> = ();

    fn new() -> io::Result<Pipe> {
        let (read, write) = io::pipe()?;
        Ok(Pipe { read, write, rounds: RoundCounter::default() })
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // An interrupted read is handled like the byte that `unblock` writes.
            let _ = (&self.read).read(&mut [0]);
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
        // Fails only if the pipe is full, and then no thread sleeps on it.
        let _ = (&self.write).write(&[1]);
    }
}

/// The plain mutex.
pub const NORMAL: i32 = libc::PTHREAD_MUTEX_NORMAL;
/// The mutex that polls before it sleeps, or the plain mutex if the C library has none.
#[cfg(target_env = "gnu")]
pub const ADAPTIVE: i32 = libc::PTHREAD_MUTEX_ADAPTIVE_NP;
/// The mutex that polls before it sleeps, or the plain mutex if the C library has none.
#[cfg(not(target_env = "gnu"))]
pub const ADAPTIVE: i32 = libc::PTHREAD_MUTEX_NORMAL;

/// A mutex of kind `KIND`, with priority inheritance (`INHERIT`) or without. Its address is fixed.
#[derive(Debug)]
pub struct PthreadMutex<const KIND: i32, const INHERIT: bool> {
    mutex: Box<UnsafeCell<libc::pthread_mutex_t>>,
    rounds: RoundCounter,
}

// SAFETY: any thread may use a POSIX mutex through a shared address. The mutex lives on the heap, so it stays in place
// when its owner moves.
unsafe impl<const KIND: i32, const INHERIT: bool> Send for PthreadMutex<KIND, INHERIT> {}
// SAFETY: as above. Every access goes through the functions of the C library.
unsafe impl<const KIND: i32, const INHERIT: bool> Sync for PthreadMutex<KIND, INHERIT> {}

/// Guard that releases the mutex when it is dropped.
#[derive(Debug)]
pub struct Locked<'a>(&'a UnsafeCell<libc::pthread_mutex_t>);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: the mutex is alive and initialised, and this thread locked it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

/// The plain mutex, stored next to the protected data as in C programs. It must not move after the first lock.
pub struct PlainMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a POSIX mutex that was never locked may move to another thread.
unsafe impl Send for PlainMutex {}
// SAFETY: any thread may use a POSIX mutex through a shared address. Every access goes through the functions of the C
// library.
unsafe impl Sync for PlainMutex {}

impl PlainMutex {
    /// Creates a free mutex.
    pub const fn new() -> PlainMutex {
        PlainMutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    /// Locks the mutex.
    pub fn lock(&self) -> Locked<'_> {
        // SAFETY: the mutex is alive and initialised. Locking fails only for kinds that are not used here.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        Locked(&self.0)
    }
}

impl Default for PlainMutex {
    fn default() -> PlainMutex {
        PlainMutex::new()
    }
}

impl std::fmt::Debug for PlainMutex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainMutex").finish_non_exhaustive()
    }
}

impl<const KIND: i32, const INHERIT: bool> PthreadMutex<KIND, INHERIT> {
    fn lock(&self) -> Locked<'_> {
        // SAFETY: the mutex is alive and initialised. Locking fails only for kinds that are not used here.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        Locked(&self.mutex)
    }
}

impl<const KIND: i32, const INHERIT: bool> Drop for PthreadMutex<KIND, INHERIT> {
    fn drop(&mut self) {
        // SAFETY: no other reference exists, so the mutex is not locked.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}

impl<const KIND: i32, const INHERIT: bool> Primitive for PthreadMutex<KIND, INHERIT> {
    type Held<'a> = Locked<'a>;

    fn new() -> io::Result<Self> {
        let check =
            |status: i32| if status == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(status)) };
        // SAFETY: an all-zero mutex is memory that `pthread_mutex_init` may write.
        let mutex = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed::<libc::pthread_mutex_t>() }));
        // SAFETY: an all-zero attribute is memory that `pthread_mutexattr_init` may write.
        let mut attributes: libc::pthread_mutexattr_t = unsafe { std::mem::zeroed() };
        // SAFETY: the attribute is writable.
        check(unsafe { libc::pthread_mutexattr_init(&mut attributes) })?;
        // SAFETY: the attribute is initialised.
        check(unsafe { libc::pthread_mutexattr_settype(&mut attributes, KIND) })?;
        if INHERIT {
            // SAFETY: the attribute is initialised.
            check(unsafe {
                libc::pthread_mutexattr_setprotocol(&mut attributes, libc::PTHREAD_PRIO_INHERIT)
            })?;
        }
        // SAFETY: the mutex is writable and at its final address. The attribute is initialised.
        let status = unsafe { libc::pthread_mutex_init(mutex.get(), &attributes) };
        // SAFETY: the attribute is initialised and not used any more.
        unsafe { libc::pthread_mutexattr_destroy(&mut attributes) };
        check(status)?;
        Ok(PthreadMutex { mutex, rounds: RoundCounter::default() })
    }

    fn arm(&self) -> Locked<'_> {
        self.lock()
    }

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // Terminates: a waker that leaves early drops its lock.
            drop(self.lock());
            if self.rounds.has(round) {
                return Ok(());
            }
            guard.check()?;
        }
    }

    fn wake(&self, held: Locked<'_>, round: u64) {
        self.rounds.set(round);
        drop(held);
    }

    fn unblock(&self) {}
}

/// A semaphore of the C library.
#[derive(Debug)]
pub struct SemT {
    semaphore: Box<UnsafeCell<libc::sem_t>>,
    rounds: RoundCounter,
}

// SAFETY: any thread may use a POSIX semaphore through a shared address. The semaphore lives on the heap.
unsafe impl Send for SemT {}
// SAFETY: as above. Every access goes through the functions of the C library.
unsafe impl Sync for SemT {}

impl Drop for SemT {
    fn drop(&mut self) {
        // SAFETY: no other reference exists.
        unsafe { libc::sem_destroy(self.semaphore.get()) };
    }
}

impl Primitive for SemT {
    type Held<'a> = ();

    fn new() -> io::Result<SemT> {
        // SAFETY: an all-zero semaphore is memory that `sem_init` may write.
        let semaphore = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed::<libc::sem_t>() }));
        // SAFETY: the semaphore is writable and at its final address.
        let status = unsafe { libc::sem_init(semaphore.get(), 0, 0) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(SemT { semaphore, rounds: RoundCounter::default() })
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // SAFETY: the semaphore is alive and initialised. An interrupted wait is handled like a call of `unblock`.
            unsafe { libc::sem_wait(self.semaphore.get()) };
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
        // SAFETY: the semaphore is alive and initialised. Posting fails only at its highest value; then no thread
        // sleeps.
        unsafe { libc::sem_post(self.semaphore.get()) };
    }
}
