//! Rules of the repository as tests, so that reviewers need not remember them.
#![allow(clippy::unwrap_used, reason = "a rule that cannot be checked fails its test")]

mod dependencies;
mod documents;
mod text_matching;

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum lines of a file; a longer one covers a second subject.
const MAX_LINES: usize = 600;

#[test]
fn unsafe_code_is_only_in_the_crate_that_measures() {
    let words = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "allow(unsafe_code"];
    let files = ["model", "report", "coretalk"].map(|name| rust_files(&format!("crates/{name}/"))).concat();
    for (path, number, line) in lines(&files) {
        let is_used = words.iter().any(|word| line.contains(word) && !line.contains(&format!("\"{word}")));
        assert!(!is_used, "{path}:{number} uses unsafe outside crates/measure");
    }
}

#[test]
fn the_model_touches_nothing() {
    let touching =
        ["std::fs", "std::thread", "std::net", "std::process", "std::env", "std::io", "Instant", "println!"];
    forbid("crates/model/src/", &touching);
}

#[test]
fn probes_get_a_kernel_context_and_nothing_else() {
    let beyond = ["crate::host", "std::fs", "std::thread", "std::time", "std::io", "println!", "Instant"];
    forbid("crates/measure/src/probes/", &beyond);
}

/// Limits the number of places that compose text before a medium renders it, except JSON pointers (made by `pointer!`)
/// and composed names. A change may only lower these counts.
#[test]
fn early_text_composition_does_not_increase() {
    let composed = r"(Sentence::name|Cell::name|with_name)\(.*(format!|fmt::sentence|to_string\(\))";
    let [report, coretalk] = ["report", "coretalk"].map(|name| rust_files(&format!("crates/{name}/src/")));
    let both = [&report[..], &coretalk].concat();
    for (pattern, files, expected) in
        [("PlainText::untrusted", &both, 5), (r"format!\(", &report, 424), (composed, &both, 14)]
    {
        let matcher = Regex::new(pattern).unwrap();
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, ..) in lines(files).filter(|(.., line)| matcher.is_match(line)) {
            *uses.entry(path).or_default() += 1;
        }
        assert_eq!(uses.values().sum::<usize>(), expected, "`{pattern}`: {uses:#?}");
    }
}

/// Files outside of `coretalk_report::fmt` with one line that chooses digits; none formats a measured number.
const FORMATTERS: [&str; 3] = [
    "report/src/picture/svg.rs",    // coordinates
    "coretalk/src/run/progress.rs", // the progress bar
    "coretalk/src/store/stamp.rs",  // seconds of a time stamp
];

#[test]
fn numbers_get_their_digits_in_one_place() {
    let formats = |line: &str| {
        let holes = line.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let mut styles = holes.filter_map(|hole| Some(hole.split_once(':')?.1));
        styles.any(|style| style.contains('.') && !style.contains([' ', ':', '(']))
    };
    let files = ["report", "coretalk"].map(|name| rust_files(&format!("crates/{name}/src/"))).concat();
    for (path, text) in files {
        let path = path.trim_start_matches("crates/");
        if !path.starts_with("report/src/fmt") {
            let expected = usize::from(FORMATTERS.contains(&path));
            let found = text.lines().filter(|line| formats(line)).count();
            assert_eq!(found, expected, "{path} chooses digits of numbers; use coretalk_report::fmt");
        }
    }
}

#[test]
fn the_report_has_no_means_of_its_own() {
    let estimators =
        ["stats::mean", "stats::median", "stats::mad", "passes_interval", "split_states", ".powi(2)"];
    forbid("crates/report/src/", &estimators);
}

#[test]
fn nothing_above_the_machine_asks_whether_it_is_real() {
    let sides = ["HostMachine", "SimMachine", "crate::host", "crate::sim", "measure::host", "measure::sim"];
    for part in ["measure/src/session/", "measure/src/schedule.rs", "coretalk/src/store/", "report/src/"] {
        forbid(&format!("crates/{part}"), &sides);
    }
    forbid("crates/model/src/", &sides);
}

#[test]
fn files_have_limited_length() {
    for (path, text) in rust_files("crates/") {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{path} has {lines} lines; split it (at most {MAX_LINES})");
    }
}

