//! Simulated stand-ins for the wait strategies of runtimes: all that coretalk's adapters offer.

use crate::adapters::Kind;
use crate::twin::Twin;

/// What adapters of version 2 perform with `busy`.
const PLAIN: &[Kind] = &[Kind::Wait, Kind::Cost];
/// What they perform with other polling strategies.
const POLLS: &[Kind] = &[Kind::Wait, Kind::Alternate, Kind::Cost];
/// What they perform with sleeping strategies.
const SLEEPS: &[Kind] = &[Kind::Wait, Kind::Alternate];
/// What they perform with their clocks.
const CLOCK: &[Kind] = &[Kind::Clock];

/// The twins. Warm compiled loops are as fast as ours: round trips on a guest took 103 to 114 ns in .NET, 75 to 110 in
/// Java and 95 to 121 in C++.
pub const TWINS: &[Twin] = &[
    Twin::new("cpp:busy", "busy", 1.0),
    Twin::new("cpp:pause", "pause", 1.0),
    Twin::new("cpp:fence", "fence", 1.0),
    Twin::new("cpp:atomic-wait", "futex", 1.1),
    Twin::new("dotnet:busy", "busy", 1.05).helped(0.05).performing(PLAIN),
    Twin::new("dotnet:spinwait", "pause", 1.15).helped(0.05).performing(POLLS),
    Twin::new("dotnet:fence", "fence", 1.05).helped(0.05).performing(POLLS),
    Twin::new("dotnet:pause", "pause", 1.05).helped(0.05).performing(POLLS),
    Twin::new("dotnet:yield", "yield", 1.05).helped(0.05).performing(POLLS),
    Twin::new("dotnet:clock", "clock", 1.1).helped(0.05).performing(CLOCK),
    Twin::new("java:busy", "busy", 1.05).helped(0.15).performing(PLAIN),
    Twin::new("java:onspinwait", "pause", 1.05).helped(0.15).performing(POLLS),
    Twin::new("java:yield", "yield", 1.05).helped(0.15).performing(POLLS),
    Twin::new("java:clock", "clock", 1.1).helped(0.15).performing(CLOCK),
    Twin::new("java:park", "futex", 1.2).helped(0.15).performing(SLEEPS),
    Twin::new("go:busy", "busy", 1.1).helped(0.05),
    Twin::new("node:busy", "busy", 1.6).helped(0.20),
    Twin::new("node:atomics-wait", "futex", 1.6).helped(0.20),
    Twin::new("python:lock", "futex", 3.0).helped(0.08),
    Twin::new("python:multiprocessing-pipe", "futex", 4.0).helped(0.05),
];
