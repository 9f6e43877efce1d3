//! [`Waiters`]: who waits, counted as libstdc++ does for `wait` and `notify` of C++ atomics, so that a notice that nobody
//! waits for calls no kernel (`bits/atomic_wait.h` of GCC 12).
//!
//! Whoever waits counts itself first, in one of 16 counts that the word's address chooses, then looks 16 times, with a
//! wait hint after each of the first twelve looks and a yield after the others, then sleeps on a futex and looks anew when
//! it is woken. Whoever notifies calls the kernel only where the count is not zero. The futex is the word itself where that
//! has four bytes; of every other type, `std::atomic_flag` among them, it is a version beside the count, which each notice
//! raises by one, and each notice then wakes all that sleep on it.
//!
//! Here each primitive has a count of its own, since nobody else in the process waits that way: where a program waits on
//! many addresses, 16 counts serve them all, and a notice may call the kernel for somebody who waits elsewhere.

use crate::sync::Ordering::{Release, SeqCst};
use crate::sync::{AtomicU32, fence, yield_now};
use crate::trial_context::Apart;
use crate::wait::{Pause, WaitAction};

/// Looks before a sleep. One is enough for loom, which explores each as a branch of its own.
const POLLS: u32 = if cfg!(loom) { 1 } else { 16 };
/// So many of them are followed by a wait hint, the others by a yield.
const HINTED: u32 = 12;

/// How many wait, on a line of its own: written by who waits, read by who notifies.
#[derive(Debug, Default)]
pub struct Waiters(Apart<AtomicU32>);

/// One that waits; counted until it is dropped.
#[derive(Debug)]
pub struct Waiting<'a>(&'a Waiters);

impl Waiters {
    /// Counts one more, before it looks.
    pub fn enter(&self) -> Waiting<'_> {
        // SeqCst, as every look of a waiter, the write of the word and the look at the count in `any` are: of two that
        // meet, either the notifier sees this count, or the waiter sees what the notifier wrote before it looked here.
        self.0.fetch_add(1, SeqCst);
        // loom (0.7) takes SeqCst for AcqRel, but knows fences.
        if cfg!(loom) {
            fence(SeqCst);
        }
        Waiting(self)
    }

    /// Whether anybody waits, for who has written the word with SeqCst.
    pub fn any(&self) -> bool {
        if cfg!(loom) {
            fence(SeqCst);
        }
        // SeqCst: the other side of `enter`.
        self.0.load(SeqCst) != 0
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Release: what the waiter looked at last comes before. Nobody takes more from the count than a number.
        self.0.0.fetch_sub(1, Release);
    }
}

/// Looks as often as libstdc++ does before it sleeps; whether `poll` was content.
pub fn poll_briefly(mut poll: impl FnMut() -> bool) -> bool {
    (0..POLLS).any(|index| {
        let content = poll();
        if !content {
            // GCC 12 has a hint for x86 alone and yields elsewhere.
            if index < HINTED && cfg!(target_arch = "x86_64") {
                Pause::wait();
            } else {
                yield_now();
            }
        }
        content
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_counted_until_it_leaves() {
        let waiters = Waiters::default();
        assert!(!waiters.any());
        let [first, second] = [waiters.enter(), waiters.enter()];
        drop(first);
        assert!(waiters.any());
        drop(second);
        assert!(!waiters.any());
    }

    #[test]
    fn sixteen_looks_and_none_after_one_that_is_content() {
        let mut looked = 0;
        assert!(!poll_briefly(|| {
            looked += 1;
            false
        }));
        assert_eq!(looked, 16);
        assert!(poll_briefly(|| {
            looked += 1;
            looked == 19
        }));
        assert_eq!(looked, 19);
    }
}
