//! The recording path allocates nothing.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use coretalk_measure::counter;
use coretalk_measure::tally::Tally;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Of this thread: whoever runs the tests has a thread of its own, which allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn counting_an_event_allocates_nothing() {
    const EVENTS: u64 = 2_000_000;
    let mut tally = Tally::new();
    let before = ALLOCATIONS.get();
    let began = counter::start();
    for event in 0..EVENTS {
        // Values over the whole range, in no order that a cache would like.
        tally.count(event.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (20 + event % 40));
    }
    let ticks = counter::stop() - began;
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(tally.len(), EVENTS);
    eprintln!("{:.1} ticks an event", ticks as f64 / EVENTS as f64);
}
