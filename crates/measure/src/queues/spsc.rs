//! [`Spsc`]: our own lock-free ring for one producer and one consumer.
//!
//! It has one place more than it holds messages, so that full and empty differ without a count that both would write,
//! and its capacity is exactly what was asked for. Each end keeps its own index and a copy of the other's, and looks
//! at the other's line only when its copy says that it cannot go on (Rigtorp, "Optimizing a ring buffer for
//! throughput", 2021, who credits Lee et al., MCRingBuffer, 2010): with many messages waiting, one transfer of an
//! index line serves a whole run of messages. The consumer gives places back in lots, and whatever it has emptied before
//! it looks for more, so that the producer never waits for a place that will not come.

use super::ends::{Ends, Implementation, Refusal, Shape};
use super::message::Message;
use super::slot_row::Slots;
use super::spinning::{self, Pop, Push, Spinning};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{Arc, AtomicUsize};

/// The ring.
#[derive(Debug)]
pub struct Spsc;

/// Places that are given back at once: those of a line of words, and no more than a quarter of the ring. One by one the
/// ring passed 0.90 to 0.98 of what rtrb's does between the same CPUs from ten places on, in lots 0.97 to 1.14 in the two
/// quietest of seven runs (turns of both interleaved; AMD EPYC guest, other programs running).
fn lot(capacity: usize) -> usize {
    const LINE: usize = 64 / size_of::<u64>();
    // A lot larger than one must be met by the two places that loom explores.
    if cfg!(loom) { capacity } else { (capacity / 4).clamp(1, LINE) }
}

/// An index on lines of its own: two of them, since x86 fetches lines in pairs, and one on some Arm cores.
#[derive(Debug)]
#[repr(align(128))]
struct Index(AtomicUsize);

#[derive(Debug)]
struct Ring<M> {
    /// The first place that the consumer has not given back. Written by the consumer only.
    head: Index,
    /// The place that the producer fills next. Written by the producer only; places from head to before tail hold
    /// messages.
    tail: Index,
    slots: Slots<M>,
}

/// The producer's end.
#[derive(Debug)]
pub struct SpscSender<M> {
    ring: Arc<Ring<M>>,
    /// What `tail` holds.
    tail: usize,
    /// What `head` held when we last looked: the consumer may be further by now, never less far.
    head: usize,
}

/// The consumer's end.
#[derive(Debug)]
pub struct SpscReceiver<M> {
    ring: Arc<Ring<M>>,
    /// The place to empty next: what `head` holds, and up to a lot further.
    head: usize,
    /// Places emptied and not given back.
    emptied: usize,
    /// Places that are given back at once.
    lot: usize,
    /// What `tail` held when we last looked: the producer may be further by now, never less far.
    tail: usize,
}

impl Implementation for Spsc {
    type Sender<M: Message> = Spinning<SpscSender<M>, true>;
    type Receiver<M: Message> = Spinning<SpscReceiver<M>, false>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        let capacity = shape.capacity;
        let places = capacity.checked_add(1).filter(|_| capacity > 0);
        let Some(places) = places else {
            return Err(Refusal::Capacity {
                capacity,
                reason: "the minimum of a ring is one message".into(),
            });
        };
        let (head, tail) = (Index(AtomicUsize::new(0)), Index(AtomicUsize::new(0)));
        let ring = Arc::new(Ring { head, tail, slots: Slots::new(places)? });
        let sender = SpscSender { ring: Arc::clone(&ring), tail: 0, head: 0 };
        Ok(spinning::ends(sender, SpscReceiver { ring, head: 0, emptied: 0, lot: lot(capacity), tail: 0 }))
    }
}

