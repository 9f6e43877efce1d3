//! Documents: names in them exist, shown output is current, and required contents are present.

use super::{numbered, read, root, rust_files, section, text_files};
use clap::Parser;
use coretalk::args::Cli;
use coretalk::exit::ExitCode;
use coretalk_measure::probes::REGISTRY;
use coretalk_model::formats::FormatId;
use coretalk_model::infer::{AgreementVerdict, SuspectReason};
use coretalk_model::latency::Purpose;
use coretalk_model::lint::Kind;
use coretalk_model::{Flag, Level, Protocol, Relation, Tool};
use std::collections::BTreeSet;
use std::process::Command;

const README: &str = include_str!("../../../../README.md");
const METHOD: &str = include_str!("../../../../docs/method.md");
const LATENCY: &str = include_str!("../../../../docs/probes/latency.md");
const LADDER: &str = include_str!("../../../../docs/probes/latency-ladder.md");
const TOPOLOGY: &str = include_str!("../../../../docs/topology.md");
const ARCHITECTURE: &str = include_str!("../../../../ARCHITECTURE.md");
const JSON: &str = include_str!("../../../../docs/format/json.md");
const IMPORT: &str = include_str!("../../../../docs/format/import.md");
const RUN_FILE: &str = include_str!("../../../../docs/format/run-file.md");
const CHANGELOG: &str = include_str!("../../../../CHANGELOG.md");
const CI: &str = include_str!("../../../../.ci/run");

/// Maximum length of the README: readers decide within a minute.
const MAX_WORDS_OF_README: usize = 1_500;
/// Maximum terms that a newcomer must learn to read the code.
const MAX_WORDS_OF_GLOSSARY: usize = 30;
/// Maximum length of a probe's page, which is read in full before its numbers are trusted.
const MAX_WORDS_OF_PROBE: usize = 800;
/// Maximum length of the page of `queue`, which has four kinds of measurement.
const MAX_WORDS_OF_QUEUE: usize = 2_000;

#[test]
fn every_probe_has_a_page_that_the_method_links_to() {
    for probe in REGISTRY {
        let page = format!("probes/{}.md", probe.declaration().id);
        let heading = format!("# {}", probe.declaration().title);
        assert!(METHOD.contains(&format!("]({page})")), "link to {page} in docs/method.md");
        let text = read(&format!("docs/{page}"));
        assert_eq!(text.lines().next(), Some(heading.as_str()), "the title of docs/{page}");
    }
}

#[test]
fn every_protocol_and_imitated_tool_is_explained() {
    for protocol in Protocol::ALL {
        let heading = format!("### `{}`", protocol.name());
        assert!(LATENCY.lines().any(|line| line.starts_with(&heading)), "add `{heading}`");
    }
    for tool in Tool::ALL {
        assert!(LADDER.contains(&format!("| `{}` |", tool.name())), "explain `{}`", tool.name());
    }
}

#[test]
fn the_changelog_has_a_heading_for_this_version() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(CHANGELOG.lines().any(|line| line.starts_with(&heading)), "add `{heading}` to CHANGELOG.md");
}

#[test]
fn the_documents_list_every_name_in_outputs() {
    let missing = |document: &str, names: &[&str]| -> Vec<String> {
        let quoted = names.iter().map(|name| format!("`{name}`"));
        quoted.filter(|name| !document.contains(name.as_str())).collect()
    };
    let none = Vec::<String>::new();
    assert_eq!(missing(JSON, &Level::ALL.map(Level::name)), none);
    assert_eq!(missing(JSON, &AgreementVerdict::ALL.map(AgreementVerdict::name)), none);
    assert_eq!(missing(JSON, &SuspectReason::ALL.map(SuspectReason::name)), none);
    assert_eq!(missing(JSON, &Relation::ALL.map(Relation::name)), none);
    assert_eq!(missing(IMPORT, &FormatId::ALL.map(FormatId::name)), none);
    assert_eq!(missing(TOPOLOGY, &Kind::ALL.map(Kind::name)), none);
}

