//! Hands the tool what only the build knows: which compiler made it, and for which processor features.

use std::env;
use std::process::Command;

/// What the tool tells of its build one by one, and what cargo calls it.
const FACTS: [(&str, &str); 4] = [
    ("CORETALK_TARGET", "TARGET"),
    ("CORETALK_FEATURES", "CARGO_CFG_TARGET_FEATURE"),
    ("CORETALK_PROFILE", "PROFILE"),
    ("CORETALK_OPT_LEVEL", "OPT_LEVEL"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=CORETALK_COMPILER={}", compiler());
    println!("cargo::rustc-env=CORETALK_BUILD={}", build());
    for (name, of_cargo) in FACTS {
        println!("cargo::rustc-env={name}={}", variable(of_cargo));
    }
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
    format!(
        "{}, opt-level {}, {}, {}",
        variable("PROFILE"),
        variable("OPT_LEVEL"),
        variable("TARGET"),
        variable("CARGO_CFG_TARGET_FEATURE").replace(',', " "),
    )
}

/// What cargo says; empty where it says nothing.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
