//! Primitives by which one thread wakes another. One trait lets the compiler build a timed loop for each.

#[cfg(not(loom))]
pub mod parking_lot;
pub mod spin;
pub mod standard;
#[cfg(target_os = "linux")]
pub mod system;
pub mod waiters;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod word;

use crate::kernel_context::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use std::io;

/// A primitive between one waker and one waiter. Rounds are counted from 1. [`wait`](Primitive::wait) returns after its
/// round was released. A flag would not do, since a waiter could miss a flag that is set and cleared again.
pub trait Primitive: Sync + Sized {
    /// State that the waker holds while the waiter waits: the guard of a mutex, or nothing.
    type Held<'a>
    where
        Self: 'a;

    /// Creates the primitive, with everything that the system could refuse.
    fn new() -> io::Result<Self>;

    /// Waker: makes the waiter of the next round wait.
    fn arm(&self) -> Self::Held<'_>;

    /// Waiter: waits for the round, or returns the reason to leave.
    fn wait(&self, round: u64, guard: &Guard<'_>) -> Result<(), Halt>;

    /// Waker: releases the waiter.
    fn wake(&self, held: Self::Held<'_>, round: u64);

    /// Waiter: registers itself, for primitives that notify a known thread.
    fn register(&self, _guard: &Guard<'_>) {}

    /// Any thread: wakes all sleepers to make them check their guard.
    fn unblock(&self);
}

/// Sleeps for at least `ns` nanoseconds.
pub fn sleep(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}

/// Number of the last released round.
#[derive(Debug, Default)]
pub struct RoundCounter(AtomicU64);

impl RoundCounter {
    /// Releases a round.
    pub fn set(&self, round: u64) {
        // Release pairs with the Acquire in `has`, so the waker's earlier writes are visible to the waiter.
        self.0.store(round, Release);
    }

    /// Whether a round has been released.
    pub fn has(&self, round: u64) -> bool {
        // Acquire pairs with the Release in `set`.
        self.0.load(Acquire) >= round
    }
}
