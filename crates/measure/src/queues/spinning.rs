//! [`Spinning`]: the ends of a queue that cannot wait: they look again until it works, with a wait hint in between.

use super::ends::{Leave, NoMessage, Receiver, Refused, Sender, Watch};
use super::message::Message;
use crate::stage::{Guard, Halt, POLLS};
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{Arc, AtomicUsize};
use crate::wait::{Pause, WaitAction};

/// Puts a message in, or gives it back because there is no room.
pub trait Push<M>: Send + Sized + 'static {
    /// Never waits.
    ///
    /// # Errors
    /// The message, where the queue is full.
    fn push(&mut self, message: M) -> Result<(), M>;

    /// Puts so many messages in at once, made by their places in the batch, or none where not all have room; gives how
    /// many. Never waits. A kind that has no batches puts in the first alone.
    #[inline(always)]
    fn push_batch(&mut self, _count: usize, make: &impl Fn(usize) -> M) -> usize {
        usize::from(self.push(make(0)).is_ok())
    }

    /// One more end on this side, where the kind allows.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// Takes a message out if there is one.
pub trait Pop<M>: Send + Sized + 'static {
    /// Never waits.
    fn pop(&mut self) -> Option<M>;

    /// Takes up to so many messages out, in order, and shows each; gives how many. Never waits.
    #[inline(always)]
    fn pop_batch(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        for taken in 0..most {
            let Some(message) = self.pop() else { return taken };
            each(message);
        }
        most
    }

    /// One more end on this side, where the kind allows.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// Which ends are still there; on lines of its own, and written only when one comes or goes.
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

/// Where an end finds who is still there.
pub trait Register<T>: Clone + Send + 'static {
    /// Who is there.
    fn of<'a>(&'a self, end: &'a T) -> &'a Presence;
}

/// Beside the queue.
impl<T> Register<T> for Arc<Presence> {
    #[inline(always)]
    fn of<'a>(&'a self, _end: &'a T) -> &'a Presence {
        self
    }
}

/// Within the queue of an [`Attendant`]: an end that needs no more than two words travels in registers, and a loop can
/// keep its state there.
#[derive(Debug, Clone, Copy)]
pub struct Within;

impl<T: Attendant> Register<T> for Within {
    #[inline(always)]
    fn of<'a>(&'a self, end: &'a T) -> &'a Presence {
        end.presence()
    }
}

/// An end whose queue itself knows who is there.
pub trait Attendant {
    /// Who is there.
    fn presence(&self) -> &Presence;
}

/// One end that looks again and again.
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

/// The same of a queue that itself knows who is there.
pub fn ends_within<S: Attendant, R: Attendant>(
    sender: S,
    receiver: R,
) -> (Spinning<S, true, Within>, Spinning<R, false, Within>) {
    (Spinning { end: sender, register: Within }, Spinning { end: receiver, register: Within })
}

impl<M: Message, T: Push<M>, P: Register<T>> Sender<M> for Spinning<T, true, P> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        self.end.push(message).map_err(Refused::Full)
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
            // Acquire: whoever sees that the last receiver has gone also sees what it did; pairs with `drop`.
            if self.register.of(&self.end).receivers.load(Acquire) == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
        }
    }

    #[inline(always)]
    fn try_send_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> Result<usize, Refused<()>> {
        match self.end.push_batch(count, make) {
            0 => Err(Refused::Full(())),
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
            // Acquire: as in `send`.
            if self.register.of(&self.end).receivers.load(Acquire) == 0 {
                return Err(Leave::Halted(Halt::Partner));
            }
        }
    }

    fn another(&self) -> Option<Self> {
        let end = self.end.another()?;
        // Relaxed: the end that we hold keeps the count above 0 meanwhile.
        self.register.of(&self.end).senders.fetch_add(1, Relaxed);
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
                // Acquire pairs with `drop`: everything that the senders put in is there for one last look. The line
                // is in our cache until the end.
                if self.register.of(&self.end).senders.load(Acquire) == 0 {
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
        _hand: &mut Vec<M>,
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
        _hand: &mut Vec<M>,
        each: &mut impl FnMut(M),
        guard: &Guard<'_>,
    ) -> Result<usize, Halt> {
        loop {
            for _ in 0..POLLS {
                let taken = self.end.pop_batch(most, each);
                if taken > 0 {
                    return Ok(taken);
                }
                // Acquire: as in `receive`.
                if self.register.of(&self.end).senders.load(Acquire) == 0 {
                    return Ok(self.end.pop_batch(most, each));
                }
                Pause::wait();
            }
            guard.check()?;
        }
    }

    fn another(&self) -> Option<Self> {
        let end = self.end.another()?;
        // Relaxed: as for senders.
        self.register.of(&self.end).receivers.fetch_add(1, Relaxed);
        Some(Spinning { end, register: self.register.clone() })
    }
}

