//! crossbeam's bounded channel, and its array queue, which cannot wait.

use super::super::ends::{
    Ends, Implementation, Leave, NAP, NoMessage, Receiver, Refusal, Refused, Sender, Shape, Watch,
};
use super::super::message::Message;
use super::super::spinning::{self, Pop, Push, Spinning};
use super::capacity_of;
use crate::stage::{Guard, Halt};
use crossbeam_channel::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError};
use crossbeam_queue::ArrayQueue as Array;
use std::sync::Arc;

/// The bounded channel.
#[derive(Debug)]
pub struct Channel;

impl Implementation for Channel {
    type Sender<M: Message> = crossbeam_channel::Sender<M>;
    type Receiver<M: Message> = crossbeam_channel::Receiver<M>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        Ok(crossbeam_channel::bounded(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for crossbeam_channel::Sender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        crossbeam_channel::Sender::try_send(self, message).map_err(|error| match error {
            TrySendError::Full(message) => Refused::Full(message),
            TrySendError::Disconnected(_) => Refused::Closed,
        })
    }

    fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave> {
        let mut message = message;
        loop {
            match self.send_timeout(message, NAP) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Disconnected(_)) => return Err(Leave::Halted(Halt::Partner)),
                Err(SendTimeoutError::Timeout(back)) => message = back,
            }
            watch.check()?;
        }
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<M: Message> Receiver<M> for crossbeam_channel::Receiver<M> {
    #[inline(always)]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        self.try_recv().map_err(|error| match error {
            TryRecvError::Empty => NoMessage::Yet,
            TryRecvError::Disconnected => NoMessage::Ever,
        })
    }

    fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
        loop {
            match self.recv_timeout(NAP) {
                Ok(message) => return Ok(Some(message)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => guard.check()?,
            }
        }
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The array queue.
#[derive(Debug)]
pub struct ArrayQueue;

/// One end of an array queue: both are the same there.
#[derive(Debug)]
pub struct ArrayEnd<M>(Arc<Array<M>>);

impl Implementation for ArrayQueue {
    type Sender<M: Message> = Spinning<ArrayEnd<M>, true>;
    type Receiver<M: Message> = Spinning<ArrayEnd<M>, false>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        let array = Arc::new(Array::new(capacity_of::<M>(shape)?));
        Ok(spinning::ends(ArrayEnd(Arc::clone(&array)), ArrayEnd(array)))
    }
}

impl<M: Message> Push<M> for ArrayEnd<M> {
    #[inline(always)]
    fn push(&mut self, message: M) -> Result<(), M> {
        self.0.push(message)
    }

    fn another(&self) -> Option<Self> {
        Some(ArrayEnd(Arc::clone(&self.0)))
    }
}

impl<M: Message> Pop<M> for ArrayEnd<M> {
    #[inline(always)]
    fn pop(&mut self) -> Option<M> {
        self.0.pop()
    }

    fn another(&self) -> Option<Self> {
        Some(ArrayEnd(Arc::clone(&self.0)))
    }
}
