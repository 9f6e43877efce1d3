//! [`Guarded`]: a plain number that a lock keeps for one thread at a time.

use super::{Counter, Seat, Setup, Step};
use crate::primitives::spin::{Taken, TasLock, TicketLock};
use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

/// A lock that threads wait for.
pub trait Lock: Sync + Sized {
    /// The lock while it is held; released when it is dropped.
    type Held<'a>
    where
        Self: 'a;

    /// A free one, for so many threads.
    fn new(threads: usize) -> Self;

    /// Takes it.
    ///
    /// # Errors
    /// The reason to leave; then it is not held.
    fn lock(&self, thread: usize, guard: &Guard<'_>) -> Result<Self::Held<'_>, Halt>;
}

/// A number and its lock, side by side on one line as in a `Mutex<u64>`.
#[derive(Debug)]
pub struct Guarded<L> {
    lock: L,
    count: AtomicU64,
}

impl<L: Lock> Counter for Guarded<L> {
    fn new(setup: &Setup) -> Self {
        Guarded { lock: L::new(setup.threads), count: AtomicU64::new(0) }
    }

    #[inline(always)]
    fn step(&self, seat: &mut Seat, guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let held = self.lock.lock(seat.thread, guard)?;
        inside();
        // Relaxed load and store, one instruction each: the lock alone keeps others out and orders the two. Whoever
        // breaks the lock loses updates, and is found out.
        let before = self.count.load(Relaxed);
        self.count.store(before + 1, Relaxed);
        drop(held);
        Ok(Step::Added(before))
    }

    fn total(&self) -> u64 {
        self.count.load(Relaxed)
    }
}

impl<const TEST: bool> Lock for TasLock<TEST> {
    type Held<'a> = Taken<'a>;

    fn new(_: usize) -> Self {
        TasLock::default()
    }

    #[inline(always)]
    fn lock(&self, _: usize, guard: &Guard<'_>) -> Result<Taken<'_>, Halt> {
        TasLock::lock(self, guard)
    }
}

impl Lock for TicketLock {
    type Held<'a> = Taken<'a>;

    fn new(_: usize) -> Self {
        TicketLock::default()
    }

    #[inline(always)]
    fn lock(&self, _: usize, guard: &Guard<'_>) -> Result<Taken<'_>, Halt> {
        TicketLock::lock(self, guard)
    }
}
