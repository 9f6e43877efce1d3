//! `xfer`: dependent reads of lines that the partner has just dirtied. Nothing spins while the clock runs. So this
//! kernel is a second mechanism, which confirms or explains the results of the ping-pongs.
//!
//! - A place is two lines. The first holds data. The second keeps the prefetcher of line pairs from fetching the next
//!   place early; that of the first place is the mailbox. The walk visits `lines` in order and begins again. They
//!   should be shuffled and many (128 to 256 places): with few, the two clock reads of each leg become visible.
//! - A batch is `round_trips` dependent reads along the cyclic walk. It begins at the place for which it is recorded.
//!   Its ticks are for *reads*, one transfer each. `visits` batches are recorded for each place.
//! - A batch is one hand-off (leg), or one leg per lap of the walk. So each line is dirtied before it is read again.
//!   Both sides count these legs as verified. The dirtying is not timed.
//! - `warm_up` counts reads. Under `Events` every single read is timed, clock included, leg after leg along the walk.
//!
//! The address of each read depends on the value of the previous read, as in a chain of pointers. The dependency is
//! masked to zero, so no value in memory can change the address.

use super::ping_pong::saturated;
use crate::counter;
use crate::kernel::{Cost, Kernel};
use crate::kernel_context::{Guard, Halt, KernelContext, Line, Recorder, count_event, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::Pause;
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::hint::black_box;

/// The kernel of `xfer`. The reader is the initiator.
pub static XFER: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("xfer")),
    roles: &[reader, dirtier],
    cost: Cost::Chase { transfers_per_read: 1.0 },
    lines_per_place: LINES as u32,
    symbol: "latency_xfer",
};

/// The data line and an untouched neighbour.
const LINES: usize = 2;

/// Requests dirty lines and chases through them.
fn reader(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (lines, guard) = (context.lines, context.guard);
    let places = lines.len() / LINES;
    let Some(mailbox) = lines.get(1).map(|line| &line.words[0]) else { return Ok(()) };
    let mut round = 0;
    for leg in legs(u64::from(context.warm_up), 0, places) {
        round = ask(mailbox, round, guard)?;
        context.verified += u64::from(chase(lines, leg, round).1);
    }
    match &mut context.recorder {
        Recorder::Batches { visits, round_trips, ticks } => {
            let mut ticks = ticks.iter_mut();
            for place in 0..places {
                for _ in 0..*visits {
                    let mut sum = 0;
                    for leg in legs(u64::from(*round_trips), place, places) {
                        round = ask(mailbox, round, guard)?;
                        let (took, right) = chase(lines, leg, round);
                        sum += took;
                        context.verified += u64::from(right);
                    }
                    if let Some(slot) = ticks.next() {
                        *slot = saturated(sum);
                    }
                }
            }
        }
        Recorder::Events { round_trips, buckets, beyond } => {
            for leg in legs(*round_trips, 0, places) {
                round = ask(mailbox, round, guard)?;
                context.verified += u64::from(single_reads(lines, leg, round, buckets, beyond));
            }
        }
    }
    Ok(())
}

fn dirtier(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (lines, guard) = (context.lines, context.guard);
    let places = lines.len() / LINES;
    let Some(mailbox) = lines.get(1).map(|line| &line.words[0]) else { return Ok(()) };
    let mut round = 0;
    for leg in legs(u64::from(context.warm_up), 0, places) {
        round = answer(mailbox, lines, leg, round, guard)?;
        context.verified += 1;
    }
    match &context.recorder {
        Recorder::Batches { visits, round_trips, .. } => {
            for place in 0..places {
                for _ in 0..*visits {
                    for leg in legs(u64::from(*round_trips), place, places) {
                        round = answer(mailbox, lines, leg, round, guard)?;
                        context.verified += 1;
                    }
                }
            }
        }
        Recorder::Events { round_trips, .. } => {
            for leg in legs(*round_trips, 0, places) {
                round = answer(mailbox, lines, leg, round, guard)?;
                context.verified += 1;
            }
        }
    }
    Ok(())
}

/// Consecutive places of the walk that are dirtied and read in one hand-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leg {
    first: usize,
    reads: usize,
}

/// `reads` reads from `first` on, split at each full lap of the walk.
fn legs(reads: u64, first: usize, places: usize) -> impl Iterator<Item = Leg> {
    let lap = places as u64;
    (0..reads.div_ceil(lap.max(1))).map(move |leg| Leg { first, reads: lap.min(reads - leg * lap) as usize })
}

/// The value to write. It differs on every line of a round, and in every round.
#[inline(always)]
fn value(round: u64, step: usize) -> u64 {
    round.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step as u64
}

