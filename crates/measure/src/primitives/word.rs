//! Waiting for a word to change, as `wait` and `notify_one` of C++ atomics do: over a futex, asleep at once.

use super::Primitive;
use crate::host::futex;
use crate::stage::{Guard, Halt};
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A word that the waker sets (`SET`) or clears.
#[derive(Debug, Default)]
pub struct AtomicWait<const SET: bool> {
    word: AtomicU32,
}

impl<const SET: bool> AtomicWait<SET> {
    const GO: u32 = if SET { 1 } else { 0 };
    const STAY: u32 = 1 - Self::GO;
}

impl<const SET: bool> Primitive for AtomicWait<SET> {
    type Held<'a> = ();

    fn new() -> io::Result<Self> {
        Ok(AtomicWait { word: AtomicU32::new(Self::STAY) })
    }

    fn arm(&self) {
        // The waiter is between two rounds: it has been told to go on and waits for the announcement of this one, whose
        // Release carries this store.
        self.word.store(Self::STAY, Release);
    }

    fn wait(&self, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the Release in `wake`.
        while self.word.load(Acquire) == Self::STAY {
            futex::wait(&self.word, Self::STAY, None);
            if self.word.load(Acquire) == Self::STAY {
                guard.check()?;
            }
        }
        Ok(())
    }

    fn wake(&self, (): (), _: u64) {
        // Release pairs with the Acquire in `wait`.
        self.word.store(Self::GO, Release);
        futex::wake_one(&self.word);
    }

    fn rescue(&self) {
        futex::wake_all(&self.word);
    }
}
