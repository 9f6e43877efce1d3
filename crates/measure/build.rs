//! Hands the tool what only the build knows: which compiler made it, and for which processor features.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=CORETALK_COMPILER={}", compiler());
    println!("cargo::rustc-env=CORETALK_BUILD={}", build());
}

/// The first line of `rustc -V`; empty where the compiler does not say.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-V").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Profile, optimisation, target and its features: what changes the machine code of a timed loop.
fn build() -> String {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    format!(
        "{}, opt-level {}, {}, {}",
        variable("PROFILE"),
        variable("OPT_LEVEL"),
        variable("TARGET"),
        variable("CARGO_CFG_TARGET_FEATURE").replace(',', " "),
    )
}
