//! Which code stands behind each [`Kind`].

use super::bounded::Bounded;
use super::catalogue::{Kind, Payload, QueueKind};
use super::ends::{Implementation, Refusal, Shape};
use super::exchange::{RoleSettings, Roles, loops, roles};
use super::kernel_channels::{Pipe, Socketpair};
use super::kernel_semaphores::{Eventfd, SemT};
use super::libraries::{ArrayQueue, Crossbeam, Flume, Kanal, Rtrb, SyncChannel};
use super::message::{Block, Message};
use super::mutex::Locked;
use super::semaphore::Semaphore;
use super::slim::SlimSemaphore;
use super::slot_queue::SlotQueue;
use super::spsc::Spsc;

type Open = fn(&Shape, &RoleSettings) -> Result<Roles, Refusal>;

/// The code of one kind.
struct Code {
    open: fn(Payload) -> Open,
    loops: fn() -> [usize; 2],
}

impl Code {
    fn of<S: Implementation>() -> Code {
        Code { open: open_of::<S>, loops: loops::<S> }
    }
}

/// A queue of this kind and the roles around it.
///
/// # Errors
/// [`Refusal`] where there is none.
pub fn open(kind: &Kind, payload: Payload, shape: &Shape, settings: &RoleSettings) -> Result<Roles, Refusal> {
    (code(kind).open)(payload)(shape, settings)
}

/// Where the timed loops of one producer and one consumer of numbers lie.
pub fn loops_of(kind: &Kind) -> [usize; 2] {
    (code(kind).loops)()
}

fn code(kind: &Kind) -> Code {
    match kind.queue {
        QueueKind::SemaphoreSlim => Code::of::<Bounded<SlimSemaphore>>(),
        QueueKind::SemT => Code::of::<Bounded<SemT>>(),
        QueueKind::Mutex => Code::of::<Locked>(),
        QueueKind::Spsc => Code::of::<Spsc>(),
        QueueKind::Slots => Code::of::<SlotQueue>(),
        QueueKind::SyncChannel => Code::of::<SyncChannel>(),
        QueueKind::ArrayQueue => Code::of::<ArrayQueue>(),
        QueueKind::Crossbeam => Code::of::<Crossbeam>(),
        QueueKind::Rtrb => Code::of::<Rtrb>(),
        QueueKind::Flume => Code::of::<Flume>(),
        QueueKind::Kanal => Code::of::<Kanal>(),
        QueueKind::Pipe => Code::of::<Pipe>(),
        QueueKind::Socketpair => Code::of::<Socketpair>(),
        QueueKind::Eventfd => Code::of::<Bounded<Eventfd>>(),
        // The shape says how often it looks.
        QueueKind::Semaphore | QueueKind::SemaphoreSpin => Code::of::<Bounded<Semaphore>>(),
    }
}

fn open_of<S: Implementation>(payload: Payload) -> Open {
    fn with<S: Implementation, M: Message>() -> Open {
        roles::<S, M>
    }
    match payload {
        Payload::U64 => with::<S, u64>(),
        Payload::Bytes(16) => with::<S, Block<2>>(),
        Payload::Bytes(64) => with::<S, Block<8>>(),
        Payload::Bytes(256) => with::<S, Block<32>>(),
        // `parse` lets no other size in.
        Payload::Bytes(_) => with::<S, Block<128>>(),
        Payload::String => with::<S, String>(),
    }
}
