//! A count of its own readings: loom explores orders of memory accesses, in which no time passes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub const SOURCE: &str = "step";

pub fn start() -> u64 {
    now_ticks()
}

pub fn stop() -> u64 {
    now_ticks()
}

pub fn now_ticks() -> u64 {
    // Not one of loom's atomics: the explored program must not synchronise through its clock. Relaxed, because only
    // the value is of interest.
    static READINGS: AtomicU64 = AtomicU64::new(0);
    READINGS.fetch_add(1, Relaxed)
}
