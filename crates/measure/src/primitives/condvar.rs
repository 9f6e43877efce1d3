//! The condition variable of the standard library, notified without the lock.

use super::Primitive;
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A round under a mutex, and who waits for it.
#[derive(Debug, Default)]
pub struct CondvarOne {
    round: Mutex<u64>,
    changed: Condvar,
}

impl CondvarOne {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Primitive for CondvarOne {
    type Held<'a> = ();

    fn new() -> io::Result<CondvarOne> {
        Ok(CondvarOne::default())
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
        *self.lock() = round;
        self.changed.notify_one();
    }

    fn rescue(&self) {
        // With the lock, so that a waiter between its look and its sleep is not missed.
        let _now = self.lock();
        self.changed.notify_all();
    }
}
