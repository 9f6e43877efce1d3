//! [`Spsc`]: our own lock-free ring for one producer and one consumer.
//!
//! The ring has one slot more than its capacity. The extra slot distinguishes full from empty without a count that both
//! ends would write, and allows any exact capacity. Each end keeps its own index and a copy of the other's. It reads
//! the other's line only if the copy does not let it continue (Rigtorp, "Optimizing a ring buffer for throughput",
//! 2021, who credits Lee et al., MCRingBuffer, 2010). With many messages waiting, one transfer of an index line serves
//! a whole run of messages. The consumer gives slots back in chunks, and when it finds no further message. So the
//! producer never waits for emptied slots that are not given back.
//!
//! An end is two words, the ring and its index. It is passed in registers and never has its address taken, so its index
//! stays in a register from message to message. In memory each message would wait for the forwarded store of the
//! previous message. For the same reason an end drops its ring through a function that gets the words by value.

use super::ends::{Ends, Implementation, QueueParameters, Refusal};
use super::message::Message;
use super::row::{PaddedSlots, SlotsPtr};
use super::slot::Slot;
use super::slot_queue::begin_a_lap;
use super::spinning::{self, Attendant, Pop, Presence, Push, Spinning, Within};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{Arc, AtomicUsize};
use std::cell::Cell;
use std::ptr::NonNull;

/// The kind of queue.
#[derive(Debug)]
pub struct Spsc;

/// Slots given back at once, a power of two: as many words as fit a line, but at most a quarter of the ring. A ring
/// with its slots next to the tail has the largest chunk that its capacity allows. With ten slots and CPUs 500 ns apart
/// it passed 1.11 times as many messages as rtrb (0.99 to 1.22 in 80 % of 198 rounds). With chunks of two it passed
/// 0.97 times as many (0.85 to 1.09). Between CPUs 101 ns apart the ratios were 0.99 (0.93 to 1.08) and 1.02 (0.96 to
/// 1.10).
fn chunk(capacity: usize, is_near_tail: bool) -> usize {
    const LINE: usize = 64 / size_of::<u64>();
    // Loom explores only two slots, which must still form a chunk larger than one.
    let all = cfg!(loom) || is_near_tail;
    let most = if all { capacity } else { (capacity / 4).clamp(1, LINE) };
    1 << most.ilog2()
}

/// An index on lines of its own: two lines, since x86 fetches them in pairs, or one line on some Arm cores.
#[derive(Debug)]
#[repr(align(128))]
struct Index(AtomicUsize);

/// The next slot that the producer fills. Only the producer writes it. Slots from head to before tail hold messages. A
/// few one-word slots are stored next to it. The line that announces a message then brings the first seven slots, or
/// all slots where lines are fetched in pairs. Other rings leave this space unused: 15 KiB with the largest messages.
#[derive(Debug)]
#[repr(C, align(128))]
struct Tail<M> {
    index: AtomicUsize,
    near_slots: [Slot<M>; NEAR_SLOTS],
}

/// Words that fit next to an index on its two lines.
const NEAR_SLOTS: usize = 128 / size_of::<u64>() - 1;

impl<M> Tail<M> {
    /// Whether this many slots fit next to the index: at most 15 of one word each. Larger messages use a separate row.
    /// So does loom, whose slots are larger; it explores orderings, which do not depend on lines.
    fn has_room(places: usize) -> bool {
        places <= NEAR_SLOTS && size_of::<Tail<M>>() == align_of::<Tail<M>>()
    }
}

/// Fields that only one end touches.
#[derive(Debug)]
#[repr(align(128))]
struct Side<M> {
    slots: SlotsPtr<Slot<M>>,
    tail: Arc<Tail<M>>,
    /// Last seen index of the other end. It may have advanced since, but never decreases.
    seen: Cell<usize>,
}

impl<M> Side<M> {
    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.slots.places() { begin_a_lap() } else { place + 1 }
    }
}

#[derive(Debug)]
struct Ring<M> {
    producer: Side<M>,
    /// The first slot that the consumer has not given back. Only the consumer writes it.
    head: Index,
    consumer: Side<M>,
    /// Mask. Slots are given back when these bits of the head are all 0.
    chunk_mask: usize,
    presence: Presence,
    /// The slots, unless they are next to the tail.
    _row: Option<Arc<PaddedSlots<Slot<M>>>>,
}

#[derive(Debug)]
struct Share<M>(NonNull<Ring<M>>);

// SAFETY: a share gives access only to atomics, to fields of the one end that holds it, and to slots, which the indices
// hand from one end to the other. A message moves from one thread to another, which `Send` allows.
unsafe impl<M: Send> Send for Share<M> {}

impl<M> Share<M> {
    fn new(ring: Arc<Ring<M>>) -> Share<M> {
        // SAFETY: the pointer of an `Arc` is never null.
        Share(unsafe { NonNull::new_unchecked(Arc::into_raw(ring).cast_mut()) })
    }

