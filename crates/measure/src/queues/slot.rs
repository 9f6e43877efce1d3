//! [`Slot`]: a place for a message that two threads hand to each other. Loom watches every access to it.

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A place that holds a message or nothing, which is known to the queue around it.
#[derive(Debug)]
pub struct Slot<M>(UnsafeCell<MaybeUninit<M>>);

// SAFETY: a place is touched only through the two unsafe functions, whose callers promise that no two threads touch it at
// the same time; a message moves from one thread to another, which `Send` allows.
unsafe impl<M: Send> Sync for Slot<M> {}

impl<M> Slot<M> {
    /// An empty one, every byte of it written.
    pub fn empty() -> Slot<M> {
        Slot(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    /// Fills it.
    ///
    /// # Safety
    /// The place is empty, and no other thread touches it before something orders that after this call.
    #[inline(always)]
    pub unsafe fn write(&self, message: M) {
        #[cfg(not(loom))]
        // SAFETY: the caller is alone with the place.
        unsafe {
            (*self.0.get()).write(message);
        }
        #[cfg(loom)]
        self.0.with_mut(|slot| {
            // SAFETY: the caller is alone with the place; loom fails the test if not.
            unsafe { (*slot).write(message) };
        });
    }

    /// Empties it.
    ///
    /// # Safety
    /// The place was filled, that is ordered before this call, and no other thread touches it.
    #[inline(always)]
    pub unsafe fn take(&self) -> M {
        #[cfg(not(loom))]
        // SAFETY: the caller is alone with the place, and it holds a message.
        unsafe {
            (*self.0.get()).assume_init_read()
        }
        #[cfg(loom)]
        self.0.with_mut(|slot| {
            // SAFETY: as above; loom fails the test if another thread touches the place.
            unsafe { (*slot).assume_init_read() }
        })
    }
}
