//! Primitives by which one thread lets another go on, each behind one trait so that loops over them are compiled for
//! each.

#[cfg(not(loom))]
pub mod parking_lot;
pub mod spin;
pub mod standard;
#[cfg(target_os = "linux")]
pub mod system;
pub mod waiters;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod word;

use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use std::io;

/// A primitive between one waker and one waiter. Rounds are counted from 1, and a waiter leaves
/// [`wait`](Primitive::wait) only in its round: a flag that goes up and down could be missed.
pub trait Primitive: Sync + Sized {
    /// What the waker holds while the waiter waits: the guard of a mutex, mostly nothing.
    type Held<'a>
    where
        Self: 'a;

    /// Makes one. Everything that the system could refuse is asked for here.
    ///
    /// # Errors
    /// The system's reason.
    fn new() -> io::Result<Self>;

    /// Waker: makes sure that the waiter of the coming round will have to wait.
    fn arm(&self) -> Self::Held<'_>;

    /// Waiter: waits for the round.
    ///
    /// # Errors
    /// The reason to leave.
    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt>;

    /// Waker: lets the waiter go on.
    fn wake(&self, held: Self::Held<'_>, round: u64);

    /// Waiter: lets itself be known, where it has to be known to be told.
    fn register(&self, _guard: &Guard<'_>) {}

    /// Anybody: wakes whoever sleeps, so that it looks at its guard.
    fn unblock(&self);
}

/// Sleeps for so many nanoseconds, at least.
pub fn sleep(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}

/// The round that has been let go, on a word of its own.
#[derive(Debug, Default)]
pub struct Rounds(AtomicU64);

impl Rounds {
    /// Lets a round go.
    pub fn set(&self, round: u64) {
        // Release pairs with the Acquire in `has`: what the waker did before, the waiter sees.
        self.0.store(round, Release);
    }

    /// Whether a round has been let go.
    pub fn has(&self, round: u64) -> bool {
        // Acquire pairs with the Release in `set`.
        self.0.load(Acquire) >= round
    }
}
