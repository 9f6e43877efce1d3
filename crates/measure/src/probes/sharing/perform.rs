//! One pass on threads of this machine: both write, then one of them alone.

use super::{WORD, distance, observe};
use crate::counter;
use crate::series::TrialOrder;
use crate::stage::Halt;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::{RoleContext, TrialContext};
use coretalk_model::series::Observed;
use coretalk_model::{Flag, Picos, TrialFailure};

/// A pass may take so much longer than asked before it is given up: a host may hold a CPU for long.
const PATIENCE: Picos = Picos::from_ms(5_000);
/// Of a pass, the share in which one thread writes alone.
const ALONE_SHARE: f64 = 0.25;
/// Writes between two looks at the clock: 5 µs alone, so that a look costs a few thousandths.
const BATCH: u64 = 1024;
/// Words of a page.
const WORDS: usize = 512;

/// A page of its own, so that only the distance decides what the two words share.
#[repr(align(4096))]
struct Page([AtomicU64; WORDS]);

/// What one thread did.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    writes: u64,
    ticks: u64,
}

/// Performs one pass.
pub fn perform(context: &TrialContext<'_>, order: &TrialOrder<'_>) -> Result<Observed, TrialFailure> {
    let rate = context.rate();
    let page = Box::new(Page([const { AtomicU64::new(0) }; WORDS]));
    let words = [&page.0[0], &page.0[(distance(order.spec) / WORD) as usize % WORDS]];
    let span_ticks = |share: f64| rate.ticks(order.span.ns() * share) as u64;
    let limit = order.span + PATIENCE;
    let both = span_ticks(1.0 - ALONE_SHARE);
    let shared = context.run(limit, |role| write(role, words[role.number % 2], both), || ())?;
    let alone_ticks = span_ticks(ALONE_SHARE);
    let run_role = |role: &RoleContext<'_>| match role.number {
        0 => write(role, words[0], alone_ticks),
        // It leaves at once: a sibling that waits would slow the writer down too.
        _ => role.wait_for_all().map(|()| Written::default()),
    };
    let alone = context.run(limit, run_role, || ())?;
    let ns = |written: &Written| rate.ns(written.ticks as f64) / written.writes as f64;
    let of_both = [&shared[0], &shared[1]].map(ns);
    let sums = [shared[0].writes + alone[0].writes, shared[1].writes];
    let mut observed = observe(of_both, ns(&alone[0]), sums.iter().sum());
    // Relaxed: the threads have been joined.
    if [words[0].load(Relaxed), words[1].load(Relaxed)] != sums {
        observed.flags.set(Flag::Invalid);
    }
    Ok(observed)
}

fn write(role: &RoleContext<'_>, word: &AtomicU64, span_ticks: u64) -> Result<Written, Halt> {
    role.wait_for_all()?;
    let began = counter::now_ticks();
    let mut writes = 0;
    loop {
        for _ in 0..BATCH {
            // Relaxed: nothing is handed over but the count itself. An addition and not a store, which would wait for
            // its line in a buffer while the thread goes on.
            word.fetch_add(1, Relaxed);
        }
        writes += BATCH;
        let now = counter::now_ticks();
        if now - began >= span_ticks {
            return Ok(Written { writes, ticks: now - began });
        }
        role.guard.check_at(now)?;
        role.give_way();
    }
}
