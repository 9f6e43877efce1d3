//! Simulated stand-ins for the queues of runtimes: all that coretalk's adapters offer.

use crate::stand_in::SimStandIn;

/// The stand-ins. Factors on durations, and shares of CPU time outside the roles (`helped`), are of the order measured
/// on a guest with two CPUs. That share was 2 % in C++, 5 to 12 % in Python, 10 to 38 % in .NET, 53 % in Go and 53 to
/// 72 % in Java.
pub const STAND_INS: &[SimStandIn] = &[
    SimStandIn::new("c:spsc", "spsc", 1.0).of_numbers().holding(1, 4_194_302),
    SimStandIn::new("c:semaphore", "semaphore", 1.0).of_numbers().holding(1, 4_194_302),
    SimStandIn::new("cpp:counting-semaphore", "semaphore-spin", 1.1),
    SimStandIn::new("dotnet:semaphoreslim", "semaphore-slim", 1.3).helped(0.06).collecting(20.0),
    SimStandIn::new("dotnet:channel", "mutex", 1.2).helped(0.38).collecting(10.0),
    SimStandIn::new("dotnet:blocking-collection", "mutex", 2.0).helped(0.10).collecting(10.0),
    SimStandIn::new("java:array-blocking-queue", "mutex", 1.4).helped(0.60).collecting(2.0),
    SimStandIn::new("java:synchronous-queue", "mutex", 1.6).helped(0.55).collecting(2.0).holding(1, 1),
    SimStandIn::new("java:semaphore", "semaphore", 1.3).helped(0.53).collecting(2.0),
    SimStandIn::new("go:channel", "mutex", 1.15).helped(0.53).collecting(5.0).holding(1, 1 << 24),
    SimStandIn::new("go:unbuffered-channel", "mutex", 1.3).helped(0.53).collecting(5.0).holding(1, 1),
    SimStandIn::new("node:atomics-wait", "semaphore", 2.0).helped(0.20).of_numbers(),
    SimStandIn::new("node:post-message", "pipe", 8.0).helped(0.30).collecting(5.0),
    SimStandIn::new("python:queue", "mutex", 20.0).helped(0.08),
];
