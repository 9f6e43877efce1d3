//! Hardware access, and the simulated machine that replaces it.

// Loom tests only the files in `handshakes.rs`.
#![cfg(not(loom))]

pub mod adapters;
#[cfg(target_os = "linux")]
pub mod asm;
pub mod asm_block;
pub mod counter;
pub mod counters;
pub mod creation;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod power;
// Statistics of event durations, for hosts and simulators, on all systems and in Miri.
mod events;
// Pinned threads, machine instructions and mapped memory, which Miri does not support.
#[cfg(not(miri))]
pub mod host;
pub mod interrupts;
pub mod kernel;
pub mod kernel_context;
pub mod machine;
pub mod pricing;
pub mod primitives;
pub mod probes;
pub mod queues;
#[cfg(not(miri))]
pub mod room;
pub mod schedule;
pub mod series;
pub mod session;
pub mod sim;
pub mod stand_in;
pub mod stop;
pub mod strategies;
pub mod streams;
pub mod suite;
pub mod sync;
pub mod tick_histogram;
pub mod trial_context;
pub mod wait;
pub mod work;
#[cfg(all(target_os = "linux", not(miri)))]
pub mod workloads;

pub use kernel::{Cost, Kernel, RoleFn, Spin};
pub use machine::{
    Allowance, Assignment, Granted, HomeChoice, Machine, MachineError, Round, RoundOutcome, Sampling,
    SpanOrder, Walk, WorkerSettings,
};
pub use series::{SeriesProbe, SeriesRequest, TrialOrder};
pub use sim::{Scenario, ScenarioError, SimMachine};
pub use stop::Stop;
pub use work::{CommandLine, Hook, Hooks, Work, WorkOrder};