    #[inline(always)]
    fn ring(&self) -> &Ring<M> {
        // SAFETY: the share is one of the owners until it is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl<M> Drop for Share<M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: a share is dropped once.
        unsafe { drop_share(self.0) }
    }
}

/// # Safety
/// The share is not used afterwards.
#[cold]
#[inline(never)]
unsafe fn drop_share<M>(ring: NonNull<Ring<M>>) {
    // SAFETY: the pointer came from an `Arc` in `Share::new`, and is given back once.
    drop(unsafe { Arc::from_raw(ring.as_ptr()) });
}

/// The producer's end.
#[derive(Debug)]
pub struct SpscSender<M> {
    share: Share<M>,
    tail: usize,
}

/// The consumer's end.
#[derive(Debug)]
pub struct SpscReceiver<M> {
    share: Share<M>,
    /// The next slot to empty: the value of `head`, or up to a chunk further.
    head: usize,
}

impl Implementation for Spsc {
    type Sender<M: Message> = Spinning<SpscSender<M>, true, Within>;
    type Receiver<M: Message> = Spinning<SpscReceiver<M>, false, Within>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
        let ring = Ring::new(shape.capacity)?;
        let sender = SpscSender { share: Share::new(Arc::clone(&ring)), tail: 0 };
        Ok(spinning::ends_within(sender, SpscReceiver { share: Share::new(ring), head: 0 }))
    }
}

impl<M> Ring<M> {
    fn new(capacity: usize) -> Result<Arc<Ring<M>>, Refusal> {
        if capacity == 0 {
            return Err(Refusal::Capacity {
                capacity,
                reason: "the minimum of a ring is one message".into(),
            });
        }
        let places = capacity.checked_add(1).ok_or(Refusal::Memory { capacity })?;
        let tail = Arc::new(Tail {
            index: AtomicUsize::new(0),
            near_slots: [(); NEAR_SLOTS].map(|()| Slot::empty()),
        });
        let is_near_tail = Tail::<M>::has_room(places);
        let row = if is_near_tail { None } else { Some(Arc::new(PaddedSlots::new(places, Slot::empty)?)) };
        let all = row.as_ref().map_or_else(|| &tail.near_slots[..places], |row| row.places());
        let side = || Side {
            // SAFETY: the ring keeps the row and the tail as long as the sides, in `Arc`s, which never move their
            // contents.
            slots: unsafe { SlotsPtr::new(all) },
            tail: Arc::clone(&tail),
            seen: Cell::new(0),
        };
        let (producer, consumer) = (side(), side());
        let chunk_mask = chunk(capacity, is_near_tail) - 1;
        let (head, presence) = (Index(AtomicUsize::new(0)), Presence::of_a_pair());
        Ok(Arc::new(Ring { producer, head, consumer, chunk_mask, presence, _row: row }))
    }
}

impl<M: Message> Push<M> for SpscSender<M> {
    #[inline(always)]
    fn push(&mut self, message: M) -> Result<(), M> {
        let ring = self.share.ring();
        let side = &ring.producer;
        let next = side.after(self.tail);
        if next == side.seen.get() {
            // Acquire pairs with the Release in `give_back`: the consumer is done with the slots that it gave back.
            side.seen.set(ring.head.0.load(Acquire));
            if next == side.seen.get() {
                return Err(message);
            }
        }
        // SAFETY: the tail is a slot of the ring, and empty. It was never filled, or the head has passed it and the
        // load above orders the emptying before us. The consumer does not touch it before it sees the new tail.
        unsafe { side.slots.at(self.tail).write(message) };
        self.tail = next;
        // Release pairs with the Acquire in `find_message`: a consumer that sees the new tail sees the message.
        side.tail.index.store(next, Release);
        Ok(())
    }

    #[inline(always)]
    fn push_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> usize {
        let ring = self.share.ring();
        let side = &ring.producer;
        let places = side.slots.places();
        let mut place = self.tail;
        // One slot stays empty.
        let free = |head: usize| if head > place { head - place - 1 } else { places - 1 - (place - head) };
        if free(side.seen.get()) < count {
            // Acquire pairs with the Release in `give_back`: the consumer is done with the slots that it gave back.
            side.seen.set(ring.head.0.load(Acquire));
            if free(side.seen.get()) < count {
                return 0;
            }
        }
        for index in 0..count {
            // SAFETY: as in `push`, for each of `count` slots from the tail on. None is the slot before the head.
            unsafe { side.slots.at(place).write(make(index)) };
            place = side.after(place);
        }
        self.tail = place;
        // Release pairs with the Acquire in `find_message`. All messages of the batch were written before, so a
        // consumer that sees the new tail sees every message. Until then it sees none.
        side.tail.index.store(place, Release);
        count
    }
}

