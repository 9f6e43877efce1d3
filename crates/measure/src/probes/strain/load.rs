//! One pass of a pair whose neighbours are idle and busy in turn.

use super::Load;
use super::neighbour::{self, Field};
use super::word::Word;
use crate::counter;
use crate::ensemble::{Apart, Ensemble, Part};
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::tally::Tally;
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
struct Desk {
    word: Word,
    /// Neighbours that are at work.
    working: Apart<AtomicU64>,
    /// Whether the pair has finished.
    over: Apart<AtomicU64>,
}

/// Performs one pass: idle and busy, in an order drawn anew.
pub fn perform(
    load: Load,
    ensemble: &Ensemble<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let field = Field::of(ensemble.cpus());
    let phases =
        if Key::of(&[order.key]).bits(0).is_multiple_of(2) { [None, Some(load)] } else { [Some(load), None] };
    let mut half_ns = [0.0; 2];
    let mut batches = 0;
    for phase in phases {
        let trips = run_phase(phase, ensemble, order, &field)?;
        let median = trips.histogram(ensemble.rate()).percentile_ns(0.5);
        let Some(median) = median else { return Ok(Observed::default()) };
        half_ns[usize::from(phase.is_some())] = median / (2 * BATCH) as f64;
        batches += trips.len();
    }
    let mut observed = super::price::told_of_load(half_ns);
    observed.count("samples", batches);
    Ok(observed)
}

fn run_phase(
    load: Option<Load>,
    ensemble: &Ensemble<'_>,
    order: &TrialOrder<'_>,
    field: &Field,
) -> Result<Tally, TrialFailure> {
    let desk = Desk::default();
    let span_ticks = ensemble.rate().ticks(order.span.ns() / 2.0) as u64;
    let neighbours = load.map_or(0, |_| ensemble.cpus().len() as u64 - 2);
    let role = |part: &Part<'_>| match (part.role, load) {
        (0, _) => ask(part, &desk, neighbours, span_ticks).map(Some),
        (1, _) => part.line_up().and_then(|()| desk.word.answer(part)).map(|()| None),
        // One that has nothing to do leaves at once: waiting awake would be a load too.
        (_, None) => part.line_up().map(|()| None),
        (role, Some(load)) => {
            let begun = || {
                // Release: whoever counts all neighbours also sees that they have touched their memory.
                desk.working.fetch_add(1, Release);
            };
            // Relaxed: nothing is handed over but the wish to end.
            let over = || desk.over.load(Relaxed) != 0;
            neighbour::work(part, load, role - 2, field, begun, over).map(|()| None)
        }
    };
    let said = ensemble.run(order.span + PATIENCE, role, || ())?;
    Ok(said.into_iter().flatten().next().unwrap_or_default())
}

fn ask(part: &Part<'_>, desk: &Desk, neighbours: u64, span_ticks: u64) -> Result<Tally, Halt> {
    let mut batches = Tally::new();
    part.line_up()?;
    // Acquire pairs with the Release of each neighbour.
    part.wait_until(|| desk.working.load(Acquire) >= neighbours)?;
    let end = counter::now_ticks() + span_ticks;
    let mut turn = 0;
    let mut warm = 0;
    loop {
        let began = counter::start();
        for _ in 0..BATCH {
            part.wait_until(|| desk.word.turn(turn, turn + 1))?;
            turn += 2;
        }
        let ended = counter::stop();
        if warm < WARM {
            warm += 1;
        } else {
            batches.count(ended - began);
        }
        part.guard.glance(ended)?;
        if ended >= end && !batches.is_empty() {
            // The partner's last turn, then the end.
            part.wait_until(|| desk.word.end(turn))?;
            desk.over.store(1, Release);
            return Ok(batches);
        }
    }
}
