//! Simulated stand-ins for the methods of runtimes: all that coretalk's adapters offer.

use crate::twin::SimStandIn;

/// The twins: the same instructions and system calls from another compiler.
pub const TWINS: &[SimStandIn] = &[
    SimStandIn::new("cpp:mutex", "pthread-mutex", 1.0),
    SimStandIn::new("cpp:flag-notify", "flag-wait", 1.0),
    SimStandIn::new("cpp:fetch-add", "fetch-add", 1.0),
    // libatomic selects the instruction at run time.
    SimStandIn::new("cpp:atomic-16", "atomic-16", 1.1),
];
