//! The mutex of the standard library: the waiter waits for a lock that the waker holds.

use super::{Primitive, Rounds};
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex that the waker holds until it lets the waiter go on.
#[derive(Debug, Default)]
pub struct StdMutex {
    mutex: Mutex<()>,
    rounds: Rounds,
}

impl Primitive for StdMutex {
    type Held<'a> = MutexGuard<'a, ()>;

    fn new() -> io::Result<StdMutex> {
        Ok(StdMutex::default())
    }

    fn arm(&self) -> MutexGuard<'_, ()> {
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        loop {
            // Whoever leaves early drops the lock that it holds, so this ends.
            drop(self.mutex.lock().unwrap_or_else(PoisonError::into_inner));
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
