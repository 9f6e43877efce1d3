//! An allocator that counts what each thread asks of it: a measure of work that is the same each time.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a thread has asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated {
    /// How often.
    pub calls: u64,
    /// Bytes in all, whether given back since or not; what grows counts anew.
    pub bytes: u64,
}

impl Allocated {
    /// Of this thread so far: whoever runs the tests has a thread of its own, which allocates when it likes.
    pub fn by_this_thread() -> Allocated {
        SO_FAR.get()
    }
}

thread_local! {
    static SO_FAR: Cell<Allocated> = const { Cell::new(Allocated { calls: 0, bytes: 0 }) };
}

struct Counting;

fn note(bytes: usize) {
    let Allocated { calls, bytes: before } = SO_FAR.get();
    SO_FAR.set(Allocated { calls: calls + 1, bytes: before + bytes as u64 });
}

// SAFETY: hands everything to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
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
