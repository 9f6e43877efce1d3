//! Strategies that poll for a while and then sleep until woken.

use super::Strategy;
use super::{Turn, is_mine};
use crate::kernel_context::{Guard, Halt};
use crate::sync::yield_now;
use crate::wait::{Pause, WaitAction};

/// Polls this many times, with a spin hint after each poll, then sleeps on the word. With 0 it sleeps at once.
#[derive(Debug, Clone, Copy)]
pub struct SpinFutex(pub u32);

/// Polls with 1, 2, 4 … 64 spin hints in between, then with yields in between, then sleeps.
#[derive(Debug, Clone, Copy)]
pub struct Backoff;

const POLLS_PER_STEP: u32 = 8;
const MAX_HINTS: u32 = 64;
const YIELDS: u32 = 16;

impl SpinFutex {
    /// Polls until the turn of `wanted` or the limit. Returns the last word.
    #[inline(always)]
    fn spin(self, turn: &Turn, wanted: u32, polls: &mut u64) -> Result<u32, u32> {
        let mut polls_left = self.0;
        loop {
            let word = turn.poll();
            *polls += 1;
            if is_mine(word, wanted) {
                return Ok(word);
            }
            if polls_left == 0 {
                return Err(word);
            }
            polls_left -= 1;
            Pause::wait();
        }
    }
}

impl Strategy for SpinFutex {
    const SLEEPS: bool = true;

    #[inline(always)]
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt> {
        let mut found = self.spin(turn, wanted, polls);
        loop {
            match found {
                Ok(word) => return Ok(word),
                Err(word) => turn.sleep(word),
            }
            // The role was woken for its turn, spuriously, or because it must leave. So it polls again, then checks the
            // guard.
            found = SpinFutex(0).spin(turn, wanted, polls);
            if found.is_err() {
                guard.check()?;
            }
        }
    }

    fn act(&self, turn: &Turn) {
        let mut polls = 0;
        // The wanted turn has the other parity. So it never comes, and every poll is made.
        let word = turn.poll();
        let _ = std::hint::black_box(self.spin(turn, word ^ 1, &mut polls));
        if self.0 == 0 {
            turn.sleep_in_vain(word);
        }
    }
}

impl Backoff {
    #[inline(always)]
    fn spin(turn: &Turn, wanted: u32, polls: &mut u64) -> Result<u32, u32> {
        let mut hints = 1;
        while hints <= MAX_HINTS {
            for _ in 0..POLLS_PER_STEP {
                let word = turn.poll();
                *polls += 1;
                if is_mine(word, wanted) {
                    return Ok(word);
                }
                for _ in 0..hints {
                    Pause::wait();
                }
            }
            hints *= 2;
        }
        for _ in 0..YIELDS {
            let word = turn.poll();
            *polls += 1;
            if is_mine(word, wanted) {
                return Ok(word);
            }
            yield_now();
        }
        SpinFutex(0).spin(turn, wanted, polls)
    }
}

impl Strategy for Backoff {
    const SLEEPS: bool = true;

    #[inline(always)]
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt> {
        let mut found = Backoff::spin(turn, wanted, polls);
        loop {
            match found {
                Ok(word) => return Ok(word),
                Err(word) => turn.sleep(word),
            }
            found = SpinFutex(0).spin(turn, wanted, polls);
            if found.is_err() {
                guard.check()?;
            }
        }
    }

    fn act(&self, turn: &Turn) {
        let mut polls = 0;
        let _ = Backoff::spin(turn, turn.poll() ^ 1, &mut polls);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::strategies::{after, is_end};
    use crate::sync::{Arc, AtomicU64};

    /// Two turns per side, the last one ends; both sides sleep whenever they have to wait.
    fn hand_over<const SPINS: u32>() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let turn = Arc::new(Turn::new());
            let other = Arc::clone(&turn);
            let responder = loom::thread::spawn(move || {
                let halt = AtomicU64::new(0);
                let guard = Guard { halt: &halt, deadline_ticks: 1, now_ticks: || 0 };
                let (mut polls, mut wanted, mut turns) = (0, 1, 0);
                loop {
                    let word = SpinFutex(SPINS).wait(&other, wanted, &mut polls, &guard).unwrap();
                    if is_end(word) {
                        return turns;
                    }
                    turns += 1;
                    other.pass_waking(word);
                    wanted = after(after(wanted));
                }
            });
            let halt = AtomicU64::new(0);
            let guard = Guard { halt: &halt, deadline_ticks: 1, now_ticks: || 0 };
            let (mut polls, mut word) = (0, 0);
            turn.pass_waking(word);
            word = SpinFutex(SPINS).wait(&turn, after(after(word)), &mut polls, &guard).unwrap();
            turn.end(word);
            assert_eq!(responder.join().unwrap(), 1);
        });
    }

    #[test]
    fn loom_a_turn_reaches_a_sleeping_role() {
        hand_over::<0>();
    }

    #[test]
    fn loom_a_turn_reaches_a_role_that_polls_once_and_sleeps() {
        hand_over::<1>();
    }
}
