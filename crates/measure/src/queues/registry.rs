//! Maps each [`Kind`] to its code.

use super::batches;
use super::bounded::Bounded;
use super::catalogue::{Kind, Payload, QueueKind};
use super::ends::{Implementation, Refusal, Shape};
use super::exchange::{RoleSettings, Roles, loops, roles};
use super::kernel_channels::{Pipe, Socketpair};
use super::kernel_semaphores::{Eventfd, SemT};
use super::libraries::{ArrayQueue, Crossbeam, Flume, Kanal, Rtrb, SyncChannel};
use super::message::Block;
use super::mutex::Locked;
use super::semaphore::Semaphore;
use super::slim::SlimSemaphore;
use super::slot_queue::SlotQueue;
use super::spsc::Spsc;

type Open = fn(&Shape, &RoleSettings) -> Result<Roles, Refusal>;

struct Code {
    open: fn(Payload) -> Open,
    /// The constructor for batches, if the queue supports them.
    in_batches: Option<fn(Payload) -> Open>,
    loops: fn() -> [usize; 2],
}

impl Code {
    fn of<S: Implementation>() -> Code {
        Code { open: open_of::<S>, in_batches: None, loops: loops::<S> }
    }

    fn with_batches<S: Implementation>() -> Code {
        Code { in_batches: Some(batches_of::<S>), ..Code::of::<S>() }
    }
}

/// Opens a queue of this kind, with its roles.
///
/// # Errors
/// [`Refusal`] if it cannot be opened.
pub fn open(kind: &Kind, payload: Payload, shape: &Shape, settings: &RoleSettings) -> Result<Roles, Refusal> {
    let code = code(kind);
    let open = if settings.batch > 1 { code.in_batches.ok_or(Refusal::NoBatches)? } else { code.open };
    open(payload)(shape, settings)
}

/// Addresses of the timed loops of one producer and one consumer of numbers.
pub fn loops_of(kind: &Kind) -> [usize; 2] {
    (code(kind).loops)()
}

fn code(kind: &Kind) -> Code {
    match kind.queue {
        QueueKind::SemaphoreSlim => Code::of::<Bounded<SlimSemaphore>>(),
        QueueKind::SemT => Code::of::<Bounded<SemT>>(),
        QueueKind::Mutex => Code::with_batches::<Locked>(),
        QueueKind::Spsc => Code::with_batches::<Spsc>(),
        QueueKind::Slots => Code::with_batches::<SlotQueue>(),
        QueueKind::SyncChannel => Code::of::<SyncChannel>(),
        QueueKind::ArrayQueue => Code::of::<ArrayQueue>(),
        QueueKind::Crossbeam => Code::with_batches::<Crossbeam>(),
        QueueKind::Rtrb => Code::with_batches::<Rtrb>(),
        QueueKind::Flume => Code::of::<Flume>(),
        QueueKind::Kanal => Code::with_batches::<Kanal>(),
        QueueKind::Pipe => Code::of::<Pipe>(),
        QueueKind::Socketpair => Code::of::<Socketpair>(),
        QueueKind::Eventfd => Code::of::<Bounded<Eventfd>>(),
        // The shape sets the number of polls.
        QueueKind::Semaphore | QueueKind::SemaphoreSpin => Code::of::<Bounded<Semaphore>>(),
    }
}

macro_rules! for_payload {
    ($payload:expr, $queue:ty, $($open:ident)::+) => {
        match $payload {
            Payload::U64 => $($open)::+::<$queue, u64>,
            Payload::Bytes(16) => $($open)::+::<$queue, Block<2>>,
            Payload::Bytes(64) => $($open)::+::<$queue, Block<8>>,
            Payload::Bytes(256) => $($open)::+::<$queue, Block<32>>,
            // `parse` accepts no other size.
            Payload::Bytes(_) => $($open)::+::<$queue, Block<128>>,
            Payload::String => $($open)::+::<$queue, String>,
        }
    };
}

fn open_of<S: Implementation>(payload: Payload) -> Open {
    for_payload!(payload, S, roles)
}

fn batches_of<S: Implementation>(payload: Payload) -> Open {
    for_payload!(payload, S, batches::roles)
}
