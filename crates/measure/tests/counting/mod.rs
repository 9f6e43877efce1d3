//! An allocator that counts each thread's allocations: a reproducible measure of work.
#![allow(unsafe_code, reason = "an allocator cannot be written without unsafe code")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    pub calls: u64,
    /// Allocated bytes, including those freed since; a reallocation counts in full.
    pub bytes: u64,
}

impl Allocated {
    /// Allocations of this thread so far. Other threads are excluded: the test harness allocates at any time.
    pub fn by_this_thread() -> Allocated {
        SO_FAR.get()
    }
}

thread_local! {
    static SO_FAR: Cell<Allocated> = const { Cell::new(Allocated { calls: 0, bytes: 0 }) };
}

struct Counting;

fn count(bytes: usize) {
    let Allocated { calls, bytes: before } = SO_FAR.get();
    SO_FAR.set(Allocated { calls: calls + 1, bytes: before + bytes as u64 });
}

// SAFETY: passes everything to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
