//! The loops of `wake`: a waiting and a waking thread, and single threads for sleeps and operations without a waiter.

use super::catalogue::{PrimitiveTask, Variant, variant};
use super::{GAP_JITTER, GAPS_NS, SLEEP_NS, Tallies, crowd, make, names};
use crate::counter;
use crate::kernel_context::Halt;
use crate::primitives::{Primitive, sleep};
use crate::series::{MIN_ROUNDS, TrialOrder};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Release};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{CachePadded, RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use coretalk_model::wake::RanOn;
use coretalk_model::{CpuId, Topology, TrialFailure, stats};
use std::sync::OnceLock;

const NO_ROUND: u64 = 0;

pub fn perform(
    name: &str,
    context: &TrialContext<'_>,
    order: &TrialOrder<'_>,
) -> Result<Observed, TrialFailure> {
    let possible = || {
        order
            .spec
            .mask()
            .zip(context.topology())
            .map_or([false; 4], |(mask, topology)| RanOn::possible(topology, &mask))
    };
    let observed = |tallies: Tallies| tallies.observed(context.rate(), possible());
    // A plan of another version may hold unknown names.
    match variant(name)? {
        Variant::Sleep => sleeps(context, order),
        Variant::NotifyAll(_) => crowd::perform(context, order),
        Variant::Uncontended(kind) | Variant::NotifyIdle(kind) => kind.run(Alone { context, order }),
        Variant::Wake(kind) => kind.run(WakeRounds { context, order }).map(observed),
    }
}

/// Addresses of the loops of a variant's roles, the waking role first.
pub fn loops(variant: Variant) -> Vec<usize> {
    struct Loops {
        is_alone: bool,
    }
    impl PrimitiveTask for Loops {
        type Output = Vec<*const ()>;
        fn with<P: Primitive>(self) -> Vec<*const ()> {
            match self.is_alone {
                true => vec![wake_nobody::<P> as *const ()],
                false => vec![wake_all::<P> as *const (), wait_all::<P> as *const ()],
            }
        }
    }
    let addresses = match variant {
        Variant::Sleep => vec![sleep_on as *const ()],
        Variant::NotifyAll(_) => crowd::loops().to_vec(),
        Variant::Uncontended(kind) | Variant::NotifyIdle(kind) => kind.run(Loops { is_alone: true }),
        Variant::Wake(kind) => kind.run(Loops { is_alone: false }),
    };
    addresses.into_iter().map(|at| at as usize).collect()
}

struct WakeRounds<'a> {
    context: &'a TrialContext<'a>,
    order: &'a TrialOrder<'a>,
}

struct Alone<'a> {
    context: &'a TrialContext<'a>,
    order: &'a TrialOrder<'a>,
}

impl PrimitiveTask for WakeRounds<'_> {
    type Output = Result<Tallies, TrialFailure>;
    fn with<P: Primitive>(self) -> Self::Output {
        rounds::<P>(self.context, self.order)
    }
}

impl PrimitiveTask for Alone<'_> {
    type Output = Result<Observed, TrialFailure>;
    fn with<P: Primitive>(self) -> Self::Output {
        alone::<P>(self.context, self.order)
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Written by the waker: the round for which the primitive is armed. `LAST` ends the pass.
    armed: CachePadded<AtomicU64>,
    /// Written by the waiter: the round in which it is about to wait. A waker that gives up sets `LAST`. Exactly one of
    /// the two changes succeeds, and decides whether the round takes place.
    waiting: CachePadded<AtomicU64>,
    /// Written by the waiter: the finished round, to which the words below belong.
    finished: CachePadded<AtomicU64>,
    resumed: CachePadded<AtomicU64>,
    /// Number of sleeps of the waiter in this round plus one; 0 if unknown.
    sleeps: CachePadded<AtomicU64>,
    /// CPU on which the waiter resumed; `UNKNOWN_CPU` if the system does not report it.
    ran_on: CachePadded<AtomicU64>,
}

const UNKNOWN_CPU: u64 = u64::MAX;

const LAST: u64 = u64::MAX;

