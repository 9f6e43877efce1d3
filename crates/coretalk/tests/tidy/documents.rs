//! Documents: names in them exist, shown output is current, and required contents are present.

use super::{lines, read, root, rust_files, section, text_files};
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
const ARCHITECTURE: &str = include_str!("../../../../ARCHITECTURE.md");
const JSON: &str = include_str!("../../../../docs/format/json.md");

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
    let method = read("docs/method.md");
    for declaration in REGISTRY.iter().map(|probe| probe.declaration()) {
        let page = format!("probes/{}.md", declaration.id);
        assert!(method.contains(&format!("]({page})")), "link to {page} in docs/method.md");
        let text = read(&format!("docs/{page}"));
        assert!(text.starts_with(&format!("# {}\n", declaration.title)), "the title of docs/{page}");
    }
}

#[test]
fn every_protocol_and_imitated_tool_is_explained() {
    let [latency, ladder] = ["latency", "latency-ladder"].map(|name| read(&format!("docs/probes/{name}.md")));
    for protocol in Protocol::ALL {
        let heading = format!("\n### `{}`", protocol.name());
        assert!(latency.contains(&heading), "add `{heading}`");
    }
    for tool in Tool::ALL {
        assert!(ladder.contains(&format!("| `{}` |", tool.name())), "explain `{}`", tool.name());
    }
}

#[test]
fn the_changelog_has_a_heading_for_this_version() {
    let heading = format!("\n## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(read("CHANGELOG.md").contains(&heading), "add `{heading}` to CHANGELOG.md");
}

#[test]
fn the_documents_list_every_name_in_outputs() {
    for (document, names) in [
        (JSON, &Level::ALL.map(Level::name)[..]),
        (JSON, &AgreementVerdict::ALL.map(AgreementVerdict::name)),
        (JSON, &SuspectReason::ALL.map(SuspectReason::name)),
        (JSON, &Relation::ALL.map(Relation::name)),
        (&read("docs/format/import.md"), &FormatId::ALL.map(FormatId::name)),
        (&read("docs/topology.md"), &Kind::ALL.map(Kind::name)),
    ] {
        let missing: Vec<_> = names.iter().filter(|name| !document.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn flags_purposes_and_exit_codes_are_listed_with_their_codes() {
    let assert_listed = |document: &str, row: String| assert!(document.contains(&row), "add `{row}`");
    let run_file = read("docs/format/run-file.md");
    for (bit, flag) in Flag::ALL.iter().enumerate() {
        assert_listed(JSON, format!("| {bit} | `{}` | {} |", flag.name(), flag.effect().name()));
    }
    for (code, purpose) in Purpose::ALL.iter().enumerate() {
        assert_listed(&run_file, format!("| {code} | `{}` |", purpose.name()));
    }
    let exit_codes = section(JSON, "## Exit codes");
    for (code, _) in ExitCode::ALL {
        assert_listed(&exit_codes, format!("\n| {} |", code as u8));
    }
}

#[test]
fn the_output_in_documents_is_current() {
    for path in ["README.md", "docs/guide.md"] {
        // Read at run time, so that the test passes right after an update.
        let document = read(path);
        let (first, blocks) = document.split_once("```console\n").unwrap();
        let mut fresh = first.to_owned();
        for part in blocks.split("```console\n") {
            let (block, after) = part.split_once("```").unwrap();
            let command = block.lines().next().unwrap();
            let words = command.strip_prefix("$ coretalk ").unwrap().split_whitespace();
            let mut call = Command::new(env!("CARGO_BIN_EXE_coretalk"));
            let output = call.args(words).env_remove("COLUMNS").env("NO_COLOR", "1").output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed: String = printed.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            fresh += &format!("```console\n{command}\n{printed}```{after}");
        }
        if std::env::var_os("UPDATE_README").is_some() {
            std::fs::write(root().join(path), fresh).unwrap();
        } else {
            assert!(fresh == document, "the output in {path} is old: UPDATE_README=1 rewrites it\n{fresh}");
        }
    }
}

#[test]
fn commands_in_documents_are_valid() {
    let mut commands = 0;
    for (path, text) in text_files().into_iter().filter(|(path, _)| path.ends_with(".md")) {
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().filter(|line| *line == "coretalk" || line.starts_with("coretalk ")) {
                let command = line.split(" #").next().unwrap_or_default();
                // Quoted text is one word.
                let mut parts: Vec<String> = command.split('\'').map(str::to_owned).collect();
                parts.iter_mut().skip(1).step_by(2).for_each(|quoted| *quoted = quoted.replace(' ', "_"));
                let command = parts.concat();
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
    for (path, number, line) in lines(&text_files()) {
        for name in named_documents(line) {
            let places = [root().join(&name), root().join(path).with_file_name(&name)];
            assert!(places.iter().any(|place| place.exists()), "{path}:{number} names {name}: missing");
        }
    }
}

#[test]
fn paths_in_the_code_map_exist() {
    let map = section(ARCHITECTURE, "## Code map");
    let paths = map.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0));
    assert!(paths.clone().count() > 20, "the code map was not found");
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md maps {path}, which does not exist");
    }
}

#[test]
fn the_code_map_lists_every_module() {
    let map = section(ARCHITECTURE, "## Code map");
    for crate_name in ["model", "measure", "coretalk"] {
        for entry in std::fs::read_dir(root().join(format!("crates/{crate_name}/src"))).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let mut rows = map.lines().filter(|row| row.contains(&format!("crates/{crate_name}/src/")));
            let ends = [format!("/{name}`"), format!("`{name}`")];
            let is_mapped = rows.any(|row| ends.iter().any(|end| row.contains(end)));
            let is_exempt = path.is_dir() || name == "lib.rs";
            assert!(is_mapped || is_exempt, "map crates/{crate_name}/src/{name} in ARCHITECTURE.md");
        }
    }
}

#[test]
fn tests_named_in_architecture_exist() {
    let tests: String = rust_files("crates/").into_iter().map(|(_, text)| text).collect();
    let names = ARCHITECTURE.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("test "));
    assert!(names.clone().count() >= 10, "the invariants name no tests");
    for name in names {
        assert!(tests.contains(&format!("fn {name}(")), "ARCHITECTURE.md names the missing test {name}");
    }
}

#[test]
fn the_readme_begins_with_run_and_test_and_ci_begins_with_test() {
    let first = README.find("cargo run --release").unwrap();
    let second = README.find("cargo test --workspace").unwrap();
    let others = ["coretalk latency", "cargo install"].iter().filter_map(|word| README.find(word)).min();
    assert!(first < others.unwrap() && second < others.unwrap(), "the two commands come first");
    // Building the tests may come first as a separate step.
    let ci = read(".ci/run");
    let steps = ci.lines().map(str::trim_start).filter(|line| line.starts_with("step "));
    let commands = steps.filter(|line| line.contains("cargo ") && !line.ends_with("--no-run"));
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
    let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    words.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
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
