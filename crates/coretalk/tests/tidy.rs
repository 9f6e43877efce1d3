//! The rules of the repository as tests: what would otherwise need a reviewer's memory.
#![allow(clippy::unwrap_used, reason = "a rule that cannot be checked fails its test")]

use clap::Parser;
use coretalk::args::Cli;
use coretalk::exit::ExitCode;
use coretalk_measure::probes::REGISTRY;
use coretalk_model::formats::FormatId;
use coretalk_model::infer::{Doubt, Standing};
use coretalk_model::latency::Purpose;
use coretalk_model::lint::Kind;
use coretalk_model::{Flag, Level, Protocol, Relation, Tool};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../../../README.md");
const METHOD: &str = include_str!("../../../docs/method.md");
const LATENCY: &str = include_str!("../../../docs/probes/latency.md");
const OTHER_TOOLS: &str = include_str!("../../../docs/other-tools.md");
const ARCHITECTURE: &str = include_str!("../../../ARCHITECTURE.md");
const FORMAT: &str = include_str!("../../../FORMAT.md");
const CHANGELOG: &str = include_str!("../../../CHANGELOG.md");
const CI: &str = include_str!("../../../.ci/run");

/// Somebody decides within a minute.
const MOST_WORDS_OF_README: usize = 1_500;
/// A page of a probe is read whole, before its numbers are trusted.
const MOST_WORDS_OF_PROBE: usize = 800;
/// A file with more lines holds a second noun.
const MOST_LINES: usize = 700;
/// Licences that a program under `MIT OR Apache-2.0` may be linked with without another word to its users.
const LICENCES: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "Zlib",
    "0BSD",
    "Unlicense",
    "Unicode-3.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
];
/// The one place that dependencies come from.
const REGISTRY_OF_CRATES: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn every_probe_has_a_page_that_the_method_links_to() {
    for probe in REGISTRY {
        let page = format!("probes/{}.md", probe.spec().id);
        let heading = format!("# {}", probe.spec().title);
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
        assert!(OTHER_TOOLS.contains(&format!("| `{}` |", tool.name())), "explain `{}`", tool.name());
    }
}

#[test]
fn the_changelog_has_a_heading_for_this_version() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(CHANGELOG.lines().any(|line| line.starts_with(&heading)), "add `{heading}` to CHANGELOG.md");
}

#[test]
fn the_format_lists_every_name_that_is_written() {
    let missing = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter(|name| !FORMAT.lines().any(|line| has_cell(line, name))).collect()
    };
    let quoted = |name: &str| format!("`{name}`");
    let mut names: Vec<String> = Vec::new();
    names.extend(Level::ALL.map(|level| quoted(level.name())));
    names.extend(Standing::ALL.map(|standing| quoted(standing.name())));
    names.extend(Doubt::ALL.map(|doubt| quoted(doubt.name())));
    names.extend(Relation::ALL.map(|relation| quoted(relation.name())));
    names.extend(Protocol::ALL.map(|protocol| quoted(protocol.name())));
    names.extend(FormatId::ALL.map(|format| quoted(format.name())));
    names.extend(Kind::ALL.map(|kind| quoted(kind.name())));
    #[cfg(target_os = "linux")]
    names.extend(coretalk_measure::host::doctor::CHECKS.iter().map(|check| quoted(check.id)));
    assert_eq!(missing(names), Vec::<String>::new(), "add a row to FORMAT.md");
}

#[test]
fn flags_and_purposes_stand_in_the_format_with_their_codes() {
    for (bit, flag) in Flag::ALL.iter().enumerate() {
        let row = format!("| {bit} | `{}` | {} |", flag.name(), flag.effect().name());
        assert!(FORMAT.contains(&row), "add `{row}` to FORMAT.md");
    }
    for (code, purpose) in Purpose::ALL.iter().enumerate() {
        let row = format!("| {code} | `{}` |", purpose.name());
        assert!(FORMAT.contains(&row), "add `{row}` to FORMAT.md");
    }
}

