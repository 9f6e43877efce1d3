//! One pass of a pair whose neighbours are idle and busy in turn.

use super::Load;
use super::neighbour::{self, Field};
use super::word::Word;
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::tally::Tally;
use crate::trial_context::{Apart, RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: neighbours touch their arrays first.
const PATIENCE: Picos = Picos::from_ms(10_000);
/// Round trips that are timed together: 2 µs of 36 ns, so that the clock is less than a hundredth.
const BATCH: u64 = 64;
/// Batches before the first that counts.
const WARM: u32 = 4;

/// What the pair and its neighbours tell each other.
#[derive(Debug, Default)]
struct Shared {
    word: Word,
    /// Neighbours that are at work.
    working: Apart<AtomicU64>,
    /// Whether the pair has finished.
    over: Apart<AtomicU64>,
}

/// Performs one pass: idle and busy, in an order drawn anew.
pub fn perform(
    load: Load,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let field = Field::of(context.cpus());
    let phases =
        if Key::of(&[order.key]).bits(0).is_multiple_of(2) { [None, Some(load)] } else { [Some(load), None] };
    let mut half_ns = [0.0; 2];
    let mut batches = 0;
    for phase in phases {
        let trips = run_phase(phase, context, order, &field)?;
        let median = trips.histogram(context.rate()).percentile_ns(0.5);
        let Some(median) = median else { return Ok(Observed::default()) };
        half_ns[usize::from(phase.is_some())] = median / (2 * BATCH) as f64;
        batches += trips.len();
    }
    let mut observed = super::price::observe_load(half_ns);
    observed.count("samples", batches);
    Ok(observed)
}

fn run_phase(
    load: Option<Load>,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
    field: &Field,
) -> Result<Tally, TrialFailure> {
    let shared = Shared::default();
    let span_ticks = context.rate().ticks(order.span.ns() / 2.0) as u64;
    let neighbours = load.map_or(0, |_| context.cpus().len() as u64 - 2);
    let run_role = |role: &RoleContext<'_>| match (role.number, load) {
        (0, _) => ask(role, &shared, neighbours, span_ticks).map(Some),
        (1, _) => role.wait_for_all().and_then(|()| shared.word.answer(role)).map(|()| None),
        // One that has nothing to do leaves at once: waiting awake would be a load too.
        (_, None) => role.wait_for_all().map(|()| None),
        (number, Some(load)) => {
            let begun = || {
                // Release: whoever counts all neighbours also sees that they have touched their memory.
                shared.working.fetch_add(1, Release);
            };
            // Relaxed: nothing is handed over but the request to end.
            let over = || shared.over.load(Relaxed) != 0;
            neighbour::work(role, load, number - 2, field, begun, over).map(|()| None)
        }
    };
    let said = context.run(order.span + PATIENCE, run_role, || ())?;
    Ok(said.into_iter().flatten().next().unwrap_or_default())
}

fn ask(role: &RoleContext<'_>, shared: &Shared, neighbours: u64, span_ticks: u64) -> Result<Tally, Halt> {
    let mut batches = Tally::new();
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
        if warm < WARM {
            warm += 1;
        } else {
            batches.count(ended - began);
        }
        role.guard.check_at(ended)?;
        if ended >= end && !batches.is_empty() {
            // The partner's last turn, then the end.
            role.wait_until(|| shared.word.end(turn))?;
            shared.over.store(1, Release);
            return Ok(batches);
        }
    }
}
