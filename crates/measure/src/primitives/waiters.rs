//! [`Waiters`]: the count of waiting threads in libstdc++'s `wait` and `notify` of C++ atomics (`bits/atomic_wait.h` of
//! GCC 12). It avoids kernel calls while no thread waits.
//!
//! A waiting thread first counts itself, in one of 16 counts chosen by the word's address. It then polls 16 times: a
//! spin hint follows each of the first twelve polls, a yield each of the others. Finally it sleeps on a futex, and
//! polls again when woken. A notifying thread calls the kernel only if the count is not zero. The futex is the word if
//! that has four bytes. For every other type, including `std::atomic_flag`, it is a version next to the count. Each
//! notification increments the version and wakes all threads that sleep on it.
//!
//! Here each primitive has its own count. In a program that waits on many addresses, 16 counts serve all of them, so a
//! notification may call the kernel for a thread that waits elsewhere.

use crate::sync::Ordering::{Release, SeqCst};
use crate::sync::{AtomicU32, fence, yield_now};
use crate::trial_context::CachePadded;
use crate::wait::{Pause, WaitAction};

/// Polls before a sleep. One suffices for loom, which explores every poll as a separate branch.
const POLLS: u32 = if cfg!(loom) { 1 } else { 16 };
/// Polls that a spin hint follows. A yield follows the others.
const HINTED: u32 = 12;

/// Number of waiting threads, on a separate line. Waiters write it, and notifiers read it.
#[derive(Debug, Default)]
pub struct Waiters(CachePadded<AtomicU32>);

/// A waiting thread, which is counted until this value is dropped.
#[derive(Debug)]
pub struct Waiting<'a>(&'a Waiters);

impl Waiters {
    /// Counts a waiter, before its first poll.
    pub fn enter(&self) -> Waiting<'_> {
        // SeqCst, like every poll of a waiter, the write of the word and the load of the count in `any`. So the
        // notifier sees this count, or the waiter sees the word that the notifier wrote before it loaded the count.
        self.0.fetch_add(1, SeqCst);
        // Loom (0.7) treats SeqCst as AcqRel, but models fences.
        if cfg!(loom) {
            fence(SeqCst);
        }
        Waiting(self)
    }

    /// Whether any thread waits. Must follow a SeqCst write of the word.
    pub fn any(&self) -> bool {
        if cfg!(loom) {
            fence(SeqCst);
        }
        // SeqCst, as in `enter`.
        self.0.load(SeqCst) != 0
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Release keeps the waiter's last poll before this store. The count publishes no other data.
        self.0.0.fetch_sub(1, Release);
    }
}

/// Polls as often as libstdc++ does before it sleeps. Returns whether `poll` succeeded.
pub fn poll_briefly(mut poll: impl FnMut() -> bool) -> bool {
    (0..POLLS).any(|index| {
        let succeeded = poll();
        if !succeeded {
            // GCC 12 has a hint for x86 only and yields elsewhere.
            if index < HINTED && cfg!(target_arch = "x86_64") {
                Pause::wait();
            } else {
                yield_now();
            }
        }
        succeeded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_is_counted_until_it_leaves() {
        let waiters = Waiters::default();
        assert!(!waiters.any());
        let [first, second] = [waiters.enter(), waiters.enter()];
        drop(first);
        assert!(waiters.any());
        drop(second);
        assert!(!waiters.any());
    }

    #[test]
    fn polling_ends_after_sixteen_polls_or_the_first_success() {
        let mut polls = 0;
        assert!(!poll_briefly(|| {
            polls += 1;
            false
        }));
        assert_eq!(polls, 16);
        assert!(poll_briefly(|| {
            polls += 1;
            polls == 19
        }));
        assert_eq!(polls, 19);
    }
}
