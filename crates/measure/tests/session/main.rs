//! The whole latency session on simulated machines whose truth is known: from settings to result.

// Helpers of tests are not inside `#[test]` functions, where alone clippy allows it.
#![allow(clippy::unwrap_used, dead_code)]

mod choices;
mod endings;
mod evidence;
mod failures;
mod gate;
mod truth;
mod vocabulary;
