//! Rules of the architecture: allowed imports, so that data flows one way; files that may name probes; and that meaning
//! is declared, never parsed from names.
#![allow(clippy::unwrap_used, reason = "a rule that cannot be checked fails its test")]

use crate::tidy::rust_files;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Sources by module path: the crate, then one name for each folder and the file.
type Files = BTreeMap<Vec<String>, String>;
type Imports = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Reads all source files without their tests and comments.
fn files() -> Files {
    let tests = Regex::new(r"\n#\[cfg\((all\()?test").unwrap();
    let comment = Regex::new(r"//[^\n]*").unwrap();
    let code_of = |(path, text): (String, String)| {
        let code = &text[..tests.find(&text).map_or(text.len(), |found| found.start())];
        (module(&path), comment.replace_all(code, "").into_owned())
    };
    let is_source = |path: &str| path.contains("/src/") && !path.ends_with("/tests.rs");
    rust_files("crates/").into_iter().filter(|(path, _)| is_source(path)).map(code_of).collect()
}

/// Converts a path: `crates/model/src/stats/gate.rs` is `model`, `stats`, `gate`; the root file of a crate is the
/// crate.
fn module(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("crates/").trim_end_matches(".rs").replacen("/src", "", 1);
    let names = path.split('/').filter(|name| !["lib", "main"].contains(name));
    names.map(str::to_owned).collect()
}

/// Lists the leaves of `a::{b, c::{d, e}}`.
fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((head, inner)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let inner = inner.trim_end().trim_end_matches('}');
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(part)).map(|leaf| format!("{head}{leaf}")).collect()
}

/// Returns the files that each file imports, except its own ancestors.
fn imports(files: &Files) -> Imports {
    let uses = Regex::new(r"\buse\s+([^;]+);").unwrap();
    let paths = Regex::new(r"\b(?:crate|super|self|coretalk_\w+)(?:::\w+)+").unwrap();
    let imports_of = |(importer, code): (&Vec<String>, &String)| {
        let mut named: Vec<String> = uses.captures_iter(code).flat_map(|found| leaves(&found[1])).collect();
        named.extend(paths.find_iter(&uses.replace_all(code, "")).map(|found| found.as_str().to_owned()));
        let targets = named.iter().filter_map(|path| target(files, importer, path));
        (importer.clone(), targets.filter(|target| !importer.starts_with(target)).collect())
    };
    files.iter().map(imports_of).collect()
}

fn target(files: &Files, importer: &[String], path: &str) -> Option<Vec<String>> {
    let mut names: Vec<&str> = path.split("::").map(str::trim).filter(|name| !name.is_empty()).collect();
    let supers = names.iter().take_while(|name| **name == "super").count();
    let mut at: Vec<String> = match *names.first()? {
        "crate" => importer[..1].to_vec(),
        "self" => importer.to_vec(),
        "super" => importer[..importer.len().saturating_sub(supers).max(1)].to_vec(),
        other => match other.strip_prefix("coretalk_") {
            Some(other) => vec![other.to_owned()],
            // The bare name of a child module.
            None => {
                Some([importer, &[other.to_owned()]].concat()).filter(|child| files.contains_key(child))?
            }
        },
    };
    names.drain(..supers.max(1));
    at.extend(names.into_iter().map(str::to_owned));
    (1..=at.len()).rev().map(|length| at[..length].to_vec()).find(|module| files.contains_key(module))
}

/// Returns the files in import cycles, by repeatedly removing files without imports or importers.
fn cycles(mut imports: Imports) -> Vec<String> {
    loop {
        let needed: BTreeSet<Vec<String>> = imports.values().flatten().cloned().collect();
        let known: BTreeSet<Vec<String>> = imports.keys().cloned().collect();
        imports.retain(|file, targets| {
            targets.retain(|target| known.contains(target));
            !targets.is_empty() && needed.contains(file)
        });
        if imports.len() == known.len() {
            return known.into_iter().map(|file| file.join("::")).collect();
        }
    }
}

#[test]
fn no_files_import_each_other() {
    let files = files();
    assert!(files.len() > 300, "{} files", files.len());
    assert_eq!(cycles(imports(&files)), Vec::<String>::new());
}

/// Parts of the report that documents may import; the others make screens and pages.
const DOCUMENT_IMPORTS: [&str; 6] = ["advice", "clock", "document", "harmless", "reasons", "snippets"];

#[test]
fn the_report_knows_the_model_alone() {
    for (file, targets) in &imports(&files()) {
        for target in targets {
            let [from, to] = [file, target].map(|names| names.iter().map(|name| &**name).collect::<Vec<_>>());
            let is_wrong = match (&from[..], &to[..]) {
                (["report", "document", ..], ["report", part, ..]) => !DOCUMENT_IMPORTS.contains(part),
                (["report", "blocks", ..], ["report", part, ..]) => *part == "document",
                (["report", ..], [other, ..]) => !["model", "report"].contains(other),
                (["coretalk"] | ["coretalk", "commands", ..], _) => false,
                (_, to) => to.starts_with(&["coretalk", "commands"]),
            };
            assert!(!is_wrong, "{} imports {}", from.join("::"), to.join("::"));
        }
    }
}

/// Modules that may name any probe: names in files and documents are contracts, and help examples are typed commands.
const CONTRACTS: [&str; 4] =
    ["coretalk::args::examples", "report::document", "report::export", "coretalk::store"];

