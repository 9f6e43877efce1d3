//! Simulated stand-ins for the wait strategies of runtimes: all that coretalk's adapters offer.

use crate::adapters::OperationKind;
use crate::stand_in::SimStandIn;

/// Measurements that adapters of version 2 can make with `busy`.
const PLAIN: &[OperationKind] = &[OperationKind::Wait, OperationKind::Cost];
/// Measurements that adapters can make with other polling strategies.
const POLLS: &[OperationKind] = &[OperationKind::Wait, OperationKind::Alternate, OperationKind::Cost];
/// Measurements that adapters can make with sleeping strategies.
const SLEEPS: &[OperationKind] = &[OperationKind::Wait, OperationKind::Alternate];
/// Measurements that adapters can make with the clock of their runtime.
const CLOCK: &[OperationKind] = &[OperationKind::Clock];

/// The stand-ins. Warm compiled loops are as fast as those of coretalk: round trips on a guest took 103 to 114 ns in
/// .NET, 75 to 110 in Java and 95 to 121 in C++.
pub const STAND_INS: &[SimStandIn] = &[
    SimStandIn::new("cpp:busy", "busy", 1.0),
    SimStandIn::new("cpp:pause", "pause", 1.0),
    SimStandIn::new("cpp:fence", "fence", 1.0),
    SimStandIn::new("cpp:atomic-wait", "futex", 1.1),
    SimStandIn::new("dotnet:busy", "busy", 1.05).helped(0.05).performing(PLAIN),
    SimStandIn::new("dotnet:spinwait", "pause", 1.15).helped(0.05).performing(POLLS),
    SimStandIn::new("dotnet:fence", "fence", 1.05).helped(0.05).performing(POLLS),
    SimStandIn::new("dotnet:pause", "pause", 1.05).helped(0.05).performing(POLLS),
    SimStandIn::new("dotnet:yield", "yield", 1.05).helped(0.05).performing(POLLS),
    SimStandIn::new("dotnet:clock", "clock", 1.1).helped(0.05).performing(CLOCK),
    SimStandIn::new("java:busy", "busy", 1.05).helped(0.15).performing(PLAIN),
    SimStandIn::new("java:onspinwait", "pause", 1.05).helped(0.15).performing(POLLS),
    SimStandIn::new("java:yield", "yield", 1.05).helped(0.15).performing(POLLS),
    SimStandIn::new("java:clock", "clock", 1.1).helped(0.15).performing(CLOCK),
    SimStandIn::new("java:park", "futex", 1.2).helped(0.15).performing(SLEEPS),
    SimStandIn::new("go:busy", "busy", 1.1).helped(0.05),
    SimStandIn::new("node:busy", "busy", 1.6).helped(0.20),
    SimStandIn::new("node:atomics-wait", "futex", 1.6).helped(0.20),
    SimStandIn::new("python:lock", "futex", 3.0).helped(0.08),
    SimStandIn::new("python:multiprocessing-pipe", "futex", 4.0).helped(0.05),
];
