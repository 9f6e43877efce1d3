//! [`Spinning`]: adds waiting to a queue that cannot wait. Its ends retry with a wait hint between polls.

use super::ends::{Leave, NoMessage, Receiver, SendRefused, Sender, Watch};
use super::message::Message;
use crate::kernel_context::{Guard, Halt, POLLS};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{Arc, AtomicUsize};
use crate::wait::{Pause, WaitAction};

/// A sender that cannot wait.
pub trait Push<M>: Send + Sized + 'static {
    /// Sends a message without waiting. Returns the message if the queue is full.
    fn push(&mut self, message: M) -> Result<(), M>;

    /// Sends `count` messages at once, or none if they do not all fit. `make` gets the index in the batch. Returns the
    /// number sent. Never waits. A kind without batches sends only the first.
    #[inline(always)]
    fn push_batch(&mut self, _count: usize, make: &impl Fn(usize) -> M) -> usize {
        usize::from(self.push(make(0)).is_ok())
    }

    /// Another end on this side, if the kind allows it.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// A receiver that cannot wait.
pub trait Pop<M>: Send + Sized + 'static {
    /// Takes a message if there is one, without waiting.
    fn pop(&mut self) -> Option<M>;

    /// Takes at most `most` messages in order, passes each to `each` and returns their number. Never waits.
    #[inline(always)]
    fn pop_batch(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        for taken in 0..most {
            let Some(message) = self.pop() else { return taken };
            each(message);
        }
        most
    }

    /// Another end on this side, if the kind allows it.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// Numbers of living ends, on lines of their own. They change only when an end is created or dropped.
#[derive(Debug)]
#[repr(align(128))]
pub struct Presence {
    senders: AtomicUsize,
    receivers: AtomicUsize,
}

impl Presence {
    /// One end on each side.
    pub fn of_a_pair() -> Presence {
        Presence { senders: AtomicUsize::new(1), receivers: AtomicUsize::new(1) }
    }
}

/// Access from an end to the numbers of living ends.
pub trait Register<T>: Clone + Send + 'static {
    /// The numbers of living ends.
    fn presence<'a>(&'a self, end: &'a T) -> &'a Presence;
}

/// A [`Presence`] that is stored separately from the queue.
impl<T> Register<T> for Arc<Presence> {
    #[inline(always)]
    fn presence<'a>(&'a self, _end: &'a T) -> &'a Presence {
        self
    }
}

/// A [`Presence`] in the queue of an [`Attendant`]. The end has at most two words, which a loop keeps in registers.
#[derive(Debug, Clone, Copy)]
pub struct Within;

impl<T: Attendant> Register<T> for Within {
    #[inline(always)]
    fn presence<'a>(&'a self, end: &'a T) -> &'a Presence {
        end.presence()
    }
}

/// An end whose queue stores the numbers of living ends.
pub trait Attendant {
    /// The numbers of living ends.
    fn presence(&self) -> &Presence;
}

/// A spinning end of a queue.
#[derive(Debug)]
pub struct Spinning<T, const SENDS: bool, P: Register<T> = Arc<Presence>> {
    end: T,
    register: P,
}

/// Both ends of a queue that cannot wait by itself.
pub fn ends<S, R>(sender: S, receiver: R) -> (Spinning<S, true>, Spinning<R, false>) {
    let presence = Arc::new(Presence::of_a_pair());
    let sender = Spinning { end: sender, register: Arc::clone(&presence) };
    (sender, Spinning { end: receiver, register: presence })
}

/// Both ends of a queue that stores the numbers of living ends itself.
pub fn ends_within<S: Attendant, R: Attendant>(
    sender: S,
    receiver: R,
) -> (Spinning<S, true, Within>, Spinning<R, false, Within>) {
    (Spinning { end: sender, register: Within }, Spinning { end: receiver, register: Within })
}

