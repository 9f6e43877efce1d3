//! Shared-memory primitives of the standard library. [`handshakes`](../handshakes.rs) replaces them by those of loom.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, Condvar, Mutex};
pub use std::thread::yield_now;
