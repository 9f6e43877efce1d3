//! `notify-all:N`: one thread wakes many at once.

use super::{GAP_JITTER, GAPS_NS, names};
use crate::counter;
use crate::kernel_context::Halt;
use crate::series::TrialOrder;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use crate::tick_histogram::TickHistogram;
use crate::trial_context::{CachePadded, RoleContext, TrialContext};
use coretalk_model::TrialFailure;
use coretalk_model::series::Observed;
use coretalk_model::stats::Key;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Histograms of the waker: time until the first waiter continued, until the last, and the waker's own cost.
type Counted = [TickHistogram; 3];

#[derive(Debug, Default)]
struct Crowd {
    round: Mutex<u64>,
    changed: Condvar,
    /// The round for which to wait. `LAST` ends the pass.
    armed: CachePadded<AtomicU64>,
    waiting: CachePadded<AtomicU64>,
    finished: CachePadded<AtomicU64>,
    resumed: Vec<CachePadded<AtomicU64>>,
}

const LAST: u64 = u64::MAX;

impl Crowd {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Performs one pass. Role 0 wakes, and all others wait.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let waiters = context.cpus().len() - 1;
    let resumed = (0..waiters).map(|_| CachePadded::default()).collect();
    let crowd = Crowd { resumed, ..Crowd::default() };
    let rate = context.rate();
    let gap_ticks = rate.ticks(order.spec.parameters.number("gap_ns").unwrap_or(GAPS_NS[1]));
    let span_ticks = rate.ticks(order.span.ns()) as u64;
    let key = Key::from_words(&[order.key]);
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => wake(role, &crowd, waiters as u64, gap_ticks, span_ticks, key).map(Some),
        number => wait(role, &crowd, number - 1).map(|()| None),
    };
    let unblock = || {
        let _round = crowd.lock();
        crowd.changed.notify_all();
    };
    let outcomes = context.run(order.limit(), run_role, unblock)?;
    let mut observed = Observed::default();
    if let Some([first, last, waker]) = outcomes.into_iter().flatten().next() {
        observed.count("samples", last.len());
        observed.histogram(names::FIRST_OF_ALL, first.histogram(rate));
        observed.histogram(names::LAST_OF_ALL, last.histogram(rate));
        observed.histogram(names::WAKER, waker.histogram(rate));
    }
    Ok(observed)
}

pub fn loops() -> [*const (); 2] {
    [wake as *const (), wait as *const ()]
}

// Neither role is inlined, so that `probes --asm` shows the code that ran.
#[inline(never)]
fn wake(
    role: &RoleContext<'_>,
    crowd: &Crowd,
    waiters: u64,
    gap_ticks: f64,
    span_ticks: u64,
    key: Key,
) -> Result<Counted, Halt> {
    let [mut first, mut last, mut waker] = [TickHistogram::new(), TickHistogram::new(), TickHistogram::new()];
    role.wait_for_all()?;
    let end = counter::now_ticks() + span_ticks;
    for round in 1.. {
        crowd.armed.store(round, Release);
        // Acquire pairs with the Release of each waiter.
        role.wait_until(|| crowd.waiting.load(Acquire) == waiters * round)?;
        role.spin_for((gap_ticks * (1.0 + GAP_JITTER * (2.0 * key.uniform(round) - 1.0))) as u64)?;
        let began = counter::start();
        *crowd.lock() = round;
        crowd.changed.notify_all();
        let ended = counter::stop();
        role.wait_until(|| crowd.finished.load(Acquire) == waiters * round)?;
        let stamps = || crowd.resumed.iter().map(|stamp| stamp.load(Acquire).saturating_sub(began));
        // The first round is cold.
        if let (true, Some(soonest), Some(latest)) = (round > 1, stamps().min(), stamps().max()) {
            first.count(soonest);
            last.count(latest);
            waker.count(ended - began);
        }
        if ended > end && round > 2 {
            break;
        }
    }
    crowd.armed.store(LAST, Release);
    Ok([first, last, waker])
}

#[inline(never)]
fn wait(role: &RoleContext<'_>, crowd: &Crowd, number: usize) -> Result<(), Halt> {
    role.wait_for_all()?;
    for round in 1.. {
        // Acquire pairs with the Release of the waker.
        role.wait_until(|| crowd.armed.load(Acquire) >= round)?;
        if crowd.armed.load(Acquire) == LAST {
            break;
        }
        crowd.waiting.fetch_add(1, Release);
        let mut now = crowd.lock();
        while *now < round {
            now = crowd.changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            if *now < round {
                role.guard.check()?;
            }
        }
        let resumed = counter::stop();
        drop(now);
        crowd.resumed[number].store(resumed, Release);
        crowd.finished.fetch_add(1, Release);
    }
    Ok(())
}
