//! Counters without a lock: one atomic operation, a loop around one, none.

use super::{Counter, Setup, Step};
use crate::stage::{Guard, Halt, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::trial_context::Apart;
use crate::wait::{Busy, Pause, WaitAction};

// Every order in this file is Relaxed: the number carries nothing but itself, each addition is one atomic operation,
// and whoever reads it at the end has joined all threads before.

/// The most wait hints between two attempts: doubled after each that failed, as Anderson (1990) proposes.
const MOST_HINTS: u32 = 64;

/// One atomic addition.
#[derive(Debug)]
pub struct FetchAdd(AtomicU64);

/// A compare-exchange, again until it succeeds; with growing pauses in between (`BACKOFF`) or at once.
#[derive(Debug)]
pub struct CasLoop<const BACKOFF: bool>(AtomicU64);

/// A number for each thread, added up at the end: what a counter costs when nothing is shared.
#[derive(Debug)]
pub struct PerThread(Box<[Apart<AtomicU64>]>);

/// A load and a store: the wrong answer. It loses what others stored in between, and is no undefined behaviour.
#[derive(Debug)]
pub struct Racy(AtomicU64);

impl Counter for FetchAdd {
    type Handle<'a> = ();

    fn new(_: &Setup) -> FetchAdd {
        FetchAdd(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let before = self.0.fetch_add(1, Relaxed);
        inside();
        Ok(Step::Added(before))
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl<const BACKOFF: bool> Counter for CasLoop<BACKOFF> {
    type Handle<'a> = ();

    fn new(_: &Setup) -> Self {
        CasLoop(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), guard: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        let mut seen = self.0.load(Relaxed);
        let mut hints = 1;
        wait_until::<Busy>(guard, || match self.0.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
            Ok(_) => true,
            Err(now) => {
                seen = now;
                if BACKOFF {
                    for _ in 0..hints {
                        Pause::wait();
                    }
                    hints = (hints * 2).min(MOST_HINTS);
                    seen = self.0.load(Relaxed);
                }
                false
            }
        })?;
        inside();
        Ok(Step::Added(seen))
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Counter for PerThread {
    type Handle<'a> = &'a AtomicU64;

    fn new(setup: &Setup) -> PerThread {
        PerThread((0..setup.threads).map(|_| Apart(AtomicU64::new(0))).collect())
    }

    fn handle(&self, thread: usize) -> &AtomicU64 {
        &self.0[thread]
    }

    #[inline(always)]
    fn step<'a>(
        &'a self,
        own: &mut &'a AtomicU64,
        _: &Guard<'_>,
        inside: impl FnOnce(),
    ) -> Result<Step, Halt> {
        // Nobody else writes this one, so a load and a store lose nothing.
        own.store(own.load(Relaxed) + 1, Relaxed);
        inside();
        Ok(Step::AddedSomewhere)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|own| own.load(Relaxed)).sum()
    }
}

impl Counter for Racy {
    type Handle<'a> = ();

    fn new(_: &Setup) -> Racy {
        Racy(AtomicU64::new(0))
    }

    fn handle(&self, _: usize) {}

    #[inline(always)]
    fn step(&self, (): &mut (), _: &Guard<'_>, inside: impl FnOnce()) -> Result<Step, Halt> {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
        inside();
        Ok(Step::AddedSomewhere)
    }

    fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
