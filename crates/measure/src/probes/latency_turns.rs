//! The kernels in which two CPUs take turns, each a [`Handoff`]: `cas`, `store`, `msg` and `ring`.
//!
//! `cas`: both sides compare-exchange one line until the value matches. This is the headline result, and the number in
//! published tables. A failed compare-exchange still takes the line exclusively, so each hop is one transaction on any
//! coherence protocol. The result is the latency of a *contended* hand-off.
//!
//! `store`: one line, polled with loads and handed off with a store. A hop is one transaction where a load of a dirty
//! line moves its ownership. Elsewhere it is a read and then an upgrade. A reader that polls too eagerly takes the line
//! back before the owner's store commits. One pause halves the latency on some cores (measured: 49.6 and 22.4 ns on one
//! Zen 5 pair).
//!
//! `msg`: a mailbox line for each direction, with sequence numbers, as in a queue between two threads. Each hop is two
//! transactions. The receiver reads a line that the sender dirtied. The sender takes the line back to write the next
//! message.
//!
//! `ring`: two rings of messages, one for each direction, as in a program that passes single messages. The steps are
//! those of the `spsc` queue. The sender writes the message and then its index. The receiver sees the index, reads the
//! message and gives its slot back. The sender reads the receiver's index only when no known slot is free. A hop waits
//! for two lines in sequence, index and message. Meanwhile the partner takes other lines back, mostly at the same time.

use super::ping_pong::{Handoff, Words, initiator, responder};
use crate::kernel::{Kernel, Spin};
use crate::kernel_context::{Guard, Halt, Line, wait_until};
use crate::sync::AtomicU64;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::wait::{Busy, Pause, WaitAction};
use std::marker::PhantomData;

/// `cas`, polling without a wait hint.
pub static CAS: Kernel = Kernel::ping_pong(
    ("cas", "ping_pong"),
    &[initiator::<Cas<Busy>>, responder::<Cas<Busy>>],
    (1.0, Spin::Eager),
    1,
);

/// `cas`, with one wait hint after each failed exchange.
pub static CAS_PAUSE: Kernel = Kernel::ping_pong(
    ("cas+pause", "ping_pong"),
    &[initiator::<Cas<Pause>>, responder::<Cas<Pause>>],
    (1.0, Spin::Hinted),
    1,
);

/// Passes turns by compare-exchange on one word.
#[derive(Debug)]
pub struct Cas<W>(PhantomData<W>);

impl<W: WaitAction> Handoff for Cas<W> {
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
        // Success acquires the data that the partner released with its own success. It releases this side's writes for
        // the partner's next success, as a program needs that passes data along with the turn. A failure reads only a
        // value that is discarded, so Relaxed.
        wait_until::<W>(guard, || word.compare_exchange(expected, next, AcqRel, Relaxed).is_ok())
    }

    #[inline(always)]
    fn see(word: &mut &AtomicU64, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the release half of the partner's last compare-exchange.
        wait_until::<W>(guard, || word.load(Acquire) == expected)
    }
}

/// `store`, polling without a wait hint.
pub static STORE: Kernel = Kernel::ping_pong(
    ("store", "ping_pong"),
    &[initiator::<Store<Busy>>, responder::<Store<Busy>>],
    (2.0, Spin::Eager),
    1,
);

/// `store`, with one wait hint after each unsuccessful poll.
pub static STORE_PAUSE: Kernel = Kernel::ping_pong(
    ("store+pause", "ping_pong"),
    &[initiator::<Store<Pause>>, responder::<Store<Pause>>],
    (2.0, Spin::Hinted),
    1,
);

/// Passes turns by load and store on one word.
#[derive(Debug)]
pub struct Store<W>(PhantomData<W>);

impl<W: WaitAction> Handoff for Store<W> {
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
        // Release pairs with the Acquire in the partner's `see`: a partner that sees the turn sees what was written
        // before it. A plain store suffices, because the word is ours until then.
        word.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(word: &mut &AtomicU64, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || word.load(Acquire) == expected)
    }
}

/// `msg`, polling without a wait hint.
pub static MSG: Kernel = Kernel::ping_pong(
    ("msg", "ping_pong"),
    &[initiator::<Msg<Busy>>, responder::<Msg<Busy>>],
    (2.0, Spin::Eager),
    2,
);

/// `msg`, with one wait hint after each unsuccessful poll.
pub static MSG_PAUSE: Kernel = Kernel::ping_pong(
    ("msg+pause", "ping_pong"),
    &[initiator::<Msg<Pause>>, responder::<Msg<Pause>>],
    (2.0, Spin::Hinted),
    2,
);

