//! kanal's bounded channel.

use super::super::ends::{
    Ends, Implementation, Leave, NoMessage, Receiver, Refusal, Refused, Sender, Shape, Watch,
};
use super::super::message::Message;
use super::capacity_of;
use crate::stage::{Guard, Halt};

/// The bounded channel.
#[derive(Debug)]
pub struct Kanal;

impl Implementation for Kanal {
    type Sender<M: Message> = ::kanal::Sender<M>;
    type Receiver<M: Message> = ::kanal::Receiver<M>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        Ok(::kanal::bounded(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for ::kanal::Sender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), Refused<M>> {
        let mut message = Some(message);
        match self.try_send_option(&mut message) {
            Ok(true) => Ok(()),
            Ok(false) => message.map_or(Ok(()), |message| Err(Refused::Full(message))),
            Err(_) => Err(Refused::Closed),
        }
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        // Its waits with a limit give way to others differently from those without: a receiver that leaves ends it.
        ::kanal::Sender::send(self, message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<M: Message> Receiver<M> for ::kanal::Receiver<M> {
    #[inline(always)]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        match self.try_recv() {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(NoMessage::Yet),
            Err(_) => Err(NoMessage::Ever),
        }
    }

    fn receive(&mut self, _: &Guard<'_>) -> Result<Option<M>, Halt> {
        // As for sending; an error means that the sender has gone and nothing is left.
        Ok(self.recv().ok())
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}
