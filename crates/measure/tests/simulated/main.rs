//! Tests on simulated machines with known truth, from settings to results.

// Clippy's exception for tests applies only inside `#[test]` functions, not to helpers.
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod acceptance;
mod choices;
mod compare;
mod contend;
mod costs;
mod coverage;
mod departing;
mod endings;
mod evidence;
mod inference;
mod machine;
mod orders;
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

/// Whether tests run in full, which takes minutes; otherwise they run in part, with bounds to match.
fn is_acceptance() -> bool {
    std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some()
}
