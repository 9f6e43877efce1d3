//! One pass of messages after a silence, between threads that stay awake.

use super::names;
use crate::counter;
use crate::ensemble::{Apart, Ensemble, Part};
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::tally::Tally;
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(5_000);
/// Messages that each pass has at least; the first is cold and not counted.
const FEWEST: u64 = 3;
/// A silence is up to so much shorter or longer, so that nothing periodic falls into step.
const JITTER: f64 = 0.25;
/// No message comes after this.
const END: u64 = u64::MAX;

/// Performs one pass.
pub fn perform(ensemble: &Ensemble<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = ensemble.rate();
    let word: Apart<AtomicU64> = Apart::default();
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(0.0);
    let (gap_ticks, key) = (rate.ticks(gap_ns), Key::of(&[order.key]));
    let silence = |round| (gap_ticks * (1.0 + JITTER * (2.0 * key.uniform(round) - 1.0))) as u64;
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    // The least number of messages may take longer than the pass should.
    let limit = order.span + Picos::from_ns(2.0 * FEWEST as f64 * gap_ns) + PATIENCE;
    let role = |part: &Part<'_>| match part.role {
        0 => ask(part, &word, span_ticks, silence).map(Some),
        _ => answer(part, &word).map(|()| None),
    };
    let said = ensemble.play(limit, role, || ())?;
    let trips = said.into_iter().flatten().next().unwrap_or_default();
    Ok(super::price::told(&trips, rate, ensemble.clock_ns()))
}

/// Hands over 2k + 1 and waits for 2k + 2.
fn ask(
    part: &Part<'_>,
    word: &AtomicU64,
    span_ticks: u64,
    silence: impl Fn(u64) -> u64,
) -> Result<Tally, Halt> {
    let mut trips = Tally::new();
    part.line_up()?;
    let end = counter::now_ticks() + span_ticks;
    for round in 0.. {
        part.linger(silence(round))?;
        let (mine, theirs) = (2 * round, 2 * round + 1);
        let began = counter::start();
        // AcqRel as in the kernel of the map: what was written before is seen with the turn. It cannot fail: the turn
        // is ours, and the partner changes only odd values.
        let _ = word.compare_exchange(mine, theirs, AcqRel, Acquire);
        // An exchange of equal values: the same transaction as the partner's look, and no turn is given away.
        part.wait_until(|| word.compare_exchange(theirs + 1, theirs + 1, AcqRel, Acquire).is_ok())?;
        let ended = counter::stop();
        if round > 0 {
            trips.count(ended - began);
        }
        if ended >= end && round + 1 >= FEWEST {
            let _ = word.compare_exchange(theirs + 1, END, AcqRel, Acquire);
            return Ok(trips);
        }
    }
    Ok(trips)
}

/// Answers odd values until the end.
fn answer(part: &Part<'_>, word: &AtomicU64) -> Result<(), Halt> {
    part.line_up()?;
    for round in 0.. {
        let theirs = 2 * round + 1;
        let mut over = false;
        // AcqRel pairs with the asker's exchange; a failure acquires, so that the end is seen with all before it.
        part.wait_until(|| match word.compare_exchange(theirs, theirs + 1, AcqRel, Acquire) {
            Ok(_) => true,
            Err(found) => {
                over = found == END;
                over
            }
        })?;
        if over {
            break;
        }
    }
    Ok(())
}
