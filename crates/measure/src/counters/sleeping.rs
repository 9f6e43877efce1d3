//! Counters under library locks whose waiters sleep in the kernel.

use super::guarded::Lock;
use super::{Counter, Draws, Setup, Step};
use crate::kernel_context::{Guard, Halt};
use crate::primitives::Primitive;
use crate::primitives::system::{Locked, PlainMutex};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{PoisonError, RwLock};

/// A primitive of `wake` as a lock: arming acquires it.
///
/// The mutex is on the line of the protected number. It is a word of four bytes in std, and one byte in parking_lot. In
/// the C library it has 40 bytes ([`PlainMutex`]), of which a lock writes the word, the owner and a count. The kernel
/// reads that line for each thread that goes to sleep. parking_lot queues sleepers in its own table. A mutex on the
/// heap would need a pointer, which a thread would read before it locks.
#[derive(Debug)]
pub struct Sleeping<P>(P);

impl<P: Primitive> Lock for Sleeping<P> {
    type Handle<'a>
        = ()
    where
        P: 'a;
    type Held<'a>
        = P::Held<'a>
    where
        P: 'a;

    fn new(_: usize) -> Self {
        match P::new() {
            Ok(lock) => Sleeping(lock),
            Err(error) => panic!("failed to make a lock: {error}"),
        }
    }

    fn handle(&self, _: usize) {}

    /// Terminates, because a holder leaves its critical section before it checks whether to stop.
    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), _: &Guard<'_>) -> Result<P::Held<'a>, Halt> {
        Ok(self.0.arm())
    }
}

impl Lock for PlainMutex {
    type Handle<'a> = ();
    type Held<'a> = Locked<'a>;

    fn new(_: usize) -> PlainMutex {
        PlainMutex::new()
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), _: &Guard<'_>) -> Result<Locked<'a>, Halt> {
        Ok(PlainMutex::lock(self))
    }
}

/// std's readers-writer lock. Writers add; readers check that the number does not change while they hold the lock.
///
/// Both words of the lock are on the line of the number. Readers write that line too, to count themselves. The handle
/// of each thread holds the share of reads, so that the line is not fetched for reading first.
#[derive(Debug)]
pub struct ReadersWriter {
    count: RwLock<AtomicU64>,
    read_share: f64,
    changed: AtomicBool,
}

impl Counter for ReadersWriter {
    type Handle<'a> = Draws;

    fn new(setup: &Setup) -> ReadersWriter {
        ReadersWriter {
            count: RwLock::new(AtomicU64::new(0)),
            read_share: setup.read_share,
            changed: AtomicBool::new(false),
        }
    }

    fn handle(&self, thread: usize) -> Draws {
        Draws::new(thread, self.read_share)
    }

    #[inline(always)]
    fn step(&self, draws: &mut Draws, _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        if draws.reads() {
            let count = self.count.read().unwrap_or_else(PoisonError::into_inner);
            // Relaxed throughout: the lock orders everything and keeps the number unchanged.
            let before = count.load(Relaxed);
            inside();
            if count.load(Relaxed) != before {
                self.changed.store(true, Relaxed);
            }
            return Ok(Step::Looked);
        }
        let count = self.count.write().unwrap_or_else(PoisonError::into_inner);
        inside();
        let before = count.load(Relaxed);
        count.store(before + 1, Relaxed);
        Ok(Step::Added(before))
    }

    fn total(&self) -> u64 {
        self.count.read().unwrap_or_else(PoisonError::into_inner).load(Relaxed)
    }

    fn is_sound(&self) -> bool {
        !self.changed.load(Relaxed)
    }
}
