//! Parses the command line into a [`Cli`] and reports each error in one sentence.

use super::options::Global;
use super::words::ReportFormat;
use super::{Cli, examples, options};
use crate::exit::Failure;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};
use coretalk_measure::SeriesProbe;
use coretalk_measure::probes::series_by_id;
use coretalk_report::export::Format;
use std::ffi::OsString;

/// Result of parsing.
#[derive(Debug)]
pub enum Typed {
    /// A command to execute.
    Command(Box<Invocation>),
    /// Text to print: help or the version.
    Text(String),
    /// A request for build details.
    Build,
}

/// A command with its options.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Parsed command line without the ignored options.
    pub cli: Cli,
    /// The options present on the command line.
    pub typed: Vec<TypedOption>,
    /// Arguments without the program name and the ignored options.
    pub words: Vec<String>,
    /// A notice for each ignored option.
    pub ignored: Vec<String>,
}

/// An option present on the command line, as named in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedOption {
    /// The id.
    pub id: String,
    /// The flag: `--no-save`.
    pub flag: String,
}

impl Invocation {
    /// Whether the option with this id is present.
    pub fn has(&self, id: &str) -> bool {
        self.flag(id).is_some()
    }

    /// The flag of the option with this id, if present.
    pub fn flag(&self, id: &str) -> Option<String> {
        self.typed.iter().find(|typed| typed.id == id).map(|typed| typed.flag.clone())
    }
}

/// Definitions for parsing, help and completion. Each command hides the options that it does not support.
pub fn definitions() -> Command {
    definitions_for(|_| true)
}

/// Adds unsupported options only to used commands. Adding them to all commands takes a quarter of the startup time.
fn definitions_for(is_used: impl Fn(&str) -> bool) -> Command {
    let of_quick_look = options::QUICK_LOOK.concat();
    let is_hidden = |arg: &Arg| arg.is_global_set() && !of_quick_look.contains(&arg.get_id().as_str());
    let root = Cli::command().mut_args(|arg| if is_hidden(&arg) { arg.hide(true) } else { arg });
    let root = examples::EXAMPLES.iter().fold(root, |root, (command, examples)| {
        let help = examples::help(examples);
        match *command {
            "" => root.after_help(help),
            name => root.mut_subcommand(name, |command| command.after_help(help)),
        }
    });
    let all = options::all();
    root.mut_subcommands(|command| match is_used(command.get_name()) {
        true => with_unsupported_options(command, &all),
        false => command,
    })
}

fn with_unsupported_options(command: Command, all: &[Arg]) -> Command {
    let takes = |arg: &&Arg| command.get_arguments().any(|own| own.get_id() == arg.get_id());
    let unsupported: Vec<Arg> =
        all.iter().filter(|arg| !takes(arg)).map(|arg| arg.clone().hide(true)).collect();
    with_names(command)
        .args(unsupported)
        .mut_subcommands(|subcommand| with_unsupported_options(subcommand, all))
}

/// Replaces `{names}` in the help of a probe's options by the variants of the probe, except runtimes.
fn with_names(command: Command) -> Command {
    let variants = series_by_id(command.get_name()).map_or(Vec::new(), SeriesProbe::variants);
    let Some((_, native)) = variants.split_last() else { return command };
    let names: Vec<&str> = native.iter().map(|(name, _)| name.as_str()).collect();
    command.mut_args(|arg| match arg.get_help() {
        Some(help) => {
            let help = help.to_string().replace("{names}", &names.join(", "));
            arg.help(help)
        }
        None => arg,
    })
}

/// Parses a command line that begins with the program name. Ignores options that the command does not support. The
/// error is a [`Failure::Usage`] in one sentence.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Typed, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    parsed(&words, Vec::new())
}

const REPORTING: [&str; 2] = ["report", "view"];

