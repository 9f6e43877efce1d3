//! No instruction that waits: other architectures, and tools that execute no machine instructions.

use crate::sync::{Ordering, fence};

/// The fence of the standard library, or loom's.
pub fn full_fence() {
    fence(Ordering::SeqCst);
}