fn rounds<P: Primitive>(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Tallies, TrialFailure> {
    let primitive = make::<P>()?;
    let shared = Shared::default();
    let rate = context.rate();
    let gap_ns = order.spec.parameters.number("gap_ns").unwrap_or(GAPS_NS[0]);
    let mask = order.spec.mask();
    let plan = Plan {
        gap_ticks: rate.ticks(gap_ns),
        span_ticks: rate.ticks(order.span.ns()) as u64,
        key: Key::from_words(&[order.key]),
        topology: context.topology().filter(|_| mask.is_some()),
    };
    let limit = order.limit();
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => wake_all(role, &primitive, &shared, &plan).map(Some),
        _ => wait_all(role, &primitive, &shared).map(|()| None),
    };
    let Some(mask) = mask else {
        let outcomes = context.run(limit, run_role, || primitive.unblock())?;
        return Ok(outcomes.into_iter().flatten().next().unwrap_or_default());
    };
    let refused: OnceLock<(CpuId, i32)> = OnceLock::new();
    let unbound = |role: &RoleContext<'_>| {
        role.unbound(&mask, || run_role(role)).unwrap_or_else(|errno| {
            refused.get_or_init(|| (role.cpu, errno));
            Err(Halt::Partner)
        })
    };
    // All CPUs are measured, so the coordinating thread sleeps throughout.
    let outcomes = context.run_undisturbed(limit, unbound, || primitive.unblock());
    match refused.get() {
        Some(&(cpu, errno)) => Err(TrialFailure::NotPinned { cpu, errno }),
        None => Ok(outcomes?.into_iter().flatten().next().unwrap_or_default()),
    }
}

struct Plan<'a> {
    gap_ticks: f64,
    span_ticks: u64,
    key: Key,
    /// Set if the threads are unbound. Their positions are then counted.
    topology: Option<&'a Topology>,
}

/// Role 0. Neither role is inlined, so that `probes --asm` shows the code that ran.
#[inline(never)]
fn wake_all<P: Primitive>(
    role: &RoleContext<'_>,
    primitive: &P,
    shared: &Shared,
    plan: &Plan<'_>,
) -> Result<Tallies, Halt> {
    let mut tallies = Tallies::default();
    role.wait_for_all()?;
    let end = counter::now_ticks() + plan.span_ticks;
    for round in NO_ROUND + 1.. {
        let held = primitive.arm();
        // Release pairs with the Acquire of the waiter: a waiter that sees the round sees the armed primitive.
        shared.armed.store(round, Release);
        // Acquire pairs with the Release of the waiter, which has counted its switches before it announces itself.
        if let Err(halt) = role.wait_until(|| shared.waiting.load(Acquire) == round) {
            // AcqRel and Acquire as in the announcement of the waiter, which races with this exchange.
            if shared.waiting.compare_exchange(round - 1, LAST, AcqRel, Acquire).is_err() {
                primitive.wake(held, round);
            }
            return Err(halt);
        }
        let jitter = 1.0 + GAP_JITTER * (2.0 * plan.key.uniform(round) - 1.0);
        if let Err(halt) = role.spin_for((plan.gap_ticks * jitter) as u64) {
            // The waiter has announced itself and may be asleep. Only this call can wake it.
            primitive.wake(held, round);
            return Err(halt);
        }
        let waker = plan.topology.and_then(|_| role.current_cpu());
        let began = counter::start();
        primitive.wake(held, round);
        let ended = counter::stop();
        // Acquire pairs with the Release of the waiter, whose stamp and count are written.
        role.wait_until(|| shared.finished.load(Acquire) == round)?;
        let resumed = shared.resumed.load(Acquire);
        // With one sleep from before the gap until after the wake-up, the waiter slept throughout.
        let slept = shared.sleeps.load(Acquire) == 2;
        match resumed.checked_sub(began) {
            Some(wake) => tallies.count(wake, ended - began, slept, round == NO_ROUND + 1),
            None => tallies.negative += 1,
        }
        // The first round is cold and not counted.
        let waiter = u32::try_from(shared.ran_on.load(Acquire)).ok().filter(|_| round > NO_ROUND + 1);
        if let (Some(topology), Some(waker), Some(waiter)) = (plan.topology, waker, waiter) {
            tallies.place(RanOn::from_cpus(topology, waker, CpuId(waiter)));
        }
        if ended > end && round >= MIN_ROUNDS {
            break;
        }
    }
    shared.armed.store(LAST, Release);
    Ok(tallies)
}