fn parsed(words: &[OsString], mut ignored: Vec<String>) -> Result<Typed, Failure> {
    // Only commands named on the command line are built. Building all would take longer than most commands run.
    let mut definitions = definitions_for(|command| words.iter().any(|word| word == command));
    let matches = match definitions.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(error) => return text_or_failure(&error, words),
    };
    let (path, command, leaf) = leaf(&definitions, &matches);
    let is_typed = |arg: &&Arg| leaf.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let typed: Vec<&Arg> = command.get_arguments().filter(is_typed).collect();
    if let Some(other) = typed.iter().find(|arg| arg.is_global_set() && arg.is_hide_set()) {
        let what = if path.is_empty() { "the quick look".to_owned() } else { format!("`{path}`") };
        let sentence = format!("{} has no effect on {what}", flag(other));
        let rest = without_option(words, other);
        // An option combined with another short option (`-qo`) cannot be removed.
        if rest.len() == words.len() {
            return Err(Failure::Usage(format!("{sentence}; leave it out (see `coretalk {path} --help`)")));
        }
        ignored.push(format!("{sentence} and is ignored"));
        return parsed(&rest, ignored);
    }
    // clap checks options before and after the command separately, and misses conflicts between the two groups.
    let conflicting = |arg: &Arg| {
        command
            .get_arg_conflicts_with(arg)
            .into_iter()
            .find(|other| typed.iter().any(|present| present.get_id() == other.get_id()))
    };
    if let Some((option, other)) = typed.iter().find_map(|arg| Some((arg, conflicting(arg)?))) {
        return Err(Failure::Usage(format!(
            "the argument '{option}' cannot be used with '{other}'; see `{} --help`",
            command_of(words)
        )));
    }
    let typed =
        typed.iter().map(|arg| TypedOption { id: arg.get_id().to_string(), flag: flag(arg) }).collect();
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| usage_failure(&error, words))?;
    if command.get_arguments().any(|arg| arg.get_id() == "format" && !arg.is_hide_set()) {
        let global = &mut cli.global;
        global.format = global.format.or_else(|| Format::of_file(global.output.as_deref()?));
    }
    let Global { format, output, .. } = &cli.global;
    if let (None, Some(file), false) = (format, output, REPORTING.contains(&path.as_str()))
        && ReportFormat::of_file(file).is_some()
    {
        let (file, what) = (file.display(), command_of(words));
        return Err(Failure::Usage(format!(
            "{file}: `{what}` writes no page or picture; `coretalk report RUN -o {file}` writes one of a saved run or of a \
             matrix file"
        )));
    }
    let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Typed::Command(Box::new(Invocation { cli, typed, words, ignored })))
}

/// Returns the innermost subcommand: its path, definition and matches.
fn leaf<'a>(definitions: &'a Command, matches: &'a ArgMatches) -> (String, &'a Command, &'a ArgMatches) {
    let (mut path, mut command, mut leaf) = (Vec::new(), definitions, matches);
    while let Some((name, below)) = leaf.subcommand() {
        path.push(name);
        leaf = below;
        command = command.find_subcommand(name).unwrap_or(command);
    }
    (path.join(" "), command, leaf)
}

/// The flag of an option, such as `--no-save`, or the name of another argument.
fn flag(option: &Arg) -> String {
    option.get_long().map_or_else(|| format!("the {}", option.get_id()), |long| format!("--{long}"))
}

/// Removes an option and its value (`--long`, `--long=value`, `-s`, `-svalue`). Words after `--` are not options.
fn without_option(words: &[OsString], option: &Arg) -> Vec<OsString> {
    let long = flag(option);
    let short = option.get_short().map(|short| format!("-{short}"));
    let has_value = option.get_action().takes_values();
    let mut rest = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            rest.push(word.clone());
            rest.extend(words.cloned());
            break;
        }
        let is_alone = text == long || short.as_deref() == Some(text);
        let holds_value = text.strip_prefix(&long).is_some_and(|value| value.starts_with('='))
            || (has_value && short.as_deref().is_some_and(|short| text.starts_with(short)));
        match (is_alone, holds_value) {
            (true, _) if has_value => drop(words.next()),
            (true, _) | (_, true) => {}
            _ => rest.push(word.clone()),
        }
    }
    rest
}

fn text_or_failure(error: &clap::Error, words: &[OsString]) -> Result<Typed, Failure> {
    match error.kind() {
        ErrorKind::DisplayVersion if words.iter().skip(1).any(is_verbose) => Ok(Typed::Build),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Typed::Text(error.to_string())),
        _ => Err(usage_failure(error, words)),
    }
}

/// Whether a word is `-v`, alone or combined (`-vV`), or `--verbose`.
fn is_verbose(word: &OsString) -> bool {
    let text = word.to_str().unwrap_or_default();
    text == "--verbose" || text.starts_with('-') && !text.starts_with("--") && text.contains('v')
}

/// Joins clap's report into one line: the error, the suggestion, and the command for help.
fn usage_failure(error: &clap::Error, words: &[OsString]) -> Failure {
    let report = error.to_string();
    let mut parts: Vec<String> = Vec::new();
    for paragraph in report.split("\n\n") {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(wrong) = text.strip_prefix("error: ") {
            parts.insert(0, wrong.to_owned());
        } else if let Some(tip) = text.strip_prefix("tip: ") {
            parts.push(tip.replace(" tip: ", "; "));
        }
    }
    parts.push(format!("see `{} --help`", command_of(words)));
    Failure::Usage(parts.join("; "))
}

