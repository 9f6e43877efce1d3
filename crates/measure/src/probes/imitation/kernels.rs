//! The loops of the imitated tools. The initiator is always the side that reads the clock.

use super::spin::{StackPointer, spin_until};
use crate::counter;
use crate::kernel::{Cost, Kernel, Spin};
use crate::kernel_context::{Guard, Halt, KernelContext, Line, Recorder, count_event, wait_until};
use crate::probes::ping_pong::{UNBROKEN, saturated};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Relaxed, Release, SeqCst};
use crate::wait::{Busy, Pauses, WaitAction};
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// nviennot/core-to-core-latency, benchmark 1: a flag compare-exchanged without a pause. The clock side moves second.
pub static CORE_TO_CORE_LATENCY: Kernel = Kernel::ping_pong(
    ("as:core-to-core-latency", "imitation"),
    &[clock_side::<Flag<Busy>>, other_side::<Flag<Busy>>],
    (1.0, Spin::Eager),
    1,
);

/// SoilRos/cpu-latency: a compare-exchange back and forth.
pub static CPU_LATENCY: Kernel = Kernel::ping_pong(
    ("as:cpu-latency", "imitation"),
    &[clock_side::<Flag<Busy>>, other_side::<Flag<Busy>>],
    (1.0, Spin::Eager),
    1,
);

/// google/multichase `pingpong -l`: a locked exchange, with ten pauses after each failure. The pauses are timed too.
pub static MULTICHASE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("as:multichase")),
    roles: &[clock_side::<Flag<Pauses<10>>>, other_side::<Flag<Pauses<10>>>],
    // (125.7 − 22.6) ns for ten pauses instead of one, at 23.9 ns a pause (docs/evidence.md, "Other tools").
    cost: Cost::PingPong { transfers_per_hop: 1.0, spin: Spin::Hinted, extra_hints_per_hop: 4.3 },
    lines_per_place: 1,
    symbol: "imitation",
};

/// rigtorp/c2clat: a line for each direction, polled with loads. Both words are reset before each sample.
pub static C2CLAT: Kernel = Kernel::ping_pong(
    ("as:c2clat", "imitation"),
    &[clock_side::<TwoLines>, other_side::<TwoLines>],
    (2.0, Spin::Eager),
    2,
);

/// rigtorp/c2clat `-w`: one word, incremented by compare-exchange from both sides and reset before each sample.
pub static C2CLAT_W: Kernel = Kernel::ping_pong(
    ("as:c2clat-w", "imitation"),
    &[clock_side::<CountingWord>, other_side::<CountingWord>],
    (1.0, Spin::Eager),
    1,
);

/// clamchowder/Microbenchmarks CoherencyLatency: one word incremented by both sides with plain loads and stores.
pub static COHERENCY_LATENCY: Kernel = Kernel::ping_pong(
    ("as:coherency-latency", "imitation"),
    &[clock_side::<LoadStore>, other_side::<LoadStore>],
    (2.0, Spin::Eager),
    1,
);

/// Both sides of a trip: the side with the clock, and the other. The clock side sees the partner's last move of each
/// trip. So no line is left while the partner still has a turn on it.
trait Exchange {
    const LINES: usize;

    /// State of the clock side's wait.
    type Waiter: Default;

    /// The clock side's preparation before the clock starts for a sample.
    fn reset(_place: &[&Line]) {}

    /// The clock side's part of a trip. The trip has number `trip` in this sample, and `total` at this place.
    fn clock_side(
        waiter: &Self::Waiter,
        place: &[&Line],
        trip: u64,
        total: u64,
        guard: &Guard<'_>,
    ) -> Result<(), Halt>;

    fn other_side(place: &[&Line], trip: u64, total: u64, guard: &Guard<'_>) -> Result<(), Halt>;
}

struct Flag<W>(PhantomData<W>);
struct CountingWord;
struct TwoLines;
struct LoadStore;

impl<W: WaitAction> Exchange for Flag<W> {
    const LINES: usize = 1;
    type Waiter = ();

    #[inline(always)]
    fn clock_side((): &(), place: &[&Line], _: u64, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        exchange::<W>(&place[0].words[0], 1, 0, guard)
    }

    #[inline(always)]
    fn other_side(place: &[&Line], _: u64, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        exchange::<W>(&place[0].words[0], 0, 1, guard)
    }
}

impl Exchange for CountingWord {
    const LINES: usize = 1;
    type Waiter = ();

    fn reset(place: &[&Line]) {
        // SeqCst as in the tool, which assigns to an atomic. A weaker order would suffice: the partner's last move has
        // been seen, and the partner writes nothing before it sees the 0.
        place[0].words[0].store(0, SeqCst);
    }

    #[inline(always)]
    fn clock_side((): &(), place: &[&Line], trip: u64, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        exchange::<Busy>(&place[0].words[0], 2 * trip + 1, 2 * trip + 2, guard)
    }

    #[inline(always)]
    fn other_side(place: &[&Line], trip: u64, _: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        exchange::<Busy>(&place[0].words[0], 2 * trip, 2 * trip + 1, guard)
    }
}

impl Exchange for TwoLines {
    const LINES: usize = 2;
    type Waiter = StackPointer;

