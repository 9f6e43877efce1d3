//! [`Stop`]: the request to end, raised by a signal and looked at by everything that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A request to end that can be shared, cloned and raised from anywhere, a signal handler included.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody wishes to end yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Wishes to end.
    pub fn raise(&self) {
        // Relaxed: the flag carries no data; whoever sees it a moment later ends a moment later.
        self.0.store(true, Relaxed);
    }

    /// Whether somebody wishes to end.
    pub fn is_raised(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
