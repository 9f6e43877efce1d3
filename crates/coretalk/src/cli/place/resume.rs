//! `--resume RUN` of a comparison: more runs of the same work on the same placements. What was typed then is read again
//! from the words that the file keeps.

use super::request::{Requested, request};
use super::{PlaceArgs, Sitting, one_format, sit};
use crate::cli::args::Command;
use crate::cli::measure::Outputs;
use crate::cli::parse::{Invocation, Typed, parse};
use crate::cli::resume::Found;
use crate::cli::sitting::Keeper;
use crate::exit::{ExitCode, Failure};
use crate::store::{Resumed, RunWriter, Sitting as Surroundings};
use coretalk_measure::session::series::SeriesPast;
use coretalk_measure::{Machine, Stop};
use coretalk_model::place::PlaceSettings;
use std::ffi::OsString;
use std::path::Path;

/// Goes on with a comparison. `typed` is the command that was typed with it, if any.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
    invocation: &Invocation,
    typed: Option<&PlaceArgs>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let found = Found::open(invocation, run)?;
    let name = &found.name;
    let Some(was) = found.file.series_settings()?.as_ref().and_then(PlaceSettings::of_series) else {
        return Err(Failure::Usage(format!(
            "the run {name} compares no placements; go on with `coretalk --resume {name}`"
        )));
    };
    let mut machine = found.machine(invocation)?;
    let requested = again(&*machine, &found.header.command, found.header.seed, &was)?;
    one_format(&found.wish, &requested.works)?;
    if let Some(args) = typed.filter(|args| !is_empty(args)) {
        let now = request(&*machine, global, args, global.seed.unwrap_or(was.seed))?;
        same(&now, &requested)?;
    } else if let Some(option) =
        ["seed", "precision", "cpus", "smt"].into_iter().find(|id| invocation.has(id))
    {
        return Err(differs(&crate::cli::relevance::flag(option)));
    }
    if found.needs_nothing(invocation, was.budget)? {
        return Ok(ExitCode::Done);
    }
    let Found { wish, file, path, .. } = found;
    drop(file);
    let outputs = Outputs::open(&wish)?;
    let findings = machine.examine();
    let here = Surroundings {
        environment: machine.environment().clone(),
        allowed: machine.allowance().cpuset.clone(),
    };
    let Resumed { mut writer, header, series, topology, environment, .. } =
        RunWriter::resume(&path, &here, global.budget)?;
    writer.heed(stop);
    let Some((settings, record)) = series else {
        return Err(Failure::Internal("a comparison has lost its settings".into()));
    };
    let budget = settings.budget;
    let requested = Requested { settings: PlaceSettings { budget, ..requested.settings }, ..requested };
    let past = SeriesPast { record, segments: header.segments - 1 };
    let sink = Keeper::File(Box::new(writer));
    let sitting =
        Sitting { header, environment, findings, topology, requested, past, sink, path: Some(path) };
    sit(&mut *machine, sitting, &wish, outputs, stop)
}

/// Nothing but the word `place` was typed.
fn is_empty(args: &PlaceArgs) -> bool {
    args.placement.is_empty() && args.workload.is_empty() && args.command.is_empty()
}

/// What the words of the run mean today; they have to mean what they meant.
fn again(
    machine: &dyn Machine,
    words: &[String],
    seed: u64,
    was: &PlaceSettings,
) -> Result<Requested, Failure> {
    let changed = |what: &str| {
        Failure::Environment(format!(
            "{what}; begin a new comparison, or see this one with `coretalk runs show`"
        ))
    };
    if words.iter().any(|word| word.contains(char::REPLACEMENT_CHARACTER)) {
        return Err(changed("a word of the command is no text, so that the file does not hold it exactly"));
    }
    let typed = std::iter::once("coretalk".to_owned()).chain(words.iter().cloned()).map(OsString::from);
    let Typed::Command(invocation) = parse(typed)? else {
        return Err(changed("the words of the run are no command of this version"));
    };
    let Some(Command::Place(args)) = &invocation.cli.command else {
        return Err(changed("the words of the run are no comparison of this version"));
    };
    if let Some(program) = args.command.first().map(Path::new)
        && program.is_relative()
        && program.components().count() > 1
        && !program.exists()
    {
        return Err(Failure::Environment(format!(
            "the command of the run is `{}`, which is not in this folder; resume it in the folder where it was begun",
            program.display()
        )));
    }
    let now = request(machine, &invocation.cli.global, args, seed)?;
    // A later sitting may have had another budget.
    let settings = PlaceSettings { budget: was.budget, ..now.settings };
    if settings != *was {
        return Err(changed("the placements of the run are not what they were: the topology has changed"));
    }
    Ok(Requested { settings, ..now })
}

/// What is typed again says the same.
fn same(now: &Requested, was: &Requested) -> Result<(), Failure> {
    let budget = was.settings.budget;
    let settings = PlaceSettings { budget, ..now.settings.clone() };
    if settings != was.settings || format!("{:?}", now.works) != format!("{:?}", was.works) {
        return Err(differs("the comparison that was typed"));
    }
    Ok(())
}

fn differs(what: &str) -> Failure {
    Failure::Usage(format!(
        "{what} differs from the run that is resumed; leave it out (only --budget may be new), or begin a new run"
    ))
}
