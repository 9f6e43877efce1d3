//! [`Stop`]: the request to end, raised by a signal or by a clock, and looked at by everything that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

/// A request to end that can be shared, cloned and raised from anywhere, a signal handler included.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Stop {
    /// Nobody wishes to end yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// The same request, which is raised by itself at this moment at the latest. The one that it was made of is not.
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

    /// Wishes to end.
    pub fn raise(&self) {
        // Relaxed: the flag carries no data; whoever sees it a moment later ends a moment later.
        self.raised.store(true, Relaxed);
    }

    /// Whether somebody wishes to end, or the deadline has passed.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.raised)
    }
}
