//! `msg`: a mailbox line for each direction, with sequence numbers. What a queue between two threads sees.
//!
//! Each hop is two transactions: the receiver reads a line that the sender dirtied, and the sender takes it back from
//! the receiver to write the next message.

use super::ping_pong::{HandOver, Words, initiator, responder};
use crate::kernel::{Cost, Kernel, Spin};
use crate::stage::{Guard, Halt, Line, wait_until};
use crate::sync::Ordering::{Acquire, Release};
use crate::wait::{Busy, Pause, WaitAction};
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// Nothing between two looks.
pub static MSG: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("msg")),
    roles: &[initiator::<Msg<Busy>>, responder::<Msg<Busy>>],
    cost: Cost::PingPong { transfers_per_hop: 2.0, spin: Spin::Eager, extra_hints_per_hop: 0.0 },
    lines_per_place: 2,
    symbol: "ping_pong",
};

/// One wait hint after each look in vain.
pub static MSG_PAUSE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("msg+pause")),
    roles: &[initiator::<Msg<Pause>>, responder::<Msg<Pause>>],
    cost: Cost::PingPong { transfers_per_hop: 2.0, spin: Spin::Hinted, extra_hints_per_hop: 0.0 },
    lines_per_place: 2,
    symbol: "ping_pong",
};

/// Passes turns through two mailboxes: the first line carries those of the initiator, the second the answers.
#[derive(Debug)]
pub struct Msg<W>(PhantomData<W>);

impl<W: WaitAction> HandOver for Msg<W> {
    const LINES: usize = 2;

    type Ends<'a> = Words<'a>;

    fn initiator_ends<'a>(place: &[&'a Line]) -> Words<'a> {
        Words { inbox: &place[1].words[0], outbox: &place[0].words[0] }
    }

    fn responder_ends<'a>(place: &[&'a Line]) -> Words<'a> {
        Words { inbox: &place[0].words[0], outbox: &place[1].words[0] }
    }

    #[inline(always)]
    fn pass(ends: &mut Words<'_>, expected: u64, next: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        Self::see(ends, expected, guard)?;
        // Release pairs with the Acquire in the partner's `see`: whoever sees the number sees the message. Nobody
        // else writes this mailbox, and the partner has answered the last message, so its read of it is over.
        ends.outbox.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(ends: &mut Words<'_>, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || ends.inbox.load(Acquire) == expected)
    }
}
