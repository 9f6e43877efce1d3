//! Screens, pages and pictures of synthetic runs, without a machine.
#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod pages;
#[path = "../samples/mod.rs"]
mod samples;
mod screens;
