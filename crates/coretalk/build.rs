//! Hands the tool the date of its lock file: which versions of libraries it may hold.

use std::env;
use std::process::Command;

const LOCK: &str = "../../Cargo.lock";
/// Whoever builds an archive of the sources, which has no history, may say the date; or finds another history around it.
const GIVEN: &str = "CORETALK_LOCK_DATE";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LOCK}");
    println!("cargo::rerun-if-env-changed={GIVEN}");
    let day = match env::var(GIVEN).ok().filter(|given| !given.is_empty()) {
        Some(given) if is_day(&given) => Some(given),
        Some(given) => {
            println!("cargo::error={GIVEN} is `{given}`; give a day such as 2026-11-24, or nothing");
            None
        }
        None => lock_date(),
    };
    println!("cargo::rustc-env={GIVEN}={}", day.unwrap_or_default());
}

fn is_day(text: &str) -> bool {
    let wanted = |(index, byte): (usize, u8)| {
        if matches!(index, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    text.len() == "2026-11-24".len() && text.bytes().enumerate().all(wanted)
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
