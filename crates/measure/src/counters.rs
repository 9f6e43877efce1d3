//! Numbers that many threads add one to, each way of doing so behind one trait, so that loops over them are compiled
//! for each.

pub mod atomic;
#[cfg(not(loom))]
pub mod catalogue;
pub mod flag;
pub mod guarded;
pub mod mcs;
#[cfg(target_os = "linux")]
pub mod room;
#[cfg(target_os = "linux")]
pub mod sleeping;
pub mod wide;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
mod pass_tests;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::stage::{Guard, Halt};

/// What a counter is made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Threads that add.
    pub threads: usize,
    /// The share of operations that only read, where the counter tells readers from writers.
    pub read_share: f64,
}

/// Which operations of a thread only read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    share: f64,
    random: u64,
}

/// What one operation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Added one to this number.
    Added(u64),
    /// Added one; nobody can tell in which order.
    AddedSomewhere,
    /// Read the number.
    Looked,
}

/// A number that many threads add one to.
pub trait Counter: Sync + Sized {
    /// What a thread keeps for itself, away from the lines that the threads pass to and fro: where its own words lie, and
    /// whatever else it needs to know before it begins an operation. Read out of the counter itself that would cost a
    /// transfer of a line which the operation does not need.
    type Handle<'a>
    where
        Self: 'a;

    /// One that holds 0.
    fn new(setup: &Setup) -> Self;

    /// What this thread, counted from 0, keeps for itself; for one thread only.
    fn handle(&self, thread: usize) -> Self::Handle<'_>;

    /// Performs one operation. `inside` is what the thread does while it keeps others out; a counter that keeps nobody
    /// out calls it when the operation is done, so that each has the same work in sum.
    ///
    /// # Errors
    /// The reason to leave; then nothing was added.
    fn step<'a>(
        &'a self,
        handle: &mut Self::Handle<'a>,
        guard: &Guard<'_>,
        inside: impl FnOnce(),
    ) -> Result<Step, Halt>;

    /// What stands in memory once all threads have left.
    fn total(&self) -> u64;

    /// Whether everything else that must hold did: no reader saw a number change.
    fn is_sound(&self) -> bool {
        true
    }
}

impl Draws {
    /// Those of this thread, of which this share reads.
    pub fn new(thread: usize, share: f64) -> Draws {
        // Any odd number will do to begin with; threads begin apart.
        Draws { share, random: (thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// Whether the next operation only reads (Marsaglia 2003, xorshift).
    pub fn reads(&mut self) -> bool {
        if self.share <= 0.0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) as f64) < self.share * (1u64 << 53) as f64
    }
}
