//! Primitives of the standard library: mutex, condition variables, parking, and a barrier.

use super::{Primitive, RoundCounter};
use crate::kernel_context::{Guard, Halt};
use std::io;
use std::sync::{Barrier, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

/// A mutex that the waker holds until it releases the waiter.
#[derive(Debug, Default)]
pub struct StdMutex {
    mutex: Mutex<()>,
    rounds: RoundCounter,
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
            // Terminates: a waker that leaves early drops its lock.
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

/// A round under a mutex. Notifies all waiters (`ALL`) or one, with the lock held (`LOCKED`) or after unlocking.
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
        // The lock is held, so that a waiter between its check and its sleep is not missed.
        let _now = self.lock();
        self.changed.notify_all();
    }
}

/// A thread that parks until its round.
#[derive(Debug, Default)]
pub struct Park {
    sleeper: OnceLock<Thread>,
    rounds: RoundCounter,
}

impl Primitive for Park {
    type Held<'a> = ();

    fn new() -> io::Result<Park> {
        Ok(Park::default())
    }

    fn arm(&self) {}

    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        self.register(guard);
        while !self.rounds.has(round) {
            std::thread::park();
            if !self.rounds.has(round) {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn register(&self, _: &Guard<'_>) {
        self.sleeper.get_or_init(std::thread::current);
    }

    fn wake(&self, (): (), round: u64) {
        self.rounds.set(round);
        self.unblock();
    }

    fn unblock(&self) {
        if let Some(sleeper) = self.sleeper.get() {
            sleeper.unpark();
        }
    }
}

/// A barrier at which the waiter arrives first.
#[derive(Debug)]
pub struct StdBarrier(Barrier);

impl Primitive for StdBarrier {
    type Held<'a> = ();

    fn new() -> io::Result<StdBarrier> {
        Ok(StdBarrier(Barrier::new(2)))
    }

    fn arm(&self) {}

    fn wait(&self, _: u64, _: &Guard<'_>) -> Result<(), Halt> {
        // Terminates: the waker arrives for every announced round, even if the pass is given up.
        self.0.wait();
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        self.0.wait();
    }

    fn unblock(&self) {}
}
