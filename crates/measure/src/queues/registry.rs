//! Which code stands behind each [`Kind`].

use super::bounded::Bounded;
use super::catalogue::{Kind, Payload, QueueKind};
use super::ends::{Implementation, Refusal, Shape};
use super::exchange::{RoleSettings, Roles, roles};
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

/// A queue of this kind and the roles around it.
///
/// # Errors
/// [`Refusal`] where there is none.
pub fn open(kind: &Kind, payload: Payload, shape: &Shape, settings: &RoleSettings) -> Result<Roles, Refusal> {
    let of: fn(Payload) -> Open = match kind.queue {
        QueueKind::SemaphoreSlim => open_of::<Bounded<SlimSemaphore>>,
        QueueKind::SemT => open_of::<Bounded<SemT>>,
        QueueKind::Mutex => open_of::<Locked>,
        QueueKind::Spsc => open_of::<Spsc>,
        QueueKind::Slots => open_of::<SlotQueue>,
        QueueKind::SyncChannel => open_of::<SyncChannel>,
        QueueKind::ArrayQueue => open_of::<ArrayQueue>,
        QueueKind::Crossbeam => open_of::<Crossbeam>,
        QueueKind::Rtrb => open_of::<Rtrb>,
        QueueKind::Flume => open_of::<Flume>,
        QueueKind::Kanal => open_of::<Kanal>,
        QueueKind::Pipe => open_of::<Pipe>,
        QueueKind::Socketpair => open_of::<Socketpair>,
        QueueKind::Eventfd => open_of::<Bounded<Eventfd>>,
        // The shape says how often it looks.
        QueueKind::Semaphore | QueueKind::SemaphoreSpin => open_of::<Bounded<Semaphore>>,
    };
    of(payload)(shape, settings)
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
