//! [`SlimSemaphore`]: a counting semaphore that goes about it as .NET's `SemaphoreSlim` does.
//!
//! What that does, from its source (dotnet/runtime at commit 04da5a17, `SemaphoreSlim.cs` and `SpinWait.cs`; the length of
//! a wait hint from `yieldprocessornormalizedshared.cpp` of CoreCLR at 0ab25f73), where nobody asks for a time limit, cancels
//! or waits asynchronously:
//!
//! - The count is an integer that anybody may look at and that only whoever has the monitor of a lock object changes. Both
//!   `Wait` and `Release` take that lock with every call, free place or not.
//! - `Wait` looks at the count first. Where it is zero it looks again up to 140 times (four times the 35 that other waits
//!   of .NET are given, because what follows is dear), and stops as soon as the count is not zero. Between two looks it
//!   passes the time: 1, 2, 4, then 7 units with wait hints, ten times in all; from then on it yields its CPU and passes 7
//!   units in turn. A unit is as many wait hints as take 37 ns here, measured; 7 units are some 270 ns.
//! - Then it takes the lock and counts itself a waiter. While the count is zero it waits for a pulse of the monitor, which
//!   gives the lock back meanwhile. At last it takes one from the count and leaves.
//! - `Release` takes the lock, and pulses one waiter if there are more to be woken than have been pulsed and have not yet
//!   come back; it pulses and writes the new count with the lock in its hands. Who looks sees the count before the lock is
//!   free, and runs into it.
//!
//! `Wait` with a limit of zero is what asks here whether there is a permit: it looks, and takes the lock only where the
//! count is not zero. Here std's mutex and condition variable stand for the monitor: theirs also looks for a while before
//! it sleeps, for how long is its own matter. On a machine with one processor .NET yields between all looks and makes
//! fewer; that is not followed.
//!
//! *Lines.* The lock is an object of its own in .NET, so it has lines of its own here; the counts that it guards and the
//! reference to it lie together on others, as the fields of one object: `Release` too looks at these before it has the lock.

use super::bounded::Permits;
use crate::sync::AtomicU32;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::Apart;
use crate::wait::{Pause, WaitAction};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Looks at a count of zero before the lock is taken for a sleep.
pub const POLLS: u32 = 140;
/// So many rests are hints alone; of the later ones every other is a yield.
const HINTED: u32 = 10;
/// What a unit of rest is meant to take.
const UNIT_NS: f64 = 37.0;
/// What the longest rest without a yield is meant to take.
const MAX_NS: f64 = 272.0;

/// What comes between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// So many wait hints.
    Hints(u32),
    /// The CPU is offered to others.
    Yield,
}

/// How long rests are where a wait hint takes so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rests {
    /// Wait hints of a unit.
    unit: u32,
    /// Units of the longest rest.
    most: u32,
}

impl Rests {
    /// Where a wait hint takes so many nanoseconds.
    pub fn of(hint_ns: f64) -> Rests {
        let unit = (UNIT_NS / hint_ns).round().max(1.0);
        Rests { unit: unit as u32, most: (MAX_NS / (unit * hint_ns)).round().max(1.0) as u32 }
    }

    /// What follows the look of this number, counted from 0, that found nothing.
    pub fn after(self, poll: u32) -> Rest {
        match poll {
            HINTED.. if (poll - HINTED).is_multiple_of(2) => Rest::Yield,
            _ => Rest::Hints(self.unit * self.most.min(1 << poll.min(30))),
        }
    }

    /// As this machine needs them; found out once.
    fn here() -> Rests {
        static HERE: OnceLock<Rests> = OnceLock::new();
        *HERE.get_or_init(|| {
            const HINTS: u32 = if cfg!(miri) { 1 } else { 1_000 };
            // The shortest of eight: an interruption makes it longer, nothing makes it shorter.
            let shortest = (0..8).map(|_| {
                let began = Instant::now();
                (0..HINTS).for_each(|_| Pause::wait());
                began.elapsed()
            });
            let hint_ns = shortest.min().map_or(UNIT_NS, |took| took.as_nanos() as f64 / f64::from(HINTS));
            // A hint that does nothing would make a unit endless.
            Rests::of(hint_ns.max(0.1))
        })
    }
}

/// Counts permits.
#[derive(Debug)]
pub struct SlimSemaphore {
    counts: Apart<Counts>,
    pulse: Apart<Condvar>,
    rests: Rests,
}

/// What the lock guards. Every order on these is Relaxed: whoever writes has the lock, which orders everything; who looks
/// without it learns only whether to try.
#[derive(Debug)]
struct Counts {
    lock: Box<Apart<Mutex<()>>>,
    permits: AtomicU32,
    /// Those that are inside `take` with the lock, or wait for a pulse.
    waiters: AtomicU32,
    /// Those that have been pulsed and have not come back.
    pulsed: AtomicU32,
}

/// Adds to a number that only the holder of the lock writes.
fn change(number: &AtomicU32, by: i32) {
    number.store(number.load(Relaxed).wrapping_add_signed(by), Relaxed);
}

impl SlimSemaphore {
    /// With so many permits.
    pub fn new(permits: u32) -> SlimSemaphore {
        let [waiters, pulsed] = [(); 2].map(|()| AtomicU32::new(0));
        let counts = Counts { lock: Box::default(), permits: AtomicU32::new(permits), waiters, pulsed };
        SlimSemaphore { counts: Apart(counts), pulse: Apart::default(), rests: Rests::here() }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.counts.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.counts.permits.load(Relaxed) == 0
    }

    /// Looks until there is a permit, as often as is worth it.
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

    /// Takes a permit under the lock; waits for a pulse where it is to (`SLEEPS`), at most for a nap.
    #[inline]
    fn enter<const SLEEPS: bool>(&self) -> bool {
        let mut lock = self.lock();
        change(&self.counts.waiters, 1);
        while SLEEPS && self.is_empty() {
            let (held, nap) =
                self.pulse.wait_timeout(lock, super::ends::NAP).unwrap_or_else(PoisonError::into_inner);
            lock = held;
            // Whoever comes back takes itself for pulsed, as there: nobody can tell.
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
    fn rests_grow_to_a_bound_and_yields_come_in_turn_with_them() {
        // PAUSE takes 37 to 46 ns on Intel since Skylake, and about 10 on what has a short one.
        for (hint_ns, unit) in [(40.0, 1), (10.0, 4), (1.0, 37), (400.0, 1)] {
            assert_eq!(Rests::of(hint_ns).unit, unit, "{hint_ns} ns");
        }
        let rests = Rests::of(10.0);
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
