//! rtrb's ring, which cannot wait.

use super::super::ends::{Ends, Implementation, Refusal, Shape};
use super::super::message::Message;
use super::super::spinning::{self, Pop, Push, Spinning};
use super::capacity_of;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

/// The ring.
#[derive(Debug)]
pub struct Rtrb;

impl Implementation for Rtrb {
    type Sender<M: Message> = Spinning<Producer<M>, true>;
    type Receiver<M: Message> = Spinning<Consumer<M>, false>;

    fn open<M: Message>(shape: &Shape) -> Result<Ends<Self, M>, Refusal> {
        let (producer, consumer) = RingBuffer::new(capacity_of::<M>(shape)?);
        Ok(spinning::ends(producer, consumer))
    }
}

impl<M: Message> Push<M> for Producer<M> {
    #[inline(always)]
    fn push(&mut self, message: M) -> Result<(), M> {
        Producer::push(self, message).map_err(|PushError::Full(message)| message)
    }
}

impl<M: Message> Pop<M> for Consumer<M> {
    #[inline(always)]
    fn pop(&mut self) -> Option<M> {
        Consumer::pop(self).ok()
    }
}
