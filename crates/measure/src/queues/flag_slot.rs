//! [`FlagSlot`]: a place that says by itself whether it holds a message, so that a queue of such places needs no shared
//! index.

use super::slot::Slot;
use crate::sync::Ordering::{Acquire, Release};
use crate::sync::{AtomicBool, AtomicU64};

/// A place that one producer fills and one consumer empties.
///
/// *Orderings.* Filling is a Release that pairs with the Acquire of `take`: who finds the message sees all that was done
/// before it was put in, its bytes among it. Emptying is a Release that pairs with the Acquire of `is_empty`: who finds
/// the place empty is ordered after the consumer's last touch of it, and of every place that it emptied before. That is
/// why one look at the last place of a lot speaks for the whole lot.
pub trait FlagSlot<M>: Send + Sync + 'static {
    /// One that holds nothing.
    fn empty() -> Self;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool;

    /// Puts a message in.
    ///
    /// # Errors
    /// The message, where it has no form that differs from an empty place.
    ///
    /// # Safety
    /// The caller is the only producer, and since it last filled this place, found it, or a place that the consumer empties
    /// after this one, empty.
    unsafe fn fill(&self, message: M) -> Result<(), M>;

    /// Takes the message out, if there is one.
    ///
    /// # Safety
    /// The caller is the only consumer, or the producer of a place that the consumer cannot come to: it takes places in
    /// order, and one before this is empty.
    unsafe fn take(&self) -> Option<M>;
}

/// A number in one word: 0 is the empty place, so that `n` lies there as `n + 1` and the largest number cannot travel.
#[derive(Debug)]
pub struct Word(AtomicU64);

impl FlagSlot<u64> for Word {
    fn empty() -> Word {
        Word(AtomicU64::new(0))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        // Acquire pairs with the Release in `take`.
        self.0.load(Acquire) == 0
    }

    #[inline(always)]
    unsafe fn fill(&self, message: u64) -> Result<(), u64> {
        let word = message.checked_add(1).ok_or(message)?;
        // Release pairs with the Acquire in `take`.
        self.0.store(word, Release);
        Ok(())
    }

    #[inline(always)]
    unsafe fn take(&self) -> Option<u64> {
        // Acquire pairs with the Release in `fill`.
        let number = self.0.load(Acquire).checked_sub(1)?;
        // Release pairs with the Acquire in `is_empty`; nobody else writes a place that holds a message.
        self.0.store(0, Release);
        Some(number)
    }
}

/// A message of any kind with a flag beside it.
#[derive(Debug)]
pub struct Flagged<M> {
    full: AtomicBool,
    message: Slot<M>,
}

impl<M: Send + 'static> FlagSlot<M> for Flagged<M> {
    fn empty() -> Flagged<M> {
        Flagged { full: AtomicBool::new(false), message: Slot::empty() }
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        // Acquire pairs with the Release in `take`.
        !self.full.load(Acquire)
    }

    #[inline(always)]
    unsafe fn fill(&self, message: M) -> Result<(), M> {
        // SAFETY: the caller has found this place, or one that is emptied after it, empty since it last filled this one,
        // which orders the emptying before us, and the consumer does not touch the message before it sees the flag.
        unsafe { self.message.write(message) };
        // Release pairs with the Acquire in `take`.
        self.full.store(true, Release);
        Ok(())
    }

    #[inline(always)]
    unsafe fn take(&self) -> Option<M> {
        // Acquire pairs with the Release in `fill`.
        if !self.full.load(Acquire) {
            return None;
        }
        // SAFETY: the flag says that it was filled and orders that before us; the only other end does not touch it before
        // it sees the flag go: the producer does not fill it, and of a message that the producer takes back the consumer
        // cannot come to the place.
        let message = unsafe { self.message.take() };
        // Release pairs with the Acquire in `is_empty`.
        self.full.store(false, Release);
        Some(message)
    }
}

impl<M> Drop for Flagged<M> {
    fn drop(&mut self) {
        // Acquire: whoever lets the last end go sees what the other put in.
        if self.full.load(Acquire) {
            // SAFETY: the flag says that there is a message, and nobody else is left.
            drop(unsafe { self.message.take() });
        }
    }
}
