//! A semaphore of our own over a futex: it sleeps at once, and wakes with one system call.

use super::Primitive;
use crate::host::futex;
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Counts permits.
#[derive(Debug, Default)]
pub struct Semaphore {
    permits: AtomicU32,
}

impl Semaphore {
    /// With so many permits.
    pub fn with(permits: u32) -> Semaphore {
        Semaphore { permits: AtomicU32::new(permits) }
    }

    /// Gives a permit and wakes one who sleeps.
    pub fn post(&self) {
        // Release pairs with the Acquire in `try_take`: who takes the permit sees what its giver did before.
        self.permits.fetch_add(1, Release);
        futex::wake_one(&self.permits);
    }

    /// Takes a permit if there is one.
    pub fn try_take(&self) -> bool {
        let mut permits = self.permits.load(Relaxed);
        while permits > 0 {
            // Acquire pairs with the Release in `post`. On failure nothing is taken, so Relaxed is enough.
            match self.permits.compare_exchange_weak(permits, permits - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => permits = found,
            }
        }
        false
    }

    /// Takes a permit, asleep until there is one.
    ///
    /// # Errors
    /// The reason to leave, after somebody [woke everybody](Semaphore::alarm).
    pub fn take(&self, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            if self.try_take() {
                return Ok(());
            }
            // The kernel looks again under its own lock: a permit given since is not slept through.
            futex::wait(&self.permits, 0, None);
            if self.try_take() {
                return Ok(());
            }
            guard.check()?;
        }
    }

    /// Wakes everybody who sleeps, without a permit.
    pub fn alarm(&self) {
        futex::wake_all(&self.permits);
    }
}

impl Primitive for Semaphore {
    type Held<'a> = ();

    fn new() -> io::Result<Semaphore> {
        Ok(Semaphore::default())
    }

    fn arm(&self) {}

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        self.take(guard)
    }

    fn wake(&self, (): (), _: u64) {
        self.post();
    }

    fn rescue(&self) {
        self.alarm();
    }
}
