//! [`Guarded`]: a number protected by a lock.

use super::{Counter, Setup, Step};
use crate::kernel_context::{Guard, Halt};
use crate::primitives::spin::{SpinGuard, TasLock, TicketLock};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

/// A lock under contention.
pub trait Lock: Sync + Sized {
    /// Per-thread state, as in [`Counter::Handle`].
    type Handle<'a>
    where
        Self: 'a;

    /// Guard that releases the lock when it is dropped.
    type Held<'a>
    where
        Self: 'a;

    /// Creates a free lock for `threads` threads.
    fn new(threads: usize) -> Self;

    /// Returns the state of the thread with this number, counted from 0. At most one thread may use it.
    fn handle(&self, thread: usize) -> Self::Handle<'_>;

    /// Acquires the lock, or returns the reason to leave without it.
    fn lock<'a>(&'a self, handle: &mut Self::Handle<'a>, guard: &Guard<'_>) -> Result<Self::Held<'a>, Halt>;
}

/// A number and its lock on one line, as in a `Mutex<u64>`. A thread that fetches the lock's word gets the number too.
/// Each lock documents what else is on the line and which threads write it.
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
        // Relaxed load and store, one instruction each. The lock excludes other threads and orders the two. A broken
        // lock loses updates, which is detected.
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