impl<M: Message, T: Push<M>, P: Register<T>> Sender<M> for Spinning<T, true, P> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        self.end.push(message).map_err(SendRefused::Full)
    }

    #[inline(always)]
    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave> {
        let mut message = message;
        loop {
            for _ in 0..POLLS {
                match self.end.push(message) {
                    Ok(()) => return Ok(()),
                    Err(back) => message = back,
                }
                Pause::wait();
            }
            watch.check()?;
            // Acquire pairs with the Release in `drop`: a sender that sees the last receiver gone sees what it did.
            if self.register.presence(&self.end).receivers.load(Acquire) == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
        }
    }

    #[inline(always)]
    fn try_send_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> Result<usize, SendRefused<()>> {
        match self.end.push_batch(count, make) {
            0 => Err(SendRefused::Full(())),
            sent => Ok(sent),
        }
    }

    #[inline(always)]
    fn send_batch(
        &mut self,
        count: usize,
        make: &impl Fn(usize) -> M,
        watch: &Watch<'_>,
    ) -> Result<usize, Leave> {
        loop {
            for _ in 0..POLLS {
                match self.end.push_batch(count, make) {
                    0 => Pause::wait(),
                    sent => return Ok(sent),
                }
            }
            watch.check()?;
            // Acquire, as in `send`.
            if self.register.presence(&self.end).receivers.load(Acquire) == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
        }
    }

    fn another(&self) -> Option<Self> {
        let end = self.end.another()?;
        // Relaxed: the end that we hold keeps the count above 0 meanwhile.
        self.register.presence(&self.end).senders.fetch_add(1, Relaxed);
        Some(Spinning { end, register: self.register.clone() })
    }
}

impl<M: Message, T: Pop<M>, P: Register<T>> Receiver<M> for Spinning<T, false, P> {
    #[inline(always)]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        self.end.pop().ok_or(NoMessage::Yet)
    }

    #[inline(always)]
    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
        loop {
            for _ in 0..POLLS {
                if let Some(message) = self.end.pop() {
                    return Ok(Some(message));
                }
                // Acquire pairs with the Release in `drop`, so one last poll sees everything that the senders put in.
                // The line stays in our cache until an end is dropped.
                if self.register.presence(&self.end).senders.load(Acquire) == 0 {
                    return Ok(self.end.pop());
                }
                Pause::wait();
            }
            guard.check()?;
        }
    }

    #[inline(always)]
    fn try_receive_batch(
        &mut self,
        most: usize,
        _buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
    ) -> Result<usize, NoMessage> {
        match self.end.pop_batch(most, each) {
            0 => Err(NoMessage::Yet),
            taken => Ok(taken),
        }
    }

    #[inline(always)]
    fn receive_batch(
        &mut self,
        most: usize,
        _buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
        guard: &Guard<'_>,
    ) -> Result<usize, Halt> {
        loop {
            for _ in 0..POLLS {
                let taken = self.end.pop_batch(most, each);
                if taken > 0 {
                    return Ok(taken);
                }
                // Acquire, as in `receive`.
                if self.register.presence(&self.end).senders.load(Acquire) == 0 {
                    return Ok(self.end.pop_batch(most, each));
                }
                Pause::wait();
            }
            guard.check()?;
        }
    }

    fn another(&self) -> Option<Self> {
        let end = self.end.another()?;
        // Relaxed, as for senders.
        self.register.presence(&self.end).receivers.fetch_add(1, Relaxed);
        Some(Spinning { end, register: self.register.clone() })
    }
}

impl<T, const SENDS: bool, P: Register<T>> Drop for Spinning<T, SENDS, P> {
    fn drop(&mut self) {
        let presence = self.register.presence(&self.end);
        let side = if SENDS { &presence.senders } else { &presence.receivers };
        // Release pairs with the Acquire of the other side, which sees everything done before.
        side.fetch_sub(1, Release);
    }
}

/// Test cases that each of our own rings must pass.
#[cfg(test)]
pub mod promises {
    use super::super::ends::{Ends, Implementation, QueueParameters, Receiver, Sender};
    use super::Message;

    fn open<S: Implementation, M: Message>(capacity: usize) -> Ends<S, M> {
        S::open::<M>(&QueueParameters { capacity, spins: 0 }).unwrap()
    }

    /// The properties of every ring.
    pub fn all<S: Implementation, M: Message>() {
        holds_exactly::<S, M>();
        sends_whole_batches::<S, M>();
        mixes_batches_and_single_messages::<S, M>();
        refuses_impossible_capacities::<S>();
    }

