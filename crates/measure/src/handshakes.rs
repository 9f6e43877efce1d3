//! All synchronisation between threads, for tests of the memory model with loom: `RUSTFLAGS='--cfg loom' cargo test
//! --test handshakes`. Files of the library are compiled here with loom's atomics. Files that are not listed here need
//! not support loom.
#![cfg(loom)]
#![allow(dead_code, reason = "code that only the host and the simulator call")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod counter;
mod counters;
mod kernel;
mod kernel_context;
mod primitives;
mod strategies;
mod tick_histogram;
mod trial_context;
mod wait;

/// Replaces the library's `sync.rs`.
mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
    pub use loom::sync::{Arc, Condvar, Mutex};
    pub use loom::thread::yield_now;
}

mod probes {
    pub mod latency_one_way;
    pub mod latency_turns;
    pub mod latency_xfer;
    pub mod ping_pong;
    mod two_threads;

    pub mod imitation {
        mod kernels;
        mod spin;
        pub use kernels::{C2CLAT, C2CLAT_W, COHERENCY_LATENCY, CORE_TO_CORE_LATENCY};
    }

    mod latency_under_load {
        mod word;
    }
}

mod queues {
    pub mod batches;
    pub mod bounded;
    pub mod ends;
    pub mod exchange;
    pub mod flag_slot;
    pub mod futex;
    pub mod limits;
    pub mod memory;
    pub mod message;
    pub mod paced;
    pub mod row;
    pub mod semaphore;
    pub mod slot;
    pub mod slot_queue;
    pub mod slot_row;
    pub mod spinning;
    pub mod spsc;
}
