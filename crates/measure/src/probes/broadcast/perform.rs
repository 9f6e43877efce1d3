//! One pass on threads of this machine: role 0 writes a number, all others look for it.

use super::{PAUSE_NS, Sights};
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use crate::trial_context::{Apart, RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(5_000);
/// Writes that each pass has at least; the first is cold and not counted.
const FEWEST: u64 = 3;
/// No write comes after this.
const END: u64 = u64::MAX;

/// What a reader tells the writer, on lines of its own.
#[derive(Debug, Default)]
struct Seen {
    /// When it saw the write of this round.
    ticks: AtomicU64,
    /// Which round.
    round: AtomicU64,
}

/// Performs one pass.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let word: Apart<AtomicU64> = Apart::default();
    let seen: Vec<Apart<Seen>> = context.cpus().iter().skip(1).map(|_| Apart::default()).collect();
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    let (pause_ticks, key) = (rate.ticks(PAUSE_NS), Key::of(&[order.key]));
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => write(role, &word, &seen, span_ticks, |round| {
            // Half as long to one and a half times as long, so that nothing periodic falls into step.
            (pause_ticks * (0.5 + key.uniform(round))) as u64
        })
        .map(Some),
        reader => read(role, &word, &seen[reader - 1]).map(|()| None),
    };
    let said = context.run(order.span + PATIENCE, run_role, || ())?;
    let sights = said.into_iter().flatten().next().unwrap_or_default();
    Ok(sights.observed(rate, context.clock_ns()))
}

fn write(
    role: &RoleContext<'_>,
    word: &AtomicU64,
    seen: &[Apart<Seen>],
    span_ticks: u64,
    pause_ticks: impl Fn(u64) -> u64,
) -> Result<Sights, Halt> {
    let mut sights = Sights::default();
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    for round in 1.. {
        role.spin_for(pause_ticks(round))?;
        let began = counter::start();
        // Release: a reader that sees the round also sees that its own answer to the last one was read.
        word.store(round, Release);
        let (mut first, mut last) = (u64::MAX, 0);
        for reader in seen {
            // Acquire pairs with the Release of the reader: its stamp is that of this round.
            role.wait_until(|| reader.round.load(Acquire) == round)?;
            let ticks = reader.ticks.load(Acquire);
            (first, last) = (first.min(ticks), last.max(ticks));
        }
        if round > 1 {
            sights.count(first.checked_sub(began), last.checked_sub(began));
        }
        if counter::now_ticks() >= end && round >= FEWEST {
            break;
        }
    }
    word.store(END, Release);
    Ok(sights)
}

fn read(role: &RoleContext<'_>, word: &AtomicU64, seen: &Seen) -> Result<(), Halt> {
    role.wait_for_all()?;
    let mut known = 0;
    loop {
        let mut found = known;
        // Acquire pairs with the Release of the writer.
        role.wait_until(|| {
            found = word.load(Acquire);
            found != known
        })?;
        let ticks = counter::stop();
        if found == END {
            return Ok(());
        }
        seen.ticks.store(ticks, Release);
        // Release: whoever sees the round also sees the stamp.
        seen.round.store(found, Release);
        known = found;
    }
}
