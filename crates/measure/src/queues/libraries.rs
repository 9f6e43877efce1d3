//! Queues of the standard library and of other crates, used as their authors intended.
//!
//! Waits are limited to a [guard interval](super::ends::GUARD_INTERVAL) if the library offers that. Then the guard is
//! checked. Otherwise the sleeper wakes up when the other end is dropped. The versions are those of the lock file.

use super::ends::{
    Ends, GUARD_INTERVAL, Implementation, Leave, NoMessage, QueueParameters, Receiver, Refusal, SendRefused,
    Sender, Watch,
};
use super::memory;
use super::message::Message;
use super::spinning::{self, Pop, Push, Spinning};
use crate::kernel_context::{Guard, Halt};
use crossbeam_queue::ArrayQueue as Array;
use rtrb::chunks::ChunkError;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};

/// The libraries and their versions, with those of locks. A measurement is valid for one version.
pub const VERSIONS: [(&str, &str); 6] = [
    ("crossbeam-channel", "0.5.17"),
    ("crossbeam-queue", "0.3.14"),
    ("flume", "0.12.0"),
    ("kanal", "0.1.1"),
    ("parking_lot", "0.12.5"),
    ("rtrb", "0.4.1"),
];

/// Checks that the library accepts the capacity without aborting the process. Fails for zero, or for more than memory
/// can hold.
fn capacity_of<M>(shape: &QueueParameters) -> Result<usize, Refusal> {
    let capacity = shape.capacity;
    if capacity == 0 {
        let reason = "a capacity of 0 means a meeting here, not a queue".into();
        return Err(Refusal::Capacity { capacity, reason });
    }
    // Libraries abort if an allocation fails. So the memory for each message and its stamp is checked first.
    memory::ensure(capacity, size_of::<(M, usize)>())?;
    let mut reservation: Vec<(M, usize)> = Vec::new();
    reservation.try_reserve_exact(capacity).map_err(|_| Refusal::Memory { capacity })?;
    Ok(capacity)
}

/// crossbeam's bounded channel.
#[derive(Debug)]
pub struct Crossbeam;

/// flume's bounded channel.
#[derive(Debug)]
pub struct Flume;

/// kanal's bounded channel.
#[derive(Debug)]
pub struct Kanal;

/// `std::sync::mpsc::sync_channel`.
#[derive(Debug)]
pub struct SyncChannel;

/// crossbeam's array queue, which offers no wait.
#[derive(Debug)]
pub struct ArrayQueue;

/// rtrb's ring, which offers no wait.
#[derive(Debug)]
pub struct Rtrb;

macro_rules! send_result {
    ($library:ident, $sent:expr) => {
        $sent.map_err(|error| match error {
            $library::TrySendError::Full(message) => SendRefused::Full(message),
            $library::TrySendError::Disconnected(_) => SendRefused::Closed,
        })
    };
}

/// Implements a receiver whose waits take a limit, and `another` if the channel supports it.
macro_rules! receiver {
    ($library:ident $(, $another:item)?) => {
        impl<M: Message> Receiver<M> for $library::Receiver<M> {
            #[inline(always)]
            fn try_receive(&mut self) -> Result<M, NoMessage> {
                self.try_recv().map_err(|error| match error {
                    $library::TryRecvError::Empty => NoMessage::Yet,
                    $library::TryRecvError::Disconnected => NoMessage::Ever,
                })
            }

            fn receive(&mut self, guard: &Guard<'_>) -> Result<Option<M>, Halt> {
                loop {
                    match self.recv_timeout(GUARD_INTERVAL) {
                        Ok(message) => return Ok(Some(message)),
                        Err($library::RecvTimeoutError::Disconnected) => return Ok(None),
                        Err($library::RecvTimeoutError::Timeout) => guard.check()?,
                    }
                }
            }

            $($another)?
        }
    };
}

/// Implements a channel where both waits take a limit.
macro_rules! channel {
    ($kind:ident, $library:ident) => {
        impl Implementation for $kind {
            type Sender<M: Message> = $library::Sender<M>;
            type Receiver<M: Message> = $library::Receiver<M>;

            fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
                Ok($library::bounded(capacity_of::<M>(shape)?))
            }
        }

        impl<M: Message> Sender<M> for $library::Sender<M> {
            #[inline(always)]
            fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
                send_result!($library, $library::Sender::try_send(self, message))
            }

            fn send(&mut self, message: M, watch: &Watch<'_>) -> Result<(), Leave> {
                let mut message = message;
                loop {
                    match self.send_timeout(message, GUARD_INTERVAL) {
                        Ok(()) => return Ok(()),
                        Err($library::SendTimeoutError::Disconnected(_)) => {
                            return Err(Leave::Halted(Halt::Partner));
                        }
                        Err($library::SendTimeoutError::Timeout(back)) => message = back,
                    }
                    watch.check()?;
                }
            }

            fn another(&self) -> Option<Self> {
                Some(self.clone())
            }
        }

        receiver!(
            $library,
            fn another(&self) -> Option<Self> {
                Some(self.clone())
            }
        );
    };
}

