//! Dependencies: each has a reason, is used, has a licence that `deny.toml` allows, and comes from the registry.

use super::{read, root, section};
use std::process::Command;

const REGISTRY_OF_CRATES: &str = "registry+https://github.com/rust-lang/crates.io-index";

const MANIFESTS: [&str; 4] =
    ["crates/model/Cargo.toml", "crates/measure/Cargo.toml", "crates/report/Cargo.toml", "Cargo.toml"];

#[test]
fn every_dependency_has_its_reason_above_it() {
    let declared = declared();
    for (name, above) in &declared {
        assert!(name.starts_with("coretalk-") || above.starts_with("# "), "give the reason for {name}");
    }
    for manifest in MANIFESTS {
        let text = read(manifest);
        for header in text.lines().filter(|line| line.starts_with('[') && line.contains("dependencies")) {
            for (name, above) in entries(&section(&text, header)) {
                let is_reasoned = name.ends_with(".workspace") || above.starts_with("# ");
                let is_declared = declared.iter().any(|(known, _)| *known == name);
                assert!(is_reasoned || is_declared, "{manifest}: give the reason for {name}");
            }
        }
    }
}

#[test]
fn every_declared_dependency_is_used_by_a_crate() {
    let crates = MANIFESTS.map(read).concat();
    for (name, _) in declared() {
        let uses = [format!("\n{name}.workspace"), format!("\n{name} = {{ workspace = true")];
        let is_used = uses.iter().any(|line| crates.contains(line));
        assert!(is_used, "no crate uses {name}: remove it from Cargo.toml");
    }
}

#[test]
fn dependencies_have_licences_and_sources_that_fit() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    if !output.status.success() {
        // A crate for another system may never have been fetched; the check in `.ci/run` has network access.
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
        return;
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 3);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence), "{name} is under `{licence}`: which deny.toml does not allow");
        if let Some(source) = package["source"].as_str() {
            assert_eq!(source, REGISTRY_OF_CRATES, "{name} comes from elsewhere");
        }
    }
}

#[test]
fn licences_are_read_as_written() {
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("", false),
        ("MIT OR GPL-3.0-only", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", false),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
    ] {
        assert_eq!(is_allowed(expression), expected, "{expression}");
    }
}

/// Whether `deny.toml` allows a licence expression: all operands of each AND, any operand of each OR.
fn is_allowed(expression: &str) -> bool {
    let manifest = read("deny.toml");
    let allowed = manifest.lines().find_map(|line| line.strip_prefix("allow = [")).unwrap();
    let allowed: Vec<&str> = allowed.split('"').skip(1).step_by(2).collect();
    let expression = expression.replace('/', " OR ");
    let all = expression.split(" AND ").map(|part| part.trim().trim_matches(['(', ')']));
    all.clone().all(|part| part.split(" OR ").any(|one| allowed.contains(&one.trim())))
}

fn declared() -> Vec<(String, String)> {
    let declared = entries(&section(&read("Cargo.toml"), "[workspace.dependencies]"));
    assert!(declared.len() > 10, "the section was not read: {declared:?}");
    declared
}

/// Returns the name of every entry in a TOML table of dependencies, with the line above it.
fn entries(table: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = table.lines().collect();
    let entry = |(index, line): (usize, &&str)| {
        let name = line.split([' ', '=']).next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
        let above = index.checked_sub(1).map_or("", |above| lines[above]);
        line.contains('=').then(|| (name.to_owned(), above.to_owned()))
    };
    lines.iter().enumerate().filter_map(entry).collect()
}
