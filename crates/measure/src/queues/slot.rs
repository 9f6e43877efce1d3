//! [`Slot`]: storage for a message that one thread hands to another. Loom tracks every access to a slot.

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Storage that holds a message or is empty. The queue around the slot knows which.
#[derive(Debug)]
pub struct Slot<M>(UnsafeCell<MaybeUninit<M>>);

// SAFETY: a slot is touched only through the two unsafe functions. Their callers promise that no two threads touch it
// at the same time. A message moves from one thread to another, which `Send` allows.
unsafe impl<M: Send> Sync for Slot<M> {}

impl<M> Slot<M> {
    /// An empty slot with every byte written.
    pub fn empty() -> Slot<M> {
        Slot(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    /// Fills the slot.
    ///
    /// # Safety
    /// The slot is empty. No other thread touches it before something orders that access after this call.
    #[inline(always)]
    pub unsafe fn write(&self, message: M) {
        #[cfg(not(loom))]
        // SAFETY: the caller has exclusive access to the slot.
        unsafe {
            (*self.0.get()).write(message);
        }
        #[cfg(loom)]
        self.0.with_mut(|slot| {
            // SAFETY: the caller has exclusive access to the slot. Otherwise loom fails the test.
            unsafe { (*slot).write(message) };
        });
    }

    /// Empties the slot.
    ///
    /// # Safety
    /// The slot was filled, which is ordered before this call. No other thread touches the slot.
    #[inline(always)]
    pub unsafe fn take(&self) -> M {
        #[cfg(not(loom))]
        // SAFETY: the caller has exclusive access to the slot, and it holds a message.
        unsafe {
            (*self.0.get()).assume_init_read()
        }
        #[cfg(loom)]
        self.0.with_mut(|slot| {
            // SAFETY: as above. Loom fails the test if another thread touches the slot.
            unsafe { (*slot).assume_init_read() }
        })
    }
}
