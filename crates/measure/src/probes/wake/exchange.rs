//! The loop of `wake`: two threads, one that waits and one that wakes it, round after round.

use super::{GAP_JITTER, GAPS_NS, Tallies};
use crate::counter;
use crate::ensemble::{Apart, Ensemble, Part};
use crate::primitives::Primitive;
use crate::primitives::condvar::CondvarOne;
use crate::primitives::eventfd::EventFd;
use crate::primitives::mutex::StdMutex;
use crate::primitives::park::Park;
use crate::primitives::pipe::Pipe;
use crate::primitives::semaphore::Semaphore;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use coretalk_model::stats::Key;
use coretalk_model::{Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold both CPUs for long.
const PATIENCE: Picos = Picos::from_ms(5_000);
/// Who has announced that it is about to wait needs so long to be asleep, system call included. Part of the gap.
const NO_ROUND: u64 = 0;

/// Performs one pass with the primitive of a name.
pub fn perform(name: &str, ensemble: &Ensemble<'_>, order: &TrialOrder<'_>) -> Result<Tallies, TrialFailure> {
    match name {
        "std-mutex" => rounds::<StdMutex>(ensemble, order),
        "condvar-one" => rounds::<CondvarOne>(ensemble, order),
        "park" => rounds::<Park>(ensemble, order),
        "eventfd" => rounds::<EventFd>(ensemble, order),
        "pipe" => rounds::<Pipe>(ensemble, order),
        _ => rounds::<Semaphore>(ensemble, order),
    }
}

/// What the two threads tell each other, each on lines of its own.
#[derive(Debug, Default)]
struct Desk {
    /// Waker: the round for which it is armed; `LAST` ends the pass.
    armed: Apart<AtomicU64>,
    /// Waiter: the round in which it is about to wait.
    waiting: Apart<AtomicU64>,
    /// Waiter: the round that is over; then the words below are its.
    over: Apart<AtomicU64>,
    /// When the waiter went on.
    went_on: Apart<AtomicU64>,
    /// How often it had slept in this round, plus one; 0 is unknown.
    sleeps: Apart<AtomicU64>,
}

/// No round comes after this.
const LAST: u64 = u64::MAX;

fn rounds<P: Primitive>(ensemble: &Ensemble<'_>, order: &TrialOrder<'_>) -> Result<Tallies, TrialFailure> {
    let primitive = P::new().map_err(|error| {
        let cpu = ensemble.cpus()[0];
        TrialFailure::NotPinned { cpu, errno: error.raw_os_error().unwrap_or(libc::EMFILE) }
    })?;
    let desk = Desk::default();
    let rate = ensemble.rate();
    let gap_ns = order.spec.parameters.number("gap_ns").unwrap_or(GAPS_NS[0]);
    let plan = Plan {
        gap_ticks: rate.ticks(gap_ns),
        span_ticks: rate.ticks(order.span.ns()) as u64,
        key: Key::of(&[order.key]),
    };
    let limit = order.span + PATIENCE;
    let role = |part: &Part<'_>| match part.role {
        0 => wake_all(part, &primitive, &desk, &plan).map(Some),
        _ => wait_all(part, &primitive, &desk).map(|()| None),
    };
    let said = ensemble.play(limit, role, || primitive.rescue())?;
    Ok(said.into_iter().flatten().next().unwrap_or_default())
}

struct Plan {
    gap_ticks: f64,
    span_ticks: u64,
    key: Key,
}

/// Role 0.
fn wake_all<P: Primitive>(part: &Part<'_>, primitive: &P, desk: &Desk, plan: &Plan) -> Result<Tallies, Halt> {
    let mut tallies = Tallies::default();
    part.line_up()?;
    let end = counter::now_ticks() + plan.span_ticks;
    for round in NO_ROUND + 1.. {
        let held = primitive.arm();
        // Release: whoever sees the round also sees that the primitive is armed. Pairs with the Acquire of the waiter.
        desk.armed.store(round, Release);
        // Acquire pairs with the Release of the waiter: it has counted its switches before it announces itself.
        part.wait_until(|| desk.waiting.load(Acquire) == round)?;
        let jitter = 1.0 + GAP_JITTER * (2.0 * plan.key.uniform(round) - 1.0);
        part.linger((plan.gap_ticks * jitter) as u64)?;
        let began = counter::start();
        primitive.wake(held, round);
        let ended = counter::stop();
        // Acquire pairs with the Release of the waiter: its stamp and count are written.
        part.wait_until(|| desk.over.load(Acquire) == round)?;
        let went_on = desk.went_on.load(Acquire);
        // Exactly one sleep, from before the gap until after the wake-up: it slept all the time between.
        let slept = desk.sleeps.load(Acquire) == 2;
        match went_on.checked_sub(began) {
            Some(wake) => tallies.count(wake, ended - began, slept, round == NO_ROUND + 1),
            None => tallies.negative += 1,
        }
        if ended > end {
            break;
        }
    }
    desk.armed.store(LAST, Release);
    Ok(tallies)
}

/// Role 1.
fn wait_all<P: Primitive>(part: &Part<'_>, primitive: &P, desk: &Desk) -> Result<(), Halt> {
    part.line_up()?;
    for round in NO_ROUND + 1.. {
        // Acquire pairs with the Release of the waker.
        part.wait_until(|| desk.armed.load(Acquire) >= round)?;
        if desk.armed.load(Acquire) == LAST {
            break;
        }
        let before = part.switches();
        desk.waiting.store(round, Release);
        primitive.wait(round, part.guard)?;
        let went_on = counter::stop();
        let slept = before.zip(part.switches()).map_or(0, |(before, after)| 1 + (after[0] - before[0]));
        desk.went_on.store(went_on, Release);
        desk.sleeps.store(u64::from(slept), Release);
        desk.over.store(round, Release);
    }
    Ok(())
}
