//! What one call of a wait action costs, and what reading the clock does: one role.

use super::task::{PASSES, PATIENCE, Task};
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::strategies::Strategy;
use crate::strategies::turn::Turn;
use crate::tally::Tally;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::stats;
use coretalk_model::wait::names;

/// A batch of calls takes at least so long: a pair of reads of the clock is below 1 % of it.
const BATCH_NS: f64 = 5_000.0;
/// Calls in a batch, at most.
const LARGEST_BATCH: u64 = 1 << 12;
/// Pairs of reads of the clock in a pass, at most.
const CLOCK_READS: u64 = 1_000_000;

/// Calls of a strategy's action, batch after batch.
pub struct Calls<'a> {
    pub context: &'a TrialContext<'a>,
    pub order: &'a TrialOrder<'a>,
}

impl Task for Calls<'_> {
    type Output = Result<Observed, TrialFailure>;

    fn with<S: Strategy>(self, strategy: S) -> Result<Observed, TrialFailure> {
        let Calls { context, order } = self;
        let rate = context.rate();
        let span_ticks = rate.ticks(order.span.ns()) as u64;
        let batch_ticks = rate.ticks(BATCH_NS) as u64;
        let run_role = |role: &RoleContext<'_>| -> Result<(Vec<f64>, u64), Halt> {
            let turn = Turn::new();
            role.wait_for_all()?;
            let end = counter::now_ticks() + span_ticks;
            let (mut means, mut calls, mut batch) = (Vec::new(), 0, 1);
            loop {
                let began = counter::start();
                for _ in 0..batch {
                    strategy.act(&turn);
                }
                let ended = counter::stop();
                if ended - began < batch_ticks && batch < LARGEST_BATCH {
                    // Not long enough to say anything: warm-up.
                    batch *= 2;
                } else {
                    means.push((ended - began) as f64 / batch as f64);
                    calls += batch;
                }
                role.guard.check_at(ended)?;
                if ended > end && !means.is_empty() {
                    return Ok((means, calls));
                }
            }
        };
        let (means, calls) =
            context.run(order.span + PATIENCE, run_role, || ())?.into_iter().next().unwrap_or_default();
        let mut observed = Observed::default();
        if let Some(ticks) = stats::median(&means) {
            let call_ns = rate.ns(ticks);
            observed.value(names::CALL_NS, call_ns);
            if let Some(ghz) = context.core_ghz(0) {
                observed.value(names::CALL_CYCLES, call_ns * ghz);
            }
        }
        observed.count(names::SAMPLES, calls);
        Ok(observed)
    }
}

/// Two reads of the clock with nothing in between, as every single event has them.
pub fn clock(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let requested = order.options.number("samples").map(|samples| (samples / PASSES).ceil() as u64);
    let most = requested.unwrap_or(CLOCK_READS).clamp(1, CLOCK_READS);
    let run_role = |role: &RoleContext<'_>| -> Result<Tally, Halt> {
        let mut tally = Tally::new();
        role.wait_for_all()?;
        let end = counter::now_ticks() + span_ticks;
        loop {
            let began = counter::start();
            let ended = counter::stop();
            tally.count(ended - began);
            role.guard.check_at(ended)?;
            if ended > end || tally.len() >= most {
                return Ok(tally);
            }
        }
    };
    let tally = context.run(order.span + PATIENCE, run_role, || ())?.into_iter().next().unwrap_or_default();
    let mut observed = Observed::default();
    observed.histogram(names::CLOCK, tally.histogram(context.rate()));
    observed.count(names::SAMPLES, tally.len());
    if let Some(mean_ns) = tally.mean_ns(context.rate()) {
        observed.value(names::MEAN_NS, mean_ns);
    }
    Ok(observed)
}
