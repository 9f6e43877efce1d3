//! [`Bounded`]: the reference queue, a ring between two semaphores, one for free slots and one for items.

use super::ends::{
    Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused, Sender, Watch,
};
use super::message::Message;
use super::slot_row::Slots;
use crate::kernel_context::{Guard, Halt};
use crate::sync::Ordering::Relaxed;
use crate::sync::{Arc, AtomicBool, AtomicUsize};
use crate::trial_context::CachePadded;
use std::io;
use std::marker::PhantomData;

/// Maximum permits of a semaphore. All kinds here can count this far.
pub const MAX_PERMITS: usize = (1 << 22) - 2;

/// A counting semaphore. Everything before a permit is given is ordered before everything after it is taken.
pub trait Permits: Send + Sync + Sized + 'static {
    /// A semaphore with this many permits. It polls `spins` times before it sleeps, if the kind supports polling. Fails
    /// if the system refuses a semaphore.
    fn with(permits: u32, spins: u32) -> io::Result<Self>;

    /// Takes a permit if one is available. A kind that cannot test waits for one.
    fn try_take(&self) -> bool;

    /// Takes a permit, and sleeps until one is available. Returns false if a nap ended without a permit.
    fn take(&self) -> bool;

    /// Gives a permit.
    fn give(&self);
}

/// Test: two threads pass each other one permit in turn, initially in `free`; no permit is lost or duplicated.
#[cfg(test)]
pub fn hand_permits_over<P: Permits>(free: P, items: P) {
    let rounds = if cfg!(miri) { 20 } else { 5_000 };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..rounds {
                while !free.take() {}
                items.give();
            }
        });
        for _ in 0..rounds {
            while !items.take() {}
            free.give();
        }
    });
    assert!(free.try_take() && !free.try_take() && !items.try_take());
}

/// A ring of exactly `capacity` slots between two semaphores of this kind.
#[derive(Debug)]
pub struct Bounded<P>(PhantomData<P>);

/// Each semaphore has lines of its own. Both sides write both semaphores with every message, so two semaphores on one
/// line would suffer false sharing. The other fields are read with every message but written only when an end is
/// dropped. So they share lines apart from the semaphores.
#[derive(Debug)]
struct Core<M, P: Permits> {
    free: CachePadded<P>,
    items: CachePadded<P>,
    slots: Slots<M>,
    /// Number of sent messages. The dropped sender writes it once.
    sent: AtomicUsize,
    /// Number of received messages. The dropped receiver writes it once.
    received: AtomicUsize,
    sender_gone: AtomicBool,
    receiver_gone: AtomicBool,
}

/// The producer's end. It takes a free slot, fills the slot and gives an item.
#[derive(Debug)]
pub struct BoundedSender<M, P: Permits> {
    core: Arc<Core<M, P>>,
    position: usize,
    sent: usize,
}

/// The consumer's end. It takes an item, empties the slot and gives the slot back.
#[derive(Debug)]
pub struct BoundedReceiver<M, P: Permits> {
    core: Arc<Core<M, P>>,
    position: usize,
    received: usize,
}

impl<P: Permits> Implementation for Bounded<P> {
    type Sender<M: Message> = BoundedSender<M, P>;
    type Receiver<M: Message> = BoundedReceiver<M, P>;

    fn open<M: Message>(
        shape: &QueueParameters,
    ) -> Result<(BoundedSender<M, P>, BoundedReceiver<M, P>), Refusal> {
        let capacity = shape.capacity;
        if capacity == 0 || capacity > MAX_PERMITS {
            let reason = format!("its semaphores count 1 to {MAX_PERMITS}");
            return Err(Refusal::Capacity { capacity, reason });
        }
        let permits = |permits: usize| {
            P::with(permits as u32, shape.spins)
                .map(CachePadded)
                .map_err(|source| Refusal::System { what: "a semaphore", source })
        };
        let core = Arc::new(Core {
            free: permits(capacity)?,
            items: permits(0)?,
            slots: Slots::new(capacity)?,
            sent: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
            sender_gone: AtomicBool::new(false),
            receiver_gone: AtomicBool::new(false),
        });
        let sender = BoundedSender { core: Arc::clone(&core), position: 0, sent: 0 };
        Ok((sender, BoundedReceiver { core, position: 0, received: 0 }))
    }
}

