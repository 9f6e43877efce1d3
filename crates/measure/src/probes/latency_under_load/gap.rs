//! One pass of messages after an idle gap, between threads that stay awake.

use super::names;
use super::word::Word;
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::tally::Tally;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(5_000);
/// Messages that each pass has at least; the first is cold and not counted.
const FEWEST: u64 = 3;
/// An idle gap is up to so much shorter or longer, so that nothing periodic falls into step.
const JITTER: f64 = 0.25;

/// Performs one pass.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let word = Word::default();
    let gap_ns = order.spec.parameters.number(names::GAP_NS).unwrap_or(0.0);
    let (gap_ticks, key) = (rate.ticks(gap_ns), Key::of(&[order.key]));
    let gap = |round| (gap_ticks * (1.0 + JITTER * (2.0 * key.uniform(round) - 1.0))) as u64;
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    // The least number of messages may take longer than the pass should.
    let limit = order.span + Picos::from_ns(2.0 * FEWEST as f64 * gap_ns) + PATIENCE;
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => ask(role, &word, span_ticks, gap).map(Some),
        _ => role.wait_for_all().and_then(|()| word.answer(role)).map(|()| None),
    };
    let said = context.run(limit, run_role, || ())?;
    let trips = said.into_iter().flatten().next().unwrap_or_default();
    Ok(super::price::observe(&trips, rate, context.clock_ns()))
}

/// Hands over 2k + 1 and waits for 2k + 2.
fn ask(
    role: &RoleContext<'_>,
    word: &Word,
    span_ticks: u64,
    gap: impl Fn(u64) -> u64,
) -> Result<Tally, Halt> {
    let mut trips = Tally::new();
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    for round in 0.. {
        role.spin_for(gap(round))?;
        let (mine, theirs) = (2 * round, 2 * round + 1);
        let began = counter::start();
        // It cannot fail: the turn is ours, and the partner changes only odd values.
        word.turn(mine, theirs);
        role.wait_until(|| word.is_at(theirs + 1))?;
        let ended = counter::stop();
        if round > 0 {
            trips.count(ended - began);
        }
        if ended >= end && round + 1 >= FEWEST {
            word.end(theirs + 1);
            return Ok(trips);
        }
    }
    Ok(trips)
}
