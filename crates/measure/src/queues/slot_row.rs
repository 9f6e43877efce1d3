//! [`Slots`]: the slots of a ring that records elsewhere which slots are full.

use super::ends::Refusal;
use super::memory;
use super::slot::Slot;

/// A row of slots, each full or empty. The queue around the row knows which.
#[derive(Debug)]
pub struct Slots<M>(Box<[Slot<M>]>);

impl<M> Slots<M> {
    /// Allocates this many empty slots and touches every page of them. Fails with [`Refusal::Memory`].
    pub fn new(places: usize) -> Result<Slots<M>, Refusal> {
        memory::ensure(places, size_of::<M>())?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(places).map_err(|_| Refusal::Memory { capacity: places })?;
        // The zeros touch the pages. Otherwise a first lap of page faults would be timed.
        slots.resize_with(places, Slot::empty);
        Ok(Slots(slots.into_boxed_slice()))
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills a slot.
    ///
    /// # Safety
    /// The conditions of [`Slot::write`].
    #[inline(always)]
    pub unsafe fn write(&self, position: usize, message: M) {
        // SAFETY: the caller promises the same.
        unsafe { self.0[position].write(message) }
    }

    /// Empties a slot.
    ///
    /// # Safety
    /// The conditions of [`Slot::take`].
    #[inline(always)]
    pub unsafe fn take(&self, position: usize) -> M {
        // SAFETY: the caller promises the same.
        unsafe { self.0[position].take() }
    }
}