#[inline(never)]
fn wait_all<P: Primitive>(role: &RoleContext<'_>, primitive: &P, shared: &Shared) -> Result<(), Halt> {
    role.wait_for_all()?;
    for round in NO_ROUND + 1.. {
        // Acquire pairs with the Release of the waker.
        role.wait_until(|| shared.armed.load(Acquire) >= round)?;
        if shared.armed.load(Acquire) == LAST {
            break;
        }
        let before = role.switches();
        // Release: the waker sees that the switches were counted. The exchange fails if the waker gave up.
        if shared.waiting.compare_exchange(round - 1, round, AcqRel, Acquire).is_err() {
            return Err(Halt::Partner);
        }
        primitive.wait(round, role.guard)?;
        let resumed = counter::stop();
        let ran_on = role.current_cpu().map_or(UNKNOWN_CPU, |cpu| u64::from(cpu.0));
        let slept = before.zip(role.switches()).map_or(0, |(before, after)| 1 + (after[0] - before[0]));
        shared.resumed.store(resumed, Release);
        shared.sleeps.store(u64::from(slept), Release);
        shared.ran_on.store(ran_on, Release);
        shared.finished.store(round, Release);
    }
    Ok(())
}

/// Operations between two clock reads. The reads cost less than 1 % of them.
const BATCH: u32 = 1_000;

/// Arms and wakes a primitive without a waiter: lock and unlock of a lock, or a notification of no thread.
fn alone<P: Primitive>(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let primitive = make::<P>()?;
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let run_role = |role: &RoleContext<'_>| wake_nobody(role, &primitive, span_ticks);
    let batches = context.run(order.limit(), run_role, || primitive.unblock())?.concat();
    let mut observed = Observed::default();
    if let Some(ticks) = stats::median(&batches) {
        observed.value(names::ALONE_NS, context.rate().ns(ticks));
    }
    observed.count("samples", batches.len() as u64 * u64::from(BATCH));
    Ok(observed)
}

#[inline(never)]
fn wake_nobody<P: Primitive>(
    role: &RoleContext<'_>,
    primitive: &P,
    span_ticks: u64,
) -> Result<Vec<f64>, Halt> {
    role.wait_for_all()?;
    // This thread is registered as the waiter, where a notification requires a known thread.
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
}

/// Sleeps for a millisecond repeatedly, and counts the excess of each sleep.
pub fn sleeps(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let span_ticks = context.rate().ticks(order.span.ns()) as u64;
    let sleep_ticks = context.rate().ticks(SLEEP_NS as f64) as u64;
    let run_role = |role: &RoleContext<'_>| sleep_on(role, [span_ticks, sleep_ticks]);
    let outcomes = context.run(order.limit(), run_role, || ())?;
    let mut observed = Observed::default();
    for (tally, negative) in outcomes {
        observed.count("samples", tally.len());
        observed.count("negative", negative);
        observed.histogram(names::SLEPT, tally.histogram(context.rate()));
    }
    Ok(observed)
}

#[inline(never)]
fn sleep_on(
    role: &RoleContext<'_>,
    [span_ticks, sleep_ticks]: [u64; 2],
) -> Result<(TickHistogram, u64), Halt> {
    let (mut tally, mut negative) = (TickHistogram::new(), 0);
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    loop {
        let began = counter::start();
        sleep(SLEEP_NS);
        let ended = counter::stop();
        match (ended - began).checked_sub(sleep_ticks) {
            Some(late) => tally.count(late),
            None => negative += 1,
        }
        role.guard.check_at(ended)?;
        if ended > end {
            return Ok((tally, negative));
        }
    }
}
