//! Simulated stand-ins for all wake-ups that coretalk's adapters offer.

use crate::stand_in::SimStandIn;

/// The stand-ins with their slowdown factors. The Linux kernel dominates a wake-up, so most runtimes add little.
pub const STAND_INS: &[SimStandIn] = &[
    SimStandIn::new("cpp:atomic-wait", "atomic-wait-set", 1.05),
    SimStandIn::new("cpp:counting-semaphore", "semaphore", 1.1),
    SimStandIn::new("cpp:scoped-lock", "std-mutex", 1.05),
    SimStandIn::new("cpp:spin-lock", "ttas", 1.05),
    SimStandIn::new("dotnet:semaphoreslim", "condvar-one", 1.3).helped(0.06),
    SimStandIn::new("java:park", "park", 1.2).helped(0.15),
    SimStandIn::new("java:semaphore", "sem-t", 1.3).helped(0.15),
    SimStandIn::new("go:channel", "condvar-one", 1.25).helped(0.30),
    SimStandIn::new("go:mutex", "std-mutex", 1.4).helped(0.30),
    SimStandIn::new("go:cond", "condvar-one", 1.3).helped(0.30),
    SimStandIn::new("node:atomics-wait", "atomic-wait-always", 1.4).helped(0.20),
    SimStandIn::new("node:post-message", "pipe", 2.5).helped(0.30),
    SimStandIn::new("python:lock", "sem-t", 2.0).helped(0.08),
    SimStandIn::new("python:event", "condvar-one", 3.0).helped(0.08),
];
