//! The tasks other than round trips: single calls of a wait action, clock reads, and the slowdown of a sibling by a
//! waiting thread. Wait hints exist to reduce that slowdown.

use crate::counter;
use crate::kernel_context::Halt;
use crate::series::{TrialOrder, per_pass};
use crate::strategies::catalogue::StrategyTask;
use crate::strategies::sleeping::SpinFutex;
use crate::strategies::{Alternating, Strategy};
use crate::strategies::{Turn, after, is_end, is_turn, trip_is_even};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::wait::names;
use coretalk_model::{TrialFailure, stats};

/// Minimum duration of a batch of calls. A pair of clock reads is below 1 % of it.
const BATCH_NS: f64 = 5_000.0;
const MAX_BATCH: u64 = 1 << 12;
const CLOCK_READS: u64 = 1_000_000;

pub struct Calls<'a> {
    pub context: &'a TrialContext<'a>,
    pub order: &'a TrialOrder<'a>,
}

impl StrategyTask for Calls<'_> {
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
                if ended - began < batch_ticks && batch < MAX_BATCH {
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
            context.run(order.limit(), run_role, || ())?.into_iter().next().unwrap_or_default();
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

/// Times two consecutive clock reads, the overhead of every single event.
pub fn clock(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let most = per_pass(order.options, "samples", 1).unwrap_or(CLOCK_READS).clamp(1, CLOCK_READS);
    let run_role = |role: &RoleContext<'_>| -> Result<TickHistogram, Halt> {
        let mut tally = TickHistogram::new();
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
    let tally = context.run(order.limit(), run_role, || ())?.into_iter().next().unwrap_or_default();
    let mut observed = Observed::default();
    observed.histogram(names::CLOCK, tally.histogram(context.rate()));
    observed.count(names::SAMPLES, tally.len());
    if let Some(mean_ns) = tally.mean_ns(context.rate()) {
        observed.value(names::MEAN_NS, mean_ns);
    }
    Ok(observed)
}

/// Pause between two pieces of work, after which the waiting role waits or sleeps.
const SETTLE_NS: f64 = 50_000.0;
/// Rounds of the fixed work: about 30 µs alone.
const WORK: u64 = 16_384;

/// Role 0 waits, alternately with the strategy and asleep. Role 1 works on the sibling and times its work.
pub struct SiblingTask<'a> {
    pub context: &'a TrialContext<'a>,
    pub order: &'a TrialOrder<'a>,
}

impl StrategyTask for SiblingTask<'_> {
    type Output = Result<Observed, TrialFailure>;

    fn with<S: Strategy>(self, strategy: S) -> Result<Observed, TrialFailure> {
        let SiblingTask { context, order } = self;
        let rate = context.rate();
        let (span, settle) = (rate.ticks(order.span.ns()) as u64, rate.ticks(SETTLE_NS) as u64);
        let turn = Turn::new();
        let run_role = |role: &RoleContext<'_>| -> Result<[Vec<f64>; 2], Halt> {
            role.wait_for_all()?;
            if role.number == 0 {
                let waits = Alternating { even: strategy, odd: SpinFutex(0) };
                return stand_by(role, &waits, &turn).map(|()| [Vec::new(), Vec::new()]);
            }
            work(role, &turn, span, settle)
        };
        let outcomes = context.run(order.limit(), run_role, || ())?;
        let [waiting, asleep] = outcomes.into_iter().nth(1).unwrap_or_default();
        let mut observed = Observed::default();
        observed.count(names::SAMPLES, waiting.len() as u64);
        if let (Some(waiting), Some(asleep)) = (stats::median(&waiting), stats::median(&asleep)) {
            observed.value(names::SLOWDOWN, waiting / asleep);
        }
        Ok(observed)
    }
}

/// Role 0: hands every turn back at once, and waits for the next.
fn stand_by<S: Strategy>(role: &RoleContext<'_>, waits: &S, turn: &Turn) -> Result<(), Halt> {
    let (mut wanted, mut polls) = (after(0), 0);
    loop {
        let word = waits.wait(turn, wanted, &mut polls, role.guard)?;
        if is_end(word) {
            return Ok(());
        }
        turn.pass(word);
        wanted = after(after(wanted));
    }
}

/// Role 1: works while role 0 waits for its turn. Returns the times with the strategy, then those with a sleeper.
fn work(role: &RoleContext<'_>, turn: &Turn, span: u64, settle: u64) -> Result<[Vec<f64>; 2], Halt> {
    let mut times = [Vec::new(), Vec::new()];
    let end = counter::now_ticks() + span;
    let mut word = turn.poll();
    loop {
        role.spin_for(settle)?;
        let began = counter::start();
        fixed_work();
        let ended = counter::stop();
        times[usize::from(!trip_is_even(word))].push((ended - began) as f64);
        if ended > end && !times[1].is_empty() {
            turn.end(word);
            return Ok(times);
        }
        turn.pass_waking(word);
        let wanted = after(after(word));
        role.wait_until(|| is_turn(turn.poll(), wanted))?;
        word = wanted;
    }
}

/// Four independent chains of multiplications and additions, as fast as a core without a busy sibling can run them.
fn fixed_work() {
    let mut chains = std::hint::black_box([1u64, 3, 5, 7]);
    for round in 0..WORK {
        for chain in &mut chains {
            *chain = chain.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(round);
        }
    }
    std::hint::black_box(chains);
}
