//! [`SlimSemaphore`]: a counting semaphore that follows the algorithm of .NET's `SemaphoreSlim`.
//!
//! Time limits, cancellation and asynchronous waits are left out. Sources: `SemaphoreSlim.cs` and `SpinWait.cs` of
//! dotnet/runtime at commit 04da5a17; for the length of a wait hint, `yieldprocessornormalizedshared.cpp` of CoreCLR at
//! 0ab25f73.
//!
//! - Any thread may read the count. Only the holder of a lock object's monitor changes it. `Wait` and `Release` take
//!   that lock with every call, whether a permit is free or not.
//! - `Wait` first polls the count, up to 140 times while it is zero. That is four times the 35 of other waits in .NET,
//!   because the slow path is expensive. Between polls it pauses ten times for 1, 2, 4, then 7 units of wait hints.
//!   Then it alternates between yielding its CPU and 7 units. A unit is the number of wait hints that take 37 ns,
//!   measured here; 7 units are about 270 ns.
//! - Then it takes the lock and counts itself as a waiter. While the count is zero it waits for a pulse of the monitor,
//!   which releases the lock meanwhile. Finally it decrements the count and returns.
//! - `Release` takes the lock. It pulses one waiter if more waiters are to be woken than pulsed waiters have yet to
//!   return. It pulses and writes the new count while it holds the lock. A poller sees the count before the lock is
//!   free, and then blocks on the lock.
//!
//! A test for a permit is `Wait` with a limit of zero. It polls once, and takes the lock only if the count is not zero.
//! std's mutex and condition variable replace the monitor. They also spin before they sleep, for a time of their own.
//! On a single processor .NET polls less often and yields between all polls, which is not implemented.
//!
//! The lock is an object of its own in .NET, so it has lines of its own here. The counts that it guards share other
//! lines with the reference to it, as fields of one object. `Release` reads these fields before it has the lock.

use super::bounded::Permits;
use crate::sync::AtomicU32;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::CachePadded;
use crate::wait::{Pause, WaitAction};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Polls of a zero count before the lock is taken to sleep.
pub const POLLS: u32 = 140;
/// Number of initial pauses with hints only. Every second later pause is a yield.
const HINTED: u32 = 10;
const UNIT_NS: f64 = 37.0;
/// Intended duration of the longest pause without a yield.
const MAX_NS: f64 = 272.0;

/// A pause between two polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// This many wait hints.
    Hints(u32),
    /// A yield of the CPU.
    Yield,
}

/// Lengths of pauses for one duration of a wait hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rests {
    unit: u32,
    max_units: u32,
}

impl Rests {
    /// Lengths for a wait hint of `hint_ns`.
    pub fn from_hint(hint_ns: f64) -> Rests {
        let unit = (UNIT_NS / hint_ns).round().max(1.0);
        Rests { unit: unit as u32, max_units: (MAX_NS / (unit * hint_ns)).round().max(1.0) as u32 }
    }

    /// The pause after an unsuccessful poll. Polls are numbered from 0.
    pub fn after(self, poll: u32) -> Rest {
        match poll {
            HINTED.. if (poll - HINTED).is_multiple_of(2) => Rest::Yield,
            _ => Rest::Hints(self.unit * self.max_units.min(1 << poll.min(30))),
        }
    }

    fn of_this_machine() -> Rests {
        static HERE: OnceLock<Rests> = OnceLock::new();
        *HERE.get_or_init(|| {
            const HINTS: u32 = if cfg!(miri) { 1 } else { 1_000 };
            // The shortest of eight runs, since an interruption can only lengthen a run.
            let shortest = (0..8).map(|_| {
                let began = Instant::now();
                (0..HINTS).for_each(|_| Pause::wait());
                began.elapsed()
            });
            let hint_ns = shortest.min().map_or(UNIT_NS, |took| took.as_nanos() as f64 / f64::from(HINTS));
            // A hint that takes no time would make a unit endless.
            Rests::from_hint(hint_ns.max(0.1))
        })
    }
}

/// The counting semaphore.
#[derive(Debug)]
pub struct SlimSemaphore {
    counts: CachePadded<Counts>,
    pulse: CachePadded<Condvar>,
    rests: Rests,
}

/// Fields that the lock guards. Every ordering here is Relaxed. A writer holds the lock, which orders everything. A
/// reader without the lock only learns whether to try.
#[derive(Debug)]
struct Counts {
    lock: Box<CachePadded<Mutex<()>>>,
    permits: AtomicU32,
    /// Threads inside `take` that hold the lock or wait for a pulse.
    waiters: AtomicU32,
    /// Threads that have been pulsed and have not yet returned from the wait.
    pulsed: AtomicU32,
}

