//! [`FlagLock`]: a lock made of a flag with wait and notify, as C++20's `std::atomic_flag` suggests.
//!
//! A thread exchanges the flag again after it wakes up; otherwise two threads could enter. A release clears the flag
//! before it notifies; otherwise no thread could enter.

use super::guarded::Lock;
use crate::kernel_context::{Guard, Halt};
use crate::primitives::waiters::{Waiters, poll_briefly};
use crate::queues::futex::Futex;
use crate::sync::AtomicU32;
use crate::sync::Ordering::{Acquire, Release, SeqCst};
use crate::trial_context::CachePadded;

const FREE: u32 = 0;
const TAKEN: u32 = 1;

/// Lock with wait and notify as in libstdc++ ([`Waiters`]).
///
/// The flag is on the line of the protected number. The count of waiters and the version are on a line each, as in
/// libstdc++. A waiter writes the count twice and sleeps on the version. Each release reads the count and writes the
/// version, even if no thread waits: in libstdc++ a flag is no word of four bytes. The handle of a thread holds the
/// addresses of count and version, so only the flag is read from its line.
#[derive(Debug)]
pub struct FlagLock {
    flag: AtomicU32,
    bucket: Box<Bucket>,
}

/// Count of waiters, and the version on which they sleep.
#[derive(Debug, Default)]
pub struct Bucket {
    waiters: Waiters,
    version: CachePadded<Futex>,
}

/// Guard of a [`FlagLock`].
#[derive(Debug)]
pub struct Flagged<'a> {
    flag: &'a AtomicU32,
    bucket: &'a Bucket,
}

/// Lock whose waiters sleep on the flag itself without polling. Every release calls the kernel.
///
/// The flag is on the line of the protected number. The kernel reads that line for each thread that goes to sleep.
#[derive(Debug)]
pub struct FlagLockAlways(Futex);

/// Guard of a `FlagLockAlways`.
#[derive(Debug)]
pub struct FlaggedAlways<'a>(&'a Futex);

#[inline(always)]
fn clear(flag: &AtomicU32) {
    // Release pairs with the Acquire of the next holder.
    if cfg!(loom) {
        // A failed exchange reads a value older than the store below. It is atomic, so it precedes the store. Loom
        // (0.7) models that only if the store is an exchange too.
        flag.swap(FREE, Release);
    } else {
        flag.store(FREE, Release);
    }
}

impl Bucket {
    #[cold]
    fn wait(&self, flag: &AtomicU32, guard: &Guard<'_>) -> Result<(), Halt> {
        let _counted = self.waiters.enter();
        loop {
            guard.check()?;
            // SeqCst, after the count. A notifier that did not see this waiter has already raised the version. That
            // addition releases the clear flag, which this load acquires. libstdc++ uses Acquire: the same instruction
            // on x86 and aarch64.
            let version = self.version.word.load(SeqCst);
            // Acquire would suffice here, since only the version decides whether to sleep.
            let is_clear = || flag.load(SeqCst) == FREE;
            if poll_briefly(is_clear) {
                return Ok(());
            }
            // Sleeps only if no release has raised the version since the flag was read. So no release is missed.
            self.version.wait(version);
            if is_clear() {
                return Ok(());
            }
        }
    }
}

impl Lock for FlagLock {
    type Handle<'a> = &'a Bucket;
    type Held<'a> = Flagged<'a>;

    fn new(_: usize) -> FlagLock {
        FlagLock { flag: AtomicU32::new(FREE), bucket: Box::default() }
    }

    fn handle(&self, _: usize) -> &Bucket {
        &self.bucket
    }

    #[inline(always)]
    fn lock<'a>(&'a self, bucket: &mut &'a Bucket, guard: &Guard<'_>) -> Result<Flagged<'a>, Halt> {
        // Acquire pairs with the Release of the previous holder.
        while self.flag.swap(TAKEN, Acquire) != FREE {
            bucket.wait(&self.flag, guard)?;
        }
        Ok(Flagged { flag: &self.flag, bucket })
    }
}

impl Drop for Flagged<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        clear(self.flag);
        // SeqCst: a waiter that the check below misses sees this version, and through it the clear flag. Of two waiting
        // threads, one fails to take the flag and sleeps on the version that it saw. The next release wakes it.
        self.bucket.version.word.fetch_add(1, SeqCst);
        if self.bucket.waiters.any() {
            self.bucket.version.wake_all();
        }
    }
}

impl Lock for FlagLockAlways {
    type Handle<'a> = ();
    type Held<'a> = FlaggedAlways<'a>;

    fn new(_: usize) -> FlagLockAlways {
        FlagLockAlways(Futex::new(FREE))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), guard: &Guard<'_>) -> Result<FlaggedAlways<'a>, Halt> {
        // Acquire pairs with the Release of the previous holder.
        while self.0.word.swap(TAKEN, Acquire) != FREE {
            // Sleeps only while the flag is set, so no release is missed.
            self.0.wait(TAKEN);
            guard.check()?;
        }
        Ok(FlaggedAlways(&self.0))
    }
}

impl Drop for FlaggedAlways<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        clear(&self.0.word);
        self.0.wake_one();
    }
}
