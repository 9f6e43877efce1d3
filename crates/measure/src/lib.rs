//! Everything that touches the hardware, and the simulated machine that stands in for it.

pub mod host;
pub mod kernel;
pub mod machine;
pub mod schedule;
pub mod session;
pub mod stage;
pub mod stop;
pub mod sync;

pub use kernel::{Cost, Kernel, RoleFn, Spin};
pub use machine::{
    Allowance, Assignment, Crew, Granted, HomeChoice, Machine, MachineError, Round, RoundOutcome, Sampling,
    SpanOrder, Walk,
};
pub use stop::Stop;