#[test]
fn every_exit_code_stands_in_the_format() {
    let section = section(FORMAT, "### Exit codes");
    for (code, _) in ExitCode::ALL {
        let row = format!("| {} |", code as u8);
        assert!(section.lines().any(|line| line.starts_with(&row)), "add `{row}` to FORMAT.md");
    }
}

#[test]
fn unsafe_code_is_only_in_the_crate_that_measures() {
    for crate_name in ["model", "coretalk"] {
        for (path, text) in rust_files(&format!("crates/{crate_name}/")) {
            for (number, line) in numbered(&text) {
                let used = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "allow(unsafe_code"]
                    .iter()
                    .any(|word| line.contains(word) && !line.contains(&format!("\"{word}")));
                assert!(!used, "{path}:{number} uses unsafe outside crates/measure");
            }
        }
    }
}

#[test]
fn the_model_touches_nothing() {
    let touching =
        ["std::fs", "std::thread", "std::net", "std::process", "std::env", "std::io", "Instant", "println!"];
    forbid("crates/model/src/", &touching);
}

#[test]
fn probes_get_a_stage_and_nothing_else() {
    let beyond = ["crate::host", "std::fs", "std::thread", "std::time", "std::io", "println!", "Instant"];
    forbid("crates/measure/src/probes/", &beyond);
}

#[test]
fn the_report_has_no_means_of_its_own() {
    let estimators =
        ["stats::mean", "stats::median", "stats::mad", "passes_interval", "split_states", ".powi(2)"];
    forbid("crates/coretalk/src/report/", &estimators);
}

#[test]
fn nothing_above_the_machine_asks_whether_it_is_real() {
    let sides = ["HostMachine", "SimMachine", "crate::host", "crate::sim", "measure::host", "measure::sim"];
    for part in [
        "measure/src/session/",
        "measure/src/schedule.rs",
        "coretalk/src/store/",
        "coretalk/src/report/",
        "coretalk/src/export/",
        "coretalk/src/document/",
        "model/src/",
    ] {
        forbid(&format!("crates/{part}"), &sides);
    }
}

#[test]
fn the_output_in_documents_is_real() {
    for path in ["README.md", "docs/guide.md"] {
        let blessing = std::env::var_os("UPDATE_README").is_some();
        // Read now and not when this was compiled, so that it passes right after an update.
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
        if blessing {
            std::fs::write(root().join(path), fresh).unwrap();
        } else {
            assert!(
                fresh == document,
                "the output in {path} is not current: UPDATE_README=1 rewrites it\n{fresh}"
            );
        }
    }
}

