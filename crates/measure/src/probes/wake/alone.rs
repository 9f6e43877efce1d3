//! What primitives cost when nobody waits, and how exact a sleep is: one role.

use super::{PATIENCE, SLEEP_NS, make, names};
use crate::counter;
use crate::primitives::{Primitive, sleep};
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::tally::Tally;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::stats;

/// Operations between two reads of the clock: a read costs less than 1 % of them.
const BATCH: u32 = 1_000;

/// Arms and wakes a primitive with nobody there: lock and unlock of a lock, a notice to nobody.
pub fn perform<P: Primitive>(
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let primitive = make::<P>(context)?;
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let run_role = |role: &RoleContext<'_>| -> Result<Vec<f64>, Halt> {
        role.wait_for_all()?;
        // Round 0 is over before it begins: whoever has to be known to be told is known now.
        primitive.register(role.guard);
        let end = counter::now_ticks() + span_ticks;
        let mut batches = Vec::new();
        loop {
            let began = counter::start();
            for round in 0..u64::from(BATCH) {
                let held = primitive.arm();
                primitive.wake(held, round);
            }
            let ended = counter::stop();
            batches.push((ended - began) as f64 / f64::from(BATCH));
            role.guard.check_at(ended)?;
            if ended > end {
                return Ok(batches);
            }
        }
    };
    let batches = context.run(order.span + PATIENCE, run_role, || primitive.unblock())?.concat();
    let mut observed = Observed::default();
    if let Some(ticks) = stats::median(&batches) {
        observed.value(names::ALONE_NS, context.rate().ns(ticks));
    }
    observed.count("samples", batches.len() as u64 * u64::from(BATCH));
    Ok(observed)
}

/// Sleeps for a millisecond again and again.
pub fn sleeps(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let run_role = |role: &RoleContext<'_>| -> Result<Tally, Halt> {
        let mut tally = Tally::new();
        role.wait_for_all()?;
        let end = counter::now_ticks() + span_ticks;
        loop {
            let began = counter::start();
            sleep(SLEEP_NS);
            let ended = counter::stop();
            tally.count(ended - began);
            role.guard.check_at(ended)?;
            if ended > end {
                return Ok(tally);
            }
        }
    };
    let said = context.run(order.span + PATIENCE, run_role, || ())?;
    let mut observed = Observed::default();
    for tally in said {
        observed.count("samples", tally.len());
        observed.histogram(names::SLEPT, tally.histogram(context.rate()));
    }
    Ok(observed)
}
