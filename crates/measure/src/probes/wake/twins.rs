//! Simulated stand-ins for the wake-ups of runtimes: all that coretalk's adapters offer.

use crate::twin::Twin;

/// The twins: the kernel dominates a wake-up, so runtimes add little.
pub const TWINS: &[Twin] = &[
    Twin::new("cpp:atomic-wait", "atomic-wait-set", 1.05),
    Twin::new("cpp:counting-semaphore", "semaphore", 1.1),
    Twin::new("cpp:scoped-lock", "std-mutex", 1.05),
    Twin::new("cpp:spin-lock", "ttas", 1.05),
    Twin::new("dotnet:semaphoreslim", "condvar-one", 1.3).helped(0.06),
    Twin::new("java:park", "park", 1.2).helped(0.15),
    Twin::new("java:semaphore", "sem-t", 1.3).helped(0.15),
    Twin::new("go:channel", "condvar-one", 1.25).helped(0.30),
    Twin::new("go:mutex", "std-mutex", 1.4).helped(0.30),
    Twin::new("go:cond", "condvar-one", 1.3).helped(0.30),
    Twin::new("node:atomics-wait", "atomic-wait-always", 1.4).helped(0.20),
    Twin::new("node:post-message", "pipe", 2.5).helped(0.30),
    Twin::new("python:lock", "sem-t", 2.0).helped(0.08),
    Twin::new("python:event", "condvar-one", 3.0).helped(0.08),
];
