//! The loop of `wait`. Two threads hand one word back and forth, each with its own wait strategy.

use crate::counter;
use crate::kernel_context::{Guard, Halt};
use crate::strategies::Strategy;
use crate::strategies::{Turn, after, is_end, is_turn};
use crate::tick_histogram::TickHistogram;

/// Uncounted round trips on every line, for address translation and the phase of the first trip.
pub const LEAD_IN: u64 = 2;
/// Initial trips between clock reads if the clock is outside the loop. Doubled until they take long enough.
const FIRST_BATCH: u64 = 16;
const MAX_BATCH: u64 = 1 << 16;

#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Maximum counted time per line.
    pub line_ticks: u64,
    /// Uncounted time on the first line.
    pub warm_up_ticks: u64,
    /// Maximum counted trips per line.
    pub trips: u64,
    pub clock: Clock,
    /// Minimum duration of a batch between two clock reads.
    pub batch_ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    Inside,
    Outside,
}

#[derive(Debug, Default)]
pub struct LeaderCounts {
    pub trips: u64,
    /// All trips, including warm-up and lead-in.
    pub all_trips: u64,
    pub ticks: u64,
    pub polls: u64,
}

#[derive(Debug, Default)]
pub struct FollowerCounts {
    pub verified: u64,
    pub polls: u64,
}

#[inline(always)]
fn pass<const WAKES: bool>(turn: &Turn, word: u32) {
    if WAKES { turn.pass_waking(word) } else { turn.pass(word) }
}

/// Role 0. `tallies` get the durations of single trips: one tally gets all, two get even and odd trips separately.
/// Fails with the reason to leave.
// Not inlined, so that `probes --asm` shows the code that ran.
#[inline(never)]
pub fn lead<S: Strategy, const WAKES: bool>(
    strategy: S,
    lines: &[&Turn],
    guard: &Guard<'_>,
    plan: &Plan,
    tallies: &mut [TickHistogram],
) -> Result<LeaderCounts, Halt> {
    let mut counts = LeaderCounts::default();
    let mut batch = FIRST_BATCH;
    for (index, turn) in lines.iter().enumerate() {
        let mut word = turn.poll();
        let warm_until = counter::now_ticks() + if index == 0 { plan.warm_up_ticks } else { 0 };
        let mut untimed = 0;
        while untimed < LEAD_IN || counter::now_ticks() < warm_until {
            pass::<WAKES>(turn, word);
            word = strategy.wait(turn, after(after(word)), &mut counts.polls, guard)?;
            untimed += 1;
        }
        let end = counter::now_ticks() + plan.line_ticks;
        let trips = match plan.clock {
            Clock::Inside => {
                timed::<S, WAKES>(strategy, turn, &mut word, guard, end, plan.trips, tallies, &mut counts)?
            }
            Clock::Outside => {
                batched::<S, WAKES>(strategy, turn, &mut word, guard, end, plan, &mut batch, &mut counts)?
            }
        };
        counts.trips += trips;
        counts.all_trips += untimed + trips;
        turn.end(word);
    }
    Ok(counts)
}

/// A sample contains one round trip and the cost of one pair of clock reads. The loop also contains the recording and a
/// second read between two samples, which belong to no sample (Tene, "GilExamples").
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "primitive arguments, so that the loop is plain machine code")]
fn timed<S: Strategy, const WAKES: bool>(
    strategy: S,
    turn: &Turn,
    word: &mut u32,
    guard: &Guard<'_>,
    end: u64,
    max_trips: u64,
    tallies: &mut [TickHistogram],
    counts: &mut LeaderCounts,
) -> Result<u64, Halt> {
    // One tally, or two for alternating trips.
    let mask = (tallies.len() - 1) as u32;
    let mut trips = 0;
    let began = counter::start();
    let mut previous = began;
    loop {
        let trip = *word >> 1;
        pass::<WAKES>(turn, *word);
        *word = strategy.wait(turn, after(after(*word)), &mut counts.polls, guard)?;
        let seen = counter::stop();
        tallies[(trip & mask) as usize].count(seen - previous);
        trips += 1;
        if seen >= end || trips >= max_trips {
            counts.ticks += seen - began;
            return Ok(trips);
        }
        guard.check_at(seen)?;
        previous = counter::start();
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "primitive arguments, so that the loop is plain machine code")]
fn batched<S: Strategy, const WAKES: bool>(
    strategy: S,
    turn: &Turn,
    word: &mut u32,
    guard: &Guard<'_>,
    end: u64,
    plan: &Plan,
    batch: &mut u64,
    counts: &mut LeaderCounts,
) -> Result<u64, Halt> {
    let mut trips = 0;
    let began = counter::start();
    let mut previous = began;
    loop {
        let count = (*batch).min(plan.trips - trips);
        for _ in 0..count {
            pass::<WAKES>(turn, *word);
            *word = strategy.wait(turn, after(after(*word)), &mut counts.polls, guard)?;
        }
        let seen = counter::stop();
        trips += count;
        if seen >= end || trips >= plan.trips {
            counts.ticks += seen - began;
            return Ok(trips);
        }
        guard.check_at(seen)?;
        if seen - previous < plan.batch_ticks && *batch < MAX_BATCH {
            *batch *= 2;
        }
        previous = seen;
    }
}

/// Role 1. It answers on every line until role 0 ends the line. Fails with the reason to leave.
#[inline(never)]
pub fn follow<S: Strategy, const WAKES: bool>(
    strategy: S,
    lines: &[&Turn],
    guard: &Guard<'_>,
) -> Result<FollowerCounts, Halt> {
    let mut counts = FollowerCounts::default();
    for turn in lines {
        let mut wanted = after(0);
        loop {
            let word = strategy.wait(turn, wanted, &mut counts.polls, guard)?;
            if is_end(word) {
                break;
            }
            // The whole turn must match, not only its parity.
            counts.verified += u64::from(is_turn(word, wanted));
            pass::<WAKES>(turn, word);
            wanted = after(after(wanted));
        }
    }
    Ok(counts)
}
