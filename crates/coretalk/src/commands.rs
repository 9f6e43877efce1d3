//! The command line: parse, resolve, execute.

#[cfg(target_os = "linux")]
mod adapters;
mod advise;
mod compare;
mod facts;
mod import;
mod lint;
mod measure;
mod plan;
mod quiet;
mod report;
mod runs;
#[cfg(target_os = "linux")]
mod selftest;
mod shape;
mod shell;
mod topology;
mod view;
#[cfg(target_os = "linux")]
mod work;

use crate::args::parse::{Invocation, Typed, parse};
use crate::args::{Command, MapCommand, RunsCommand, Subject};
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{self, Verbosity, print_notice};
use crate::run::out::Out;
use crate::run::saved::{self, Chosen};
use coretalk_measure::counter;
use coretalk_model::excerpt;
use coretalk_report::blocks::Block;
use coretalk_report::export::Format;
use std::ffi::OsString;

/// Runs a command line, which starts with the program name, and returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    #[cfg(target_os = "linux")]
    if let Some(words) = work::shortcut(&words) {
        return report_failure(work::execute(&words));
    }
    let outcome = parse(words.clone()).and_then(|typed| match typed {
        Typed::Text(text) => Out::open(None)?.text(&text).map(|()| ExitCode::Done),
        Typed::Build => facts::build(),
        Typed::Command(invocation) => execute(&invocation).map_err(|failure| explained(failure, &invocation)),
    });
    report_failure(outcome.map_err(|failure| match failure {
        Failure::Usage(sentence) => Failure::Usage(shortened(sentence, &words)),
        other => other,
    }))
}

/// Passes the blocks of a command about saved runs, files or plans to `show`, instead of writing them. Fails for other
/// commands, or if the inputs cannot be read.
pub fn with_blocks<R>(
    words: impl IntoIterator<Item = OsString>,
    show: impl FnOnce(&[Block<'_>]) -> R,
) -> Result<R, Failure> {
    let Typed::Command(invocation) = parse(words)? else {
        return Err(Failure::Usage("no command is given".into()));
    };
    let global = &invocation.cli.global;
    match &invocation.cli.command {
        Some(Command::Advise(args)) => advise::with_blocks(global, args, show),
        Some(Command::Compare(args)) => compare::with_blocks(global, args, show),
        Some(Command::Lint(args)) => lint::with_blocks(args, show),
        Some(Command::Plan(args)) => plan::with_blocks(&invocation, args, show),
        Some(Command::Topology(args)) => topology::with_blocks(global, args, show),
        _ => Err(Failure::Usage("blocks of this command are not passed on".into())),
    }
}

/// Maximum characters of a typed word that an error message repeats.
const MAX_REPEATED: usize = 80;

/// Truncates long words and their parts (values, list items) in an error message.
fn shortened(mut sentence: String, words: &[OsString]) -> String {
    for word in words.iter().skip(1).map(|word| word.to_string_lossy()) {
        let value = word.split_once('=').map_or("", |(_, value)| value);
        for typed in [&*word, value].into_iter().chain(value.split(',')).chain(word.split(',')) {
            if typed.chars().nth(MAX_REPEATED).is_some() {
                sentence = sentence.replace(typed, &excerpt(typed));
            }
        }
    }
    sentence
}

/// Explains that the extension of the output file selected a refused format.
fn explained(failure: Failure, invocation: &Invocation) -> Failure {
    let by_ending = invocation.cli.global.output.as_deref().and_then(Format::of_file);
    match failure {
        Failure::Format { format, sentence } if by_ending == Some(format) && !invocation.has("format") => {
            let why = "the ending of the -o file chose that format; for text add --format text";
            Failure::Format { format, sentence: format!("{sentence} ({why})") }
        }
        other => other,
    }
}

fn report_failure(outcome: Result<ExitCode, Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        failure.tell();
        failure.code()
    })
}

fn execute(invocation: &Invocation) -> Result<ExitCode, Failure> {
    if counter::is_forbidden() {
        let reason = counter::Unreadable::Forbidden;
        return Err(Failure::Environment(format!("failed to use the system's clock: {reason}")));
    }
    let global = &invocation.cli.global;
    for text in &invocation.ignored {
        print_notice(output::options(global).verbosity, Verbosity::Normal, text);
    }
    match &invocation.cli.command {
        None => measure::execute(invocation, Subject::Map(MapCommand::QuickLook)),
        Some(Command::Measure(command)) => measure::execute(invocation, command.subject()),
        Some(Command::Runs(args)) => {
            runs::execute(global, args.command.as_ref().unwrap_or(&RunsCommand::List))
        }
        Some(Command::Export(args)) => {
            let saved = saved::read(global, &args.run)?;
            let chosen = Chosen { protocol: args.protocol, probe: args.probe.as_deref(), ladder: false };
            saved::write(global, &saved, global.format.unwrap_or(Format::Json), chosen)?;
            Ok(ExitCode::Done)
        }
        Some(Command::Import(args)) => import::execute(global, args),
        Some(Command::Report(args)) => report::execute(global, args),
        Some(Command::View(args)) => view::execute(global, args),
        Some(Command::Lint(args)) => lint::execute(global, args),
        Some(Command::Compare(args)) => compare::execute(global, args),
        Some(Command::Doctor) => facts::doctor(global),
        Some(Command::Topology(args)) => topology::execute(global, args),
        Some(Command::Advise(args)) => advise::execute(global, args),
        Some(Command::Quiet(args)) => quiet::execute(global, args),
        Some(Command::Clock) => facts::clock(global),
        #[cfg(target_os = "linux")]
        Some(Command::Selftest) => selftest::execute(global),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Selftest) => {
            Err(Failure::Environment("this system cannot pin threads, so there is nothing to check".into()))
        }
        #[cfg(target_os = "linux")]
        Some(Command::Adapters(args)) => adapters::execute(global, args),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Adapters(_)) => {
            Err(Failure::Environment("this system cannot bind threads of other programs to CPUs".into()))
        }
        Some(Command::Probes(args)) => facts::probes(global, args),
        Some(Command::Plan(args)) => plan::execute(invocation, args),
        Some(Command::Completions(args)) => shell::completions(global, args),
        Some(Command::Man) => shell::man(global),
        #[cfg(target_os = "linux")]
        Some(Command::Work(args)) => work::execute(&args.words),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Work(_)) => Err(Failure::Environment("workloads run only on Linux".into())),
    }
}
