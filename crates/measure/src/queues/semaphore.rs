//! [`Semaphore`]: our own counting semaphore over one futex word. It sleeps at once or after some polls.

use super::bounded::{MAX_PERMITS, Permits};
use super::futex::Futex;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::{Pause, WaitAction};
use std::io;

/// Mask of the lowest bits, which count permits. It exceeds `MAX_PERMITS` by one.
const PERMITS: u32 = (1 << 22) - 1;
const _: () = assert!(MAX_PERMITS < PERMITS as usize);
/// Set while a woken sleeper has not polled yet. Further wake-ups would be useless system calls.
const WAKING: u32 = 1 << 22;
/// Unit of the highest bits, which count sleepers, with those about to sleep.
const SLEEPER: u32 = 1 << 23;

/// A counting semaphore. All state is in one word, so one step gives a permit and checks for sleepers.
#[derive(Debug)]
pub struct Semaphore {
    state: Futex,
    spins: u32,
}

impl Semaphore {
    /// A semaphore with this many permits. It polls `spins` times before it sleeps.
    pub fn new(permits: u32, spins: u32) -> Semaphore {
        Semaphore { state: Futex::new(permits), spins }
    }

    /// Gives a permit and wakes a sleeper, if any.
    #[inline]
    pub fn give(&self) {
        // Release pairs with the Acquire in `try_take` and `sleep`: the taker of the permit sees what its giver did.
        let before = self.state.word.fetch_add(1, Release);
        if before >= SLEEPER && before & WAKING == 0 {
            self.wake();
        }
    }

    /// Takes a permit if one is available.
    #[inline]
    pub fn try_take(&self) -> bool {
        let mut state = self.state.word.load(Relaxed);
        while state & PERMITS != 0 {
            // Acquire pairs with the Release in `give`. A failure takes nothing, so Relaxed suffices.
            match self.state.word.compare_exchange_weak(state, state - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => state = found,
            }
        }
        false
    }

    /// Takes a permit. Polls `spins` times, then sleeps. Returns false if a nap ended without a permit.
    pub fn take(&self) -> bool {
        for _ in 0..self.spins {
            if self.try_take() {
                return true;
            }
            Pause::wait();
        }
        self.sleep()
    }

    #[cold]
    fn sleep(&self) -> bool {
        // Relaxed here and below where no permit is taken: the word orders itself and carries no other data.
        let mut state = self.state.word.fetch_add(SLEEPER, Relaxed) + SLEEPER;
        let mut slept = false;
        loop {
            let after_take = if state & PERMITS != 0 {
                state - 1
            } else if slept {
                // The nap ended without a permit. The caller can now check its guard.
                state
            } else if state & WAKING != 0 {
                // The wake-up was ours, or another thread took the permit. The next giver must wake again.
                match self.state.word.compare_exchange(state, state & !WAKING, Relaxed, Relaxed) {
                    Ok(_) => state &= !WAKING,
                    Err(found) => state = found,
                }
                continue;
            } else {
                self.state.wait(state);
                slept = true;
                state = self.state.word.load(Relaxed);
                continue;
            };
            let next_state = (after_take - SLEEPER) & !WAKING;
            // Acquire pairs with the Release in `give`.
            match self.state.word.compare_exchange(state, next_state, Acquire, Relaxed) {
                Ok(_) => {
                    if next_state & PERMITS != 0 && next_state >= SLEEPER {
                        // The wake-up that we just accounted for may have been meant for more than one permit.
                        self.wake();
                    }
                    return state & PERMITS != 0;
                }
                Err(found) => state = found,
            }
        }
    }

    #[cold]
    fn wake(&self) {
        if self.state.word.fetch_or(WAKING, Relaxed) & WAKING == 0 {
            self.state.wake_one();
        }
    }
}

impl Permits for Semaphore {
    fn with(permits: u32, spins: u32) -> io::Result<Semaphore> {
        Ok(Semaphore::new(permits, spins))
    }

    #[inline]
    fn try_take(&self) -> bool {
        Semaphore::try_take(self)
    }

    fn take(&self) -> bool {
        Semaphore::take(self)
    }

    #[inline]
    fn give(&self) {
        Semaphore::give(self);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::Arc;

    fn take(semaphore: &Semaphore) {
        while !semaphore.take() {
            loom::thread::yield_now();
        }
    }

    #[test]
    fn loom_every_sleeper_gets_its_permit() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let semaphore = Arc::new(Semaphore::new(0, 0));
            let sleepers: Vec<_> = (0..2)
                .map(|_| {
                    let semaphore = Arc::clone(&semaphore);
                    loom::thread::spawn(move || take(&semaphore))
                })
                .collect();
            semaphore.give();
            semaphore.give();
            for sleeper in sleepers {
                sleeper.join().unwrap();
            }
            assert_eq!(semaphore.state.word.load(Relaxed) & !WAKING, 0, "permits or sleepers are left");
        });
    }

    #[test]
    fn loom_permits_given_from_two_sides_are_all_taken() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let semaphore = Arc::new(Semaphore::new(0, 1));
            let givers: Vec<_> = (0..2)
                .map(|_| {
                    let semaphore = Arc::clone(&semaphore);
                    loom::thread::spawn(move || semaphore.give())
                })
                .collect();
            take(&semaphore);
            take(&semaphore);
            assert!(!semaphore.try_take());
            for giver in givers {
                giver.join().unwrap();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::bounded::hand_permits_over;

    #[test]
    fn permits_are_counted_and_naps_end_without_one() {
        let semaphore = Semaphore::new(2, 3);
        assert!(semaphore.take() && semaphore.try_take() && !semaphore.try_take());
        #[cfg(not(miri))]
        assert!(!semaphore.take(), "a nap ends without a permit");
        semaphore.give();
        assert!(semaphore.take());
    }

    #[test]
    fn two_threads_hand_permits_to_each_other() {
        hand_permits_over(Semaphore::new(1, 0), Semaphore::new(0, 0));
    }
}
