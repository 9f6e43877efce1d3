//! Everything on simulated machines, whose truth is known: from settings to result.

// Helpers of tests are not inside `#[test]` functions, where alone clippy allows it.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

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
mod wake;

/// Whether each test runs its whole, which takes minutes; otherwise it runs a part, with bounds to match.
fn is_acceptance() -> bool {
    std::env::var_os("CORETALK_TEST_ACCEPTANCE").is_some()
}
