//! [`Kernel`]: the code of the roles, and its cost on a simulated machine.

use crate::kernel_context::{Halt, KernelContext};
use coretalk_model::KernelId;
use std::borrow::Cow;

/// The code that the roles of a trial execute, and the cost of one operation in machine events.
#[derive(Debug)]
pub struct Kernel {
    /// Stable name.
    pub id: KernelId,
    /// One function per role, initiator first.
    pub roles: &'static [RoleFn],
    /// The cost on a simulated machine, which cannot run a spin loop.
    pub cost: Cost,
    /// Cache lines that one step of the walk uses (two for a mailbox per direction).
    pub lines_per_place: u32,
    /// Part of the role functions' names that `probes --asm` shows.
    pub symbol: &'static str,
}

impl Kernel {
    /// A kernel in which two roles hand a line back and forth, with these transactions per hop and way of spinning.
    pub const fn ping_pong(
        (id, symbol): (&'static str, &'static str),
        roles: &'static [RoleFn],
        (transfers_per_hop, spin): (f64, Spin),
        lines_per_place: u32,
    ) -> Kernel {
        let cost = Cost::PingPong { transfers_per_hop, spin, extra_hints_per_hop: 0.0 };
        Kernel { id: KernelId(Cow::Borrowed(id)), roles, cost, lines_per_place, symbol }
    }
}

/// The code of one role, which runs one span on its context.
pub type RoleFn = fn(&mut KernelContext<'_>) -> Result<(), Halt>;

/// Cost of one operation in machine events; the stated numbers are compared with measurements by the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Two roles hand a line back and forth; the operation is a round trip of two hops.
    PingPong {
        /// Coherence transactions of one hop.
        transfers_per_hop: f64,
        /// Whether the waiting side requests the line so eagerly that it disturbs the owner's store.
        spin: Spin,
        /// Wait hints per hop that do not overlap with the transfer.
        extra_hints_per_hop: f64,
    },
    /// One role chases pointers through lines that the other dirtied; the operation is one dependent read.
    Chase {
        /// Coherence transactions of one read.
        transfers_per_read: f64,
    },
    /// One role stamps its clock into a line, the other then reads its own clock; the operation is one message.
    Stamp {
        /// Coherence transactions of one message.
        transfers_per_message: f64,
    },
}

/// How a side spins for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spin {
    /// Polls without a wait hint.
    Eager,
    /// Polls with a wait hint in between.
    Hinted,
}
