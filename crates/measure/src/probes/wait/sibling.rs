//! What a thread that waits takes from the other thread of its core: the reason why wait hints exist.

use super::task::{PATIENCE, Task};
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::strategies::sleeping::SpinFutex;
use crate::strategies::turn::{Turn, after, is_end, is_turn, trip_is_even};
use crate::strategies::{Alternating, Strategy};
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::stats;
use coretalk_model::wait::names;

/// Between two pieces of work: whoever waits has begun to, or is asleep.
const SETTLE_NS: f64 = 50_000.0;
/// Rounds of the fixed work: about 30 µs alone.
const WORK: u64 = 16_384;

/// Role 0 waits, in turn with the strategy and asleep; role 1 works on the sibling and times its work.
pub struct SiblingTask<'a> {
    pub context: &'a TrialContext<'a>,
    pub order: &'a TrialOrder<'a>,
}

impl Task for SiblingTask<'_> {
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
        let said = context.run(order.span + PATIENCE, run_role, || ())?;
        let [beside, alone] = said.into_iter().nth(1).unwrap_or_default();
        let mut observed = Observed::default();
        observed.count(names::SAMPLES, beside.len() as u64);
        if let (Some(beside), Some(alone)) = (stats::median(&beside), stats::median(&alone)) {
            observed.value(names::SLOWDOWN, beside / alone);
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

/// Role 1: works while the other one waits for its turn; times with the strategy first, asleep second.
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

/// Four chains of multiplications and additions, independent of each other: what a core with nobody beside does as fast
/// as it can.
fn fixed_work() {
    let mut chains = std::hint::black_box([1u64, 3, 5, 7]);
    for round in 0..WORK {
        for chain in &mut chains {
            *chain = chain.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(round);
        }
    }
    std::hint::black_box(chains);
}
