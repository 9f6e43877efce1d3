//! `--resume RUN` of a run of series: going on where it ended, under its own settings.

use super::outputs::Outputs;
use super::{Family, Sitting, request, sit};
use crate::cli::measure::Keeper;
use crate::cli::parse::Invocation;
use crate::cli::relevance::flag;
use crate::cli::resolve::{self, Strictness, Talk};
use crate::cli::{machine, output, resume, runs};
use crate::exit::{ExitCode, Failure};
use crate::store::{Resumed, RunFile, RunWriter, Sitting as Surroundings};
use coretalk_measure::session::series::SeriesPast;
use coretalk_measure::{Crew, Machine, Stop};
use coretalk_model::place::PROBE;
use coretalk_model::series::SeriesSettings;

/// Goes on with a run. `family` is the command that was typed with it, if any.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
    invocation: &Invocation,
    family: Option<&dyn Family>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let wish = resolve::wish(global);
    let path = runs::locate(global, run)?;
    let file = RunFile::open(&path)?;
    let header = file.header()?;
    let name = runs::name_of(&header.id, &path);
    let Some(settings) = file.series_settings()? else {
        return Err(Failure::Usage(format!(
            "the run {name} is one of `latency`; go on with `coretalk latency --resume {name}`"
        )));
    };
    if settings.probes == [PROBE] {
        return Err(Failure::Usage(format!(
            "the run {name} compares placements, and a comparison begins anew: the order of its runs is balanced over all \
             of them; see those that were made with `coretalk runs show {name}`"
        )));
    }
    let by_budget = file.segments()?.last().is_some_and(|last| last.ended.as_deref() == Some("budget"));
    let word = resume::machine_word(invocation, file.environment()?.simulated.as_deref())?;
    let mut machine = machine::open(word.as_ref(), header.seed)?;
    same_settings(invocation, family, &*machine, &settings)?;
    let more_time = global.budget.is_some_and(|budget| budget > settings.budget);
    if header.complete && !(by_budget && more_time) {
        let text = if by_budget {
            let budget = settings.budget;
            format!(
                "the run {name} is complete: it ended at its budget of {budget}; a longer --budget goes on"
            )
        } else {
            format!("the run {name} is complete: it needs nothing more")
        };
        output::remark(wish.talk, Talk::Normal, &text);
        let saved = runs::read(global, &path.to_string_lossy())?;
        runs::write(global, &saved, wish.format, None)?;
        return Ok(ExitCode::Done);
    }
    drop(file);
    let outputs = Outputs::open(&wish, &settings)?;
    let findings = machine.examine();
    let here = Surroundings {
        environment: machine.environment().clone(),
        allowed: machine.allowance().cpuset.clone(),
    };
    let Resumed { writer, header, series, topology, environment, .. } =
        RunWriter::resume(&path, &here, global.budget)?;
    let Some((settings, record)) = series else {
        return Err(Failure::Internal("a run of series has lost its settings".into()));
    };
    let cpus = request::crew(&settings, &topology);
    machine.engage(&Crew { cpus, nice: global.nice, realtime: global.rt })?;
    let sitting = Sitting {
        past: SeriesPast { record, segments: header.segments - 1 },
        header,
        environment,
        findings,
        topology,
        settings,
        sink: Keeper::File(Box::new(writer)),
        path: Some(path),
    };
    let strictness = if global.strict { Strictness::Strict } else { Strictness::Lenient };
    sit(&mut *machine, sitting, &wish, strictness, outputs, stop)
}

/// Settings come from the file; those that are typed again must say the same.
fn same_settings(
    invocation: &Invocation,
    family: Option<&dyn Family>,
    machine: &dyn Machine,
    was: &SeriesSettings,
) -> Result<(), Failure> {
    let differs = |option: String| {
        Err(Failure::Usage(format!(
            "{option} differs from the run that is resumed; leave it out (only --budget may be new), or begin a new run"
        )))
    };
    let global = &invocation.cli.global;
    if global.seed.is_some_and(|seed| seed != was.seed) {
        return differs(flag("seed"));
    }
    if global.precision.is_some_and(|precision| precision != was.precision) {
        return differs(flag("precision"));
    }
    let Some(family) = family else {
        return match ["cpus", "smt", "order"].iter().find(|id| invocation.has(id)) {
            Some(id) => Err(Failure::Usage(format!(
                "{} has no effect on a run that is resumed; leave it out",
                flag(id)
            ))),
            None => Ok(()),
        };
    };
    if was.probes != [family.probe()] {
        return Err(Failure::Usage(format!(
            "the run that is resumed is one of `{}`; leave the command out",
            was.probes.join(", ")
        )));
    }
    let own = |id: &&String| {
        !["resume", "budget", "seed", "precision", "store", "format", "output"].contains(&id.as_str())
    };
    let Some(option) = invocation.typed.iter().find(own) else { return Ok(()) };
    let now = request(machine, global, family, was.seed)?.settings;
    if now.trials != was.trials || now.asked != was.asked { differs(flag(option)) } else { Ok(()) }
}