/// Each line of a block for a shell that calls the tool is parsed as it stands.
#[test]
fn commands_in_documents_are_understood() {
    let mut commands = 0;
    for (path, text) in text_files().into_iter().filter(|(path, _)| path.ends_with(".md")) {
        for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for line in block.lines().filter(|line| *line == "coretalk" || line.starts_with("coretalk ")) {
                let command = line.split(" #").next().unwrap_or_default();
                // What stands between quotes is one word.
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
    assert!(words <= MOST_WORDS_OF_README, "{words} words in README.md");
    let pages = text_files().into_iter().filter(|(path, _)| path.starts_with("docs/probes/"));
    for (path, text) in pages {
        let words = text.split_whitespace().count();
        assert!(words <= MOST_WORDS_OF_PROBE, "{words} words in {path}, {MOST_WORDS_OF_PROBE} at most");
    }
}

#[test]
fn cargo_deny_allows_the_same_licences() {
    let manifest = read("deny.toml");
    let allowed = manifest.lines().find_map(|line| line.strip_prefix("allow = [")).unwrap();
    let allowed: Vec<&str> = allowed.split('"').skip(1).step_by(2).collect();
    assert_eq!(allowed, LICENCES);
}

#[test]
fn every_dependency_has_its_reason_above_it() {
    let manifest = read("Cargo.toml");
    let workspace = section(&manifest, "[workspace.dependencies]");
    let declared = entries(&workspace);
    assert!(declared.len() > 10, "the section was not read: {declared:?}");
    for (name, above) in &declared {
        assert!(name.starts_with("coretalk-") || above.starts_with("# "), "give the reason for {name}");
    }
    for manifest in ["crates/model/Cargo.toml", "crates/measure/Cargo.toml", "crates/coretalk/Cargo.toml"] {
        let text = read(manifest);
        for header in text.lines().filter(|line| line.starts_with('[') && line.contains("dependencies")) {
            for (name, above) in entries(&section(&text, header)) {
                let inherited =
                    name.ends_with(".workspace") || declared.iter().any(|(known, _)| *known == name);
                assert!(inherited || above.starts_with("# "), "{manifest}: give the reason for {name}");
            }
        }
    }
}

#[test]
fn every_declared_dependency_is_used_by_a_crate() {
    let manifest = read("Cargo.toml");
    let crates =
        ["crates/model/Cargo.toml", "crates/measure/Cargo.toml", "crates/coretalk/Cargo.toml"].map(read);
    for (name, _) in entries(&section(&manifest, "[workspace.dependencies]")) {
        let used = |text: &String| {
            text.lines().any(|line| {
                line.starts_with(&format!("{name}.workspace")) || line.starts_with(&format!("{name} = "))
            })
        };
        assert!(crates.iter().any(used), "no crate uses {name}: remove it from Cargo.toml");
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
        // A crate for another system may never have been fetched; the check in `.ci/run` goes online.
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
        return;
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 3);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(fits(licence), "{name} is under `{licence}`: replace it, or argue for it in deny.toml");
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
        assert_eq!(fits(expression), expected, "{expression}");
    }
}

#[test]
fn no_file_holds_a_second_noun() {
    for (path, text) in rust_files("crates/") {
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{path} has {lines} lines; split it (at most {MOST_LINES})");
    }
}

#[test]
fn nothing_is_left_to_be_done_in_silence() {
    // In parts, so that this file passes its own test.
    let words =
        [["to", "do!("].concat(), ["db", "g!("].concat(), ["FIX", "ME"].concat(), ["X", "XX:"].concat()];
    for (path, text) in text_files() {
        for (number, line) in numbered(&text) {
            for word in &words {
                assert!(!line.contains(word.as_str()), "{path}:{number} holds `{word}`");
            }
        }
    }
}

#[test]
fn every_silenced_lint_says_why() {
    let silencing = [["#[all", "ow("].concat(), ["#![all", "ow("].concat(), ["#[exp", "ect("].concat()];
    for (path, text) in rust_files("crates/") {
        for (number, line) in numbered(&text) {
            if silencing.iter().any(|word| line.contains(word.as_str())) {
                assert!(line.contains("reason = \""), "{path}:{number}: add `reason = \"…\"`");
            }
        }
    }
}

#[test]
fn no_tracked_file_knows_where_it_was_made() {
    // In parts, so that this file passes its own test.
    let places = [["/wo", "rk/"], ["/ho", "me/"], ["/ro", "ot/"], ["/Us", "ers/"], ["C:\\", "Users"]]
        .map(|p| p.concat());
    for (path, text) in text_files() {
        for (number, line) in numbered(&text) {
            for place in &places {
                // A made-up path in a test of privacy is no place.
                let made_up = line.contains("/home/alice") || line.contains("/home/me/");
                assert!(made_up || !line.contains(place.as_str()), "{path}:{number} names {place}");
            }
        }
    }
}

#[test]
fn documents_that_are_named_exist() {
    for (path, text) in text_files() {
        for (number, line) in numbered(&text) {
            for name in named_documents(line) {
                let beside = root().join(&path).with_file_name(&name);
                assert!(
                    root().join(&name).exists() || beside.exists(),
                    "{path}:{number} names {name}, which does not exist"
                );
            }
        }
    }
}

#[test]
fn the_code_map_names_what_exists() {
    let mut named = 0;
    for line in section(ARCHITECTURE, "## Code map").lines() {
        let Some(path) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) else { continue };
        assert!(root().join(path.0).exists(), "ARCHITECTURE.md maps {}, which does not exist", path.0);
        named += 1;
    }
    assert!(named > 20, "the code map was not found");
}

