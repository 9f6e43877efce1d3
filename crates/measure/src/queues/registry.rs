//! Which code stands behind each [`Kind`].

use super::bounded::Bounded;
use super::catalogue::{Kind, Payload, QueueKind};
use super::ends::{Implementation, Refusal, Shape};
use super::exchange::{RoleSettings, Roles, roles};
use super::kernel_objects::{eventfd::Eventfd, pipe::Pipe, sem_t::SemT, socketpair::Socketpair};
use super::libraries::{crossbeam, flume, kanal, ring, sync_channel};
use super::message::{Block, Message};
use super::mutex::Locked;
use super::semaphore::Semaphore;
use super::slim::SlimSemaphore;
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
        QueueKind::SyncChannel => open_of::<sync_channel::SyncChannel>,
        QueueKind::ArrayQueue => open_of::<crossbeam::ArrayQueue>,
        QueueKind::Crossbeam => open_of::<crossbeam::Channel>,
        QueueKind::Rtrb => open_of::<ring::Rtrb>,
        QueueKind::Flume => open_of::<flume::Flume>,
        QueueKind::Kanal => open_of::<kanal::Kanal>,
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
