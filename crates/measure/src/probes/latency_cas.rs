//! `cas`: both sides compare-exchange one line until the value fits. The headline, and what published tables show.
//!
//! A failed compare-exchange takes the line exclusively all the same, so each hop is one transaction on every coherence
//! protocol, and what is timed is a *contended* hand-over.

use super::ping_pong::{HandOver, initiator, responder};
use crate::kernel::{Cost, Kernel, Spin};
use crate::stage::{Guard, Halt, Line, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::wait::{Busy, Pause, WaitAction};
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// Nothing between two tries.
pub static CAS: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("cas")),
    roles: &[initiator::<Cas<Busy>>, responder::<Cas<Busy>>],
    cost: Cost::PingPong { transfers_per_hop: 1.0, spin: Spin::Eager, extra_hints_per_hop: 0.0 },
    lines_per_place: 1,
    symbol: "ping_pong",
};

/// One wait hint after each failed try.
pub static CAS_PAUSE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("cas+pause")),
    roles: &[initiator::<Cas<Pause>>, responder::<Cas<Pause>>],
    cost: Cost::PingPong { transfers_per_hop: 1.0, spin: Spin::Hinted, extra_hints_per_hop: 0.0 },
    lines_per_place: 1,
    symbol: "ping_pong",
};

/// Passes turns by compare-exchange on one word.
#[derive(Debug)]
pub struct Cas<W>(PhantomData<W>);

impl<W: WaitAction> HandOver for Cas<W> {
    const LINES: usize = 1;

    type Ends<'a> = &'a AtomicU64;

    fn initiator_ends<'a>(place: &[&'a Line]) -> &'a AtomicU64 {
        &place[0].words[0]
    }

    fn responder_ends<'a>(place: &[&'a Line]) -> &'a AtomicU64 {
        Self::initiator_ends(place)
    }

    #[inline(always)]
    fn pass(word: &mut &AtomicU64, expected: u64, next: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Success acquires what the partner released with its own success, and releases what this side has written
        // since for the partner's next one: what a program gets that passes data along with the turn. Failure reads
        // nothing but a value to throw away, so Relaxed.
        wait_until::<W>(guard, || word.compare_exchange(expected, next, AcqRel, Relaxed).is_ok())
    }

    #[inline(always)]
    fn see(word: &mut &AtomicU64, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the release half of the partner's last compare-exchange.
        wait_until::<W>(guard, || word.load(Acquire) == expected)
    }
}