channel!(Crossbeam, crossbeam_channel);
channel!(Flume, flume);

impl Implementation for SyncChannel {
    type Sender<M: Message> = SyncSender<M>;
    type Receiver<M: Message> = mpsc::Receiver<M>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
        Ok(mpsc::sync_channel(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for SyncSender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        send_result!(mpsc, SyncSender::try_send(self, message))
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        // This wait has no limit. It ends when the receiver is dropped.
        SyncSender::send(self, message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

receiver!(mpsc);

impl Implementation for Kanal {
    type Sender<M: Message> = kanal::Sender<M>;
    type Receiver<M: Message> = kanal::Receiver<M>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
        Ok(kanal::bounded(capacity_of::<M>(shape)?))
    }
}

impl<M: Message> Sender<M> for kanal::Sender<M> {
    #[inline(always)]
    fn try_send(&mut self, message: M) -> Result<(), SendRefused<M>> {
        let mut message = Some(message);
        match self.try_send_option(&mut message) {
            Ok(true) => Ok(()),
            Ok(false) => message.map_or(Ok(()), |message| Err(SendRefused::Full(message))),
            Err(_) => Err(SendRefused::Closed),
        }
    }

    fn send(&mut self, message: M, _: &Watch<'_>) -> Result<(), Leave> {
        // kanal's waits with a limit yield differently from those without. This wait ends when the receiver is dropped.
        kanal::Sender::send(self, message).map_err(|_| Leave::Halted(Halt::Partner))
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<M: Message> Receiver<M> for kanal::Receiver<M> {
    #[inline(always)]
    fn try_receive(&mut self) -> Result<M, NoMessage> {
        match self.try_recv() {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(NoMessage::Yet),
            Err(_) => Err(NoMessage::Ever),
        }
    }

    fn receive(&mut self, _: &Guard<'_>) -> Result<Option<M>, Halt> {
        // Without a limit, as for sending. An error means that the sender is gone and the queue is empty.
        Ok(self.recv().ok())
    }

    /// Takes all waiting messages, since the drain has no limit.
    #[inline(always)]
    fn try_receive_batch(
        &mut self,
        _most: usize,
        buffer: &mut Vec<M>,
        each: &mut impl FnMut(M),
    ) -> Result<usize, NoMessage> {
        // The drain does not report a closed queue. The wait that follows does.
        match self.drain_into(buffer) {
            Ok(0) | Err(_) => Err(NoMessage::Yet),
            Ok(taken) => {
                buffer.drain(..).for_each(each);
                Ok(taken)
            }
        }
    }

    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// One end of an array queue. Both ends have the same type.
#[derive(Debug)]
pub struct ArrayEnd<M>(Arc<Array<M>>);

impl Implementation for ArrayQueue {
    type Sender<M: Message> = Spinning<ArrayEnd<M>, true>;
    type Receiver<M: Message> = Spinning<ArrayEnd<M>, false>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
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

impl Implementation for Rtrb {
    type Sender<M: Message> = Spinning<Producer<M>, true>;
    type Receiver<M: Message> = Spinning<Consumer<M>, false>;

    fn open<M: Message>(shape: &QueueParameters) -> Result<Ends<Self, M>, Refusal> {
        let (producer, consumer) = RingBuffer::new(capacity_of::<M>(shape)?);
        Ok(spinning::ends(producer, consumer))
    }
}

impl<M: Message> Push<M> for Producer<M> {
    #[inline(always)]
    fn push(&mut self, message: M) -> Result<(), M> {
        Producer::push(self, message).map_err(|PushError::Full(message)| message)
    }

    #[inline(always)]
    fn push_batch(&mut self, count: usize, make: &impl Fn(usize) -> M) -> usize {
        self.write_chunk_uninit(count).map_or(0, |chunk| chunk.fill_from_iter((0..count).map(make)))
    }
}

impl<M: Message> Pop<M> for Consumer<M> {
    #[inline(always)]
    fn pop(&mut self) -> Option<M> {
        Consumer::pop(self).ok()
    }

    #[inline(always)]
    fn pop_batch(&mut self, most: usize, each: &mut impl FnMut(M)) -> usize {
        let available = match self.read_chunk(most) {
            Ok(_) => most,
            Err(ChunkError::TooFewSlots(available)) => available,
        };
        // Messages counted above are still in the queue, since no other thread takes them.
        self.read_chunk(available).map_or(0, |chunk| chunk.into_iter().map(each).count())
    }
}
