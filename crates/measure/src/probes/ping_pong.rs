//! The loops of all ping-pong kernels, which differ in their [`Handoff`].
//!
//! ```text
//! initiator   0→1 ──────── 2→3 ──────── 4→5 ─ … ─ sees 2n, leaves the line
//!                ╲        ╱   ╲        ╱
//! responder       1→2 ───      3→4 ───  …  2n−1→2n
//! ```
//!
//! The word counts hand-offs, so each turn proves that the partner's turn has happened. After an unexpected value both
//! sides wait until the deadline, and the pair has no result.
//!
//! One clock read closes a batch and opens the next. The initiator reads right after its own turn, while the
//! responder's turn is in flight. So batches hold only whole round trips, and a longer transfer hides the read.

use crate::counter;
use crate::kernel_context::{Guard, Halt, KernelContext, Line, Recorder, count_event};
use crate::sync::AtomicU64;

/// Untimed round trips on each place (a set of lines) before its first batch.
///
/// The first trip brings the line and its address translation to both sides; a page walk costs as much as a hop. The
/// second trip sets the phase between the two sides. Both would show in batches of 16 round trips.
pub const LEAD_IN: u64 = if cfg!(loom) { 0 } else { 2 };

/// Trips after which the initiator checks the guard inside a batch, so that a long batch does not delay a stop. They
/// take at least tens of microseconds, and the check about 20 ns. The guard is also checked after every batch.
pub(crate) const UNBROKEN: u64 = 1 << 12;

/// A way to pass a turn to the partner. It is a type, so that the compiler builds separate loops for each way.
pub trait Handoff {
    /// Lines per place.
    const LINES: usize;

    /// A role's references into a place.
    type Ends<'a>;

    /// The initiator's references into a place.
    fn initiator_ends<'a>(place: &[&'a Line]) -> Self::Ends<'a>;

    /// The responder's references into a place.
    fn responder_ends<'a>(place: &[&'a Line]) -> Self::Ends<'a>;

    /// Waits for `expected`, then passes `next`. Fails with the reason if the wait was given up.
    fn pass(ends: &mut Self::Ends<'_>, expected: u64, next: u64, guard: &Guard<'_>) -> Result<(), Halt>;

    /// Waits for `expected`, the last turn at this place. Fails with the reason if the wait was given up.
    fn see(ends: &mut Self::Ends<'_>, expected: u64, guard: &Guard<'_>) -> Result<(), Halt>;
}

/// The words of a role. Both may be the same word.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// The word with the partner's turns.
    pub inbox: &'a AtomicU64,
    /// The word with the role's own turns.
    pub outbox: &'a AtomicU64,
}

/// The role that starts and records. Fails with the reason if it left early.
pub fn initiator<H: Handoff>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (places, guard) = (context.lines.len() / H::LINES, context.guard);
    let mut lead_in = u64::from(context.warm_up) + LEAD_IN;
    match &mut context.recorder {
        Recorder::Batches { visits, round_trips, ticks } => {
            let mut ticks = ticks.iter_mut();
            for place in context.lines.chunks_exact(H::LINES) {
                let mut ends = H::initiator_ends(place);
                let mut trip = initiate::<H>(&mut ends, 0, lead_in, guard)?;
                lead_in = LEAD_IN;
                let mut begun = counter::stop();
                for _ in 0..*visits {
                    trip = initiate::<H>(&mut ends, trip, u64::from(*round_trips), guard)?;
                    let ended = counter::stop();
                    if let Some(slot) = ticks.next() {
                        *slot = saturated(ended.wrapping_sub(begun));
                    }
                    begun = ended;
                    guard.check_at(ended)?;
                }
                // The line must not be left before the partner's last turn is seen. Otherwise the partner might still
                // wait on this line while this side waits on the next place, which is a deadlock.
                H::see(&mut ends, 2 * trip, guard)?;
                context.verified += trip;
            }
        }
        Recorder::Events { round_trips, buckets, beyond } => {
            for (index, place) in context.lines.chunks_exact(H::LINES).enumerate() {
                let mut ends = H::initiator_ends(place);
                let mut trip = initiate::<H>(&mut ends, 0, lead_in, guard)?;
                lead_in = LEAD_IN;
                let mut begun = counter::stop();
                for _ in 0..share(*round_trips, places, index) {
                    trip = initiate::<H>(&mut ends, trip, 1, guard)?;
                    let ended = counter::stop();
                    count_event(buckets, beyond, ended.wrapping_sub(begun));
                    begun = ended;
                    guard.check_at(ended)?;
                }
                H::see(&mut ends, 2 * trip, guard)?;
                context.verified += trip;
            }
        }
    }
    Ok(())
}

/// The role that answers. Fails with the reason if it left early.
pub fn responder<H: Handoff>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (places, guard) = (context.lines.len() / H::LINES, context.guard);
    let mut lead_in = u64::from(context.warm_up) + LEAD_IN;
    for (index, place) in context.lines.chunks_exact(H::LINES).enumerate() {
        let mut ends = H::responder_ends(place);
        let timed = match &context.recorder {
            Recorder::Batches { visits, round_trips, .. } => u64::from(*visits) * u64::from(*round_trips),
            Recorder::Events { round_trips, .. } => share(*round_trips, places, index),
        };
        let trips = lead_in + timed;
        lead_in = LEAD_IN;
        respond::<H>(&mut ends, trips, guard)?;
        context.verified += trips;
    }
    Ok(())
}

/// The number of the `total` events that belong to this place. It is the same on both sides.
pub(crate) fn share(total: u64, places: usize, index: usize) -> u64 {
    let places = places as u64;
    total / places + u64::from((index as u64) < total % places)
}

/// Ticks of a batch, limited to 2³² (more than a second). The session treats the limit as an unfinished batch.
pub(crate) fn saturated(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

#[inline(always)]
fn initiate<H: Handoff>(
    ends: &mut H::Ends<'_>,
    first: u64,
    trips: u64,
    guard: &Guard<'_>,
) -> Result<u64, Halt> {
    let (mut trip, end) = (first, first + trips);
    loop {
        let next_check = end.min(trip.saturating_add(UNBROKEN));
        while trip < next_check {
            H::pass(ends, 2 * trip, 2 * trip + 1, guard)?;
            trip += 1;
        }
        if trip == end {
            return Ok(end);
        }
        guard.check()?;
    }
}

#[inline(always)]
fn respond<H: Handoff>(ends: &mut H::Ends<'_>, trips: u64, guard: &Guard<'_>) -> Result<(), Halt> {
    for trip in 0..trips {
        H::pass(ends, 2 * trip + 1, 2 * trip + 2, guard)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_one_at_most() {
        for (total, places) in [(0, 3), (2, 3), (10, 4), (7, 1), (64, 64)] {
            let shares: Vec<u64> = (0..places).map(|index| share(total, places, index)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            assert!(shares[0] - shares[places - 1] <= 1, "{shares:?}");
        }
    }
}
