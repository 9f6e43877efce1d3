//! Locks that never sleep: the waiter polls until the lock is free.

use super::Primitive;
use crate::kernel_context::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::Pause;
use std::io;

/// Lock acquired by exchange, after a test (`TEST`) or without.
///
/// The word is on the line of the protected data. An arriving thread exchanges it, which takes the line from the
/// holder. The holder writes the line again to leave. With `TEST` waiting threads share the line until it is written.
/// Then each fetches it twice: to read and to exchange.
#[derive(Debug, Default)]
pub struct TasLock<const TEST: bool> {
    taken: AtomicU64,
}

/// Lock acquired in the order of arrival (Mellor-Crummey and Scott 1991).
///
/// Both words are on the line of the protected data, as in the paper. An arriving thread writes `next`, which takes the
/// line from all threads that poll `serving`. The holder writes `serving` to leave.
#[derive(Debug, Default)]
pub struct TicketLock {
    next: AtomicU64,
    serving: AtomicU64,
}

/// Guard that releases the lock when it is dropped.
#[derive(Debug)]
pub struct SpinGuard<'a>(&'a AtomicU64, u64);

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of the next thread that takes the lock.
        if cfg!(loom) {
            // A failed exchange comes before this release. Loom (0.7) models that only if this is an exchange too.
            self.0.swap(self.1, Release);
        } else {
            self.0.store(self.1, Release);
        }
    }
}

impl<const TEST: bool> TasLock<TEST> {
    /// Acquires the lock if it is free.
    pub fn try_lock(&self) -> Option<SpinGuard<'_>> {
        // Relaxed: this load only decides whether to try. The exchange below acquires.
        if TEST && self.taken.load(Relaxed) != 0 {
            return None;
        }
        // Acquire pairs with the Release of the previous holder.
        (self.taken.swap(1, Acquire) == 0).then(|| SpinGuard(&self.taken, 0))
    }

    /// Acquires the lock as soon as it is free, or returns the reason to leave.
    pub fn lock(&self, guard: &Guard<'_>) -> Result<SpinGuard<'_>, Halt> {
        let mut taken = None;
        wait_until::<Pause>(guard, || {
            taken = self.try_lock();
            taken.is_some()
        })?;
        taken.ok_or(Halt::Partner)
    }
}

impl<const TEST: bool> Primitive for TasLock<TEST> {
    type Held<'a> = SpinGuard<'a>;

    fn new() -> io::Result<Self> {
        Ok(TasLock::default())
    }

    fn arm(&self) -> SpinGuard<'_> {
        loop {
            // The waiter of the previous round may still hold the lock briefly.
            if let Some(taken) = self.try_lock() {
                return taken;
            }
            std::hint::spin_loop();
        }
    }

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        self.lock(guard).map(drop)
    }

    fn wake(&self, held: SpinGuard<'_>, _: u64) {
        drop(held);
    }

    fn unblock(&self) {}
}

impl TicketLock {
    /// Acquires the lock in the order of arrival, or returns the reason to leave. Threads with later numbers then wait
    /// until they leave for the same reason.
    pub fn lock(&self, guard: &Guard<'_>) -> Result<SpinGuard<'_>, Halt> {
        let ticket = self.draw();
        wait_until::<Pause>(guard, || self.is_turn(ticket))?;
        Ok(SpinGuard(&self.serving, ticket + 1))
    }

    fn draw(&self) -> u64 {
        // Relaxed: this number publishes nothing. `serving` does.
        self.next.fetch_add(1, Relaxed)
    }

    fn is_turn(&self, ticket: u64) -> bool {
        // Acquire pairs with the Release of the previous holder.
        self.serving.load(Acquire) == ticket
    }
}

impl Primitive for TicketLock {
    type Held<'a> = SpinGuard<'a>;

    fn new() -> io::Result<TicketLock> {
        Ok(TicketLock::default())
    }

    fn arm(&self) -> SpinGuard<'_> {
        let ticket = self.draw();
        while !self.is_turn(ticket) {
            // The waiter of the previous round may still hold the lock briefly.
            std::hint::spin_loop();
        }
        SpinGuard(&self.serving, ticket + 1)
    }

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        self.lock(guard).map(drop)
    }

    fn wake(&self, held: SpinGuard<'_>, _: u64) {
        drop(held);
    }

    fn unblock(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_do_not_release_a_taken_lock() {
        fn check<const TEST: bool>() {
            let lock = TasLock::<TEST>::default();
            let held = lock.try_lock().unwrap();
            // Twice: a failed attempt must not have released it.
            assert!(lock.try_lock().is_none() && lock.try_lock().is_none());
            drop(held);
            assert!(lock.try_lock().is_some());
        }
        check::<false>();
        check::<true>();
    }
}
