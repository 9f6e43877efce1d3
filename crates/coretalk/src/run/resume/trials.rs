//! `--resume RUN` of a run of series: going on where it ended, under its own settings.

use crate::args::options;
use crate::args::options::Global;
use crate::args::parse::{Invocation, TypedOption};
use crate::args::series::SeriesArgs;
use crate::exit::{ExitCode, Failure};
use crate::resolve::trials::{self, request};
use crate::run::measure::perform;
use crate::run::outputs::{Measured, Outputs};
use crate::run::resume::{Found, ResumedSegment, placement};
use coretalk_measure::{Machine, Stop};
use coretalk_model::place::PROBE;
use coretalk_model::series::SeriesSettings;

/// Goes on with a run. `args` is the command that was typed with it, if any.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
    invocation: &Invocation,
    args: Option<&dyn SeriesArgs>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let found = Found::open(invocation, run)?;
    let Some(settings) = found.file.series_settings()? else {
        let name = &found.name;
        return Err(Failure::Usage(format!(
            "run {name} was made by `latency`; resume it with `coretalk latency --resume {name}`"
        )));
    };
    if settings.probes == [PROBE] {
        drop(found);
        return match args {
            None => placement::act(invocation, None, run, stop),
            Some(_) => {
                Err(Failure::Usage("the run to resume compares placements; leave out the command".into()))
            }
        };
    }
    let mut machine = found.machine(invocation)?;
    same_settings(invocation, args, &*machine, &settings)?;
    if found.needs_nothing(invocation, settings.budget)? {
        return Ok(ExitCode::Done);
    }
    let outputs = Outputs::open(&found.options.output, Measured::Trials(&settings), stop)?;
    let workers = Some(trials::workers(&settings, &found.file.topology()?));
    let (options, ResumedSegment { segment, plan }) =
        found.go_on(invocation, &mut *machine, workers, stop)?;
    perform(&mut *machine, segment, plan, outputs, &options, stop)
}

/// Settings come from the file; those that are typed again must say the same.
fn same_settings(
    invocation: &Invocation,
    args: Option<&dyn SeriesArgs>,
    machine: &dyn Machine,
    was: &SeriesSettings,
) -> Result<(), Failure> {
    let differs = |option: &str| {
        Err(Failure::Usage(format!(
            "{option} differs from the run to resume; leave it out (only --budget may change), or start a new run"
        )))
    };
    let global = &invocation.cli.global;
    if global.seed.is_some_and(|seed| seed != was.seed) {
        return differs("--seed");
    }
    if global.precision.is_some_and(|precision| precision != was.precision) {
        return differs("--precision");
    }
    let Some(args) = args else {
        return match ["cpus", "smt", "order"].iter().find_map(|id| invocation.flag(id)) {
            Some(option) => {
                Err(Failure::Usage(format!("{option} has no effect when resuming; leave it out")))
            }
            None => Ok(()),
        };
    };
    if was.probes != [args.probe()] {
        return Err(Failure::Usage(format!(
            "the run to resume was made by `{}`; leave out the command",
            was.probes.join(", ")
        )));
    }
    // The others say how long, where to and how it is shown, and change nothing of what is measured.
    let shared = options::all();
    let is_shared = |id: &str| shared.iter().any(|arg| arg.get_id() == id);
    let chooses =
        |typed: &&TypedOption| ["cpus", "smt"].contains(&typed.id.as_str()) || !is_shared(&typed.id);
    let Some(option) = invocation.typed.iter().find(chooses) else { return Ok(()) };
    let is_same = |global: &Global| -> Result<bool, Failure> {
        let now = request(machine, global, args, was.seed)?.settings;
        Ok(now.trials == was.trials && now.options == was.options)
    };
    let unordered = Global { order: None, ..global.clone() };
    match is_same(global)? || is_same(&unordered)? {
        true => Ok(()),
        false => differs(&option.flag),
    }
}
