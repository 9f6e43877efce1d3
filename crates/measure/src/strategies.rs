//! Wait strategies measured by `wait`. One trait lets the compiler build a timed loop for each strategy.
//!
//! A strategy waits until its [`Turn`] has come or the guard halts it, so every wait ends. A partner that may sleep
//! must be woken.

#[cfg(not(loom))]
pub mod catalogue;
#[cfg(not(loom))]
pub mod instructions;
#[cfg(not(any(loom, miri)))]
pub mod monitor;
pub mod sleeping;
#[cfg(not(loom))]
pub mod spinning;

use crate::kernel_context::{Guard, Halt};
use crate::queues::futex::Futex;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

/// A wait strategy.
pub trait Strategy: Copy + Send + Sync {
    /// Whether the strategy may sleep. Its partner then has to wake it.
    const SLEEPS: bool;

    /// Waits until the turn has the parity of `wanted`, or returns the reason to leave. Returns the found word, and
    /// adds its polls to `polls`.
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt>;

    /// Performs once the step between two polls, as timed by `--cost`, for a turn that does not come. Strategies that
    /// poll repeatedly before they sleep perform everything before the sleep.
    fn act(&self, turn: &Turn);
}

/// Two strategies on alternate trips. Changes during a run affect both.
#[derive(Debug, Clone, Copy)]
pub struct Alternating<A, B> {
    /// Strategy on even trips.
    pub even: A,
    /// Strategy on odd trips.
    pub odd: B,
}

impl<A: Strategy, B: Strategy> Strategy for Alternating<A, B> {
    const SLEEPS: bool = A::SLEEPS || B::SLEEPS;

    #[inline(always)]
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt> {
        // The word before the wanted word belongs to the same trip: its start, or its first half.
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

/// Flag: the waiting thread sleeps, or is about to.
const ASLEEP: u32 = 1 << 30;
/// Flag: the last turn.
const END: u32 = 1 << 31;
/// Bits that count turns. Only the parity matters, so they may wrap around.
const COUNT: u32 = ASLEEP - 1;

/// Whose turn it is: the first role's if the count is even, else the second's. Tene ("GilExamples") has a spinning
/// ping-pong of this form. The word has 32 bits, as a futex requires.
///
/// A waiting thread may set `ASLEEP` and sleep on the word. A handoff exchanges the whole word, sees the flag and wakes
/// the sleeper. No wake-up is lost, since the kernel lets no thread sleep on a word that has changed.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Turn {
    futex: Futex,
}

impl Turn {
    /// Creates the first role's turn.
    pub fn new() -> Turn {
        Turn::default()
    }

    /// Current word.
    #[inline(always)]
    pub fn poll(&self) -> u32 {
        // Acquire pairs with the Release of the handoff, so earlier writes of that thread are visible.
        self.futex.word.load(Acquire)
    }

    /// Hands over to a thread that never sleeps. Only for the role whose turn it is. `word` is the word that it found.
    #[inline(always)]
    pub fn pass(&self, word: u32) {
        // Release pairs with the Acquire in `poll`.
        self.futex.word.store(after(word), Release);
    }

    /// Hands over to a thread that may sleep.
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
        // Release as in `pass`. The flag orders no data: it only says that a thread may be asleep.
        if self.futex.word.swap(next, Release) & ASLEEP != 0 {
            self.futex.wake_one();
        }
    }

    /// Sleeps while the word equals `word`, until woken. May return early. Only for the waiting role.
    pub fn sleep(&self, word: u32) {
        if word & ASLEEP == 0 {
            // Relaxed: the flag orders no data. On failure the turn has come.
            if self.futex.word.compare_exchange(word, word | ASLEEP, Relaxed, Relaxed).is_err() {
                return;
            }
        }
        self.futex.wait(word | ASLEEP);
    }

    /// Asks the kernel to sleep on a value that differs from the word. The kernel checks the word and returns at once.
    pub fn sleep_in_vain(&self, word: u32) {
        self.futex.wait(word ^ 1);
    }

    /// Address for a monitor instruction.
    pub fn address(&self) -> *const u32 {
        std::ptr::from_ref(&self.futex.word).cast()
    }
}

/// Word of the next turn.
#[inline(always)]
pub fn after(word: u32) -> u32 {
    word.wrapping_add(1) & COUNT
}

/// Whether a word gives the turn to the role that wants words of the parity of `wanted`.
#[inline(always)]
pub fn is_mine(word: u32, wanted: u32) -> bool {
    (word ^ wanted) & 1 == 0
}

/// Whether a word is exactly the wanted turn. Flags are ignored, since the next waiter may have set them.
#[inline(always)]
pub fn is_turn(word: u32, wanted: u32) -> bool {
    (word ^ wanted) & COUNT == 0
}

/// Whether this is the last turn.
#[inline(always)]
pub fn is_end(word: u32) -> bool {
    word & END != 0
}

/// Whether the trip that begins with this word is even. Both halves of a trip have the same result.
#[inline(always)]
pub fn trip_is_even(word: u32) -> bool {
    word >> 1 & 1 == 0
}
