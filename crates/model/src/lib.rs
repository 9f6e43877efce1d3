//! Data and mathematics of coretalk: the vocabulary in one page.
//!
//! This crate does no I/O, reads no clock, starts no thread and holds no `unsafe`: same input, same output.

pub mod cpu;
pub mod formats;
pub mod matrix;
pub mod stats;
pub mod time;

pub use cpu::{CpuId, CpuSet};
pub use matrix::Matrix;
pub use time::{Picos, TickRate, Ticks};
