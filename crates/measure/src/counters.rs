//! Counters that many threads increment. One trait lets the compiler build a timed loop for each method.

pub mod atomic;
#[cfg(not(loom))]
pub mod catalogue;
pub mod flag;
pub mod guarded;
pub mod mcs;
#[cfg(target_os = "linux")]
pub mod sleeping;

#[cfg(all(test, not(loom)))]
mod tests;

use crate::kernel_context::{Guard, Halt};

/// Conditions for which a counter is created.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Number of incrementing threads.
    pub threads: usize,
    /// Share of operations that only read, for counters that distinguish readers from writers.
    pub read_share: f64,
}

/// Random choice of operations that only read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    share: f64,
    random: u64,
}

/// Effect of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The counter was incremented from this value.
    Added(u64),
    /// The counter was incremented from an unknown value.
    AddedSomewhere,
    /// The counter was read.
    Looked,
}

/// A counter incremented by many threads.
pub trait Counter: Sync + Sized {
    /// State of one thread, away from the shared lines. It holds everything that the thread needs before an operation,
    /// such as the address of its own words. Otherwise the thread would have to fetch the counter's line for that.
    type Handle<'a>
    where
        Self: 'a;

    /// Creates a counter with value 0.
    fn new(setup: &Setup) -> Self;

    /// Returns the state of the thread with this number, counted from 0. At most one thread may use it.
    fn handle(&self, thread: usize) -> Self::Handle<'_>;

    /// Performs one operation, or returns the reason to leave without it. `inside` runs in the critical section, or
    /// after the operation if there is no such section.
    fn step<'a>(
        &'a self,
        handle: &mut Self::Handle<'a>,
        guard: &Guard<'_>,
        inside: impl FnOnce(),
    ) -> Result<Step, Halt>;

    /// Returns the value in memory after all threads have left.
    fn total(&self) -> u64;

    /// Whether all other invariants held, such as that no reader saw a value change.
    fn is_sound(&self) -> bool {
        true
    }
}

impl Draws {
    /// The choices of this thread. `share` is the share of reads.
    pub fn new(thread: usize, share: f64) -> Draws {
        // Any odd seed works. The seeds of threads differ.
        Draws { share, random: (thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// Whether the next operation only reads. The generator is xorshift (Marsaglia 2003).
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

/// Locks of this crate under loom: no order of two threads, or of three that sleep, loses an update.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::flag::{FlagLock, FlagLockAlways};
    use super::guarded::{Guarded, Lock};
    use super::mcs::McsLock;
    use super::{Counter, Setup, Step};
    use crate::kernel_context::Guard;
    use crate::primitives::spin::{TasLock, TicketLock};
    use crate::sync::{Arc, AtomicU64};

    /// `threads` threads add `each` times; every order explored by loom must give the exact sum.
    fn exact<L: Lock + Send + 'static>(threads: usize, each: u64) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let counter = Arc::new(Guarded::<L>::new(&Setup { threads, read_share: 0.0 }));
            let run = move |thread: usize, counter: &Guarded<L>| {
                let halt = AtomicU64::new(0);
                let guard = Guard { halt: &halt, deadline_ticks: u64::MAX, now_ticks: || 0 };
                let mut handle = counter.handle(thread);
                for _ in 0..each {
                    assert!(matches!(counter.step(&mut handle, &guard, || ()), Ok(Step::Added(_))));
                }
            };
            let others: Vec<_> = (1..threads)
                .map(|thread| {
                    let counter = counter.clone();
                    loom::thread::spawn(move || run(thread, &counter))
                })
                .collect();
            run(0, &counter);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(counter.total(), threads as u64 * each);
        });
    }

    // Loom's scheduler cannot handle two spinning threads while a third could proceed: it keeps switching between the
    // two. So three threads are used only where they sleep.
    #[test]
    fn loom_mcs_loses_nothing() {
        exact::<McsLock>(2, 2);
        exact::<McsLock>(2, 3);
    }

    #[test]
    fn loom_flag_loses_nothing_and_leaves_nobody_asleep() {
        exact::<FlagLock>(2, 2);
        exact::<FlagLockAlways>(2, 2);
        exact::<FlagLockAlways>(3, 1);
    }

    #[test]
    fn loom_tas_loses_nothing() {
        exact::<TasLock<false>>(2, 2);
        exact::<TasLock<true>>(2, 2);
    }

    #[test]
    fn loom_ticket_loses_nothing() {
        exact::<TicketLock>(2, 2);
    }
}
