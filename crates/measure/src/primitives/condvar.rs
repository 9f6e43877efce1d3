//! Condition variables of the standard library: one or all are notified, with the lock held or after its release.

use super::Primitive;
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A round under a mutex, and who waits for it. `ALL` notifies everybody instead of one, `LOCKED` while the lock is
/// held.
#[derive(Debug, Default)]
pub struct StdCondvar<const ALL: bool, const LOCKED: bool> {
    round: Mutex<u64>,
    changed: Condvar,
}

impl<const ALL: bool, const LOCKED: bool> StdCondvar<ALL, LOCKED> {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        if ALL {
            self.changed.notify_all();
        } else {
            self.changed.notify_one();
        }
    }
}

impl<const ALL: bool, const LOCKED: bool> Primitive for StdCondvar<ALL, LOCKED> {
    type Held<'a> = ();

    fn new() -> io::Result<Self> {
        Ok(StdCondvar::default())
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        let mut now = self.lock();
        while *now < round {
            now = self.changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            if *now < round {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn wake(&self, (): (), round: u64) {
        let mut now = self.lock();
        *now = round;
        if LOCKED {
            self.notify();
            drop(now);
        } else {
            drop(now);
            self.notify();
        }
    }

    fn unblock(&self) {
        // With the lock, so that a waiter between its look and its sleep is not missed.
        let _now = self.lock();
        self.changed.notify_all();
    }
}
