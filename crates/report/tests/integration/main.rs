//! Screens, pages and pictures of synthetic runs, without a machine.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod pages;
#[path = "../samples/mod.rs"]
mod samples;
mod screens;
