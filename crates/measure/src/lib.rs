//! Everything that touches the hardware, and the simulated machine that stands in for it.

// Loom explores the handshakes alone; the system, the simulator and the session are compiled out there.
#[cfg(all(target_os = "linux", not(loom)))]
pub mod asm;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod awake;
pub mod counter;
pub mod counters;
pub mod creation;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod energy;
// What processes on hosts and the simulator alike report; the simulator is everywhere, Miri included.
#[cfg(not(loom))]
mod events;
// Pinned threads, machine instructions and mapped memory: nothing for loom or Miri.
#[cfg(not(any(loom, miri)))]
pub mod host;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod idle;
pub mod interrupts;
pub mod kernel;
pub mod machine;
#[cfg(not(loom))]
pub mod pricing;
pub mod primitives;
pub mod probes;
pub mod queues;
#[cfg(not(any(loom, miri)))]
pub mod room;
#[cfg(not(loom))]
pub mod schedule;
pub mod series;
#[cfg(not(loom))]
pub mod session;
#[cfg(not(loom))]
pub mod sim;
pub mod stage;
pub mod stop;
pub mod strategies;
#[cfg(not(loom))]
pub mod suite;
pub mod sync;
pub mod tally;
pub mod trial_context;
pub mod wait;
pub mod work;
#[cfg(all(target_os = "linux", not(any(loom, miri))))]
pub mod workloads;

pub use kernel::{Cost, Kernel, RoleFn, Spin};
pub use machine::{
    Allowance, Assignment, Granted, HomeChoice, Machine, MachineError, Round, RoundOutcome, Sampling,
    SpanOrder, Walk, WorkerSettings,
};
pub use series::{Probe, ProbeSpec, SeriesProbe, SeriesRequest, TrialOrder};
#[cfg(not(loom))]
pub use sim::{Scenario, ScenarioError, SimMachine};
pub use stop::Stop;
pub use work::{CommandLine, Work, WorkOrder};