#[test]
fn flags_purposes_and_exit_codes_are_listed_with_their_codes() {
    let assert_listed = |document: &str, row: String| assert!(document.contains(&row), "add `{row}`");
    for (bit, flag) in Flag::ALL.iter().enumerate() {
        assert_listed(JSON, format!("| {bit} | `{}` | {} |", flag.name(), flag.effect().name()));
    }
    for (code, purpose) in Purpose::ALL.iter().enumerate() {
        assert_listed(RUN_FILE, format!("| {code} | `{}` |", purpose.name()));
    }
    let exit_codes = section(JSON, "## Exit codes");
    for (code, _) in ExitCode::ALL {
        assert_listed(&exit_codes, format!("\n| {} |", code as u8));
    }
}

#[test]
fn the_output_in_documents_is_current() {
    for path in ["README.md", "docs/guide.md"] {
        let updates = std::env::var_os("UPDATE_README").is_some();
        // Read at run time, so that the test passes right after an update.
        let document = read(path);
        let mut fresh = String::new();
        let mut commands = 0;
        let mut rest = document.as_str();
        while let Some((before, after)) = rest.split_once("```console\n") {
            let (block, after) = after.split_once("```").unwrap();
            let command = block.lines().next().unwrap();
            let words = command.strip_prefix("$ coretalk ").unwrap().split_whitespace();
            let output = Command::new(env!("CARGO_BIN_EXE_coretalk"))
                .args(words)
                .env_remove("COLUMNS")
                .env("NO_COLOR", "1")
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed: String = printed.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            fresh.push_str(&format!("{before}```console\n{command}\n{printed}```"));
            commands += 1;
            rest = after;
        }
        fresh.push_str(rest);
        assert!(commands > 0, "{path} shows no output");
        if updates {
            std::fs::write(root().join(path), fresh).unwrap();
        } else {
            assert!(
                fresh == document,
                "the output in {path} is not current: UPDATE_README=1 rewrites it\n{fresh}"
            );
        }
    }
}

/// Parses each line of a shell block that calls the tool.
#[test]
fn commands_in_documents_are_valid() {
    let mut commands = 0;
    for (path, text) in text_files().into_iter().filter(|(path, _)| path.ends_with(".md")) {
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().filter(|line| *line == "coretalk" || line.starts_with("coretalk ")) {
                let command = line.split(" #").next().unwrap_or_default();
                // Quoted text is one word.
                let quoted = |(at, part): (usize, &str)| match at % 2 {
                    1 => part.replace(' ', "_"),
                    _ => part.to_owned(),
                };
                let command: String = command.split('\'').enumerate().map(quoted).collect();
                let parsed = Cli::try_parse_from(command.split_whitespace());
                assert!(parsed.is_ok(), "{path}: {line}\n{}", parsed.err().unwrap());
                commands += 1;
            }
        }
    }
    assert!(commands > 30, "{commands} commands");
}

#[test]
fn documents_are_short() {
    let words = README.split_whitespace().count();
    assert!(words <= MAX_WORDS_OF_README, "{words} words in README.md");
    let pages = text_files().into_iter().filter(|(path, _)| path.starts_with("docs/probes/"));
    for (path, text) in pages {
        let words = text.split_whitespace().count();
        let limit = if path.ends_with("/queue.md") { MAX_WORDS_OF_QUEUE } else { MAX_WORDS_OF_PROBE };
        assert!(words <= limit, "{words} words in {path}, {limit} at most");
    }
}

#[test]
fn the_glossary_is_short_and_each_word_has_one_meaning() {
    let words = section(ARCHITECTURE, "## Words");
    let words: Vec<&str> =
        words.lines().filter_map(|row| row.strip_prefix("| ")?.split(" | ").next()).skip(1).collect();
    let distinct: BTreeSet<&&str> = words.iter().collect();
    assert_eq!(distinct.len(), words.len(), "duplicate word: {words:?}");
    assert!((20..=MAX_WORDS_OF_GLOSSARY).contains(&words.len()), "{} words: {words:?}", words.len());
}

