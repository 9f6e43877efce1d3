//! Data types and mathematics of coretalk.
//!
//! This crate does no I/O, reads no clock, starts no thread and has no `unsafe`. The same input gives the same output.

#[macro_use]
mod named;

pub mod advise;
pub mod clock;
pub mod compare;
pub mod contend;
pub mod cpu;
pub mod environment;
mod excerpt;
pub mod external;
pub mod findings;
pub mod flags;
pub mod formats;
pub mod grade;
pub mod histogram;
pub mod idle_gaps;
pub mod infer;
pub mod jitter;
pub mod kernel;
pub mod latency;
pub mod lint;
pub mod matrix;
mod or_nan;
pub mod place;
pub mod plan;
pub mod probes;
pub mod quantity;
pub mod queue;
pub mod reason;
pub mod recording;
pub mod run;
pub mod runtime;
pub mod selection;
pub mod series;
pub mod sharing;
pub mod stats;
pub mod time;
pub mod topology;
pub mod wait;
pub mod wake;

#[cfg(test)]
mod tests;

pub use cpu::{CpuId, CpuSet};
pub use environment::{ClockFacts, DoctorFinding, Environment, Verdict};
pub use excerpt::excerpt;
pub use flags::{Flag, Flags};
pub use grade::Grade;
pub use histogram::Histogram;
pub use kernel::{Hint, KernelId, LadderStep, Protocol, Tool};
pub use matrix::Matrix;
pub use or_nan::{Absence, OrNan};
pub use reason::Reason;
pub use recording::{
    CommandEnd, CommandReason, CpuLoss, Disturbance, Home, LossReason, Recording, Samples, Span, TrialFailure,
};
pub use selection::CpuSelection;
pub use time::{Picos, TickRate, Ticks};
pub use topology::{CoreClass, Domain, Level, Relation, Scope, Topology};
