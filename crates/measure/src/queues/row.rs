//! [`PaddedSlots`]: the slots of a ring, on lines that nothing else shares.

use super::ends::Refusal;
use super::memory;
use std::fmt;
use std::ptr::NonNull;

/// Distance in bytes from other data: two lines, since x86 fetches them in pairs.
const APART: usize = 128;

/// A row of slots.
pub struct PaddedSlots<S> {
    /// The slots, with padding before and behind. The row shares no line with other data.
    all: Box<[S]>,
    /// Index of the first used slot. It begins a line if the slot size divides the line size.
    first: usize,
    len: usize,
}

impl<S> fmt::Debug for PaddedSlots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaddedSlots({} places)", self.len)
    }
}

impl<S> PaddedSlots<S> {
    /// Allocates this many slots and touches every page of them. Fails with [`Refusal::Memory`].
    pub fn new(len: usize, empty: fn() -> S) -> Result<PaddedSlots<S>, Refusal> {
        let refusal = || Refusal::Memory { capacity: len };
        // Loom does not model lines.
        let padding = if cfg!(loom) { 0 } else { APART.div_ceil(size_of::<S>().max(1)) };
        let allocated = len.checked_add(2 * padding).ok_or_else(refusal)?;
        memory::ensure(allocated, size_of::<S>()).map_err(|_| refusal())?;
        let mut all = Vec::new();
        all.try_reserve_exact(allocated).map_err(|_| refusal())?;
        // The writes touch the pages. Otherwise a first lap of page faults would be timed.
        all.resize_with(allocated, empty);
        let all = all.into_boxed_slice();
        let address = all.as_ptr().addr();
        let begins_a_line = |first: &usize| (address + first * size_of::<S>()).is_multiple_of(APART);
        let first = (0..padding).find(begins_a_line).unwrap_or(padding);
        Ok(PaddedSlots { all, first, len })
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All slots.
    pub fn places(&self) -> &[S] {
        &self.all[self.first..self.first + self.len]
    }

    /// The slot at a position.
    #[inline(always)]
    pub fn at(&self, position: usize) -> &S {
        &self.all[self.first + position]
    }
}

/// Pointer to a ring's slots that fits in registers. An access through a row would load pointer and length, and check
/// bounds.
pub struct SlotsPtr<S> {
    first: NonNull<S>,
    len: usize,
}

// SAFETY: the pointer gives only shared references to slots, which `Sync` lets another thread have.
unsafe impl<S: Sync> Send for SlotsPtr<S> {}

impl<S> fmt::Debug for SlotsPtr<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlotsPtr({} places)", self.len)
    }
}

impl<S> SlotsPtr<S> {
    /// Makes a pointer to these slots.
    ///
    /// # Safety
    /// The slots outlive the result and do not move. No `Box` that owns them is moved meanwhile.
    pub unsafe fn new(places: &[S]) -> SlotsPtr<S> {
        SlotsPtr { first: NonNull::from(places).cast(), len: places.len() }
    }

    /// Number of slots.
    #[inline(always)]
    pub fn places(&self) -> usize {
        self.len
    }

    /// The slot at a position.
    ///
    /// # Safety
    /// The position is below [`SlotsPtr::places`].
    #[inline(always)]
    pub unsafe fn at(&self, position: usize) -> &S {
        debug_assert!(position < self.len, "place {position} of {}", self.len);
        // SAFETY: the slots exist, as the creator promised, and the position is one of theirs.
        unsafe { self.first.add(position).as_ref() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_on_a_line_and_shares_no_line() {
        for len in [1, 7, 100] {
            let row = PaddedSlots::new(len, || 0u64).unwrap();
            let begin = std::ptr::from_ref(row.at(0)).addr();
            let [all, end] = [row.all.as_ptr().addr(), std::ptr::from_ref(row.at(len - 1)).addr()];
            assert!(begin.is_multiple_of(APART) && begin - all < APART);
            assert!(all + size_of_val(&*row.all) - end >= APART, "{len}");
            // SAFETY: the row lives until the end of the loop.
            let slots = unsafe { SlotsPtr::new(row.places()) };
            assert_eq!(slots.places(), len);
            for position in 0..len {
                // SAFETY: the position is in the row.
                assert!(std::ptr::eq(unsafe { slots.at(position) }, row.at(position)));
            }
        }
    }
}
