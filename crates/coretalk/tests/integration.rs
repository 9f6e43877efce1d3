//! The tool from outside, in one binary.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod cli;
mod truth;
