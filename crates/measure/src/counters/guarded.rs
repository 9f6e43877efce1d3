//! [`Guarded`]: a plain number that a lock keeps for one thread at a time.

use super::{Counter, Setup, Step};
use crate::primitives::spin::{SpinGuard, TasLock, TicketLock};
use crate::stage::{Guard, Halt};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

/// A lock that threads wait for.
pub trait Lock: Sync + Sized {
    /// What a thread keeps for itself, as in [`Counter::Handle`].
    type Handle<'a>
    where
        Self: 'a;

    /// The lock while it is held; released when it is dropped.
    type Held<'a>
    where
        Self: 'a;

    /// A free one, for so many threads.
    fn new(threads: usize) -> Self;

    /// What this thread, counted from 0, keeps for itself; for one thread only.
    fn handle(&self, thread: usize) -> Self::Handle<'_>;

    /// Takes it.
    ///
    /// # Errors
    /// The reason to leave; then it is not held.
    fn lock<'a>(&'a self, handle: &mut Self::Handle<'a>, guard: &Guard<'_>) -> Result<Self::Held<'a>, Halt>;
}

/// A number and its lock, side by side on one line as in a `Mutex<u64>`: who gets the word gets the number with it. What
/// else lies there, who writes it and why is said at each lock.
#[derive(Debug)]
pub struct Guarded<L> {
    lock: L,
    count: AtomicU64,
}

impl<L: Lock> Counter for Guarded<L> {
    type Handle<'a>
        = L::Handle<'a>
    where
        L: 'a;

    fn new(setup: &Setup) -> Self {
        Guarded { lock: L::new(setup.threads), count: AtomicU64::new(0) }
    }

    fn handle(&self, thread: usize) -> L::Handle<'_> {
        self.lock.handle(thread)
    }

    #[inline(always)]
    fn step<'a>(
        &'a self,
        handle: &mut L::Handle<'a>,
        guard: &Guard<'_>,
        inside: impl FnOnce(),
    ) -> Result<Step, Halt> {
        let held = self.lock.lock(handle, guard)?;
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
    type Handle<'a> = ();
    type Held<'a> = SpinGuard<'a>;

    fn new(_: usize) -> Self {
        TasLock::default()
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), guard: &Guard<'_>) -> Result<SpinGuard<'a>, Halt> {
        TasLock::lock(self, guard)
    }
}

impl Lock for TicketLock {
    type Handle<'a> = ();
    type Held<'a> = SpinGuard<'a>;

    fn new(_: usize) -> Self {
        TicketLock::default()
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), guard: &Guard<'_>) -> Result<SpinGuard<'a>, Halt> {
        TicketLock::lock(self, guard)
    }
}
