//! Strategies that poll until their turn, with different actions between two polls.

use super::Strategy;
use super::{Turn, is_mine};
use crate::kernel_context::{Guard, Halt, POLLS};
use crate::wait::{self, WaitAction};

/// Action between two polls.
pub trait Idle: Copy + Send + Sync {
    /// Polls between two checks of the guard. A check is negligible, and a role still leaves within milliseconds.
    fn patience(&self) -> u32;

    /// Waits briefly, or not at all. `word` is the result of the last poll.
    fn idle(&self, turn: &Turn, word: u32);
}

/// Polls with an action in between.
#[derive(Debug, Clone, Copy)]
pub struct Spinning<I>(pub I);

/// No action.
#[derive(Debug, Clone, Copy)]
pub struct Busy;

/// One spin hint: PAUSE on x86, ISB on aarch64.
#[derive(Debug, Clone, Copy)]
pub struct Pause;

/// A number of spin hints.
#[derive(Debug, Clone, Copy)]
pub struct Pauses(pub u32);

/// A full memory fence: MFENCE on x86, DMB ISH on aarch64.
#[derive(Debug, Clone, Copy)]
pub struct Fence;

/// Yields the CPU by a system call.
#[derive(Debug, Clone, Copy)]
pub struct Yield;

impl Idle for Busy {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        wait::Busy::wait();
    }
}

impl Idle for Pause {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        wait::Pause::wait();
    }
}

impl Idle for Pauses {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS.div_ceil(self.0)
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        for _ in 0..self.0 {
            wait::Pause::wait();
        }
    }
}

impl Idle for Fence {
    #[inline(always)]
    fn patience(&self) -> u32 {
        POLLS
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        super::instructions::full_fence();
    }
}

impl Idle for Yield {
    #[inline(always)]
    fn patience(&self) -> u32 {
        // A yield takes as long as about 2⁹ polls, or a quantum on a shared CPU.
        POLLS.div_ceil(1 << 9)
    }

    #[inline(always)]
    fn idle(&self, _: &Turn, _: u32) {
        std::thread::yield_now();
    }
}

impl<I: Idle> Strategy for Spinning<I> {
    const SLEEPS: bool = false;

    #[inline(always)]
    fn wait(&self, turn: &Turn, wanted: u32, polls: &mut u64, guard: &Guard<'_>) -> Result<u32, Halt> {
        let patience = self.0.patience();
        loop {
            // The counter counts down, so that counting the polls adds no cost.
            let mut left = patience;
            while left != 0 {
                let word = turn.poll();
                if is_mine(word, wanted) {
                    *polls += u64::from(patience - left) + 1;
                    return Ok(word);
                }
                self.0.idle(turn, word);
                left -= 1;
            }
            *polls += u64::from(patience);
            guard.check()?;
        }
    }

    #[inline(always)]
    fn act(&self, turn: &Turn) {
        // The word is not needed here. Without `black_box` the poll could be optimised away.
        let word = std::hint::black_box(turn.poll());
        self.0.idle(turn, word);
    }
}
