//! Numbers that many threads add one to, each way of doing so behind one trait, so that loops over them are compiled
//! for each.

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

/// Every lock of our own under the memory model: no order of two threads, or of three that sleep, loses an update.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::flag::{FlagLock, FlagLockAlways};
    use super::guarded::{Guarded, Lock};
    use super::mcs::McsLock;
    use super::{Counter, Setup, Step};
    use crate::primitives::spin::{TasLock, TicketLock};
    use crate::stage::Guard;
    use crate::sync::{Arc, AtomicU64};

    /// Threads of which each adds so often; every order that loom explores must end with the exact sum.
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

    // Two threads that spin while a third could go on are beyond loom's scheduler, which gives the turn to and fro between
    // the two: three threads only where they sleep.
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
