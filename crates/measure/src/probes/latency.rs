//! The latency probe: how long CPUs take to hand a cache line to each other.

use super::imitation;
use super::latency_cas::{CAS, CAS_PAUSE};
use super::latency_msg::{MSG, MSG_PAUSE};
use super::latency_one_way::ONE_WAY;
use super::latency_ring::RING_PAUSE;
use super::latency_store::{STORE, STORE_PAUSE};
use super::latency_xfer::XFER;
use crate::kernel::Kernel;
use crate::series::{Probe, ProbeSpec, SeriesProbe};

/// How long CPUs take to hand a cache line to each other.
#[derive(Debug)]
pub struct Latency;

impl Probe for Latency {
    fn spec(&self) -> &ProbeSpec {
        &ProbeSpec {
            id: "latency",
            title: "Latency between CPUs",
            question: "how long does a cache line take from one CPU to another?",
            unit: "ns",
            quantity: "half_round_trip",
        }
    }

    fn kernels(&self) -> &[&'static Kernel] {
        &KERNELS
    }

    /// After idle gaps and under loads it is one of trials.
    fn series(&self) -> Option<&dyn SeriesProbe> {
        Some(self)
    }
}

static KERNELS: [&Kernel; 15] = [
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