/// Passes turns through two mailboxes. The first line carries the initiator's turns, the second the answers.
#[derive(Debug)]
pub struct Msg<W>(PhantomData<W>);

impl<W: WaitAction> Handoff for Msg<W> {
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
        // Release pairs with the Acquire in the partner's `see`: a partner that sees the number sees the message. Only
        // we write this mailbox. The partner has answered the last message, so its read of it is over.
        ends.outbox.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(ends: &mut Words<'_>, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || ends.inbox.load(Acquire) == expected)
    }
}

/// `ring`, with one wait hint after each unsuccessful poll, as in the queue.
pub static RING_PAUSE: Kernel = Kernel::ping_pong(
    ("ring+pause", "ping_pong"),
    &[initiator::<Ring<Pause>>, responder::<Ring<Pause>>],
    (3.0, Spin::Hinted),
    2 * RING_LINES as u32,
);

/// Lines of one direction: the messages, the sender's index and the receiver's index.
const RING_LINES: usize = 3;
/// Slots of a ring. Their messages fill a line.
const SLOTS: u64 = 8;

/// Passes turns through two rings. The first three lines carry the initiator's turns, the others the answers.
#[derive(Debug)]
pub struct Ring<W>(PhantomData<W>);

#[derive(Debug, Clone, Copy)]
struct Way<'a> {
    messages: &'a [AtomicU64; SLOTS as usize],
    sent: &'a AtomicU64,
    taken: &'a AtomicU64,
}

impl<'a> Way<'a> {
    fn from_lines(lines: &[&'a Line]) -> Way<'a> {
        Way { messages: &lines[0].words, sent: &lines[1].words[0], taken: &lines[2].words[0] }
    }
}

/// Both rings of a role, with its private counts.
#[derive(Debug)]
pub struct Ends<'a> {
    inbox: Way<'a>,
    outbox: Way<'a>,
    sent: u64,
    /// Last seen `taken` of the outbox. It may have advanced since, but never goes back.
    known: u64,
    taken: u64,
}

impl<'a> Ends<'a> {
    fn new(inbox: &[&'a Line], outbox: &[&'a Line]) -> Ends<'a> {
        Ends { inbox: Way::from_lines(inbox), outbox: Way::from_lines(outbox), sent: 0, known: 0, taken: 0 }
    }
}

impl<W: WaitAction> Handoff for Ring<W> {
    const LINES: usize = 2 * RING_LINES;
    type Ends<'a> = Ends<'a>;

    fn initiator_ends<'a>(place: &[&'a Line]) -> Ends<'a> {
        Ends::new(&place[RING_LINES..], &place[..RING_LINES])
    }

    fn responder_ends<'a>(place: &[&'a Line]) -> Ends<'a> {
        Ends::new(&place[..RING_LINES], &place[RING_LINES..])
    }

    #[inline(always)]
    fn pass(ends: &mut Ends<'_>, expected: u64, next: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        Self::see(ends, expected, guard)?;
        if ends.sent - ends.known == SLOTS {
            // Acquire pairs with the Release in the partner's `see`: the partner is done with the slots that it gave
            // back. One message at a time is in flight, so all slots but the last have come back.
            wait_until::<W>(guard, || {
                ends.known = ends.outbox.taken.load(Acquire);
                ends.sent - ends.known < SLOTS
            })?;
        }
        // Relaxed: the index below publishes the message.
        ends.outbox.messages[(ends.sent % SLOTS) as usize].store(next, Relaxed);
        ends.sent += 1;
        // Release pairs with the Acquire in the partner's `see`: a partner that sees the index sees the message.
        ends.outbox.sent.store(ends.sent, Release);
        Ok(())
    }

    #[inline(always)]
    fn see(ends: &mut Ends<'_>, expected: u64, guard: &Guard<'_>) -> Result<(), Halt> {
        // No message precedes the first turn.
        if expected == 0 {
            return Ok(());
        }
        // Acquire pairs with the Release in the partner's `pass`.
        wait_until::<W>(guard, || ends.inbox.sent.load(Acquire) > ends.taken)?;
        // Relaxed: the index orders this load. After an unexpected message the pair waits until its deadline.
        let message = &ends.inbox.messages[(ends.taken % SLOTS) as usize];
        wait_until::<W>(guard, || message.load(Relaxed) == expected)?;
        ends.taken += 1;
        // Release pairs with the Acquire in the partner's `pass`: a partner that sees the count may fill the slot.
        ends.inbox.taken.store(ends.taken, Release);
        Ok(())
    }
}
