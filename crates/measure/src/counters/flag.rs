//! [`FlagLock`]: a flag that is exchanged until it was clear, with wait and notify in between, as `std::atomic_flag` of
//! C++20 invites one to write it.
//!
//! What makes it a lock is that whoever wakes up exchanges again, and that a release clears before it notifies: a flag
//! that is only waited for and set would let two in, and one that is set and never cleared would let all in.

use super::guarded::Lock;
use crate::primitives::waiters::{Waiters, poll_briefly};
use crate::queues::futex::Futex;
use crate::stage::{Guard, Halt};
use crate::sync::AtomicU32;
use crate::sync::Ordering::{Acquire, Release, SeqCst};
use crate::trial_context::Apart;

const FREE: u32 = 0;
const TAKEN: u32 = 1;

/// The lock, waited for and notified as libstdc++ does ([`Waiters`]).
///
/// *Lines.* The flag lies beside the number that the lock keeps: who comes and who leaves writes that line. The count of
/// who waits and the version that they sleep on have a line each, as in libstdc++, away from the flag: who waits writes the
/// first twice and sleeps on the second, each release writes the second and reads the first. A flag is no word of four
/// bytes there, so the version is part of every release, whether somebody waits or not. Threads find both by their handle
/// (libstdc++ works the address out from the flag's), so nothing is read from the flag's line but the flag.
#[derive(Debug)]
pub struct FlagLock {
    flag: AtomicU32,
    bucket: Box<Bucket>,
}

/// Who waits, and what they sleep on.
#[derive(Debug, Default)]
pub struct Bucket {
    waiters: Waiters,
    version: Apart<Futex>,
}

/// The lock while it is held.
#[derive(Debug)]
pub struct Flagged<'a> {
    flag: &'a AtomicU32,
    bucket: &'a Bucket,
}

/// The lock whose waiters sleep on the flag itself, at once, and whose every release calls the kernel.
///
/// *Lines.* The flag lies beside the number that it keeps: who comes and who leaves writes that line, and the kernel reads
/// it for whoever goes to sleep.
#[derive(Debug)]
pub struct FlagLockAlways(Futex);

/// That lock while it is held.
#[derive(Debug)]
pub struct FlaggedAlways<'a>(&'a Futex);

/// Clears a flag that is held.
#[inline(always)]
fn clear(flag: &AtomicU32) {
    // Release pairs with the Acquire of who takes it next.
    if cfg!(loom) {
        // An exchange that failed read what is older than the store below, and nothing comes between what an exchange
        // reads and what it writes: it comes before. loom (0.7) knows that only of another exchange.
        flag.swap(FREE, Release);
    } else {
        flag.store(FREE, Release);
    }
}

impl Bucket {
    /// Waits until the flag was seen clear, or was clear for a moment while we slept.
    #[cold]
    fn wait(&self, flag: &AtomicU32, guard: &Guard<'_>) -> Result<(), Halt> {
        let _counted = self.waiters.enter();
        loop {
            guard.check()?;
            // SeqCst, after the count: a notifier that did not see us has raised the version before, and its addition
            // releases what we acquire here, the clear flag. libstdc++ has Acquire, which is the same instruction on x86
            // and aarch64.
            let version = self.version.word.load(SeqCst);
            // Acquire would do here: the version alone says whether to sleep.
            let is_clear = || flag.load(SeqCst) == FREE;
            if poll_briefly(is_clear) {
                return Ok(());
            }
            // Sleeps only while no release has raised the version since we looked at the flag: none is missed.
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
        // Acquire pairs with the Release of whoever held it before.
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
        // SeqCst: who waits and is not seen by the look below sees this, and through it the clear flag. Where two wait, the
        // one that finds the flag taken again sleeps on the version that it saw, and the next release wakes it.
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
        // Acquire pairs with the Release of whoever held it before.
        while self.0.word.swap(TAKEN, Acquire) != FREE {
            // Sleeps only while the flag is set: a release in between is not missed.
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
        // One that sleeps is told, whether there is one or not.
        self.0.wake_one();
    }
}
