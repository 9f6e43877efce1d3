//! [`Stop`]: a request to stop, raised by a signal or a deadline. Everything that waits polls it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// A stop request that can be shared, cloned and raised from anywhere, even a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Stop {
    /// A request that is not raised yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// A copy of the request that a deadline also raises. The original is not affected.
    ///
    /// ```
    /// # use coretalk_measure::Stop;
    /// # use std::time::Instant;
    /// let stop = Stop::new();
    /// assert!(stop.until(Instant::now()).is_raised());
    /// assert!(!stop.is_raised());
    /// ```
    pub fn until(&self, deadline: Instant) -> Stop {
        let until = self.until.map_or(deadline, |earlier| earlier.min(deadline));
        Stop { raised: Arc::clone(&self.raised), until: Some(until) }
    }

    /// Raises the request.
    pub fn raise(&self) {
        // Relaxed: the flag carries no data. A thread that sees it a moment later ends a moment later.
        self.raised.store(true, Relaxed);
    }

    /// Whether the request is raised or the deadline has passed.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The flag, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.raised)
    }
}