#[test]
fn names_follow_the_style() {
    let refused = Regex::new(r"\bfn of\b|\bconst (MOST|FEWEST|LEAST|LONGEST)_").unwrap();
    for (path, number, line) in lines(&rust_files("crates/")) {
        assert!(!refused.is_match(line), "{path}:{number}: {line}; see \"Style\" in CONTRIBUTING.md");
    }
}

#[test]
fn no_file_has_marks_of_unfinished_work() {
    // Split, so that this file passes its own test.
    let words =
        [["to", "do!("].concat(), ["db", "g!("].concat(), ["FIX", "ME"].concat(), ["X", "XX:"].concat()];
    for (path, number, line) in lines(&text_files()) {
        assert!(!words.iter().any(|word| line.contains(word)), "{path}:{number}: {line}");
    }
}

#[test]
fn every_silenced_lint_states_its_reason() {
    let silencing = [["#[all", "ow("].concat(), ["#![all", "ow("].concat(), ["#[exp", "ect("].concat()];
    for (path, number, line) in lines(&rust_files("crates/")) {
        let is_silencing = silencing.iter().any(|word| line.contains(word));
        assert!(!is_silencing || line.contains("reason = \""), "{path}:{number}: add `reason = \"…\"`");
    }
}

#[test]
fn no_tracked_file_contains_local_paths() {
    // Split, so that this file passes its own test.
    let places = [["/wo", "rk/"], ["/ho", "me/"], ["/ro", "ot/"], ["/Us", "ers/"], ["C:\\", "Users"]]
        .map(|p| p.concat());
    for (path, number, line) in lines(&text_files()) {
        // A made-up path in a test of privacy is allowed.
        let is_example = line.contains("/home/alice") || line.contains("/home/me/");
        assert!(is_example || !places.iter().any(|place| line.contains(place)), "{path}:{number}: {line}");
    }
}

/// Forbids words outside tests in any file below a path.
fn forbid(below: &str, words: &[&str]) {
    let files = rust_files(below);
    assert!(!files.is_empty(), "nothing below {below}");
    let is_code = |path: &str| !path.ends_with("/tests.rs") && !path.ends_with("/two_threads.rs");
    for (path, text) in files.iter().filter(|(path, _)| is_code(path)) {
        let code = text.split("#[cfg(all(test").next().unwrap().split("#[cfg(test)]").next().unwrap();
        for (number, line) in numbered(code).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            assert!(!words.iter().any(|word| line.contains(word)), "{path}:{number}: {line}");
        }
    }
}

/// Returns the section below a heading, up to the next of its rank or above; for TOML, up to the next table.
fn section(text: &str, heading: &str) -> String {
    let rank = |line: &str| line.chars().take_while(|&c| c == '#').count();
    let toml = heading.starts_with('[');
    let ends =
        |line: &&str| if toml { line.starts_with('[') } else { (1..=rank(heading)).contains(&rank(line)) };
    let lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !ends(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Returns all text files with their paths: those tracked by git, or, without git, those in known folders.
fn text_files() -> Vec<(String, String)> {
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let mut paths = BTreeSet::new();
    match tracked {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            paths.extend(String::from_utf8(output.stdout).unwrap().split('\0').map(str::to_owned));
        }
        _ => walk(&root(), &mut paths),
    }
    let text = |path: String| Some((path.clone(), std::fs::read_to_string(root().join(&path)).ok()?));
    let files: Vec<(String, String)> = paths.into_iter().filter_map(text).collect();
    assert!(files.len() > 100, "only {} files were found", files.len());
    files
}

fn walk(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir()
            && name != "target"
            && ([".ci", ".cargo"].contains(&name.as_str()) || !name.starts_with('.'))
        {
            walk(&path, into);
        } else if path.is_file() && !name.starts_with('.') {
            into.insert(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
        }
    }
}

pub fn rust_files(below: &str) -> Vec<(String, String)> {
    text_files().into_iter().filter(|(path, _)| path.starts_with(below) && path.ends_with(".rs")).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// The lines of files, each with its path and number.
fn lines(files: &[(String, String)]) -> impl Iterator<Item = (&str, usize, &str)> {
    files.iter().flat_map(|(path, text)| numbered(text).map(move |(number, line)| (&**path, number, line)))
}
