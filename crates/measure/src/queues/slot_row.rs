//! [`Slots`]: the places of a ring that keeps elsewhere which of them hold a message.

use super::ends::Refusal;
use super::memory;
use super::slot::Slot;

/// A row of places, each holding a message or nothing; who holds what is known to the queue around it.
#[derive(Debug)]
pub struct Slots<M>(Box<[Slot<M>]>);

impl<M> Slots<M> {
    /// So many empty places, with every page of them touched.
    ///
    /// # Errors
    /// [`Refusal::Memory`].
    pub fn new(places: usize) -> Result<Slots<M>, Refusal> {
        memory::ensure(places, size_of::<M>())?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(places).map_err(|_| Refusal::Memory { capacity: places })?;
        // Writing zeros is what touches the pages; a first lap of page faults would be timed otherwise.
        slots.resize_with(places, Slot::empty);
        Ok(Slots(slots.into_boxed_slice()))
    }

    /// How many places.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills a place.
    ///
    /// # Safety
    /// As [`Slot::write`].
    #[inline(always)]
    pub unsafe fn write(&self, position: usize, message: M) {
        // SAFETY: the caller promises the same.
        unsafe { self.0[position].write(message) }
    }

    /// Empties a place.
    ///
    /// # Safety
    /// As [`Slot::take`].
    #[inline(always)]
    pub unsafe fn take(&self, position: usize) -> M {
        // SAFETY: the caller promises the same.
        unsafe { self.0[position].take() }
    }
}