impl<T, const SENDS: bool, P: Register<T>> Drop for Spinning<T, SENDS, P> {
    fn drop(&mut self) {
        let presence = self.register.of(&self.end);
        let side = if SENDS { &presence.senders } else { &presence.receivers };
        // Release pairs with the Acquire of the other side: it sees all that was done before.
        side.fetch_sub(1, Release);
    }
}

/// What each of our own rings promises, whatever it keeps its state in.
#[cfg(test)]
pub mod promises {
    use super::super::ends::{Ends, Implementation, Receiver, Sender, Shape};
    use super::Message;

    fn open<S: Implementation, M: Message>(capacity: usize) -> Ends<S, M> {
        S::open::<M>(&Shape { capacity, spins: 0 }).unwrap()
    }

    /// It holds exactly its capacity in order, lap after lap, and frees once what is left in it.
    pub fn holds_exactly<S: Implementation, M: Message>() {
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
            // Left inside, behind places that were emptied.
            for _ in 0..capacity {
                assert!(sender.try_send(M::make(7)).is_ok());
            }
            for _ in 1..capacity {
                assert!(receiver.try_receive().is_ok());
            }
        }
    }

    /// The producer of a ring goes on when a lot of so many places is free, and all come back.
    pub fn gives_places_back_in_lots<S: Implementation>(capacity: u64, lot: u64) {
        let (mut sender, mut receiver) = open::<S, u64>(capacity as usize);
        (0..capacity).for_each(|number| assert!(sender.try_send(number).is_ok()));
        (0..lot - 1).for_each(|number| assert_eq!(receiver.try_receive(), Ok(number)));
        assert!(sender.try_send(capacity).is_err(), "{} of a lot of {lot}", lot - 1);
        assert_eq!(receiver.try_receive(), Ok(lot - 1));
        let all = capacity + lot;
        (capacity..all).for_each(|number| assert!(sender.try_send(number).is_ok(), "{number}"));
        assert!(sender.try_send(all).is_err(), "{capacity} places");
        (lot..all).for_each(|number| assert_eq!(receiver.try_receive(), Ok(number)));
        assert!(receiver.try_receive().is_err());
        (0..capacity).for_each(|number| assert!(sender.try_send(number).is_ok(), "all places are back"));
    }

    /// A batch goes in as a whole or not at all, at whatever place of the ring it begins, and comes out in order; what is
    /// left inside is freed once.
    pub fn sends_whole_batches<S: Implementation, M: Message>() {
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
                // One more than a batch at a time, so that batches in and out begin at different places.
                while receiver.try_receive_batch(batch + 1, &mut Vec::new(), &mut check).is_ok() {}
                assert_eq!(received, sent);
            }
            fill(&mut sender);
            let taken = receiver.try_receive_batch(1, &mut Vec::new(), &mut |_| ());
            assert_eq!(taken, Ok(1), "the rest is left inside");
        }
    }

    /// Batches and single messages in turn keep their order.
    pub fn mixes_batches_and_single_messages<S: Implementation, M: Message>() {
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

    /// Capacities that no ring can have are refused in words.
    pub fn refuses_impossible_capacities<S: Implementation>() {
        let refusal = S::open::<u64>(&Shape { capacity: 0, spins: 0 }).map(drop).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "a queue of exactly 0 messages is not possible: the minimum of a ring is one message"
        );
        assert!(S::open::<u64>(&Shape { capacity: usize::MAX - 1, spins: 0 }).is_err());
    }
}