impl<M: Message> Push<M> for SpscSender<M> {
    #[inline(always)]
    fn push(&mut self, message: M) -> Result<(), M> {
        let next = if self.tail + 1 == self.ring.slots.len() { 0 } else { self.tail + 1 };
        if next == self.head {
            // Acquire pairs with the Release in `pop`: the consumer is done with the places that it gave back.
            self.head = self.ring.head.0.load(Acquire);
            if next == self.head {
                return Err(message);
            }
        }
        // SAFETY: the place at the tail is empty: either it was never filled, or the head has passed it and the load
        // above orders the emptying before us. The consumer does not touch it before it sees the new tail.
        unsafe { self.ring.slots.write(self.tail, message) };
        self.tail = next;
        // Release pairs with the Acquire in `pop`: who sees the new tail sees the message.
        self.ring.tail.0.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn push_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> usize {
        let places = self.ring.slots.len();
        let mut place = self.tail;
        // One place stays empty.
        let free = |head: usize| if head > place { head - place - 1 } else { places - 1 - (place - head) };
        if free(self.head) < count {
            // Acquire pairs with the Release in `pop` and `pop_batch`: the consumer is done with the places that it gave
            // back.
            self.head = self.ring.head.0.load(Acquire);
            if free(self.head) < count {
                return 0;
            }
        }
        for index in 0..count {
            // SAFETY: as in `push`, for each of `count` places from the tail on, none of which is the one before the head.
            unsafe { self.ring.slots.write(place, make(index)) };
            place = if place + 1 == places { 0 } else { place + 1 };
        }
        self.tail = place;
        // Release pairs with the Acquire in `pop` and `pop_batch`: who sees the new tail sees every message of the batch,
        // since all of them were written before it; until then none of them is seen.
        self.ring.tail.0.store(place, Release);
        count
    }
}

impl<M: Message> Pop<M> for SpscReceiver<M> {
    #[inline(always)]
    fn pop(&mut self) -> Option<M> {
        if self.head == self.tail {
            // Acquire pairs with the Release in `push`: the messages before the new tail are there.
            self.tail = self.ring.tail.0.load(Acquire);
            if self.head == self.tail {
                return None;
            }
        }
        // SAFETY: the place at the head lies before the tail, so it holds a message whose writing is ordered before
        // us. The producer does not touch it before it sees the new head.
        let message = unsafe { self.ring.slots.take(self.head) };
        self.head = if self.head + 1 == self.ring.slots.len() { 0 } else { self.head + 1 };
        self.emptied += 1;
        if self.emptied >= self.lot || self.head == self.tail {
            self.emptied = 0;
            // Release pairs with the Acquire in `push`: who sees the new head may fill the places before it.
            self.ring.head.0.store(self.head, Release);
        }
        Some(message)
    }

    #[inline(always)]
    fn pop_batch(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        if self.head == self.tail {
            // Acquire pairs with the Release in `push` and `push_batch`: the messages before the new tail are there.
            self.tail = self.ring.tail.0.load(Acquire);
            if self.head == self.tail {
                return 0;
            }
        }
        let places = self.ring.slots.len();
        let mut taken = 0;
        while taken < most && self.head != self.tail {
            // SAFETY: as in `pop`; the head moves on before anything else can see or drop the message.
            let message = unsafe { self.ring.slots.take(self.head) };
            self.head = if self.head + 1 == places { 0 } else { self.head + 1 };
            taken += 1;
            each(message);
        }
        self.emptied = 0;
        // Release pairs with the Acquire in `push` and `push_batch`: who sees the new head may fill the places before it,
        // all of which were emptied before this store.
        self.ring.head.0.store(self.head, Release);
        taken
    }
}

impl<M> Drop for SpscReceiver<M> {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `push`, as in `pop`: a producer that is still there may fill these places.
        self.ring.head.0.store(self.head, Release);
    }
}

impl<M> Drop for Ring<M> {
    fn drop(&mut self) {
        // Relaxed: both ends have gone, and the count of owners orders their last stores before us.
        let (mut head, tail) = (self.head.0.load(Relaxed), self.tail.0.load(Relaxed));
        while head != tail {
            // SAFETY: places from head to before tail hold messages; nobody else is left.
            drop(unsafe { self.slots.take(head) });
            head = if head + 1 == self.slots.len() { 0 } else { head + 1 };
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::batches::loom_duel_of_batches;
    use super::super::exchange::loom_duel;
    use super::*;

    #[test]
    fn loom_a_ring_loses_nothing() {
        for (capacity, messages) in [(1, 3), (2, 3)] {
            loom_duel::<Spsc, u64>(capacity, messages);
        }
    }

    #[test]
    fn loom_batches_of_a_ring_lose_nothing() {
        for (capacity, batch, messages) in [(2, 2, 4), (3, 2, 5)] {
            loom_duel_of_batches::<Spsc, u64>(capacity, batch, messages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spinning::promises;
    use super::*;

    #[test]
    fn a_ring_holds_exactly_its_capacity_and_frees_what_is_left_in_it() {
        promises::holds_exactly::<Spsc, u64>();
        promises::holds_exactly::<Spsc, String>();
    }

    #[test]
    fn places_come_back_in_lots_and_before_the_consumer_looks_for_more() {
        promises::gives_places_back_in_lots::<Spsc>();
    }

    #[test]
    fn batches_go_in_as_a_whole() {
        promises::sends_whole_batches::<Spsc, u64>();
        promises::sends_whole_batches::<Spsc, String>();
        promises::mixes_batches_and_single_messages::<Spsc, u64>();
    }

    #[test]
    fn no_capacity_is_refused_in_words() {
        promises::refuses_impossible_capacities::<Spsc>();
    }
}
