//! Ways of waiting: names of what `wait` says, and when sleeping pays.

mod crossover;
pub mod names;

pub use crossover::{Crossover, crossovers};
