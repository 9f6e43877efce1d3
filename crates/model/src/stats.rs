//! Statistics: one idea per file, no formatting of numbers.

pub mod estimate;

pub use estimate::Estimate;
