//! `ring`: two rings of messages, one for each direction: what a program that passes messages one by one gets.
//!
//! The steps are those of the `spsc` queue, on measured lines: the sender writes the message and then its index, the
//! receiver sees the index, reads the message and gives its place back; the sender looks at what was given back only when
//! the places that it knows of are used up. A hop waits for two lines, index and message, one after the other; the lines
//! that the partner takes back meanwhile are mostly hidden behind them.

use super::ping_pong::{HandOver, initiator, responder};
use crate::kernel::{Cost, Kernel, Spin};
use crate::stage::{Guard, Halt, Line, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::wait::{Pause, WaitAction};
use coretalk_model::KernelId;
use std::borrow::Cow;
use std::marker::PhantomData;

/// One wait hint after each look in vain, as the queue has it.
pub static RING_PAUSE: Kernel = Kernel {
    id: KernelId(Cow::Borrowed("ring+pause")),
    roles: &[initiator::<Ring<Pause>>, responder::<Ring<Pause>>],
    cost: Cost::PingPong { transfers_per_hop: 3.0, spin: Spin::Hinted, extra_hints_per_hop: 0.0 },
    lines_per_place: 2 * LINES as u32,
    symbol: "ping_pong",
};

/// Lines of one direction: the messages, the index of the sender, and that of the receiver.
const LINES: usize = 3;
/// Messages in a line.
const PLACES: u64 = 8;

/// Passes turns through two rings: the first three lines carry those of the initiator, the others the answers.
#[derive(Debug)]
pub struct Ring<W>(PhantomData<W>);

/// The three lines of one direction.
#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    messages: &'a [AtomicU64; PLACES as usize],
    /// Messages put in so far.
    sent: &'a AtomicU64,
    /// Messages taken out so far.
    taken: &'a AtomicU64,
}

impl<'a> Way<'a> {
    fn of(lines: &[&'a Line]) -> Way<'a> {
        Way { messages: &lines[0].words, sent: &lines[1].words[0], taken: &lines[2].words[0] }
    }
}

/// Both ends that a role holds, and what it knows by itself.
#[derive(Debug)]
pub struct Ends<'a> {
    inbox: Way<'a>,
    outbox: Way<'a>,
    sent: u64,
    /// What `taken` of the outbox was when it was last looked at: the partner may be further, never less far.
    known: u64,
    taken: u64,
}

impl<'a> Ends<'a> {
    fn of(inbox: &[&'a Line], outbox: &[&'a Line]) -> Ends<'a> {
        Ends { inbox: Way::of(inbox), outbox: Way::of(outbox), sent: 0, known: 0, taken: 0 }
    }
}

impl<W: WaitAction> HandOver for Ring<W> {
    const LINES: usize = 2 * LINES;
    type Ends<'a> = Ends<'a>;

    fn initiator_ends<'a>(place: &[&'a Line]) -> Ends<'a> {
        Ends::of(&place[LINES..], &place[..LINES])
    }

    fn responder_ends<'a>(place: &[&'a Line]) -> Ends<'a> {
        Ends::of(&place[..LINES], &place[LINES..])
    }

    #[inline(always)]
    fn pass(ends: &mut Ends<'_>, expected: u64, next: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        Self::see(ends, expected, guard)?;
        if ends.sent - ends.known == PLACES {
            // Acquire pairs with the Release in the partner's `see`: it is done with the places that it gave back. One
            // message at a time is under way, so that all but the last have come back.
            wait_until::<W>(guard, || {
                ends.known = ends.outbox.taken.load(Acquire);
                ends.sent - ends.known < PLACES
            })?;
        }
        // Relaxed: the index below publishes it.
        ends.outbox.messages[(ends.sent % PLACES) as usize].store(next, Relaxed);
        ends.sent += 1;
        // Release pairs with the Acquire in the partner's `see`: who sees the index sees the message.
        ends.outbox.sent.store(ends.sent, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(ends: &mut Ends<'_>, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Before the first message nothing is expected.
        if expected == 0 {
            return Ok(());
        }
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || ends.inbox.sent.load(Acquire) > ends.taken)?;
        // Relaxed: ordered by the index. A message that is not the one expected stops the pair at its deadline.
        let message = &ends.inbox.messages[(ends.taken % PLACES) as usize];
        wait_until::<W>(guard, || message.load(Relaxed) == expected)?;
        ends.taken += 1;
        // Release pairs with the Acquire in the partner's `pass`: who sees the count may fill the place.
        ends.inbox.taken.store(ends.taken, Release);
        Ok(())
    }
}
