//! How a thread waits for its turn: what `wait` measures, each behind one trait, so that the timed loop is compiled for
//! each.
//!
//! A strategy waits for a [`Turn`] and leaves when it has come, or when its guard says halt: every wait ends. What the
//! partner has to do depends on it: one that may sleep has to be woken.

#[cfg(not(loom))]
pub mod catalogue;
#[cfg(not(loom))]
pub mod instructions;
#[cfg(not(any(loom, miri)))]
pub mod monitor;
pub mod sleeping;
#[cfg(not(loom))]
pub mod spinning;
pub mod turn;

use crate::stage::{Guard, Halt};
use turn::{Turn, trip_is_even};

/// A way of waiting.
pub trait Strategy: Copy + Send + Sync {
    /// Whether it may sleep, so that its partner has to wake it.
    const SLEEPS: bool;

    /// Waits until the turn has the parity of `wanted`, and returns the word that it found. Adds how often it looked.
    ///
    /// # Errors
    /// The reason to leave.
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt>;

    /// What it does between two looks, once, for a turn that does not come: what `--cost` times. Where it looks often
    /// before it sleeps, that is everything before the sleep.
    fn act(&self, turn: &Turn);
}

/// Two strategies in turn, trip by trip: whatever else changes during a run changes for both.
#[derive(Debug, Clone, Copy)]
pub struct Alternating<A, B> {
    /// On even trips.
    pub even: A,
    /// On odd ones.
    pub odd: B,
}

impl<A: Strategy, B: Strategy> Strategy for Alternating<A, B> {
    const SLEEPS: bool = A::SLEEPS || B::SLEEPS;

    #[inline(always)]
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt> {
        // The word before the wanted one began the trip, or is the first half of it.
        if trip_is_even(wanted.wrapping_sub(1)) {
            self.even.wait(turn, wanted, polls, guard)
        } else {
            self.odd.wait(turn, wanted, polls, guard)
        }
    }

    fn act(&self, turn: &Turn) {
        self.even.act(turn);
        self.odd.act(turn);
    }
}
