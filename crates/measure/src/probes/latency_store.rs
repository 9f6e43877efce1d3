//! `store`: one line, spinning with loads and handing over with a store.
//!
//! Where a load of a dirty line moves its ownership, a hop is one transaction; elsewhere it is a read and then an
//! upgrade. A reader that looks too eagerly takes the line back before the owner's store commits: with one pause the
//! number halves on some cores (measured: 49.6 and 22.4 ns on one Zen 5 pair).

use super::ping_pong::{HandOver, initiator, responder};
use crate::kernel::{Cost, Kernel, Spin};
use crate::stage::{Guard, Halt, Line, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Release};
use crate::wait::{Busy, Pause, WaitAction};
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// Nothing between two looks.
pub static STORE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("store")),
    roles: &[initiator::<Store<Busy>>, responder::<Store<Busy>>],
    cost: Cost::PingPong { transfers_per_hop: 2.0, spin: Spin::Eager, extra_hints_per_hop: 0.0 },
    lines_per_place: 1,
    symbol: "ping_pong",
};

/// One wait hint after each look in vain.
pub static STORE_PAUSE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("store+pause")),
    roles: &[initiator::<Store<Pause>>, responder::<Store<Pause>>],
    cost: Cost::PingPong { transfers_per_hop: 2.0, spin: Spin::Hinted, extra_hints_per_hop: 0.0 },
    lines_per_place: 1,
    symbol: "ping_pong",
};

/// Passes turns by load and store on one word.
#[derive(Debug)]
pub struct Store<W>(PhantomData<W>);

impl<W: WaitAction> HandOver for Store<W> {
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
        Self::see(word, expected, guard)?;
        // Release pairs with the Acquire in the partner's `see`: whoever sees the turn sees what was written before
        // it. A plain store is enough, because until then the word is ours alone.
        word.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(word: &mut &AtomicU64, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || word.load(Acquire) == expected)
    }
}
