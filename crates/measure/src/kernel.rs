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
    /// Cost on a simulated machine, which cannot run a spin loop.
    pub cost: Cost,
    /// Cache lines that one step of the walk uses. A mailbox per direction needs two.
    pub lines_per_place: u32,
    /// Text contained in the names of the role functions, as `probes --asm` shows them.
    pub symbol: &'static str,
}

impl Kernel {
    /// A kernel in which two roles hand a line back and forth. The arguments state the transactions per hop and the way
    /// of spinning.
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

/// The code of one role. It runs one span on its context.
pub type RoleFn = fn(&mut KernelContext<'_>) -> Result<(), Halt>;

/// Cost of one operation in machine events. The ladder compares the stated numbers with measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Two roles hand a line back and forth. The operation is a round trip of two hops.
    PingPong {
        /// Coherence transactions of one hop.
        transfers_per_hop: f64,
        /// Whether the requests of the waiting side disturb the owner's store.
        spin: Spin,
        /// Wait hints per hop that do not overlap with the transfer.
        extra_hints_per_hop: f64,
    },
    /// One role chases pointers through lines that the other dirtied. The operation is one dependent read.
    Chase {
        /// Coherence transactions of one read.
        transfers_per_read: f64,
    },
    /// One role stamps its clock into a line, and the other then reads its own clock. The operation is one message.
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
