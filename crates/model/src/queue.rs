//! Throughput of bounded queues: the matrices of a run of series, and what can be said of them in words.

mod cell;
pub mod names;
mod summary;
mod switches;

pub use cell::{QueueCell, QueueMatrix, both, matrices};
pub use summary::{Balance, Best, RelationRate, ShapeRates, Verification, best, rates, verification};
pub use switches::{SwitchRate, switch_rate};
