//! No control flow depends on text that the program itself wrote: facts keep their types until they are displayed.

use super::{numbered, rust_files};
use regex::Regex;
use std::collections::BTreeMap;

/// Calls that search or split text. Splitting a list at a character and comparing identifiers do not count.
const CALLS: &str = r#"(?x) \.contains\( (["'] | &format!) | \.r?find\(["'] | \.(replace|split)\(" | \.(
    strip_prefix | strip_suffix | r?split_once | starts_with | ends_with | replacen | rsplit
    | trim_(start|end)_matches)\("#;

/// Paths in which the test looks for [`CALLS`].
const SEARCHED: [&str; 4] = ["coretalk/src/", "model/src/", "measure/src/session", "report/src/"];

/// Exceptions: paths with code that reads text from other sources, and the kind of text.
const READERS: [(&str, &str); 7] = [
    ("coretalk/src/args", "arguments"),
    ("coretalk/src/commands/shell.rs", "completions that clap generates"),
    ("coretalk/src/selftest", "/proc, and a process of its own"),
    ("coretalk/src/store/", "run files, their names and selectors"),
    ("model/src/external.rs", "names of runtimes as users type them"),
    ("model/src/formats/", "files of other tools"),
    ("model/src/selection.rs", "CPUs as users type them"),
];

/// Exceptions: files that use [`CALLS`], with the number of lines and the kind of text.
const USES: &[(&str, usize, &str)] = &[
    ("coretalk/src/commands.rs", 1, "arguments"),
    ("coretalk/src/commands/facts.rs", 3, "arguments"),
    ("coretalk/src/resolve/placement.rs", 1, "a path"),
    ("coretalk/src/run/signals.rs", 1, "/proc"),
    ("coretalk/src/terminal.rs", 2, "variables of the environment"),
    ("model/src/cpu.rs", 3, "lists of CPUs"),
    ("model/src/kernel.rs", 3, "names of kernels in run files"),
    ("model/src/place/settings.rs", 1, "names of metrics in run files"),
    ("model/src/place/workload.rs", 1, "names of workloads"),
    ("model/src/recording.rs", 3, "reasons and keys in run files"),
    ("model/src/series/headline.rs", 1, "names of quantities in run files"),
    ("model/src/series/name.rs", 2, "names of series, as trials are labelled"),
    ("model/src/series/record.rs", 1, "names of values in run files"),
    ("model/src/time.rs", 1, "times and rates in arguments"),
    ("model/src/wait.rs", 1, "names of strategies"),
    ("report/src/advise.rs", 1, "the number of lines, for layout"),
    ("report/src/document.rs", 8, "arguments"),
    ("report/src/facts.rs", 1, "a full stop"),
    ("report/src/figure/labels.rs", 1, "the first range of a list of CPUs"),
    ("report/src/fmt.rs", 3, "templates of sentences, and a percentage"),
    ("report/src/fmt/digits.rs", 1, "plural forms"),
    ("report/src/harmless.rs", 4, "terminal sequences"),
    ("report/src/html/machine.rs", 1, "arguments"),
    ("report/src/idle.rs", 1, "names of idle states in a run file"),
    ("report/src/labels.rs", 1, "a name that begins with a digit"),
    ("report/src/picture/svg.rs", 1, "zeros at the end of a number"),
    ("report/src/render/html.rs", 1, "blanks for layout"),
    ("report/src/render/terminal.rs", 4, "words for wrapping"),
    ("report/src/runs.rs", 1, "arguments"),
    ("report/src/text.rs", 5, "terminal sequences, wrapping and a time stamp"),
    ("report/src/words/heading.rs", 2, "the CPU model that the system reports"),
];

#[test]
fn no_code_parses_text_that_the_program_wrote() {
    let calls = Regex::new(CALLS).unwrap();
    let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let files = SEARCHED.iter().flat_map(|part| rust_files(&format!("crates/{part}")));
    for (path, text) in files.filter(|(path, _)| !path.ends_with("/tests.rs") && !path.contains("/tests/")) {
        let path = path.trim_start_matches("crates/");
        if READERS.iter().any(|(reader, _)| path.starts_with(reader)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in numbered(code).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if calls.is_match(line) || compares_words(line) {
                found.entry(path.to_owned()).or_default().push(number);
            }
        }
    }
    let listed: BTreeMap<&str, usize> = USES.iter().map(|(path, uses, _)| (*path, *uses)).collect();
    for (path, lines) in &found {
        let is_listed = listed.get(path.as_str()) == Some(&lines.len());
        assert!(is_listed, "{path}: lines {lines:?} search text; give the fact a type, or extend USES");
    }
    let gone: Vec<_> = listed.keys().filter(|path| !found.contains_key(**path)).collect();
    assert!(gone.is_empty(), "{gone:?} search no text any more; shrink USES");
}

/// Whether a line compares with a text that is not an identifier.
fn compares_words(line: &str) -> bool {
    let compared = ["== \"", "!= \""].iter().flat_map(|operator| line.split(operator).skip(1));
    let is_identifier = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    compared.filter_map(|rest| rest.split_once('"')).any(|(text, _)| !text.chars().all(is_identifier))
}

#[test]
fn words_are_distinguished_from_identifiers() {
    assert!(compares_words("if width == \"?\" {") && compares_words("a != \"not measured\""));
    assert!(!compares_words("name == \"median_ns\"") && !compares_words("let text = \"one two\";"));
}

#[test]
fn exceptions_are_sorted_and_their_paths_exist() {
    let paths: Vec<&str> = USES.iter().map(|(path, ..)| *path).collect();
    assert!(paths.is_sorted_by(|a, b| a < b), "USES is sorted, and each file stands in it once");
    for (reader, text) in READERS {
        assert!(!rust_files(&format!("crates/{reader}")).is_empty() && !text.is_empty(), "{reader}");
    }
}
