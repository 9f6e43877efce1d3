//! Tells the tool the commit of its sources and the day of the lock file, which fixes the versions of libraries.

use std::env;
use std::path::Path;
use std::process::Command;

const LOCK: &str = "Cargo.lock";
/// Written by cargo into packages; holds the commit.
const PACKAGED: &str = ".cargo_vcs_info.json";
/// Variables that state commit and day, for archives without history or inside another repository.
const COMMIT: &str = "CORETALK_COMMIT";
const DAY: &str = "CORETALK_LOCK_DATE";
/// Inputs of a binary. `dist/environment` regards a change of nearly any file as `-dirty`.
const COMPILED: [&str; 13] = [
    ".cargo",
    "Cargo.toml",
    LOCK,
    "crates/model/Cargo.toml",
    "crates/model/src",
    "crates/measure/Cargo.toml",
    "crates/measure/build.rs",
    "crates/measure/src",
    "crates/measure/adapters",
    "crates/report/Cargo.toml",
    "crates/report/src",
    "crates/coretalk/build.rs",
    "crates/coretalk/src",
];

fn main() {
    println!("cargo::rerun-if-changed=crates/coretalk/build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rerun-if-env-changed={DAY}");
    let packaged = std::fs::read_to_string(PACKAGED).ok();
    if packaged.is_none() {
        println!("cargo::rerun-if-changed={LOCK}");
    }
    let commit = env::var(COMMIT).ok().or_else(|| match &packaged {
        Some(text) => {
            let dirty = if text.contains("\"dirty\": true") { "-dirty" } else { "" };
            Some(format!("{}{dirty}", text.split("\"sha1\": \"").nth(1)?.get(..12)?))
        }
        None => commit(),
    });
    println!("cargo::rustc-env={COMMIT}={}", commit.unwrap_or_default());
    let day = match env::var(DAY).ok().filter(|given| !given.is_empty()) {
        Some(given) if is_day(&given) => Some(given),
        Some(given) => {
            println!("cargo::error={DAY} is `{given}`; give a day such as 2026-11-24, or nothing");
            None
        }
        None => packaged.is_none().then(lock_date).flatten(),
    };
    println!("cargo::rustc-env={DAY}={}", day.unwrap_or_default());
}

fn is_day(text: &str) -> bool {
    let wanted = |(index, byte): (usize, u8)| {
        if matches!(index, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    text.len() == "2026-11-24".len() && text.bytes().enumerate().all(wanted)
}

/// The commit of a clone, with `-dirty` if compiled files differ from it; `None` if the sources are a folder of another
/// repository. Only for release builds, because each new commit or change would rebuild test builds.
fn commit() -> Option<String> {
    if env::var("PROFILE").as_deref() != Ok("release") || !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|path| Path::new(path).exists());
    for path in COMPILED.into_iter().chain(log.as_deref()) {
        println!("cargo::rerun-if-changed={path}");
    }
    let is_dirty = git(&[&["diff", "--quiet", "HEAD", "--"], &COMPILED[..]].concat()).is_none();
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    Some(commit + if is_dirty { "-dirty" } else { "" })
}

/// The day of the last commit that changed the lock file: unlike the file time, it is the same on every machine. `None`
/// if the file differs from that commit or the history does not reach it.
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
