//! Mutex and condition variable of the crate parking_lot.

use super::{Primitive, RoundCounter};
use crate::kernel_context::{Guard, Halt};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;

/// A mutex that the waker holds until it releases the waiter.
#[derive(Debug, Default)]
pub struct LotMutex {
    mutex: Mutex<()>,
    rounds: RoundCounter,
}

/// A round under a mutex, with a condition variable that is notified after unlocking.
#[derive(Debug, Default)]
pub struct LotCondvar {
    round: Mutex<u64>,
    changed: Condvar,
}

impl Primitive for LotMutex {
    type Held<'a> = MutexGuard<'a, ()>;

    fn new() -> io::Result<LotMutex> {
        Ok(LotMutex::default())
    }

    fn arm(&self) -> MutexGuard<'_, ()> {
        self.mutex.lock()
    }

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // Terminates: a waker that leaves early drops its lock.
            drop(self.mutex.lock());
            if self.rounds.has(round) {
                return Ok(());
            }
            guard.check()?;
        }
    }

    fn wake(&self, held: MutexGuard<'_, ()>, round: u64) {
        self.rounds.set(round);
        drop(held);
    }

    fn unblock(&self) {}
}

impl Primitive for LotCondvar {
    type Held<'a> = ();

    fn new() -> io::Result<LotCondvar> {
        Ok(LotCondvar::default())
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        let mut now = self.round.lock();
        while *now < round {
            self.changed.wait(&mut now);
            if *now < round {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn wake(&self, (): (), round: u64) {
        *self.round.lock() = round;
        self.changed.notify_one();
    }

    fn unblock(&self) {
        // The lock is held, so that a waiter between its check and its sleep is not missed.
        let _now = self.round.lock();
        self.changed.notify_all();
    }
}
