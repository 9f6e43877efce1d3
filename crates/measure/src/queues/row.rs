//! [`Row`]: the places of a ring, on lines that nothing else lies on.

use super::ends::Refusal;
use super::memory;
use std::fmt;
use std::ptr::NonNull;

/// Two lines: x86 fetches them in pairs.
const APART: usize = 128;

/// A row of places.
pub struct Row<S> {
    /// With room before and behind, so that no line of the row is shared with something else.
    all: Box<[S]>,
    /// The first place that is used: the first of a line, where places divide one.
    first: usize,
    len: usize,
}

impl<S> fmt::Debug for Row<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({} places)", self.len)
    }
}

impl<S> Row<S> {
    /// So many places, with every page of them touched.
    ///
    /// # Errors
    /// [`Refusal::Memory`].
    pub fn new(len: usize, empty: fn() -> S) -> Result<Row<S>, Refusal> {
        let refusal = || Refusal::Memory { capacity: len };
        // Loom looks at no lines.
        let around = if cfg!(loom) { 0 } else { APART.div_ceil(size_of::<S>().max(1)) };
        let places = len.checked_add(2 * around).ok_or_else(refusal)?;
        memory::ensure(places, size_of::<S>()).map_err(|_| refusal())?;
        let mut all = Vec::new();
        all.try_reserve_exact(places).map_err(|_| refusal())?;
        // Writing every place is what touches the pages; a first lap of page faults would be timed otherwise.
        all.resize_with(places, empty);
        let all = all.into_boxed_slice();
        let address = all.as_ptr().addr();
        let begins_a_line = |first: &usize| (address + first * size_of::<S>()).is_multiple_of(APART);
        let first = (0..around).find(begins_a_line).unwrap_or(around);
        Ok(Row { all, first, len })
    }

    /// How many places.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of them.
    pub fn places(&self) -> &[S] {
        &self.all[self.first..self.first + self.len]
    }

    /// The place at a position.
    #[inline(always)]
    pub fn at(&self, position: usize) -> &S {
        &self.all[self.first + position]
    }
}

/// Where the places of a ring lie, for an end that keeps this in registers: through a row each access would read pointer and
/// length from memory and compare.
pub struct Reach<S> {
    first: NonNull<S>,
    len: usize,
}

// SAFETY: it gives nothing but shared references to places, which `Sync` lets another thread have.
unsafe impl<S: Sync> Send for Reach<S> {}

impl<S> fmt::Debug for Reach<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reach({} places)", self.len)
    }
}

impl<S> Reach<S> {
    /// Of places.
    ///
    /// # Safety
    /// They outlive what is made, and stay where they are: no `Box` of them is moved before.
    pub unsafe fn of(places: &[S]) -> Reach<S> {
        Reach { first: NonNull::from(places).cast(), len: places.len() }
    }

    /// How many places.
    #[inline(always)]
    pub fn places(&self) -> usize {
        self.len
    }

    /// The place at a position.
    ///
    /// # Safety
    /// The position lies below [`Reach::places`].
    #[inline(always)]
    pub unsafe fn at(&self, position: usize) -> &S {
        debug_assert!(position < self.len, "place {position} of {}", self.len);
        // SAFETY: the places are there, as whoever made this promised, and has a place at this position.
        unsafe { self.first.add(position).as_ref() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_a_line_and_shares_none() {
        for len in [1, 7, 100] {
            let row = Row::new(len, || 0u64).unwrap();
            let begin = std::ptr::from_ref(row.at(0)).addr();
            let [all, end] = [row.all.as_ptr().addr(), std::ptr::from_ref(row.at(len - 1)).addr()];
            assert!(begin.is_multiple_of(APART) && begin - all < APART);
            assert!(all + size_of_val(&*row.all) - end >= APART, "{len}");
            // SAFETY: the row is there until the end of the loop.
            let reach = unsafe { Reach::of(row.places()) };
            assert_eq!(reach.places(), len);
            for position in 0..len {
                // SAFETY: the position lies in the row.
                assert!(std::ptr::eq(unsafe { reach.at(position) }, row.at(position)));
            }
        }
    }
}
