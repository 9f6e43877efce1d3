//! `--resume RUN` of a comparison: more runs of the same work on the same placements. Parses the original command line
//! again, which the file keeps.

use crate::args::options::Global;
use crate::args::parse::{Invocation, Typed, parse};
use crate::args::place::PlaceArgs;
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

/// Continues a comparison. `typed` is the command typed with it, if any.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
    invocation: &Invocation,
    typed: Option<&PlaceArgs>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let found = ResumableRun::open(invocation, run)?;
    let name = &found.name;
    let Some(was) = found.file.series_settings()?.as_ref().and_then(PlaceSettings::of_series) else {
        return Err(Failure::Usage(format!(
            "run {name} does not compare placements; resume it with `coretalk --resume {name}`"
        )));
    };
    let mut machine = found.machine(invocation)?;
    let (words, requested) = again(&*machine, &found.header.command, found.header.seed, &was)?;
    let says_the_same = |what: &str| means_the_same(&*machine, invocation, typed, &words, &requested, what);
    if let Some(what) =
        differences(invocation, typed, &words, &was).into_iter().find(|what| !says_the_same(what))
    {
        return Err(Failure::Usage(format!(
            "{what} differs from the run to resume; leave it out (only --budget may change), or start a new run"
        )));
    }
    if found.needs_nothing(invocation, was.budget)? {
        return Ok(ExitCode::Done);
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
    machine: &dyn Machine,
    words: &[String],
    seed: u64,
    was: &PlaceSettings,
) -> Result<(Words, Requested), Failure> {
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
    let now = request(machine, &global, &args, seed)?;
    // An earlier resumption may have changed the budget.
    let settings = PlaceSettings { budget: was.budget, ..now.settings };
    if settings != *was {
        return Err(changed("the placements of the run have changed: the topology is different now"));
    }
    Ok((Words { global, args: *args }, Requested { settings, ..now }))
}

/// Whether CPUs or placements typed differently resolve to those of the run.
fn means_the_same(
    machine: &dyn Machine,
    invocation: &Invocation,
    typed: Option<&PlaceArgs>,
    words: &Words,
    was: &Requested,
    what: &str,
) -> bool {
    if !["--cpus", "--smt", "--placement"].contains(&what) {
        return false;
    }
    let typed_global = &invocation.cli.global;
    let global = Global {
        cpus: typed_global.cpus.clone().or(words.global.cpus.clone()),
        smt: typed_global.smt.or(words.global.smt),
        ..words.global.clone()
    };
    let placement = typed.map(|typed| typed.placement.clone()).filter(|placement| !placement.is_empty());
    let args =
        PlaceArgs { placement: placement.unwrap_or(words.args.placement.clone()), ..words.args.clone() };
    request(machine, &global, &args, was.settings.seed).is_ok_and(|now| {
        let budget = was.settings.budget;
        PlaceSettings { budget, ..now.settings } == was.settings
    })
}

struct Words {
    global: Global,
    args: PlaceArgs,
}

/// Lists the options that are typed differently from the run. Omitted options agree.
fn differences(
    invocation: &Invocation,
    typed: Option<&PlaceArgs>,
    words: &Words,
    was: &PlaceSettings,
) -> Vec<String> {
    let global = &invocation.cli.global;
    let of_global = [
        ("seed", global.seed.is_some_and(|seed| seed != was.seed)),
        ("precision", global.precision.is_some_and(|precision| precision != was.precision)),
        ("cpus", global.cpus.is_some() && global.cpus != words.global.cpus),
        ("smt", global.smt.is_some() && global.smt != words.global.smt),
    ];
    let none = PlaceArgs::default();
    let (now, then) = (typed.unwrap_or(&none), &words.args);
    let usual = was.threads.map(|threads| threads as u32);
    let patterns = |args: &PlaceArgs| -> Vec<(String, String)> {
        args.metric.iter().map(|(name, pattern)| (name.clone(), pattern.to_string())).collect()
    };
    let of_place = [
        ("placement", !now.placement.is_empty() && now.placement != then.placement),
        ("workload", !now.workload.is_empty() && now.workload != then.workload),
        ("threads", now.threads.is_some_and(|threads| then.threads.or(usual) != Some(threads))),
        ("repeat", now.repeat.is_some_and(|repeat| repeat != was.repeat)),
        ("metric", !now.metric.is_empty() && patterns(now) != patterns(then)),
        (
            "higher_is_better",
            !now.higher_is_better.is_empty() && now.higher_is_better != then.higher_is_better,
        ),
        ("timeout", now.timeout.is_some() && now.timeout != then.timeout),
        ("min_effect", now.min_effect.is_some_and(|effect| effect != was.min_effect)),
    ];
    let of_command = !now.command.is_empty() && now.command != then.command;
    let differing = of_global.into_iter().chain(of_place).filter(|(_, differs)| *differs);
    of_command
        .then(|| "the command".to_owned())
        .into_iter()
        .chain(differing.filter_map(|(id, _)| invocation.flag(id)))
        .collect()
}
