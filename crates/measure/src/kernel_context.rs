//! [`KernelContext`]: the view of the machine that a role function has.

use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::WaitAction;

/// One cache line of measured memory: 64 bytes, as on x86-64 and most Arm cores. Where hardware lines have 128 bytes,
/// two adjacent `Line`s share one hardware line. The arena then spaces the measured lines further apart.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line {
    /// The words of the line. Protocols use the first word, payloads and stamps the others.
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

/// A role's view of one span.
#[derive(Debug)]
pub struct KernelContext<'a> {
    /// Lines in the order of the walk, which is equal for all roles. `lines_per_place` consecutive lines make a place.
    /// All words are 0 at the start.
    pub lines: &'a [&'a Line],
    /// Round trips before the first timed batch, on the first place.
    pub warm_up: u32,
    /// Sample buffers. All roles have the same variant. Only the recording role has buffers that are not empty.
    pub recorder: Recorder<'a>,
    /// Bounds every wait.
    pub guard: &'a Guard<'a>,
    /// Number of verified hand-offs of this role. It is compared with the other role afterwards.
    pub verified: u64,
}

/// Where samples are recorded.
#[derive(Debug)]
pub enum Recorder<'a> {
    /// `visits` batches of `round_trips` on each place.
    Batches {
        /// Batches on each place.
        visits: u32,
        /// Round trips in a batch.
        round_trips: u32,
        /// Ticks of each batch in order of execution, walk order × visits. Empty except in the recording role.
        ticks: &'a mut [u32],
    },
    /// Single round trips counted by duration.
    Events {
        /// Number of round trips.
        round_trips: u64,
        /// `buckets[t]` counts events of `t` ticks. The last bucket counts all longer events, whose exact values go to
        /// `beyond`. Empty except in the recording role.
        buckets: &'a mut [u32],
        /// Ticks of events beyond the buckets. The capacity suffices for all that can happen within the deadline.
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

/// The conditions that end a wait. Waits check them about every 2¹⁶ polls.
#[derive(Debug)]
pub struct Guard<'a> {
    /// Halt code: 0 to continue, else a reason. The coordinator, a signal or a role that halted sets it.
    pub halt: &'a AtomicU64,
    /// Counter value at which the trial is given up.
    pub deadline_ticks: u64,
    /// Reads the counter. Simulated and loom tests replace this function.
    pub now_ticks: fn() -> u64,
}

impl Guard<'_> {
    /// Checks whether to continue, or returns the reason to leave the loop.
    #[cold]
    #[inline(never)]
    pub fn check(&self) -> Result<(), Halt> {
        // Acquire pairs with the Release in `give_up`. A role that sees the reason also sees what the other role wrote
        // before it left: its count of verified hand-offs.
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

    /// Checks whether to continue, with a time that was already read. A loop that makes progress calls it between
    /// batches, since it never waits long enough to call [`check`](Guard::check).
    #[inline(always)]
    pub fn check_at(&self, now_ticks: u64) -> Result<(), Halt> {
        // Relaxed: this load only decides whether to call `check`, which acquires. The line is shared and in our cache.
        if self.halt.load(Relaxed) != 0 || now_ticks > self.deadline_ticks { self.check() } else { Ok(()) }
    }

    /// Tells every role of the trial to leave. The first reason is kept.
    pub fn give_up(&self, reason: Halt) {
        let code = match reason {
            Halt::Stopped => 1,
            Halt::Deadline => 2,
            Halt::Partner => 3,
        };
        // Release pairs with the Acquire in `check`. A failure publishes nothing, so Relaxed suffices.
        let _ = self.halt.compare_exchange(0, code, Release, Relaxed);
    }
}

/// Polls or wait hints between two calls of [`Guard::check`]. The calls are too rare to cost time. A role still leaves
/// within milliseconds, before its quantum ends: a partner on the same CPU cannot run until then.
///
/// Loom explores every poll as a branch of its own, and Miri takes microseconds for each.
pub(crate) const POLLS: u32 = if cfg!(any(loom, miri)) { 1 } else { 1 << 16 };

/// Polls until `poll` returns true, executing `W` between two polls. Fails with the reason if the wait was given up.
#[inline(always)]
pub fn wait_until<W: WaitAction>(guard: &Guard<'_>, mut poll: impl FnMut() -> bool) -> Result<(), Halt> {
    loop {
        // The counter counts down, so the bare spin gets only a decrement and a branch in addition.
        let mut remaining = const { POLLS.div_ceil(if W::HINTS == 0 { 1 } else { W::HINTS }) };
        while remaining != 0 {
            if poll() {
                return Ok(());
            }
            W::wait();
            remaining -= 1;
        }
        guard.check()?;
    }
}

/// Counts an event by its value, as [`Recorder::Events`] describes. `beyond` takes exact values while it has capacity.
/// Never allocates.
#[inline(always)]
pub fn count_event(buckets: &mut [u32], beyond: &mut Vec<u64>, value: u64) {
    let Some(last) = buckets.len().checked_sub(1) else { return };
    let bucket = value.min(last as u64) as usize;
    buckets[bucket] = buckets[bucket].saturating_add(1);
    if bucket == last && beyond.len() < beyond.capacity() {
        beyond.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_by_value_and_large_ones_kept() {
        let (mut buckets, mut beyond) = (vec![0; 4], Vec::with_capacity(2));
        for value in [0, 2, 2, 3, 70, u64::MAX] {
            count_event(&mut buckets, &mut beyond, value);
        }
        assert_eq!(buckets, [1, 0, 2, 3], "the last bucket counts what does not fit");
        assert_eq!((beyond.as_slice(), beyond.capacity()), (&[3, 70][..], 2), "a full list does not grow");
        count_event(&mut [], &mut beyond, 1);
    }

    #[test]
    fn the_first_reason_to_leave_is_kept() {
        let halt = AtomicU64::new(0);
        let guard = Guard { halt: &halt, deadline_ticks: 5, now_ticks: || 5 };
        assert_eq!(guard.check(), Ok(()));
        guard.give_up(Halt::Partner);
        guard.give_up(Halt::Stopped);
        assert_eq!(guard.check(), Err(Halt::Partner));
    }
}
