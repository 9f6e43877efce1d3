//! [`Course`]: what the roles around a queue are told, and what they have to tell.

use super::stamps::Stamp;
use crate::stage::Guard;
use crate::tally::Tally;

/// What a role is told when it begins.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// Keeps every wait finite.
    pub guard: &'a Guard<'a>,
    /// When producers end by themselves.
    pub until_ticks: u64,
    /// How many messages each producer sends at most.
    pub messages: u64,
    /// How far apart stamps are taken.
    pub apart_ticks: u64,
}

/// What a producer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    /// Messages put in.
    pub messages: u64,
    /// How often the queue was found full.
    pub full: u64,
    /// The sum of all numbers sent.
    pub sum: u64,
}

/// What a consumer did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Received {
    /// Messages taken out.
    pub messages: u64,
    /// How often the queue was found empty.
    pub empty: u64,
    /// The sum of all numbers received.
    pub sum: u64,
    /// Messages that were damaged, or did not come in the order in which they were sent.
    pub wrong: u64,
    /// How far it was at which time.
    pub stamps: Vec<Stamp>,
    /// How long messages took, at a fixed rate.
    pub delays: Option<Box<Delays>>,
}

/// Delays as the consumer counts them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delays {
    /// From the time at which a message was meant to be sent.
    pub corrected: Tally,
    /// From the time at which it was sent.
    pub uncorrected: Tally,
}
