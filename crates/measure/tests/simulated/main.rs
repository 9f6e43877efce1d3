//! Everything on simulated machines, whose truth is known: from settings to result.

// Helpers of tests are not inside `#[test]` functions, where alone clippy allows it.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![cfg_attr(not(feature = "acceptance"), allow(dead_code, reason = "the acceptance tests use the rest"))]

#[cfg(feature = "acceptance")]
mod acceptance;
mod choices;
mod compare;
mod contend;
mod costs;
mod departing;
mod endings;
mod evidence;
mod inference;
mod machine;
mod place;
mod queue;
mod remaining;
mod runtimes;
mod scenario;
mod series;
mod states;
mod trials;
mod truth;
mod vocabulary;
