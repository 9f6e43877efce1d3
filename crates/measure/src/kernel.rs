//! [`Kernel`]: the code of the roles, and the pattern that prices it on a simulated machine.

use crate::stage::{Halt, Stage};
use coretalk_model::KernelId;
use std::borrow::Cow;

/// What the roles of a trial execute, and what one operation of it costs in events of the machine.
#[derive(Debug)]
pub struct Kernel {
    /// Stable name.
    pub id: KernelId,
    /// One function per role, initiator first.
    pub roles: &'static [RoleFn],
    /// The pattern of interaction: a spin loop cannot run on a simulated machine, but every kernel can say what it
    /// does there.
    pub cost: Cost,
    /// Lines that one place of the walk needs (two for a mailbox per direction).
    pub lines_per_place: u32,
    /// What part of the role functions' names to show for `probes --asm`.
    pub symbol: &'static str,
}

impl Kernel {
    /// One in which two roles hand a line back and forth, by the transactions of a hop and how a side waits.
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

/// The code of one role: runs one span on its stage.
pub type RoleFn = fn(&mut Stage<'_>) -> Result<(), Halt>;

/// What one operation does, in events of the machine. Stated here, held against reality by the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Two roles hand a line back and forth; the operation is a round trip of two hops.
    PingPong {
        /// Coherence transactions of one hop.
        transfers_per_hop: f64,
        /// Whether the waiting side pulls at the line so eagerly that it disturbs the owner's store.
        spin: Spin,
        /// Wait hints executed on each hop beyond what overlaps with the transfer.
        extra_hints_per_hop: f64,
    },
    /// One role chases pointers through lines that the other dirtied; the operation is one dependent read.
    Chase {
        /// Coherence transactions of one read.
        transfers_per_read: f64,
    },
    /// One role stamps its clock into a line, the other reads its own clock on sight; the operation is one message.
    Stamp {
        /// Coherence transactions of one message.
        transfers_per_message: f64,
    },
}

/// How a side waits for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spin {
    /// Nothing between two looks.
    Eager,
    /// A wait hint between two looks.
    Hinted,
}
