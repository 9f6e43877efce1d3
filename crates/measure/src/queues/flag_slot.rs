//! [`FlagSlot`]: a slot that marks itself as full or empty. A queue of such slots needs no shared index.

use super::slot::Slot;
use crate::sync::Ordering::{Acquire, Release};
use crate::sync::{AtomicBool, AtomicU64};

/// A slot that one producer fills and one consumer empties.
///
/// Filling is a Release that pairs with the Acquire of `take`: a consumer that finds the message sees everything done
/// before it was put in, including its bytes. Emptying is a Release that pairs with the Acquire of `is_empty`. A
/// producer that finds the slot empty is ordered after the consumer's last touch of this slot and of every slot emptied
/// before. So one check of the last slot of a chunk covers the whole chunk.
pub trait FlagSlot<M>: Send + Sync + 'static {
    /// An empty slot.
    fn empty() -> Self;

    /// Whether the slot is empty.
    fn is_empty(&self) -> bool;

    /// Puts a message in. Returns the message if its representation equals that of an empty slot.
    ///
    /// # Safety
    /// The caller is the only producer. Since its last fill of this slot, it has found this slot empty, or a slot that
    /// the consumer empties after this slot.
    unsafe fn fill(&self, message: M) -> Result<(), M>;

    /// Takes the message out, if there is one.
    ///
    /// # Safety
    /// The caller is the only consumer, or it is the producer and the consumer cannot reach the slot. The consumer
    /// takes slots in order, so it cannot reach this slot while an earlier slot is empty.
    unsafe fn take(&self) -> Option<M>;
}

/// A number in one word. 0 marks an empty slot, so `n` is stored as `n + 1` and the largest number cannot be sent.
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
        // Release pairs with the Acquire in `is_empty`. No other thread writes a slot that holds a message.
        self.0.store(0, Release);
        Some(number)
    }
}

/// A message of any type with a separate flag.
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
        // SAFETY: since its last fill of this slot, the caller has found this slot, or a slot emptied after it, empty.
        // So the emptying comes before this write. The consumer does not touch the message until it sees the flag.
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
        // SAFETY: the flag is set, so the slot was filled before this read. The other end does not touch the message
        // until the flag is cleared: a producer fills only empty slots. If the caller is the producer, which takes its
        // message back, the consumer cannot reach the slot.
        let message = unsafe { self.message.take() };
        // Release pairs with the Acquire in `is_empty`.
        self.full.store(false, Release);
        Some(message)
    }
}

impl<M> Drop for Flagged<M> {
    fn drop(&mut self) {
        // Acquire: the thread that drops the last end sees what the other end put in.
        if self.full.load(Acquire) {
            // SAFETY: the flag says that there is a message. No other owner is left.
            drop(unsafe { self.message.take() });
        }
    }
}
