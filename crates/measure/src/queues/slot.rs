//! [`Slot`] and [`Slots`]: places for messages that two threads hand to each other. Loom watches every access to them.
//!
//! Whether there is memory for a queue, asked before it is taken: a system that promises more than it has would end
//! the process when the pages are touched.

use super::ends::Refusal;
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

/// A row of places.
#[derive(Debug)]
pub struct Slots<M>(Box<[Slot<M>]>);

impl<M> Slots<M> {
    /// So many empty places, with every page of them touched.
    ///
    /// # Errors
    /// [`Refusal::Memory`].
    pub fn new(places: usize) -> Result<Slots<M>, Refusal> {
        ensure(places, size_of::<M>())?;
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

/// Queues below this are not worth a question.
const SMALL: usize = 16 << 20;
/// No queue takes more than this share of what is available.
const SHARE: usize = 4;

/// Makes sure that so many places of so many bytes can be had.
///
/// # Errors
/// [`Refusal::Memory`].
pub fn ensure(places: usize, bytes: usize) -> Result<(), Refusal> {
    let refusal = Refusal::Memory { capacity: places };
    let Some(wanted) = places.checked_mul(bytes) else { return Err(refusal) };
    if wanted > SMALL && available().is_some_and(|available| wanted > available / SHARE) {
        return Err(refusal);
    }
    Ok(())
}

/// Bytes that can be had without swapping; `None` where the system does not say.
fn available() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok().map(|kib| kib << 10)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_taken() {
        assert!(ensure(1_000, 8).is_ok());
        assert!(ensure(usize::MAX / 4, 1).is_err() || available().is_none());
        assert_eq!(
            ensure(usize::MAX, 2).unwrap_err().to_string(),
            format!("no memory for {} messages", usize::MAX)
        );
    }
}
