//! `std::sync::mpsc::sync_channel`.

use super::super::ends::{
    Implementation, Leave, NAP, NoMessage, Receiver, Refusal, Refused, Sender, Shape, Watch,
};
use super::super::message::Message;
use super::capacity_of;
use crate::stage::{Guard, Halt};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};

/// The bounded channel of the standard library.
#[derive(Debug)]
pub struct SyncChannel;

impl Implementation for SyncChannel {
    type Sender<M: Message> = SyncSender<M>;
    type Receiver<M: Message> = mpsc::Receiver<M>;

    fn open<M: Message>(shape: &Shape) -> Result<(SyncSender<M>, mpsc::Receiver<M>), Refusal> {
        Ok(mpsc::sync_channel(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for SyncSender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        SyncSender::try_send(self, message).map_err(|error| match error {
            TrySendError::Full(message) => Refused::Full(message),
            TrySendError::Disconnected(_) => Refused::Closed,
        })
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        // There is no wait with a limit; a receiver that leaves ends it.
        SyncSender::send(self, message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<M: Message> Receiver<M> for mpsc::Receiver<M> {
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
}
