//! Strategies that look until it is their turn, and differ in what they do between two looks.

use super::Strategy;
use super::{Turn, is_mine};
use crate::stage::{Guard, Halt, POLLS};
use crate::wait::{self, WaitAction};

/// What is done between two looks.
pub trait Idle: Copy + Send + Sync {
    /// How many looks may pass before the guard is asked: so many that asking costs nothing, so few that a wait ends
    /// within milliseconds.
    fn patience(&self) -> u32;

    /// Waits a moment, or not at all. `word` is what was found.
    fn idle(&self, turn: &Turn, word: u32);
}

/// Looks, and does something between two looks.
#[derive(Debug, Clone, Copy)]
pub struct Spinning<I>(pub I);

/// Nothing.
#[derive(Debug, Clone, Copy)]
pub struct Busy;

/// One wait hint: PAUSE on x86, ISB on aarch64.
#[derive(Debug, Clone, Copy)]
pub struct Pause;

/// So many wait hints.
#[derive(Debug, Clone, Copy)]
pub struct Pauses(pub u32);

/// A full memory fence: MFENCE on x86, DMB ISH on aarch64.
#[derive(Debug, Clone, Copy)]
pub struct Fence;

/// Gives the CPU away to whoever else wants it: a system call.
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
        // A yield takes about 2⁹ looks, and a time slice where the CPU is shared.
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
            // Counted down, so that counting the looks costs the loop nothing more.
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
        // The word is of no use here, and a look that is of no use could be left out.
        let word = std::hint::black_box(turn.poll());
        self.0.idle(turn, word);
    }
}
