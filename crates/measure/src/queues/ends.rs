//! [`Sender`] and [`Receiver`]: the two ends of a queue, and what ends a wait on them.

use super::message::Message;
use crate::stage::{Guard, Halt};
use std::time::Duration;

/// How long a blocked end sleeps before it looks at its guard: rare enough to cost nothing, and a wait that the
/// partner does not end is over soon after its reason.
pub const NAP: Duration = Duration::from_millis(100);

/// Both ends of a queue of a kind.
pub type Ends<S, M> = (<S as Implementation>::Sender<M>, <S as Implementation>::Receiver<M>);

/// A kind of queue.
pub trait Implementation: Sized + 'static {
    /// Where the producer puts messages.
    type Sender<M: Message>: Sender<M>;
    /// Where the consumer takes them.
    type Receiver<M: Message>: Receiver<M>;

    /// Makes one that holds exactly so many messages.
    ///
    /// # Errors
    /// [`Refusal`] where this kind cannot hold exactly that, or the system gives it no memory or no object.
    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal>;
}

/// What a queue is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Messages that wait in it when it is full; at least 1.
    pub capacity: usize,
    /// Looks before a wait sleeps, for the kind that takes them.
    pub spins: u32,
}

/// Why there is no such queue.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// This kind cannot hold exactly so many messages.
    #[error("a queue of exactly {capacity} messages is not possible: {reason}")]
    Capacity {
        /// What was asked for.
        capacity: usize,
        /// Why not, and what it can hold.
        reason: String,
    },
    /// No memory.
    #[error("no memory for {capacity} messages")]
    Memory {
        /// What was asked for.
        capacity: usize,
    },
    /// This kind has one end only on a side that asks for several.
    #[error("this queue allows only one {side}")]
    OneOnly {
        /// `producer` or `consumer`.
        side: &'static str,
    },
    /// This kind takes one message at a time.
    #[error("this queue has no batches")]
    NoBatches,
    /// The system refused an object.
    #[error("the system refused {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// Why a message was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<M> {
    /// The queue is full; here is the message.
    Full(M),
    /// The other end has gone.
    Closed,
}

/// Why there is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMessage {
    /// The queue is empty.
    Yet,
    /// The queue is empty and the other end has gone.
    Ever,
}

/// Why a producer stopped waiting for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The trial was given up, or the other end has gone.
    Halted(Halt),
    /// The time of the producer is over.
    Over,
}

impl From<Halt> for Leave {
    fn from(halt: Halt) -> Leave {
        Leave::Halted(halt)
    }
}

/// What a producer looks at while it waits for room.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// Keeps every wait finite.
    pub guard: &'a Guard<'a>,
    /// The counter value at which the producer ends by itself.
    pub until_ticks: u64,
}

impl Watch<'_> {
    /// Whether to go on waiting.
    ///
    /// # Errors
    /// The reason to leave.
    pub fn check(&self) -> Result<(), Leave> {
        self.guard.check()?;
        if (self.guard.now_ticks)() > self.until_ticks { Err(Leave::Over) } else { Ok(()) }
    }
}

/// The producer's end.
pub trait Sender<M>: Send + Sized + 'static {
    /// Puts a message into the queue if there is room. A kind that cannot tell waits for room.
    ///
    /// # Errors
    /// The message, or that nobody will take it.
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>>;

    /// Puts a message into the queue; waits for room as this kind of queue does.
    ///
    /// # Errors
    /// The reason to leave; the message is gone.
    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave>;

    /// Puts so many messages into the queue at once, made by their places in the batch, if there is room for all of them;
    /// a kind that has no batches on this side puts in the first alone. Gives how many it put in.
    ///
    /// # Errors
    /// There is no room, or nobody will take them.
    fn try_send_batch(&mut self, _count: usize, make: &impl Fn(usize) -> M) -> Result<usize, Refused<()>> {
        match self.try_send(make(0)) {
            Ok(()) => Ok(1),
            Err(Refused::Full(_)) => Err(Refused::Full(())),
            Err(Refused::Closed) => Err(Refused::Closed),
        }
    }

    /// The same; waits for room as this kind of queue does.
    ///
    /// # Errors
    /// The reason to leave; nothing was put in.
    fn send_batch(
        &mut self,
        _count: usize,
        make: &impl Fn(usize) -> M,
        watch: &Watch<'_>,
    ) -> Result<usize, Leave> {
        self.send(make(0), watch).map(|()| 1)
    }

    /// One more end on this side, where the kind allows.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// The consumer's end.
pub trait Receiver<M>: Send + Sized + 'static {
    /// Takes a message if there is one. A kind that cannot tell waits for one.
    ///
    /// # Errors
    /// Whether one may come.
    fn try_receive(&mut self) -> Result<M, NoMessage>;

    /// Takes a message; waits for one as this kind of queue does. `None` once there will be none.
    ///
    /// # Errors
    /// The reason to leave.
    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt>;

    /// Takes up to so many messages that are there, in order, and shows `each`; gives how many. A kind that moves them out
    /// of the queue before it shows them keeps them in `hand`.
    ///
    /// # Errors
    /// There is none: whether one may come.
    fn try_receive_batch(
        &mut self,
        most: usize,
        _hand: &mut Vec<M>,
        each: &mut impl FnMut(M),
    ) -> Result<usize, NoMessage> {
        for taken in 0..most {
            match self.try_receive() {
                Ok(message) => each(message),
                Err(why) if taken == 0 => return Err(why),
                Err(_) => return Ok(taken),
            }
        }
        Ok(most)
    }

    /// The same; waits for the first as this kind of queue does, and gives 0 once there will be none.
    ///
    /// # Errors
    /// The reason to leave.
    fn receive_batch(
        &mut self,
        _most: usize,
        _hand: &mut Vec<M>,
        each: &mut impl FnMut(M),
        guard: &Guard<'_>,
    ) -> Result<usize, Halt> {
        Ok(self.receive(guard)?.map_or(0, |message| {
            each(message);
            1
        }))
    }

    /// One more end on this side, where the kind allows.
    fn another(&self) -> Option<Self> {
        None
    }
}