impl<M> SpscReceiver<M> {
    /// Checks for a message. If there is none, gives all emptied slots back to the producer.
    #[inline(always)]
    fn find_message(&self) -> bool {
        let ring = self.share.ring();
        let side = &ring.consumer;
        if self.head == side.seen.get() {
            self.give_back();
            // Acquire pairs with the Release in `push` and `push_batch`, so the messages before the new tail are
            // visible.
            side.seen.set(side.tail.index.load(Acquire));
        }
        self.head != side.seen.get()
    }

    #[inline(always)]
    fn give_back(&self) {
        let head = &self.share.ring().head.0;
        // Relaxed: only this thread writes the head. The check keeps repeated polls from taking the producer's line.
        if head.load(Relaxed) != self.head {
            // Release pairs with the Acquire in `push` and `push_batch`. A producer that sees the new head may fill the
            // slots before it, which were all emptied before this store.
            head.store(self.head, Release);
        }
    }

    /// # Safety
    /// `find_message` has found a message since the last one was taken.
    #[inline(always)]
    unsafe fn take(&mut self) -> M {
        let side = &self.share.ring().consumer;
        // SAFETY: the head is a slot of the ring before the tail. So it holds a message whose writing is ordered before
        // us. The producer does not touch the slot before it sees the new head.
        let message = unsafe { side.slots.at(self.head).take() };
        self.head = side.after(self.head);
        message
    }
}

impl<M: Message> Pop<M> for SpscReceiver<M> {
    #[inline(always)]
    fn pop(&mut self) -> Option<M> {
        if !self.find_message() {
            return None;
        }
        // SAFETY: `find_message` has found a message.
        let message = unsafe { self.take() };
        let ring = self.share.ring();
        if self.head & ring.chunk_mask == 0 {
            // Release pairs with the Acquire in `push`, as in `give_back`.
            ring.head.0.store(self.head, Release);
        }
        Some(message)
    }

    #[inline(always)]
    fn pop_batch(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        let mut taken = 0;
        if self.find_message() {
            let end = self.share.ring().consumer.seen.get();
            while taken < most && self.head != end {
                // SAFETY: there is a message before `end`. The head advances before anything else can see or drop the
                // message.
                let message = unsafe { self.take() };
                taken += 1;
                each(message);
            }
            self.give_back();
        }
        taken
    }
}

impl<M> Attendant for SpscSender<M> {
    #[inline(always)]
    fn presence(&self) -> &Presence {
        &self.share.ring().presence
    }
}

impl<M> Attendant for SpscReceiver<M> {
    #[inline(always)]
    fn presence(&self) -> &Presence {
        &self.share.ring().presence
    }
}

impl<M> Drop for SpscReceiver<M> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release pairs with the Acquire in `push`, as in `give_back`. A living producer may fill these slots.
        self.share.ring().head.0.store(self.head, Release);
    }
}

impl<M> Drop for Ring<M> {
    fn drop(&mut self) {
        // Relaxed: both ends are dropped, and the reference count orders their last stores before us.
        let side = &self.consumer;
        let (mut head, tail) = (self.head.0.load(Relaxed), side.tail.index.load(Relaxed));
        while head != tail {
            // SAFETY: slots from head to before tail are slots of the ring and hold messages. No other owner is left.
            drop(unsafe { side.slots.at(head).take() });
            head = side.after(head);
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
    fn a_ring_of_words_or_of_strings_keeps_the_promises_of_a_ring() {
        promises::all::<Spsc, u64>();
        promises::all::<Spsc, String>();
    }

    #[test]
    fn slots_are_given_back_in_chunks() {
        for (capacity, chunk) in [(8, 8), (14, 8), (15, 2), (16, 4), (100, 8)] {
            promises::gives_slots_back_in_chunks::<Spsc>(capacity, chunk);
        }
    }

    #[test]
    fn few_words_are_stored_next_to_the_tail_and_others_in_a_row() {
        fn words_behind_the_tail<M>(capacity: usize) -> Option<usize> {
            let ring = Ring::<M>::new(capacity).unwrap();
            let side = &ring.producer;
            // SAFETY: every ring has this slot.
            let place = std::ptr::from_ref(unsafe { side.slots.at(0) }).addr();
            let tail = std::ptr::from_ref(&side.tail.index).addr();
            assert!(tail.is_multiple_of(128));
            place.checked_sub(tail).filter(|bytes| *bytes < 128).map(|bytes| bytes / 8)
        }
        assert_eq!([1, 10, 14].map(words_behind_the_tail::<u64>), [Some(1); 3]);
        assert_eq!([15, 16].map(words_behind_the_tail::<u64>), [None; 2]);
        assert_eq!(words_behind_the_tail::<String>(1), None);
    }
}
