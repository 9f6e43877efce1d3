//! Counters under locks of the libraries, whose waiters sleep in the kernel.

use super::guarded::Lock;
use super::{Counter, Draws, Setup, Step};
use crate::primitives::Primitive;
use crate::primitives::system::{Locked, PlainMutex};
use crate::stage::{Guard, Halt};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{PoisonError, RwLock};

/// A primitive of `wake` that is a lock: arming it is taking it.
///
/// *Lines.* std's mutex (one word of four bytes) and parking_lot's (one byte) lie beside the number that they keep, and so
/// does the C library's ([`PlainMutex`], 40 bytes of which a lock writes the word, the owner and a count): who comes and
/// who leaves writes that line, and the kernel reads it for whoever goes to sleep. parking_lot queues sleepers in a table
/// of its own. Nothing else on the line is read to find the lock: a pointer to a mutex on the heap would be.
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
            // A mutex asks the system for nothing that it could refuse but memory.
            Err(error) => panic!("failed to make a lock: {error}"),
        }
    }

    fn handle(&self, _: usize) {}

    /// Whoever holds it leaves its critical section before it looks whether to go on, so this ends.
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

    /// As above: this ends.
    #[inline(always)]
    fn lock<'a>(&'a self, (): &mut (), _: &Guard<'_>) -> Result<Locked<'a>, Halt> {
        Ok(PlainMutex::lock(self))
    }
}

/// std's readers-writer lock: writers add, readers see that the number stands still while they hold it.
///
/// *Lines.* The lock's two words lie beside the number: readers write that line as well, to count themselves. The share of
/// operations that read is in each thread's handle, so that the line is not fetched to be read first.
#[derive(Debug)]
pub struct ReadersWriter {
    count: RwLock<AtomicU64>,
    read_share: f64,
    moved: AtomicBool,
}

impl Counter for ReadersWriter {
    type Handle<'a> = Draws;

    fn new(setup: &Setup) -> ReadersWriter {
        ReadersWriter {
            count: RwLock::new(AtomicU64::new(0)),
            read_share: setup.read_share,
            moved: AtomicBool::new(false),
        }
    }

    fn handle(&self, thread: usize) -> Draws {
        Draws::new(thread, self.read_share)
    }

    #[inline(always)]
    fn step(&self, draws: &mut Draws, _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        if draws.reads() {
            let count = self.count.read().unwrap_or_else(PoisonError::into_inner);
            // Relaxed throughout: the lock orders everything, and keeps the number still.
            let before = count.load(Relaxed);
            inside();
            if count.load(Relaxed) != before {
                self.moved.store(true, Relaxed);
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
        !self.moved.load(Relaxed)
    }
}
