//! Hands the tool the date of its lock file: which versions of libraries it may hold.

use std::process::Command;

const LOCK: &str = "../../Cargo.lock";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LOCK}");
    println!("cargo::rustc-env=CORETALK_LOCK_DATE={}", lock_date().unwrap_or_default());
}

/// The day of the commit that changed it last: the same for everybody who builds it, unlike the time of the file. `None`
/// where it differs from that commit, or where the history does not reach back to it.
fn lock_date() -> Option<String> {
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"])? != "false";
    let is_changed = !git(&["status", "--porcelain", "--", LOCK])?.is_empty();
    let date = git(&["log", "-1", "--format=%cs", "--", LOCK])?;
    (!is_shallow && !is_changed && !date.is_empty()).then_some(date)
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