#[test]
fn the_code_map_leaves_no_module_out() {
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
fn tests_that_architecture_names_exist() {
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
fn the_first_commands_of_the_readme_are_run_and_test_and_the_checks_begin_with_the_latter() {
    let first = README.find("cargo run --release").unwrap();
    let second = README.find("cargo test --workspace").unwrap();
    let others = ["coretalk latency", "cargo install"].iter().filter_map(|word| README.find(word)).min();
    assert!(first < others.unwrap() && second < others.unwrap(), "the two commands come first");
    // Building the tests may be a step of its own.
    let commands = CI.lines().map(str::trim_start).filter(|line| {
        line.contains("cargo ")
            && line.starts_with("step ")
            && !line.ends_with("cargo test --workspace --no-run")
    });
    assert!(commands.clone().next().unwrap().ends_with("cargo test --workspace"), ".ci/run begins with it");
    assert!(commands.count() > 4);
}

#[test]
fn links_between_documents_lead_somewhere() {
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

/// The anchor that a heading gets: lower case, words joined by hyphens, punctuation left out.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .collect::<String>()
        .replace(' ', "-")
}

/// Documents that a line names: `FORMAT.md` and its like, pages of `docs`, and working notes, which do not travel with
/// the project.
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

/// None of the words outside tests, in any file below a path.
fn forbid(below: &str, words: &[&str]) {
    let files = rust_files(below);
    assert!(!files.is_empty(), "nothing below {below}");
    for (path, text) in
        files.iter().filter(|(path, _)| !path.ends_with("/tests.rs") && !path.ends_with("/two_threads.rs"))
    {
        let code = text.split("#[cfg(all(test").next().unwrap().split("#[cfg(test)]").next().unwrap();
        for (number, line) in numbered(code).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for word in words {
                assert!(!line.contains(word), "{path}:{number} holds `{word}`");
            }
        }
    }
}

/// Whether a licence expression can be fulfilled from the list: all parts of each AND, any of each OR.
fn fits(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let all = expression.split(" AND ").map(|part| part.trim().trim_matches(['(', ')']));
    all.clone().all(|part| part.split(" OR ").any(|one| LICENCES.contains(&one.trim())))
}

/// Whether a row of a table has exactly this cell.
fn has_cell(line: &str, cell: &str) -> bool {
    line.starts_with('|') && line.split('|').any(|found| found.trim() == cell)
}

/// What stands below a heading, up to the next of its rank or above; for TOML up to the next table.
fn section(text: &str, heading: &str) -> String {
    let rank = |line: &str| line.chars().take_while(|&c| c == '#').count();
    let toml = heading.starts_with('[');
    let ends =
        |line: &&str| if toml { line.starts_with('[') } else { (1..=rank(heading)).contains(&rank(line)) };
    let lines = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !ends(line));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Name and line above of every entry of a TOML table of dependencies.
fn entries(table: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = table.lines().collect();
    let entry = |(index, line): (usize, &&str)| {
        let name = line.split([' ', '=']).next().filter(|name| !name.is_empty() && !name.starts_with('#'))?;
        let above = index.checked_sub(1).map_or("", |above| lines[above]);
        line.contains('=').then(|| (name.to_owned(), above.to_owned()))
    };
    lines.iter().enumerate().filter_map(entry).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Every text file of the project with its path: those that git tracks, or, without git, those of the known folders.
fn text_files() -> Vec<(String, String)> {
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let paths: BTreeSet<String> = match tracked {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            String::from_utf8(output.stdout).unwrap().split('\0').map(str::to_owned).collect()
        }
        _ => {
            let mut paths = BTreeSet::new();
            walk(&root(), &mut paths);
            paths
        }
    };
    let text = |path: String| Some((path.clone(), std::fs::read_to_string(root().join(&path)).ok()?));
    let files: Vec<(String, String)> =
        paths.into_iter().filter(|path| !path.is_empty()).filter_map(text).collect();
    assert!(files.len() > 100, "only {} files were found", files.len());
    files
}

fn walk(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && (name == ".ci" || !name.starts_with('.')) {
            walk(&path, into);
        } else if path.is_file() && !name.starts_with('.') {
            into.insert(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
        }
    }
}

fn rust_files(below: &str) -> Vec<(String, String)> {
    text_files().into_iter().filter(|(path, _)| path.starts_with(below) && path.ends_with(".rs")).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}
