//! [`Code`]: the constructors of a queue for each payload.

use super::batches;
use super::ends::{Implementation, QueueParameters, Refusal};
use super::exchange::{QueueRoles, RoleSettings, loops, roles};
use super::message::Block;
use super::payload::Payload;

type Open = fn(&QueueParameters, &RoleSettings) -> Result<QueueRoles, Refusal>;

/// The code of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    open: fn(Payload) -> Open,
    in_batches: Option<fn(Payload) -> Open>,
    /// Addresses of the timed loops of one producer and one consumer of `u64` messages.
    pub loops: fn() -> [usize; 2],
}

impl Code {
    /// The code of a queue without batches.
    pub const fn for_queue<S: Implementation>() -> Code {
        Code { open: open_of::<S>, in_batches: None, loops: loops::<S> }
    }

    /// The code of a queue with batches.
    pub const fn with_batches<S: Implementation>() -> Code {
        Code { in_batches: Some(batches_of::<S>), ..Code::for_queue::<S>() }
    }

    /// Opens a queue for these messages, with its roles. Fails if the queue cannot be opened.
    pub fn open(
        &self,
        payload: Payload,
        shape: &QueueParameters,
        settings: &RoleSettings,
    ) -> Result<QueueRoles, Refusal> {
        let open = if settings.batch > 1 { self.in_batches.ok_or(Refusal::NoBatches)? } else { self.open };
        open(payload)(shape, settings)
    }
}

macro_rules! for_payload {
    ($payload:expr, $queue:ty, $($open:ident)::+) => {
        match $payload {
            Payload::U64 => $($open)::+::<$queue, u64>,
            Payload::Bytes(16) => $($open)::+::<$queue, Block<2>>,
            Payload::Bytes(64) => $($open)::+::<$queue, Block<8>>,
            Payload::Bytes(256) => $($open)::+::<$queue, Block<32>>,
            // 1,024 bytes, since `parse` accepts no other size.
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
