//! How a thread waits for its turn: what `wait` measures, each behind one trait, so that the timed loop is compiled for
//! each.
//!
//! A strategy waits for a [`Turn`] and leaves when it has come, or when its guard says halt: every wait ends. What the
//! partner has to do depends on it: one that may sleep has to be woken.
//!
//! [`Turn`]: the word by which two threads hand over to each other.

#[cfg(not(loom))]
pub mod catalogue;
#[cfg(not(loom))]
pub mod instructions;
#[cfg(not(any(loom, miri)))]
pub mod monitor;
pub mod sleeping;
#[cfg(not(loom))]
pub mod spinning;

use crate::queues::futex::Futex;
use crate::stage::{Guard, Halt};
use crate::sync::Ordering::{Acquire, Relaxed, Release};

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

/// Whoever waits sleeps, or is about to.
const ASLEEP: u32 = 1 << 30;
/// No turn comes after this.
const END: u32 = 1 << 31;
/// The bits that count turns; only the last one matters, so that they may wrap around.
const COUNT: u32 = ASLEEP - 1;

/// Whose turn it is: the first role's where the count is even, the second's where it is odd (Tene, "GilExamples", holds
/// a spinning ping-pong of this form). The word has 32 bits because a futex has.
///
/// One who waits may set `ASLEEP` and sleep on the word; whoever hands over exchanges the whole word, sees the flag and
/// wakes. No wake-up can be lost: the kernel lets nobody sleep on a word that has changed.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Turn {
    futex: Futex,
}

impl Turn {
    /// The first role's.
    pub fn new() -> Turn {
        Turn::default()
    }

    /// The word.
    #[inline(always)]
    pub fn poll(&self) -> u32 {
        // Acquire pairs with the Release of whoever handed over: what it wrote before is seen.
        self.futex.word.load(Acquire)
    }

    /// Hands over to one that never sleeps. Only for the role whose turn it is; `word` is what it found.
    #[inline(always)]
    pub fn pass(&self, word: u32) {
        // Release pairs with the Acquire in `poll`.
        self.futex.word.store(after(word), Release);
    }

    /// Hands over to one that may sleep.
    #[inline(always)]
    pub fn pass_waking(&self, word: u32) {
        self.hand_over(after(word));
    }

    /// Hands over for the last time.
    pub fn end(&self, word: u32) {
        self.hand_over(after(word) | END);
    }

    #[inline(always)]
    fn hand_over(&self, next: u32) {
        // Release as in `pass`. The flag that is read carries nothing: it only says that somebody may sleep.
        if self.futex.word.swap(next, Release) & ASLEEP != 0 {
            self.futex.wake_one();
        }
    }

    /// Sleeps as long as the word is what was found, until woken; may return early. Only for the role that waits.
    pub fn sleep(&self, word: u32) {
        if word & ASLEEP == 0 {
            // Relaxed: the flag carries nothing. Where it fails the turn has come.
            if self.futex.word.compare_exchange(word, word | ASLEEP, Relaxed, Relaxed).is_err() {
                return;
            }
        }
        self.futex.wait(word | ASLEEP);
    }

    /// Asks the kernel to sleep on another word than is there: it looks and returns at once.
    pub fn sleep_in_vain(&self, word: u32) {
        self.futex.wait(word ^ 1);
    }

    /// The address that a monitor watches.
    pub fn address(&self) -> *const u32 {
        std::ptr::from_ref(&self.futex.word).cast()
    }
}

/// The word of the turn after this one.
#[inline(always)]
pub fn after(word: u32) -> u32 {
    word.wrapping_add(1) & COUNT
}

/// Whether a word gives the turn to the role that wants a word of the same parity.
#[inline(always)]
pub fn is_mine(word: u32, wanted: u32) -> bool {
    (word ^ wanted) & 1 == 0
}

/// Whether a word is the very one that was wanted; whoever waits for the next may have said by then that it sleeps.
#[inline(always)]
pub fn is_turn(word: u32, wanted: u32) -> bool {
    (word ^ wanted) & COUNT == 0
}

/// Whether no turn comes after this.
#[inline(always)]
pub fn is_end(word: u32) -> bool {
    word & END != 0
}

/// Whether the trip that begins with this word is an even one; both sides of a trip say the same of it.
#[inline(always)]
pub fn trip_is_even(word: u32) -> bool {
    word >> 1 & 1 == 0
}
