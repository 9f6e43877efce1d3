//! [`Slots`]: places for messages that two threads hand to each other. Loom watches every access to them.

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::ends::Refusal;
use super::memory;

/// A row of places, each holding a message or nothing; who holds what is known to the queue around it.
#[derive(Debug)]
pub struct Slots<M>(Box<[UnsafeCell<MaybeUninit<M>>]>);

// SAFETY: places are touched only through the two unsafe functions, whose callers promise that no two threads touch
// one place at the same time; a message moves from one thread to another, which `Send` allows.
unsafe impl<M: Send> Sync for Slots<M> {}

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
        slots.resize_with(places, || UnsafeCell::new(MaybeUninit::zeroed()));
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
    /// The place is empty, and no other thread touches it before something orders that after this call.
    #[inline(always)]
    pub unsafe fn write(&self, position: usize, message: M) {
        let slot = &self.0[position];
        #[cfg(not(loom))]
        // SAFETY: the caller is alone with the place.
        unsafe {
            (*slot.get()).write(message);
        }
        #[cfg(loom)]
        slot.with_mut(|slot| {
            // SAFETY: the caller is alone with the place; loom fails the test if not.
            unsafe { (*slot).write(message) };
        });
    }

    /// Empties a place.
    ///
    /// # Safety
    /// The place was filled, that is ordered before this call, and no other thread touches it.
    #[inline(always)]
    pub unsafe fn take(&self, position: usize) -> M {
        let slot = &self.0[position];
        #[cfg(not(loom))]
        // SAFETY: the caller is alone with the place, and it holds a message.
        unsafe {
            (*slot.get()).assume_init_read()
        }
        #[cfg(loom)]
        slot.with_mut(|slot| {
            // SAFETY: as above; loom fails the test if another thread touches the place.
            unsafe { (*slot).assume_init_read() }
        })
    }
}
