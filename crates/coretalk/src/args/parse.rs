//! From words to [`Cli`]: parsing, with every error in one sentence.

use crate::args::{Cli, relevance};
use crate::exit::Failure;
use clap::{CommandFactory, FromArgMatches, error::ErrorKind};
use std::ffi::OsString;

/// What was typed.
#[derive(Debug)]
pub enum Typed {
    /// A command.
    Command(Box<Invocation>),
    /// Help or the version was asked for; here it is.
    Text(String),
}

/// A command with its options.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// As typed.
    pub cli: Cli,
    /// The ids of the options that were typed, for messages that name them.
    pub typed: Vec<String>,
    /// The words themselves without the program's name.
    pub words: Vec<String>,
}

impl Invocation {
    /// Whether an option was typed, by its id.
    pub fn has(&self, id: &str) -> bool {
        self.typed.iter().any(|typed| typed == id)
    }
}

/// The definitions of the command line: what parses, helps and completes.
pub fn definitions() -> clap::Command {
    relevance::hide_irrelevant(Cli::command())
}

/// Parses the words of a command line, the program's name first.
///
/// # Errors
/// [`Failure::Usage`] in one sentence.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Typed, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = match definitions().try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) => return text_or_failure(&error, &words),
    };
    let (path, leaf) = relevance::leaf(&matches);
    let typed = relevance::typed(leaf);
    if let Some(option) = relevance::without_effect(&Cli::command(), &path, &typed) {
        let command = if path.is_empty() { "the quick look".to_owned() } else { format!("`{path}`") };
        return Err(Failure::Usage(format!(
            "{option} has no effect on {command}; leave it out (see `coretalk {path} --help`)"
        )));
    }
    if let Some([option, trials]) = relevance::of_no_map(&path, &typed) {
        return Err(Failure::Usage(format!(
            "{option} has no effect with {trials}, which measures no map; leave one of them out (see `coretalk {path} \
             --help`)"
        )));
    }
    let mut built = Cli::command();
    built.build();
    if let Some([option, other]) = relevance::excluding_each_other(&built, &typed) {
        return Err(Failure::Usage(format!(
            "the argument '{option}' cannot be used with '{other}'; see `{} --help`",
            command_of(&words)
        )));
    }
    let cli = Cli::from_arg_matches(&matches).map_err(|error| sentence(&error, &words))?;
    let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Ok(Typed::Command(Box::new(Invocation { cli, typed, words })))
}

fn text_or_failure(error: &clap::Error, words: &[OsString]) -> Result<Typed, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Typed::Text(error.to_string())),
        _ => Err(sentence(error, words)),
    }
}

/// clap's report of several paragraphs in one line: what is wrong, what was perhaps meant, where help is.
fn sentence(error: &clap::Error, words: &[OsString]) -> Failure {
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

/// The command that was meant, as far as words name one.
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

    fn refusal(words: &[&str]) -> String {
        match parse(std::iter::once("coretalk").chain(words.iter().copied()).map(OsString::from)) {
            Err(failure) => failure.sentence(),
            Ok(typed) => panic!("{words:?} was accepted as {typed:?}"),
        }
    }

    #[test]
    fn the_definitions_hold() {
        definitions().debug_assert();
    }

    #[test]
    fn options_stand_before_and_after_the_command() {
        for words in [["coretalk", "--seed", "7", "latency"], ["coretalk", "latency", "--seed", "7"]] {
            let Ok(Typed::Command(invocation)) = parse(words.map(OsString::from)) else {
                panic!("{words:?} was refused")
            };
            assert_eq!(invocation.cli.global.seed, Some(7));
            assert!(invocation.has("seed") && !invocation.has("budget"));
        }
    }

    #[test]
    fn options_exclude_each_other_wherever_they_stand() {
        for words in [
            ["--store", "x", "wait", "--no-save"],
            ["wait", "--store", "x", "--no-save"],
            ["--no-save", "wait", "--store", "x"],
        ] {
            let refusal = refusal(&words);
            assert!(refusal.contains("'--no-save'") && refusal.contains("cannot be used with"), "{refusal}");
            assert!(
                refusal.contains("'--store <DIR>'") && refusal.ends_with("`coretalk wait --help`"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn refusals_are_one_sentence_that_says_what_to_do() {
        assert_eq!(refusal(&["smoke"]), "unrecognized subcommand 'smoke'; see `coretalk --help`");
        assert_eq!(
            refusal(&["runs", "list", "--budget", "5s"]),
            "--budget has no effect on `runs list`; leave it out (see `coretalk runs list --help`)"
        );
        assert_eq!(
            refusal(&["latency", "--protocol", "smoke"]),
            "invalid value 'smoke' for '--protocol <LIST>' [possible values: cas, store, msg, xfer, one-way]; \
             a similar value exists: 'store'; see `coretalk latency --help`"
        );
    }

    #[test]
    fn help_leaves_out_what_has_no_effect() {
        let Ok(Typed::Text(help)) = parse(["coretalk", "runs", "path", "--help"].map(OsString::from)) else {
            panic!("no help")
        };
        assert!(help.contains("--store") && !help.contains("--budget"), "{help}");
    }
}
