//! Passes facts of the build to the tool: the compiler, its options, and the processor features of the target.

use std::env;
use std::process::Command;

/// Variables of facts that the tool reports separately, with the variables of cargo that contain them.
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
    for (name, cargo_name) in FACTS {
        println!("cargo::rustc-env={name}={}", variable(cargo_name));
    }
}

/// The first line of `rustc -V`; empty if the compiler does not run.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-V").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Profile, optimisation, target and its features, all of which change the machine code of a timed loop.
fn build() -> String {
    format!(
        "{}, opt-level {}, {}, {}",
        variable("PROFILE"),
        variable("OPT_LEVEL"),
        variable("TARGET"),
        variable("CARGO_CFG_TARGET_FEATURE").replace(',', " "),
    )
}

/// A variable of cargo; empty if it is not set.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
