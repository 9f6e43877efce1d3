//! The binary columns of a run file. Every blob begins with a version byte and is described in FORMAT.md.
//!
//! Encoding is **exact**: every float keeps its bits, so that [`analyse`] says the same about a run that has just
//! ended and about its file read back. What makes blobs small is that neighbours resemble each other: cells and
//! clocks are stored as differences, kernels and homes once per file as a [`Shapes`] entry, raw ticks as
//! Rice-coded residuals (within 0.2 bit of the entropy of their noise, see `ticks`). Where ticks are kept, what a trial
//! says is not: the reader reduces them as the session did, and the writer has made sure that nothing else comes out.
//!
//! [`analyse`]: coretalk_model::latency::analyse()

mod bytes;
mod histograms;
mod recordings;
mod shapes;
mod ticks;
mod trials;

pub(super) use bytes::{Damage, checksum};
pub(super) use histograms::{decode_histograms, encode_histograms};
pub(super) use recordings::{decode_recordings, encode_recordings};
pub(super) use shapes::{Shapes, kernel};
pub(super) use trials::{decode_trials, encode_trials};

/// Where differences of core clocks begin: any value of the usual size would do.
const CLOCK_START_GHZ: f32 = 3.0;
