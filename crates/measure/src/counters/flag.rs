//! [`FlagLock`]: a flag that is exchanged until it was clear, with wait and notify in between, as `std::atomic_flag` of
//! C++20 invites one to write it.
//!
//! What makes it a lock is that whoever wakes up exchanges again, and that a release clears before it notifies: a flag
//! that is only waited for and set would let two in, and one that is set and never cleared would let all in.

use super::guarded::Lock;
use crate::queues::futex::Futex;
use crate::stage::{Guard, Halt};
use crate::sync::Ordering::{Acquire, Release};

const FREE: u32 = 0;
const TAKEN: u32 = 1;

/// The lock.
#[derive(Debug)]
pub struct FlagLock(Futex);

/// The lock while it is held.
#[derive(Debug)]
pub struct Flagged<'a>(&'a Futex);

impl Lock for FlagLock {
    type Handle<'a> = ();
    type Held<'a> = Flagged<'a>;

    fn new(_: usize) -> FlagLock {
        FlagLock(Futex::new(FREE))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), guard: &Guard<'_>) -> Result<Flagged<'a>, Halt> {
        // Acquire pairs with the Release of whoever held it before.
        while self.0.word.swap(TAKEN, Acquire) != FREE {
            // Sleeps only while the flag is set: a release in between is not missed.
            self.0.wait(TAKEN);
            guard.check()?;
        }
        Ok(Flagged(&self.0))
    }
}

impl Drop for Flagged<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release pairs with the Acquire of who takes it next; then one that sleeps is told, whether there is one or not.
        #[cfg(not(loom))]
        self.0.word.store(FREE, Release);
        // An exchange that failed read what is older than this store, and nothing comes between what an exchange reads and
        // what it writes: it comes before. loom (0.7) knows that only where this is an exchange too.
        #[cfg(loom)]
        self.0.word.swap(FREE, Release);
        self.0.wake_one();
    }
}
