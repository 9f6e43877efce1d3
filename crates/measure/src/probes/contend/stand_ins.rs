//! Simulated stand-ins for runtimes: one for each `contend` method of coretalk's adapters.

use crate::stand_in::SimStandIn;

/// The stand-ins: the same instructions and system calls from another compiler.
pub const STAND_INS: &[SimStandIn] = &[
    SimStandIn::new("cpp:mutex", "pthread-mutex", 1.0),
    SimStandIn::new("cpp:flag-notify", "flag-wait", 1.0),
    SimStandIn::new("cpp:fetch-add", "fetch-add", 1.0),
    // libatomic selects the instruction at run time.
    SimStandIn::new("cpp:atomic-16", "atomic-16", 1.1),
];
