//! [`Stage`]: all that a role function sees of the world.

use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};

/// One cache line of measured memory.
///
/// 64 bytes on x86-64 and on most Arm cores; where lines are 128 bytes wide, neighbours in a run share one, and the
/// arena spaces places accordingly.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line {
    /// The words of the line; protocols use the first, payloads and stamps the others.
    pub words: [AtomicU64; 8],
}

impl Line {
    /// A line of zeros.
    pub fn new() -> Line {
        Line { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Default for Line {
    fn default() -> Line {
        Line::new()
    }
}

/// What a role sees while it runs one span: its places in the order of the walk (the same on both sides), how often,
/// where samples go, and the guard that keeps it from spinning for ever.
#[derive(Debug)]
pub struct Stage<'a> {
    /// Lines in the order of the walk; `lines_per_place` consecutive ones make a place. All words are 0 at the start.
    pub lines: &'a [&'a Line],
    /// Round trips before the first timed batch, on the first place.
    pub warm_up: u32,
    /// What is recorded; the same variant on both sides, empty buffers on all but the recording role.
    pub recorder: Recorder<'a>,
    /// Keeps every wait finite.
    pub guard: &'a Guard<'a>,
    /// Hand-overs that this role has seen to be right, for the comparison of both sides afterwards.
    pub verified: u64,
}

/// Where samples go.
#[derive(Debug)]
pub enum Recorder<'a> {
    /// `visits` batches of `round_trips` on each place.
    Batches {
        /// Batches on each place.
        visits: u32,
        /// Round trips in a batch.
        round_trips: u32,
        /// Ticks of each batch in the order of execution, walk order × visits; long enough on the recording role,
        /// empty on the others.
        ticks: &'a mut [u32],
    },
    /// Single round trips counted by value.
    Events {
        /// How many.
        round_trips: u64,
        /// `buckets[t]` counts events of `t` ticks; the last bucket's index stands for everything above, whose exact
        /// values go to `beyond`. Empty on all but the recording role.
        buckets: &'a mut [u32],
        /// Ticks of events beyond the buckets; has room for every one that can happen within the deadline.
        beyond: &'a mut Vec<u64>,
    },
}

/// Why a role left its loop early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The run was stopped.
    Stopped,
    /// The deadline of the trial passed.
    Deadline,
    /// Another role of the trial gave up.
    Partner,
}

/// What the slow path of every wait looks at, about every 2¹⁶ turns: never in the fast path.
#[derive(Debug)]
pub struct Guard<'a> {
    /// Raised by the coordinator, from a signal or when another role halted: 0 go on, else a reason.
    pub halt: &'a AtomicU64,
    /// The counter value at which the trial is given up.
    pub deadline_ticks: u64,
    /// Reads the counter; a function pointer, so that simulated and loom tests bring their own.
    pub now_ticks: fn() -> u64,
}

impl Guard<'_> {
    /// Whether to go on.
    ///
    /// # Errors
    /// The reason to leave the loop.
    #[cold]
    #[inline(never)]
    pub fn check(&self) -> Result<(), Halt> {
        // Acquire pairs with the Release in `give_up`: whoever sees the reason also sees what the other role wrote
        // before it left (its count of verified hand-overs).
        match self.halt.load(Acquire) {
            0 => {}
            1 => return Err(Halt::Stopped),
            2 => return Err(Halt::Deadline),
            _ => return Err(Halt::Partner),
        }
        if (self.now_ticks)() > self.deadline_ticks {
            self.give_up(Halt::Deadline);
            return Err(Halt::Deadline);
        }
        Ok(())
    }

    /// Tells every role of the trial to leave; the first reason stays.
    pub fn give_up(&self, reason: Halt) {
        let code = match reason {
            Halt::Stopped => 1,
            Halt::Deadline => 2,
            Halt::Partner => 3,
        };
        // Release pairs with the Acquire in `check`. On failure nothing is published, so Relaxed is enough.
        let _ = self.halt.compare_exchange(0, code, Release, Relaxed);
    }
}
