//! What stands on simulated machines for ways of waiting of runtimes.

use crate::twin::Twin;

/// The twins. Loops that a compiler has made are as fast as ours once they are warm: on a guest round trips took 103 to
/// 114 ns in .NET, 75 to 110 in Java and 95 to 121 in C++.
pub const TWINS: &[Twin] = &[
    Twin::new("c:busy", "busy", 1.0),
    Twin::new("c:pause", "pause", 1.0),
    Twin::new("cpp:busy", "busy", 1.0),
    Twin::new("cpp:pause", "pause", 1.0),
    Twin::new("cpp:fence", "fence", 1.0),
    Twin::new("dotnet:busy", "busy", 1.05).helped(0.05),
    Twin::new("dotnet:spinwait", "pause", 1.15).helped(0.05),
    Twin::new("dotnet:fence", "fence", 1.05).helped(0.05),
    Twin::new("dotnet:pause", "pause", 1.05).helped(0.05),
    Twin::new("java:busy", "busy", 1.05).helped(0.15),
    Twin::new("java:onspinwait", "pause", 1.05).helped(0.15),
    Twin::new("go:busy", "busy", 1.1).helped(0.05),
    Twin::new("node:atomics-wait", "futex", 1.6).helped(0.20),
];