    fn reset(place: &[&Line]) {
        // SeqCst as in the tool. This side has seen the partner's number, so the partner has made its last store and
        // waits for the next number.
        place[0].words[0].store(0, SeqCst);
        place[1].words[0].store(0, SeqCst);
    }

    #[inline(always)]
    fn clock_side(
        waiter: &Self::Waiter,
        place: &[&Line],
        _: u64,
        total: u64,
        guard: &Guard<'_>,
    ) -> Result<(), Halt> {
        // Numbered across all samples, whereas the tool restarts in each sample. With a single trip per sample the
        // partner could otherwise mistake the previous number, not yet reset, for the new one. The instructions are the
        // same. Release and Acquire pair across the sides: each number says that everything before it is done.
        place[0].words[0].store(total + 1, Release);
        waiter.spin_until(&place[1].words[0], total + 1, guard)
    }

    #[inline(always)]
    fn other_side(place: &[&Line], _: u64, total: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        spin_until(&place[0].words[0], total + 1, guard)?;
        place[1].words[0].store(total + 1, Release);
        Ok(())
    }
}

impl Exchange for LoadStore {
    const LINES: usize = 1;
    type Waiter = ();

    #[inline(always)]
    fn clock_side((): &(), place: &[&Line], _: u64, total: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        wait_and_increment(&place[0].words[0], 2 * total + 1, guard)
    }

    #[inline(always)]
    fn other_side(place: &[&Line], _: u64, total: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        wait_and_increment(&place[0].words[0], 2 * total, guard)
    }
}

#[inline(always)]
fn exchange<W: WaitAction>(
    word: &AtomicU64,
    expected: u64,
    next: u64,
    guard: &Guard<'_>,
) -> Result<(), Halt> {
    // Relaxed on both sides: only the word itself is passed, and all changes of one word have one order.
    wait_until::<W>(guard, || word.compare_exchange(expected, next, Relaxed, Relaxed).is_ok())
}

#[inline(always)]
fn wait_and_increment(word: &AtomicU64, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
    // Acquire and Release pair across the sides. The tool's plain `volatile` accesses are the same instructions on x86.
    spin_until(word, expected, guard)?;
    word.store(expected + 1, Release);
    Ok(())
}

fn clock_side<E: Exchange>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let (guard, waiter) = (context.guard, E::Waiter::default());
    let mut warm_up_trips = u64::from(context.warm_up);
    for (index, place) in context.lines.chunks_exact(E::LINES).enumerate() {
        let mut total = sample::<E>(&waiter, place, 0, warm_up_trips, guard)?;
        warm_up_trips = 0;
        match &mut context.recorder {
            Recorder::Batches { visits, round_trips, ticks } => {
                for visit in 0..*visits as usize {
                    reset::<E>(place, total);
                    let begun = counter::start();
                    total = sample::<E>(&waiter, place, total, u64::from(*round_trips), guard)?;
                    let ended = counter::stop();
                    if let Some(slot) = ticks.get_mut(index * *visits as usize + visit) {
                        *slot = saturated(ended.wrapping_sub(begun));
                    }
                    guard.check_at(ended)?;
                }
            }
            Recorder::Events { round_trips, buckets, beyond } => {
                for _ in 0..*round_trips {
                    reset::<E>(place, total);
                    let begun = counter::start();
                    total = sample::<E>(&waiter, place, total, 1, guard)?;
                    let ended = counter::stop();
                    count_event(buckets, beyond, ended.wrapping_sub(begun));
                    guard.check_at(ended)?;
                }
            }
        }
        context.verified += total;
    }
    Ok(())
}

fn other_side<E: Exchange>(context: &mut KernelContext<'_>) -> Result<(), Halt> {
    let guard = context.guard;
    let mut warm_up_trips = u64::from(context.warm_up);
    for place in context.lines.chunks_exact(E::LINES) {
        let (samples, trips) = match &context.recorder {
            Recorder::Batches { visits, round_trips, .. } => (u64::from(*visits), u64::from(*round_trips)),
            Recorder::Events { round_trips, .. } => (*round_trips, 1),
        };
        let mut total = 0;
        for trips in std::iter::once(warm_up_trips).chain((0..samples).map(|_| trips)) {
            for trip in 0..trips {
                E::other_side(place, trip, total, guard)?;
                total += 1;
            }
        }
        warm_up_trips = 0;
        context.verified += total;
    }
    Ok(())
}

/// Resets only between samples. Before the first sample the words are 0, and the partner may already have moved.
fn reset<E: Exchange>(place: &[&Line], total: u64) {
    if total > 0 {
        E::reset(place);
    }
}

#[inline(always)]
fn sample<E: Exchange>(
    waiter: &E::Waiter,
    place: &[&Line],
    mut total: u64,
    trips: u64,
    guard: &Guard<'_>,
) -> Result<u64, Halt> {
    let mut trip = 0;
    loop {
        let next_check = trips.min(trip + UNBROKEN);
        while trip < next_check {
            E::clock_side(waiter, place, trip, total, guard)?;
            (trip, total) = (trip + 1, total + 1);
        }
        if trip == trips {
            return Ok(total);
        }
        guard.check()?;
    }
}
