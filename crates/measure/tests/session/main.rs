//! The whole latency session on simulated machines whose truth is known: from settings to result.

// Helpers of tests are not inside `#[test]` functions, where alone clippy allows it.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![allow(dead_code, reason = "the acceptance tests share this vocabulary and use the rest")]

mod advice;
mod choices;
mod endings;
mod evidence;
mod execution;
mod failures;
mod gate;
mod remaining;
mod structure;
mod truth;
mod vocabulary;