/// Adds to a number that only the holder of the lock writes.
fn change(number: &AtomicU32, by: i32) {
    number.store(number.load(Relaxed).wrapping_add_signed(by), Relaxed);
}

impl SlimSemaphore {
    /// A semaphore with this many permits.
    pub fn new(permits: u32) -> SlimSemaphore {
        let [waiters, pulsed] = [(); 2].map(|()| AtomicU32::new(0));
        let counts = Counts { lock: Box::default(), permits: AtomicU32::new(permits), waiters, pulsed };
        SlimSemaphore {
            counts: CachePadded(counts),
            pulse: CachePadded::default(),
            rests: Rests::of_this_machine(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.counts.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.counts.permits.load(Relaxed) == 0
    }

    fn poll(&self) {
        for poll in 0..POLLS {
            if !self.is_empty() {
                return;
            }
            match self.rests.after(poll) {
                Rest::Hints(hints) => (0..hints).for_each(|_| Pause::wait()),
                Rest::Yield => std::thread::yield_now(),
            }
        }
    }

    /// Takes a permit under the lock. If `SLEEPS`, waits for a pulse for at most a nap.
    #[inline]
    fn enter<const SLEEPS: bool>(&self) -> bool {
        let mut lock = self.lock();
        change(&self.counts.waiters, 1);
        while SLEEPS && self.is_empty() {
            let (relocked, nap) = self
                .pulse
                .wait_timeout(lock, super::ends::GUARD_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner);
            lock = relocked;
            // Every returning waiter counts as pulsed, as in .NET, where the cause of the return is unknown too.
            if self.counts.pulsed.load(Relaxed) != 0 {
                change(&self.counts.pulsed, -1);
            }
            if nap.timed_out() {
                break;
            }
        }
        let taken = !self.is_empty();
        if taken {
            change(&self.counts.permits, -1);
        }
        change(&self.counts.waiters, -1);
        drop(lock);
        taken
    }
}

impl Permits for SlimSemaphore {
    fn with(permits: u32, _: u32) -> io::Result<SlimSemaphore> {
        Ok(SlimSemaphore::new(permits))
    }

    #[inline]
    fn try_take(&self) -> bool {
        !self.is_empty() && self.enter::<false>()
    }

    fn take(&self) -> bool {
        self.poll();
        self.enter::<true>()
    }

    #[inline]
    fn give(&self) {
        let lock = self.lock();
        let counts = &*self.counts;
        let permits = counts.permits.load(Relaxed) + 1;
        if permits.min(counts.waiters.load(Relaxed)) > counts.pulsed.load(Relaxed) {
            change(&counts.pulsed, 1);
            self.pulse.notify_one();
        }
        counts.permits.store(permits, Relaxed);
        drop(lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::bounded::hand_permits_over;

    #[test]
    fn pauses_grow_to_a_bound_and_then_alternate_with_yields() {
        // PAUSE takes 37 to 46 ns on Intel since Skylake, and about 10 ns on CPUs with a short one.
        for (hint_ns, unit) in [(40.0, 1), (10.0, 4), (1.0, 37), (400.0, 1)] {
            assert_eq!(Rests::from_hint(hint_ns).unit, unit, "{hint_ns} ns");
        }
        let rests = Rests::from_hint(10.0);
        let first: Vec<Rest> = (0..14).map(|poll| rests.after(poll)).collect();
        let units = [1, 2, 4, 7, 7, 7, 7, 7, 7, 7].map(|units| Rest::Hints(4 * units));
        assert_eq!(first[..10], units);
        assert_eq!(first[10..], [Rest::Yield, Rest::Hints(28), Rest::Yield, Rest::Hints(28)]);
    }

    #[test]
    fn permits_are_counted_and_a_nap_ends_without_one() {
        let semaphore = SlimSemaphore::new(2);
        assert!(semaphore.take() && semaphore.try_take() && !semaphore.try_take());
        #[cfg(not(miri))]
        assert!(!semaphore.take(), "a nap ends without a permit");
        semaphore.give();
        assert!(semaphore.take());
        let left = [&semaphore.counts.permits, &semaphore.counts.waiters, &semaphore.counts.pulsed];
        assert_eq!(left.map(|count| count.load(Relaxed)), [0, 0, 0]);
    }

    #[test]
    fn two_threads_hand_permits_to_each_other() {
        hand_permits_over(SlimSemaphore::new(1), SlimSemaphore::new(0));
    }
}