/// Words equal to probe names, with another meaning: the file, the words, and the meaning.
const OTHER_WORDS: &[(&str, &str, &str)] = &[
    ("coretalk::commands::shell", "contend latency place", "commands, whose option has words of its own"),
    ("coretalk::commands::shell", "jitter", "an option of `advise`"),
    ("report::figure::multiples", "queue", "a parameter"),
    ("report::spawn", "latency", "a distribution"),
    ("measure::adapters::protocol", "contend queue spawn wait wake", "words of the protocol"),
    ("measure::host::doctor::frequency", "latency", "a file of the system"),
    ("measure::probes::latency_under_load::trials", "latency", "the probe that it belongs to"),
    ("model::advise", "latency", "what an advice rests on"),
    ("model::compare::of_matrix", "latency", "what a file of another tool holds"),
    ("model::formats::field", "latency", "a word next to a unit"),
    ("model::formats::json", "latency", "the probe of a matrix in a document of coretalk"),
    ("model::formats::pairs", "latency", "a word in the heading of a column"),
    ("model::probes::spawn", "latency", "a distribution"),
    ("model::series::rungs", "wake", "the steps of the ladder that are trials"),
];

/// Files that distinguish probes by their name constants, with the reason.
const DISTINGUISHING: &[(&str, &str)] = &[
    ("coretalk::commands::advise::noise", "`advise --jitter` reads a run of one probe"),
    ("report::figure::multiples", "a figure for each queue, by capacity"),
    ("report::input", "the roles of a matrix of queues"),
    ("report::input::map", "a latency map is named by its kernel"),
    ("report::series", "the blocks that a probe has next to its table"),
    ("report::suite", "the same on screens of several probes"),
    ("report::trial_maps", "probes whose tables have a form of their own"),
    ("coretalk::run::resume", "a command that is typed with `--resume`"),
    ("model::run", "only runs of queues show load"),
];

#[test]
fn a_probe_is_named_in_its_own_files_and_nowhere_else() {
    let probes = coretalk_measure::probes::REGISTRY.iter();
    let ids: BTreeSet<&str> = probes.map(|probe| probe.declaration().id).chain(["place"]).collect();
    assert!(ids.len() >= 9, "{ids:?}");
    let (mut found, mut distinguishing) = (BTreeSet::new(), BTreeSet::new());
    let constant = Regex::new(r"\bPROBE\b").unwrap();
    for (file, code) in files() {
        let path = file.join("::");
        let is_own = |id: &&&str| file.iter().any(|name| *name == id.replace('-', "_"));
        let is_contract = CONTRACTS.iter().any(|prefix| path.starts_with(prefix));
        if constant.is_match(&code) && !is_contract && !ids.iter().any(|id| is_own(&id)) {
            distinguishing.insert(path.clone());
        }
        for id in ids.iter().filter(|id| !is_own(id) && !is_contract && code.contains(&format!("\"{id}\""))) {
            found.insert((path.clone(), (*id).to_owned()));
        }
    }
    let pairs = |&(path, ids, _): &(&str, &'static str, &str)| {
        ids.split(' ').map(move |id| (path.to_owned(), id.to_owned())).collect::<Vec<_>>()
    };
    let known = OTHER_WORDS.iter().flat_map(pairs);
    assert_eq!(found, known.collect(), "declare properties of a probe in its own files");
    let known = DISTINGUISHING.iter().map(|(path, _)| (*path).to_owned());
    assert_eq!(distinguishing, known.collect(), "declare properties of a probe in its own files");
}

#[test]
fn nothing_reads_a_unit_or_a_direction_out_of_a_name() {
    let parsing =
        Regex::new(r#"(ends_with|strip_suffix|contains|starts_with)\("(_|jain|gaps@|[a-z_]+_per_)"#).unwrap();
    for (file, code) in files() {
        let found = parsing.find(&code).map(|found| found.as_str());
        assert_eq!(found, None, "{}: declare it in a Quantity, a Parameter or a Metric", file.join("::"));
    }
}

#[test]
fn every_error_of_the_libraries_has_a_type() {
    let text = Regex::new(r"Result<[^<>;{}]*(<[^<>]*>)?[^<>;{}]*, String>").unwrap();
    for (file, code) in files().iter().filter(|(file, _)| file[0] != "coretalk") {
        assert_eq!(text.find(code).map(|found| found.as_str()), None, "{}", file.join("::"));
    }
}

#[test]
fn an_import_cycle_is_found_and_a_parent_is_not_one() {
    let file = |path: &str, code: &str| (module(path), code.to_owned());
    let mut files: Files = [
        file("crates/model/src/lib.rs", ""),
        file("crates/model/src/a.rs", "mod x; use crate::b::{self, B}; use x::X;"),
        file("crates/model/src/a/x.rs", "use super::A;"),
        file("crates/model/src/b.rs", "use super::c::{C, D as E};"),
        file("crates/model/src/c.rs", ""),
        file("crates/measure/src/lib.rs", "use coretalk_model::a::A;"),
    ]
    .into();
    assert_eq!(cycles(imports(&files)), Vec::<String>::new());
    // b and c need a child of a, which needs only its parent.
    files.extend([file("crates/model/src/c.rs", "fn c() { crate::a::x::f() }")]);
    assert_eq!(cycles(imports(&files)), Vec::<String>::new());
    files.extend([file("crates/model/src/c.rs", "use crate::{b::B, d::D};")]);
    assert_eq!(cycles(imports(&files)), ["model::b", "model::c"]);
    files.extend([
        file("crates/model/src/b.rs", ""),
        file("crates/model/src/a/x.rs", "use crate::c::C;"),
        file("crates/model/src/c.rs", "use crate::a::A;"),
    ]);
    assert_eq!(cycles(imports(&files)), ["model::a", "model::a::x", "model::c"], "through a child");
}