impl<M, P: Permits> BoundedSender<M, P> {
    /// Fills the next slot. The caller has taken a permit.
    #[inline(always)]
    fn put(&mut self, message: M) -> Result<(), Halt> {
        // The last permit of a dropped receiver stands for no slot. Relaxed: the flag is set before that permit is
        // given, and the permit that we took orders the flag.
        if self.core.receiver_gone.load(Relaxed) {
            return Err(Halt::Partner);
        }
        // SAFETY: the permit says that this slot was never filled or has been emptied, and taking the permit orders
        // that before us. No other thread touches the slot until the item is given.
        unsafe { self.core.slots.write(self.position, message) };
        self.position = if self.position + 1 == self.core.slots.len() { 0 } else { self.position + 1 };
        self.sent += 1;
        self.core.items.give();
        Ok(())
    }
}

impl<M: Message, P: Permits> Sender<M> for BoundedSender<M, P> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        if !self.core.free.try_take() {
            return Err(SendRefused::Full(message));
        }
        self.put(message).map_err(|_| SendRefused::Closed)
    }

    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave> {
        while !self.core.free.take() {
            watch.check()?;
        }
        Ok(self.put(message)?)
    }
}

impl<M, P: Permits> BoundedReceiver<M, P> {
    /// Empties the next slot; `None` for the dropped sender's permit. The caller has taken a permit.
    #[inline(always)]
    fn get(&mut self) -> Option<M> {
        // Relaxed, as in `put`. The count of messages is written before the flag.
        if self.core.sender_gone.load(Relaxed) && self.received == self.core.sent.load(Relaxed) {
            return None;
        }
        // SAFETY: the permit says that this slot has been filled, and taking the permit orders that before us. No other
        // thread touches the slot until it is given back.
        let message = unsafe { self.core.slots.take(self.position) };
        self.position = if self.position + 1 == self.core.slots.len() { 0 } else { self.position + 1 };
        self.received += 1;
        self.core.free.give();
        Some(message)
    }
}

impl<M: Message, P: Permits> Receiver<M> for BoundedReceiver<M, P> {
    #[inline(always)]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        if !self.core.items.try_take() {
            return Err(NoMessage::Yet);
        }
        self.get().ok_or(NoMessage::Ever)
    }

    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
        while !self.core.items.take() {
            guard.check()?;
        }
        Ok(self.get())
    }
}

impl<M, P: Permits> Drop for BoundedSender<M, P> {
    fn drop(&mut self) {
        self.core.sent.store(self.sent, Relaxed);
        // Relaxed: the permit below publishes both to a receiver that takes one permit more than there are items.
        self.core.sender_gone.store(true, Relaxed);
        self.core.items.give();
    }
}

impl<M, P: Permits> Drop for BoundedReceiver<M, P> {
    fn drop(&mut self) {
        self.core.received.store(self.received, Relaxed);
        // Relaxed, as for the sender.
        self.core.receiver_gone.store(true, Relaxed);
        self.core.free.give();
    }
}

impl<M, P: Permits> Drop for Core<M, P> {
    fn drop(&mut self) {
        // Both ends are dropped, and the reference count orders their stores before us.
        for number in self.received.load(Relaxed)..self.sent.load(Relaxed) {
            // SAFETY: messages between the two counts were put in and not taken out. No other owner is left.
            drop(unsafe { self.slots.take(number % self.slots.len()) });
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::exchange::loom_duel;
    use super::super::semaphore::Semaphore;
    use super::*;

    #[test]
    fn loom_a_bounded_ring_loses_nothing() {
        for (capacity, messages) in [(1, 3), (2, 3)] {
            loom_duel::<Bounded<Semaphore>, u64>(capacity, messages);
        }
    }
}