fn ask(mailbox: &AtomicU64, round: u64, guard: &Guard<'_>) -> Result<u64, Halt> {
    // Release pairs with the Acquire in `answer`: our reads of the last round are over before the lines change.
    mailbox.store(2 * round + 1, Release);
    // Acquire pairs with the Release in `answer`: the new values are in every line of the leg.
    wait_until::<Pause>(guard, || mailbox.load(Acquire) == 2 * round + 2)?;
    guard.check_at(counter::now_ticks())?;
    Ok(round + 1)
}

fn answer(
    mailbox: &AtomicU64,
    lines: &[&Line],
    leg: Leg,
    round: u64,
    guard: &Guard<'_>,
) -> Result<u64, Halt> {
    // Acquire pairs with the Release in `ask`: the reader is done with the last round.
    wait_until::<Pause>(guard, || mailbox.load(Acquire) == 2 * round + 1)?;
    let mut place = leg.first;
    for step in 0..leg.reads {
        // Relaxed: the Release below publishes the value, and the reader reads nothing before it.
        lines[LINES * place].words[0].store(value(round + 1, step), Relaxed);
        place = next_place(place, lines);
    }
    // Release pairs with the Acquire in `ask`. On x86 stores also leave the store buffer in order. So the lines are
    // dirty in this core's cache by the time the answer can be seen.
    mailbox.store(2 * round + 2, Release);
    Ok(round + 1)
}

/// Ticks for the reads of a leg, and whether every value belonged to this round.
#[inline(always)]
fn chase(lines: &[&Line], leg: Leg, round: u64) -> (u64, bool) {
    // Zero, but unknown to the compiler, which therefore keeps the dependency.
    let zero = black_box(0_usize);
    let (mut place, mut carried, mut wrong) = (leg.first, 0, 0);
    let begun = counter::start();
    for step in 0..leg.reads {
        // Relaxed: `ask` has acquired the whole leg.
        let read = shifted(lines[LINES * place], carried, zero).words[0].load(Relaxed);
        wrong |= read ^ value(round, step);
        carried = read as usize;
        place = next_place(place, lines);
    }
    let ended = counter::stop();
    (ended.wrapping_sub(begun), wrong == 0)
}

fn single_reads(lines: &[&Line], leg: Leg, round: u64, buckets: &mut [u32], beyond: &mut Vec<u64>) -> bool {
    let (mut place, mut wrong) = (leg.first, 0);
    for step in 0..leg.reads {
        let line = lines[LINES * place];
        let begun = counter::start();
        // Relaxed: `ask` has acquired the whole leg.
        let read = line.words[0].load(Relaxed);
        let ended = counter::stop();
        count_event(buckets, beyond, ended.wrapping_sub(begun));
        wrong |= read ^ value(round, step);
        place = next_place(place, lines);
    }
    wrong == 0
}

#[inline(always)]
fn next_place(place: usize, lines: &[&Line]) -> usize {
    if LINES * (place + 2) <= lines.len() { place + 1 } else { 0 }
}

#[inline(always)]
fn shifted(line: &Line, carried: usize, zero: usize) -> &Line {
    // SAFETY: `zero` is 0, and so is the offset. The pointer is that of `line`, which outlives the result.
    unsafe { &*std::ptr::from_ref(line).wrapping_byte_add(carried & zero) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_cover_every_read_and_never_a_place_twice() {
        for (reads, places) in [(0, 4), (3, 4), (4, 4), (5, 4), (256, 64), (7, 1)] {
            let legs: Vec<Leg> = legs(reads, 2, places).collect();
            assert_eq!(legs.iter().map(|leg| leg.reads as u64).sum::<u64>(), reads);
            assert!(legs.iter().all(|leg| leg.first == 2 && (1..=places).contains(&leg.reads)), "{legs:?}");
        }
    }

    #[test]
    fn the_walk_is_a_cycle_over_all_places() {
        let lines: Vec<Line> = (0..6).map(|_| Line::new()).collect();
        let lines: Vec<&Line> = lines.iter().collect();
        assert_eq!([0, 1, 2].map(|place| next_place(place, &lines)), [1, 2, 0]);
        assert_eq!(next_place(0, &lines[..2]), 0);
    }

    #[test]
    fn a_stale_line_is_noticed() {
        let lines: Vec<Line> = (0..8).map(|_| Line::new()).collect();
        let lines: Vec<&Line> = lines.iter().collect();
        let leg = Leg { first: 3, reads: 4 };
        for (step, place) in [3, 0, 1, 2].into_iter().enumerate() {
            lines[LINES * place].words[0].store(value(7, step), Relaxed);
        }
        assert!(chase(&lines, leg, 7).1);
        assert!(!chase(&lines, leg, 8).1, "values of another round pass");
        lines[2].words[0].store(value(6, 2), Relaxed);
        assert!(!chase(&lines, leg, 7).1, "one stale line passes");
        assert!(!single_reads(&lines, leg, 7, &mut [], &mut Vec::new()));
    }
}
