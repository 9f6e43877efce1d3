//! What stands on simulated machines for the methods of runtimes: all that the adapters of coretalk offer.

use crate::twin::Twin;

/// The twins: the same instructions and system calls, made by another compiler.
pub const TWINS: &[Twin] = &[
    Twin::new("cpp:mutex", "pthread-mutex", 1.0),
    Twin::new("cpp:flag-notify", "flag-wait", 1.0),
    Twin::new("cpp:fetch-add", "fetch-add", 1.0),
    // libatomic decides at run time which instruction to use.
    Twin::new("cpp:atomic-16", "atomic-16", 1.1),
];
