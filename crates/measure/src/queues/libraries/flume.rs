//! flume's bounded channel.

use super::super::ends::{
    Ends, Implementation, Leave, NAP, NoMessage, Receiver, Refusal, Refused, Sender, Shape, Watch,
};
use super::super::message::Message;
use super::capacity_of;
use crate::stage::{Guard, Halt};
use ::flume::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError};

/// The bounded channel.
#[derive(Debug)]
pub struct Flume;

impl Implementation for Flume {
    type Sender<M: Message> = ::flume::Sender<M>;
    type Receiver<M: Message> = ::flume::Receiver<M>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        Ok(::flume::bounded(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for ::flume::Sender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        ::flume::Sender::try_send(self, message).map_err(|error| match error {
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

impl<M: Message> Receiver<M> for ::flume::Receiver<M> {
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
