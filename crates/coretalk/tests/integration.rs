//! All integration tests and repository rules in one binary, because each binary links the whole tool.
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod cli;
#[cfg(target_os = "linux")]
#[path = "../../measure/tests/counting/mod.rs"]
mod counting;
mod documents;
#[cfg(target_os = "linux")]
mod fuzz;
mod imports;
mod place_page;
#[path = "../../report/tests/samples/mod.rs"]
mod samples;
mod sentences;
mod tidy;
mod truth;
