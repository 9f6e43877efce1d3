//! `--resume RUN` of a comparison. Parses the original command line again, which the run file keeps.

use crate::args::options::Global;
use crate::args::parse::{Typed, parse};
use crate::args::words::FailOnWord;
use crate::args::{Command, MeasureCommand};
use crate::exit::Failure;
use crate::resolve::task::Task;
use crate::resolve::{placement, versus};
use coretalk_measure::{Hooks, Machine, Stop};
use coretalk_model::place::PlaceSettings;
use std::ffi::OsString;
use std::path::Path;

/// Parses the command line of the run again and checks that its meaning is unchanged.
pub(super) fn again(
    machine: &mut dyn Machine,
    words: &[String],
    seed: u64,
    resumed: &PlaceSettings,
    stop: &Stop,
) -> Result<Task, Failure> {
    let changed = |what: &str| {
        Failure::Environment(format!(
            "{what}; start a new comparison, or see this one with `coretalk runs show`"
        ))
    };
    if words.iter().any(|word| word.contains(char::REPLACEMENT_CHARACTER)) {
        return Err(changed(
            "a word of the command is not valid UTF-8, so the file could not store it \
                            exactly",
        ));
    }
    let Typed::Command(invocation) = parsed(words)? else {
        return Err(changed("this version does not know the command of the run"));
    };
    // The notices of the command were already shown when the run began.
    let global = Global { quiet: true, ..invocation.cli.global };
    let mut task = match invocation.cli.command {
        Some(Command::Measure(MeasureCommand::Place(args))) => {
            check_relative_program(args.command.first())?;
            let (settings, works) = placement::resolve(machine, &global, &args, seed)?;
            Task::Comparison { settings, works, hooks: Hooks::new(), fail_on: None }
        }
        Some(Command::Measure(MeasureCommand::Versus(args))) => {
            if !args.shell {
                for arm in &args.arms {
                    let program = shlex::split(&arm.command).and_then(|words| words.into_iter().next());
                    check_relative_program(program.map(OsString::from).as_ref())?;
                }
            }
            versus::resolve(machine, &global, &args, seed, Some(resumed), stop)?.0
        }
        _ => return Err(changed("this version does not know the comparison of the run")),
    };
    let Task::Comparison { settings, .. } = &mut task else {
        return Err(Failure::Internal("a comparison resolved to probes".into()));
    };
    // An earlier resumption may have changed the budget.
    settings.budget = resumed.budget;
    if settings != resumed {
        return Err(changed(
            "the placements of the run have changed: the topology, or the CPUs that this process may use, are different now",
        ));
    }
    Ok(task)
}

/// Returns the value of `--fail-on` in the command line of a run.
pub(super) fn fail_on(words: &[String]) -> Option<FailOnWord> {
    let Typed::Command(invocation) = parsed(words).ok()? else { return None };
    match invocation.cli.command {
        Some(Command::Measure(MeasureCommand::Versus(args))) => args.fail_on,
        _ => None,
    }
}

fn parsed(words: &[String]) -> Result<Typed, Failure> {
    parse(std::iter::once("coretalk").chain(words.iter().map(String::as_str)).map(OsString::from))
}

fn check_relative_program(program: Option<&OsString>) -> Result<(), Failure> {
    let Some(program) = program.map(Path::new) else { return Ok(()) };
    if program.is_relative() && program.components().count() > 1 && !program.exists() {
        return Err(Failure::Environment(format!(
            "the command of the run is `{}`, which is not in this directory; resume it in the directory where it was started",
            program.display()
        )));
    }
    Ok(())
}
