//! Hands the tool the commit of its sources and the day of its lock file, which decides the versions of libraries.

use std::env;
use std::path::Path;
use std::process::Command;

const LOCK: &str = "Cargo.lock";
/// What cargo writes into a package: the commit that it was made from.
const PACKAGED: &str = ".cargo_vcs_info.json";
/// A build of an archive, which has no history or lies within another one, may state both.
const COMMIT: &str = "CORETALK_COMMIT";
const DAY: &str = "CORETALK_LOCK_DATE";
/// What a binary is made from. `dist/environment` also counts what packages are made from.
const COMPILED: [&str; 11] = [
    ".cargo",
    "Cargo.toml",
    LOCK,
    "crates/model/Cargo.toml",
    "crates/model/src",
    "crates/measure/Cargo.toml",
    "crates/measure/build.rs",
    "crates/measure/src",
    "crates/measure/adapters",
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

/// The commit of a clone, with `-dirty` where what is compiled differs from it. Release builds only: it is determined anew
/// after each commit and each change of a source, for which builds of tests should not wait. A repository around the sources,
/// such as one that holds them in a folder, says nothing of them.
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