#[test]
fn named_documents_exist() {
    for (path, text) in text_files() {
        for (number, line) in numbered(&text) {
            for name in named_documents(line) {
                let sibling = root().join(&path).with_file_name(&name);
                assert!(
                    root().join(&name).exists() || sibling.exists(),
                    "{path}:{number} names {name}, which does not exist"
                );
            }
        }
    }
}

#[test]
fn paths_in_the_code_map_exist() {
    let mut named = 0;
    for line in section(ARCHITECTURE, "## Code map").lines() {
        let Some(path) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) else { continue };
        assert!(root().join(path.0).exists(), "ARCHITECTURE.md maps {}, which does not exist", path.0);
        named += 1;
    }
    assert!(named > 20, "the code map was not found");
}

#[test]
fn the_code_map_lists_every_module() {
    let map = section(ARCHITECTURE, "## Code map");
    for crate_name in ["model", "measure", "coretalk"] {
        for entry in std::fs::read_dir(root().join(format!("crates/{crate_name}/src"))).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let rows = map.lines().filter(|row| row.contains(&format!("crates/{crate_name}/src/")));
            let mapped = rows
                .into_iter()
                .any(|row| row.contains(&format!("/{name}`")) || row.contains(&format!("`{name}`")));
            assert!(
                mapped || path.is_dir() || name == "lib.rs",
                "map crates/{crate_name}/src/{name} in ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn tests_named_in_architecture_exist() {
    let tests: String = rust_files("crates/").into_iter().map(|(_, text)| text).collect();
    let mut named = 0;
    for name in ARCHITECTURE.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("test ")) {
        assert!(
            tests.contains(&format!("fn {name}(")),
            "ARCHITECTURE.md names the test {name}, which does not exist"
        );
        named += 1;
    }
    assert!(named >= 10, "the invariants name no tests");
}

#[test]
fn the_readme_begins_with_run_and_test_and_ci_begins_with_test() {
    let first = README.find("cargo run --release").unwrap();
    let second = README.find("cargo test --workspace").unwrap();
    let others = ["coretalk latency", "cargo install"].iter().filter_map(|word| README.find(word)).min();
    assert!(first < others.unwrap() && second < others.unwrap(), "the two commands come first");
    // Building the tests may come first as a separate step.
    let commands = CI
        .lines()
        .map(str::trim_start)
        .filter(|line| line.contains("cargo ") && line.starts_with("step ") && !line.ends_with("--no-run"));
    assert!(commands.clone().next().unwrap().ends_with("cargo test --workspace"), ".ci/run begins with it");
    assert!(commands.count() > 4);
}

#[test]
fn links_between_documents_have_targets() {
    for (path, text) in text_files().into_iter().filter(|(path, _)| path.ends_with(".md")) {
        let folder = root().join(&path).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|link| link.0) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            assert!(file.exists(), "{path} links to {target}, which does not exist");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                let found = text.lines().any(|line| line.starts_with('#') && anchor_of(line) == anchor);
                assert!(found, "{path} links to {target}: there is no such heading");
            }
        }
    }
}

/// Returns the anchor of a heading: lower case, hyphens for spaces, no punctuation.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>()
        .replace(' ', "-")
}

/// Returns the documents named in a line: `README.md` and the like, pages of `docs`, and working notes that are not
/// part of the project.
fn named_documents(line: &str) -> Vec<String> {
    const NOTES: [&str; 6] = ["spec", "interface", "method", "measured", "screens", "style"];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let capital = |stem: &str| stem.len() > 1 && stem.chars().all(|c| c.is_uppercase() || c == '-');
    line.split(|c| !is_part(c))
        .filter_map(|word| Some((word, word.trim_end_matches('.').strip_suffix(".md")?)))
        .filter(|(_, stem)| capital(stem) || stem.starts_with("docs/") || NOTES.contains(stem))
        .map(|(word, _)| word.trim_end_matches('.').to_owned())
        .collect()
}
