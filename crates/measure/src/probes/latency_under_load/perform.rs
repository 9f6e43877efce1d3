//! One pass on real threads: hand-offs after an idle gap, while polling, or with alternately idle and busy neighbours.

use super::neighbour::{self, Field};
use super::word::Word;
use super::{Load, names};
use crate::counter;
use crate::kernel_context::Halt;
use crate::series::{MIN_ROUNDS, TrialOrder};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{CachePadded, RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// Relative variation of an idle gap, to avoid a fixed phase with periodic events.
const JITTER: f64 = 0.25;

pub fn gap(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let word = Word::default();
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(0.0);
    let (gap_ticks, key) = (rate.ticks(gap_ns), Key::from_words(&[order.key]));
    let gap_of_round = |round| (gap_ticks * (1.0 + JITTER * (2.0 * key.uniform(round) - 1.0))) as u64;
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    // The minimum number of messages may exceed the span of the pass.
    let limit = order.limit() + Picos::from_ns(2.0 * MIN_ROUNDS as f64 * gap_ns);
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => ask_after_gaps(role, &word, span_ticks, gap_of_round).map(Some),
        _ => role.wait_for_all().and_then(|()| word.answer(role)).map(|()| None),
    };
    let outcomes = context.run(limit, run_role, || ())?;
    let trips = outcomes.into_iter().flatten().next().unwrap_or_default();
    Ok(super::observe(&trips, rate, context.clock_ns()))
}

/// Sends 2k + 1 after each gap, and waits for 2k + 2.
fn ask_after_gaps(
    role: &RoleContext<'_>,
    word: &Word,
    span_ticks: u64,
    gap: impl Fn(u64) -> u64,
) -> Result<TickHistogram, Halt> {
    let mut trips = TickHistogram::new();
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    for round in 0.. {
        role.spin_for(gap(round))?;
        let (mine, theirs) = (2 * round, 2 * round + 1);
        let began = counter::start();
        // Cannot fail: the turn is ours, and the partner changes only odd values.
        word.turn(mine, theirs);
        role.wait_until(|| word.is_at(theirs + 1))?;
        let ended = counter::stop();
        if round > 0 {
            trips.count(ended - began);
        }
        if ended >= end && round + 1 >= MIN_ROUNDS {
            word.end(theirs + 1);
            return Ok(trips);
        }
    }
    Ok(trips)
}

/// Extra time of a pass before it is given up. Neighbours first touch their arrays.
const LOAD_PATIENCE: Picos = Picos::from_ms(10_000);
/// Round trips per batch: 2 µs at 36 ns each. The cost of the clock is less than a hundredth.
const BATCH: u64 = 64;
const WARM_UP_BATCHES: u32 = 4;

#[derive(Debug, Default)]
struct Shared {
    word: Word,
    working: CachePadded<AtomicU64>,
    over: CachePadded<AtomicU64>,
}

/// Performs one pass, with idle and busy phases in a new random order.
pub fn load(
    load: Load,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let field = Field::for_cpus(context.cpus());
    let phases = if Key::from_words(&[order.key]).bits(0).is_multiple_of(2) {
        [None, Some(load)]
    } else {
        [Some(load), None]
    };
    let mut half_ns = [0.0; 2];
    let mut batches = 0;
    for phase in phases {
        let trips = run_phase(phase, context, order, &field)?;
        let median = trips.histogram(context.rate()).percentile_ns(0.5);
        let Some(median) = median else { return Ok(Observed::default()) };
        half_ns[usize::from(phase.is_some())] = median / (2 * BATCH) as f64;
        batches += trips.len();
    }
    let mut observed = super::observe_load(half_ns);
    observed.count("samples", batches);
    Ok(observed)
}

fn run_phase(
    load: Option<Load>,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    field: &Field,
) -> Result<TickHistogram, TrialFailure> {
    let shared = Shared::default();
    let span_ticks = context.rate().ticks(order.span.ns() / 2.0) as u64;
    let neighbours = load.map_or(0, |_| context.cpus().len() as u64 - 2);
    let run_role = |role: &RoleContext<'_>| match (role.number, load) {
        (0, _) => ask(role, &shared, neighbours, span_ticks).map(Some),
        (1, _) => role.wait_for_all().and_then(|()| shared.word.answer(role)).map(|()| None),
        // A neighbour without work leaves at once, since spinning would be a load too.
        (_, None) => role.wait_for_all().map(|()| None),
        (number, Some(load)) => {
            let begun = || {
                // Release: a role that counts all neighbours also sees that they have touched their memory.
                shared.working.fetch_add(1, Release);
            };
            // Relaxed: the flag publishes no other data.
            let over = || shared.over.load(Relaxed) != 0;
            neighbour::work(role, load, number - 2, field, begun, over).map(|()| None)
        }
    };
    let outcomes = context.run(order.span + LOAD_PATIENCE, run_role, || ())?;
    Ok(outcomes.into_iter().flatten().next().unwrap_or_default())
}

fn ask(
    role: &RoleContext<'_>,
    shared: &Shared,
    neighbours: u64,
    span_ticks: u64,
) -> Result<TickHistogram, Halt> {
    let mut batches = TickHistogram::new();
    role.wait_for_all()?;
    // Acquire pairs with the Release of each neighbour.
    role.wait_until(|| shared.working.load(Acquire) >= neighbours)?;
    let end = counter::now_ticks() + span_ticks;
    let mut turn = 0;
    let mut warm = 0;
    loop {
        let began = counter::start();
        for _ in 0..BATCH {
            role.wait_until(|| shared.word.turn(turn, turn + 1))?;
            turn += 2;
        }
        let ended = counter::stop();
        if warm < WARM_UP_BATCHES {
            warm += 1;
        } else {
            batches.count(ended - began);
        }
        role.guard.check_at(ended)?;
        if ended >= end && !batches.is_empty() {
            // The partner's last turn ends the phase.
            role.wait_until(|| shared.word.end(turn))?;
            shared.over.store(1, Release);
            return Ok(batches);
        }
    }
}
