//! The latency probe: the time that CPUs take to hand a cache line to each other.

use super::imitation;
use super::latency_one_way::ONE_WAY;
use super::latency_turns::RING_PAUSE;
use super::latency_turns::{CAS, CAS_PAUSE};
use super::latency_turns::{MSG, MSG_PAUSE};
use super::latency_turns::{STORE, STORE_PAUSE};
use super::latency_xfer::XFER;
use crate::kernel::Kernel;

/// The `latency` probe.
#[derive(Debug)]
pub struct Latency;

pub(super) static KERNELS: [&Kernel; 15] = [
    &CAS,
    &CAS_PAUSE,
    &STORE,
    &STORE_PAUSE,
    &MSG,
    &MSG_PAUSE,
    &RING_PAUSE,
    &XFER,
    &ONE_WAY,
    &imitation::CORE_TO_CORE_LATENCY,
    &imitation::C2CLAT,
    &imitation::C2CLAT_W,
    &imitation::CPU_LATENCY,
    &imitation::MULTICHASE,
    &imitation::COHERENCY_LATENCY,
];
