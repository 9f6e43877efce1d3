//! `--resume RUN` of a comparison: more runs of the same work on the same placements. Parses the original command line
//! again, which the file keeps.

use crate::args::options::Global;
use crate::args::parse::{Invocation, Typed, parse};
use crate::args::{Cli, Command};
use crate::exit::{ExitCode, Failure};
use crate::resolve::placement::{Requested, request};
use crate::run::outputs::{Measured, Outputs};
use crate::run::placement::perform;
use crate::run::resume::{ResumableRun, ResumedSegment};
use coretalk_measure::{Machine, Stop};
use coretalk_model::place::PlaceSettings;
use coretalk_model::series::SeriesSettings;
use std::ffi::OsString;
use std::path::Path;

/// Continues a comparison.
///
/// # Errors
/// [`Failure`]: an option that would change its settings, another machine, a file that cannot be used.
pub fn execute(invocation: &Invocation, run: &str, stop: &Stop) -> Result<ExitCode, Failure> {
    let found = ResumableRun::open(invocation, run)?;
    let name = &found.name;
    let Some(was) = found.file.series_settings()?.as_ref().and_then(PlaceSettings::of_series) else {
        return Err(Failure::Usage(format!(
            "run {name} does not compare placements; resume it with `coretalk --resume {name}`"
        )));
    };
    let mut machine = found.machine(invocation)?;
    let requested = again(&mut *machine, &found.header.command, found.header.seed, &was)?;
    if let Some(code) = found.needs_nothing(invocation, was.budget)? {
        return Ok(code);
    }
    let outputs = Outputs::open(&found.options.output, Measured::Placements, stop)?;
    let (options, ResumedSegment { segment, plan }) = found.go_on(invocation, &mut *machine, None, stop)?;
    let Some((SeriesSettings { budget, .. }, past)) = plan.series else {
        return Err(Failure::Internal("the settings of a comparison are missing".into()));
    };
    let requested = Requested { settings: PlaceSettings { budget, ..requested.settings }, ..requested };
    perform(&mut *machine, segment, requested, past, &options.output, outputs, stop)
}

/// Parses the command line of the run again and checks that it still means the same.
fn again(
    machine: &mut dyn Machine,
    words: &[String],
    seed: u64,
    was: &PlaceSettings,
) -> Result<Requested, Failure> {
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
    let typed = std::iter::once("coretalk".to_owned()).chain(words.iter().cloned()).map(OsString::from);
    let Typed::Command(invocation) = parse(typed)? else {
        return Err(changed("this version does not know the command of the run"));
    };
    let Cli { command: Some(Command::Place(args)), global } = invocation.cli else {
        return Err(changed("this version does not know the comparison of the run"));
    };
    if let Some(program) = args.command.first().map(Path::new)
        && program.is_relative()
        && program.components().count() > 1
        && !program.exists()
    {
        return Err(Failure::Environment(format!(
            "the command of the run is `{}`, which is not in this directory; resume it in the directory where it was started",
            program.display()
        )));
    }
    // Its notices were shown when the run began.
    let global = Global { quiet: true, ..global };
    let now = request(machine, &global, &args, seed)?;
    // An earlier resumption may have changed the budget.
    let settings = PlaceSettings { budget: was.budget, ..now.settings };
    if settings != *was {
        return Err(changed(
            "the placements of the run have changed: the topology, or the CPUs that this process may use, are different now",
        ));
    }
    Ok(Requested { settings, ..now })
}