fn command_of(words: &[OsString]) -> String {
    let definitions = definitions();
    let (mut path, mut command) = (vec!["coretalk"], &definitions);
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            path.push(below.get_name());
            command = below;
        }
    }
    path.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Typed, Failure> {
        parse([&["coretalk"][..], words].concat().into_iter().map(OsString::from))
    }

    fn refusal(words: &[&str]) -> String {
        parsed(words).unwrap_err().sentence()
    }

    fn invocation(words: &[&str]) -> Invocation {
        match parsed(words) {
            Ok(Typed::Command(invocation)) => *invocation,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn definitions_are_consistent() {
        definitions().debug_assert();
    }

    #[test]
    fn options_are_accepted_before_and_after_the_command() {
        for words in [["--seed", "7", "latency"], ["latency", "--seed", "7"]] {
            let invocation = invocation(&words);
            assert_eq!(invocation.cli.global.seed, Some(7));
            assert!(invocation.has("seed") && !invocation.has("budget"));
        }
    }

    #[test]
    fn the_file_extension_selects_the_format_unless_one_is_given() {
        let format = |words: &[&str]| invocation(words).cli.global.format;
        for (file, chosen) in [
            ("a.json", Some(Format::Json)),
            ("b.d/a.jsonl", Some(Format::Jsonl)),
            ("a.CSV", Some(Format::Csv)),
            ("a.md", Some(Format::Markdown)),
            ("a.hgrm", Some(Format::Hgrm)),
            ("a.json/b", None),
            ("a.txt", None),
            (".json", None),
        ] {
            assert_eq!(format(&["latency", "-o", file]), chosen, "{file}");
            assert_eq!(format(&["-o", file]), chosen, "{file}");
        }
        assert_eq!(format(&["latency", "-o", "a.json", "--format", "text"]), Some(Format::Text));
        // `report` has its own formats, which other commands refuse.
        assert_eq!(format(&["report", "latest", "-o", "a.json"]), None);
        assert_eq!(format(&["report", "latest", "-o", "a.html"]), None);
        for file in ["a.html", "A.PNG", "a.svg"] {
            let refused = refusal(&["wake", "-o", file]);
            assert!(refused.contains(&format!("`coretalk report RUN -o {file}`")), "{refused}");
        }
        assert_eq!(format(&["latency"]), None);
    }

    #[test]
    fn conflicting_options_are_refused_in_any_position() {
        for words in [
            ["--store", "x", "wait", "--no-save"],
            ["wait", "--store", "x", "--no-save"],
            ["--no-save", "wait", "--store", "x"],
        ] {
            let refusal = refusal(&words);
            for part in ["'--no-save'", "cannot be used with", "'--store <DIR>'"] {
                assert!(refusal.contains(part), "{part}: {refusal}");
            }
            assert!(refusal.ends_with("`coretalk wait --help`"), "{refusal}");
        }
    }

    #[test]
    fn refusals_are_one_sentence_with_a_remedy() {
        assert_eq!(refusal(&["smoke"]), "unrecognized subcommand 'smoke'; see `coretalk --help`");
        assert_eq!(
            refusal(&["latency", "--protocol", "smoke"]),
            "invalid value 'smoke' for '--protocol <LIST>' [possible values: cas, store, msg, xfer, one-way]; \
             a similar value exists: 'store'; see `coretalk latency --help`"
        );
    }

    #[test]
    fn unsupported_options_are_ignored_with_a_notice() {
        for words in [
            &["runs", "list", "--budget", "5s", "--store", "x"][..],
            &["--budget=5s", "runs", "list", "--store", "x"],
            &["runs", "--budget", "5s", "--store", "x", "list"],
            &["-v", "runs", "--budget", "5s", "list", "--store", "x", "--verbose"],
        ] {
            let invocation = invocation(words);
            assert_eq!(invocation.cli.global.budget, None, "{words:?}");
            assert_eq!(invocation.cli.global.store, Some("x".into()), "{words:?}");
            assert!(!invocation.words.iter().any(|word| word.contains("budget")), "{words:?}");
            let notice = "--budget has no effect on `runs list` and is ignored".to_owned();
            assert!(invocation.ignored.contains(&notice), "{words:?}: {:?}", invocation.ignored);
            assert_eq!(invocation.ignored.len(), if words[0] == "-v" { 2 } else { 1 });
        }
    }

    #[test]
    fn the_command_that_place_runs_keeps_its_options() {
        let invocation =
            invocation(&["place", "--by", "core", "--placement", "a=0", "--", "x", "--by", "core"]);
        assert_eq!(invocation.ignored, ["--by has no effect on `place` and is ignored"]);
        assert_eq!(invocation.words, ["place", "--placement", "a=0", "--", "x", "--by", "core"]);
    }

    #[test]
    fn verbose_version_requests_build_details() {
        for words in [&["--version", "-v"][..], &["-v", "-V"], &["-vV"], &["--verbose", "--version"]] {
            assert!(matches!(parsed(words), Ok(Typed::Build)), "{words:?}");
        }
        for words in [&["--version"][..], &["-V"], &["-q", "--version"]] {
            assert!(matches!(parsed(words), Ok(Typed::Text(_))), "{words:?}");
        }
    }

    #[test]
    fn help_omits_options_without_effect() {
        let Ok(Typed::Text(help)) = parsed(&["runs", "path", "--help"]) else { panic!("no help") };
        assert!(help.contains("--store") && !help.contains("--budget"), "{help}");
    }
}