    /// The ring holds exactly its capacity in order, lap after lap, and frees remaining messages once.
    fn holds_exactly<S: Implementation, M: Message>() {
        for capacity in [1, 2, 3, 10, 14, 15, 17] {
            let (mut sender, mut receiver) = open::<S, M>(capacity);
            for lap in 0..3 {
                for number in 0..capacity as u64 {
                    assert!(sender.try_send(M::make(lap * 100 + number)).is_ok());
                }
                assert!(sender.try_send(M::make(0)).is_err(), "capacity {capacity}");
                for number in 0..capacity as u64 {
                    let message = receiver.try_receive().ok().and_then(M::read);
                    assert_eq!(message, Some(lap * 100 + number));
                }
                assert!(receiver.try_receive().is_err());
            }
            // Leaves messages inside, behind emptied slots.
            for _ in 0..capacity {
                assert!(sender.try_send(M::make(7)).is_ok());
            }
            for _ in 1..capacity {
                assert!(receiver.try_receive().is_ok());
            }
        }
    }

    /// The producer of a ring continues once a chunk of slots is free, and all slots are given back.
    pub fn gives_slots_back_in_chunks<S: Implementation>(capacity: u64, chunk: u64) {
        let (mut sender, mut receiver) = open::<S, u64>(capacity as usize);
        (0..capacity).for_each(|number| assert!(sender.try_send(number).is_ok()));
        (0..chunk - 1).for_each(|number| assert_eq!(receiver.try_receive(), Ok(number)));
        assert!(sender.try_send(capacity).is_err(), "{} of a chunk of {chunk}", chunk - 1);
        assert_eq!(receiver.try_receive(), Ok(chunk - 1));
        let all = capacity + chunk;
        (capacity..all).for_each(|number| assert!(sender.try_send(number).is_ok(), "{number}"));
        assert!(sender.try_send(all).is_err(), "{capacity} places");
        (chunk..all).for_each(|number| assert_eq!(receiver.try_receive(), Ok(number)));
        assert!(receiver.try_receive().is_err());
        (0..capacity).for_each(|number| assert!(sender.try_send(number).is_ok(), "all places are back"));
    }

    /// A batch is sent as a whole or not at all, wherever it begins, in order; remaining messages are freed once.
    fn sends_whole_batches<S: Implementation, M: Message>() {
        for (capacity, batch) in [(1, 1), (3, 2), (8, 3), (8, 8), (17, 5)] {
            let (mut sender, mut receiver) = open::<S, M>(capacity);
            let (mut sent, mut received) = (0, 0);
            let mut fill = |sender: &mut S::Sender<M>| {
                let from = sent;
                while let Ok(count) = sender.try_send_batch(batch, &|index| M::make(sent + index as u64)) {
                    assert_eq!(count, batch);
                    sent += count as u64;
                }
                ((sent - from) as usize, sent)
            };
            for lap in 0..5 {
                let (put, sent) = fill(&mut sender);
                assert_eq!(put, capacity / batch * batch, "capacity {capacity}, batch {batch}, lap {lap}");
                let mut check = |message: M| {
                    assert_eq!(message.read(), Some(received));
                    received += 1;
                };
                // One more than a batch, so that sent and received batches begin in different slots.
                while receiver.try_receive_batch(batch + 1, &mut Vec::new(), &mut check).is_ok() {}
                assert_eq!(received, sent);
            }
            fill(&mut sender);
            let taken = receiver.try_receive_batch(1, &mut Vec::new(), &mut |_| ());
            assert_eq!(taken, Ok(1), "the rest is left inside");
        }
    }

    /// Alternating batches and single messages keep their order.
    fn mixes_batches_and_single_messages<S: Implementation, M: Message>() {
        let (mut sender, mut receiver) = open::<S, M>(7);
        let (mut sent, mut received) = (0, 0);
        for turn in 0..100 {
            if turn % 3 == 0 {
                while sender.try_send(M::make(sent)).is_ok() {
                    sent += 1;
                }
            }
            while sender.try_send_batch(2, &|index| M::make(sent + index as u64)).is_ok() {
                sent += 2;
            }
            let mut check = |message: M| {
                assert_eq!(message.read(), Some(received));
                received += 1;
            };
            receiver.try_receive().map(&mut check).unwrap();
            receiver.try_receive_batch(turn % 5 + 1, &mut Vec::new(), &mut check).unwrap();
        }
        assert!(received > 200 && sent - received <= 7, "{sent} sent, {received} received");
    }

    /// Impossible capacities are refused with a message.
    fn refuses_impossible_capacities<S: Implementation>() {
        let refusal =
            S::open::<u64>(&QueueParameters { capacity: 0, spins: 0 }).map(drop).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "a queue of exactly 0 messages is not possible: the minimum of a ring is one message"
        );
        assert!(S::open::<u64>(&QueueParameters { capacity: usize::MAX - 1, spins: 0 }).is_err());
    }
}
