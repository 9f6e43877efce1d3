//! [`Sender`] and [`Receiver`]: the two ends of a queue, and the conditions that end a wait on them.

use super::message::Message;
use crate::kernel_context::{Guard, Halt};
use std::time::Duration;

/// Maximum sleep of a blocked end before it checks its guard. It costs nothing, and abandoned waits still end soon.
pub const GUARD_INTERVAL: Duration = Duration::from_millis(100);

/// Both ends of a queue of a kind.
pub type Ends<S, M> = (<S as Implementation>::Sender<M>, <S as Implementation>::Receiver<M>);

/// A kind of queue.
pub trait Implementation: Sized + 'static {
    /// The producer's end.
    type Sender<M: Message>: Sender<M>;
    /// The consumer's end.
    type Receiver<M: Message>: Receiver<M>;

    /// Opens a queue that holds exactly `shape.capacity` messages. Fails if this kind cannot have exactly that
    /// capacity, or the system refuses memory or an object.
    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal>;
}

/// Parameters of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueParameters {
    /// Capacity in messages; at least 1.
    pub capacity: usize,
    /// Polls before a wait sleeps, for kinds that take a number.
    pub spins: u32,
}

/// The reason why a queue cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// This kind cannot hold exactly this many messages.
    #[error("a queue of exactly {capacity} messages is not possible: {reason}")]
    Capacity {
        /// The requested capacity.
        capacity: usize,
        /// The reason, and the possible capacities.
        reason: String,
    },
    /// Memory is insufficient.
    #[error("no memory for {capacity} messages")]
    Memory {
        /// The requested capacity.
        capacity: usize,
    },
    /// Several ends were requested on a side, but this kind allows only one.
    #[error("this queue allows only one {side}")]
    OneOnly {
        /// `producer` or `consumer`.
        side: &'static str,
    },
    /// This kind has no batches.
    #[error("this queue has no batches")]
    NoBatches,
    /// The system refused an object.
    #[error("the system refused {what}: {source}")]
    System {
        /// The requested object.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The reason why a message was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum SendRefused<M> {
    /// The queue is full. The message is returned.
    Full(M),
    /// The other end was dropped.
    Closed,
}

/// The reason why there is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMessage {
    /// The queue is empty.
    Yet,
    /// The queue is empty and the other end was dropped.
    Ever,
}

/// The reason why a producer stopped waiting for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The trial was given up, or the other end was dropped.
    Halted(Halt),
    /// The producer's time is over.
    Over,
}

impl From<Halt> for Leave {
    fn from(halt: Halt) -> Leave {
        Leave::Halted(halt)
    }
}

/// The conditions that a producer checks while it waits for room.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// Bounds every wait.
    pub guard: &'a Guard<'a>,
    /// Counter value at which the producer ends.
    pub until_ticks: u64,
}

impl Watch<'_> {
    /// Checks whether to continue waiting, or returns the reason to leave.
    pub fn check(&self) -> Result<(), Leave> {
        self.guard.check()?;
        if (self.guard.now_ticks)() > self.until_ticks { Err(Leave::Over) } else { Ok(()) }
    }
}

/// The producer's end.
pub trait Sender<M>: Send + Sized + 'static {
    /// Sends a message if there is room. A kind that cannot test waits for room. Returns the message if the queue is
    /// full.
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>>;

    /// Sends a message, waiting for room as this kind of queue does. After an error the message was dropped.
    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave>;

    /// Sends `count` messages at once if all fit. `make` gets the index in the batch. Returns the number sent: a kind
    /// without batches on this side sends only the first. Fails if the queue is full or the receiver was dropped.
    fn try_send_batch(
        &mut self,
        _count: usize,
        make: &impl Fn(usize) -> M,
    ) -> Result<usize, SendRefused<()>> {
        match self.try_send(make(0)) {
            Ok(()) => Ok(1),
            Err(SendRefused::Full(_)) => Err(SendRefused::Full(())),
            Err(SendRefused::Closed) => Err(SendRefused::Closed),
        }
    }

    /// Sends a batch, waiting for room as this kind of queue does. After an error nothing was sent.
    fn send_batch(
        &mut self,
        _count: usize,
        make: &impl Fn(usize) -> M,
        watch: &Watch<'_>,
    ) -> Result<usize, Leave> {
        self.send(make(0), watch).map(|()| 1)
    }

    /// Another end on this side, if the kind allows it.
    fn another(&self) -> Option<Self> {
        None
    }
}

/// The consumer's end.
pub trait Receiver<M>: Send + Sized + 'static {
    /// Receives a message if there is one. A kind that cannot test waits for a message.
    fn try_receive(&mut self) -> Result<M, NoMessage>;

    /// Receives a message, waiting as this kind of queue does; `None` after the queue is closed and empty.
    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt>;

    /// Receives at most `most` available messages in order, passes them to `each` and returns their number. A kind that
    /// first moves them out of the queue stores them in `buffer`.
    fn try_receive_batch(
        &mut self,
        most: usize,
        _buffer: &mut Vec<M>,
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

    /// Receives a batch, waiting for its first message as this kind does; 0 after the queue is closed and empty.
    fn receive_batch(
        &mut self,
        _most: usize,
        _buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
        guard: &Guard<'_>,
    ) -> Result<usize, Halt> {
        Ok(self.receive(guard)?.map_or(0, |message| {
            each(message);
            1
        }))
    }

    /// Another end on this side, if the kind allows it.
    fn another(&self) -> Option<Self> {
        None
    }
}
