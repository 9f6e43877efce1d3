//! `--resume RUN`: going on where a run ended, under its own settings.

use super::measure::{Keeper, Outputs, Sitting, sit};
use super::output;
use super::parse::Invocation;
use super::relevance::flag;
use super::resolve::{self, Measuring, Strictness, Talk};
use super::value::MachineWord;
use super::{machine, runs};
use crate::exit::{ExitCode, Failure};
use crate::store::{Resumed, RunFile, RunWriter, Sitting as Surroundings};
use coretalk_measure::session::latency::Past;
use coretalk_measure::sim::Scenario;
use coretalk_measure::{Crew, Machine, Stop};
use coretalk_model::latency::LatencySettings;

/// Goes on with a run.
///
/// # Errors
/// [`Failure`]: a setting that differs, another machine, a file that cannot be used.
pub fn act(
    invocation: &Invocation,
    measuring: Measuring<'_>,
    run: &str,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let wish = resolve::wish(global);
    let path = runs::locate(global, run)?;
    let file = RunFile::open(&path)?;
    if file.series_settings()?.is_some() {
        return match measuring {
            Measuring::QuickLook => super::series::resume(invocation, None, run, stop),
            Measuring::Latency(_) => {
                Err(Failure::Usage("the run that is resumed is one of series; leave the command out".into()))
            }
        };
    }
    let header = file.header()?;
    let settings = file.settings()?;
    let name = runs::name_of(&header.id, &path);
    let by_budget = file.segments()?.last().is_some_and(|last| last.ended.as_deref() == Some("budget"));
    let environment = file.environment()?;
    let word = machine_word(invocation, environment.simulated.as_deref())?;
    let mut machine = machine::open(word.as_ref(), header.seed)?;
    same_settings(invocation, measuring, &*machine, &settings)?;
    let more_time = global.budget.is_some_and(|budget| budget > settings.budget);
    if header.complete && !(by_budget && more_time) {
        let text = if by_budget {
            format!(
                "the run {name} is complete: it ended at its budget of {}; a longer --budget goes on",
                settings.budget
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
    let outputs = Outputs::open(&wish)?;
    let crew = Crew { cpus: settings.cpus.clone(), nice: global.nice, realtime: global.rt };
    let findings = machine.examine();
    let here = Surroundings {
        environment: machine.environment().clone(),
        allowed: machine.allowance().cpuset.clone(),
    };
    let Resumed { writer, header, settings, topology, environment, record, .. } =
        RunWriter::resume(&path, &here, global.budget)?;
    machine.engage(&crew)?;
    let sitting = Sitting {
        past: Past { record, segments: header.segments - 1 },
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

/// The machine of the run: as typed, else as its file says.
pub(super) fn machine_word(
    invocation: &Invocation,
    simulated: Option<&str>,
) -> Result<Option<MachineWord>, Failure> {
    match (&invocation.cli.global.machine, simulated) {
        (Some(word), _) => Ok(Some(word.clone())),
        (None, None) => Ok(None),
        (None, Some(name)) if Scenario::names().contains(&name) => {
            Ok(Some(MachineWord::Sim(name.to_owned())))
        }
        (None, Some(name)) => Err(Failure::Usage(format!(
            "the run was made on a simulated machine `{name}` that came from a file; name it with --machine sim:FILE"
        ))),
    }
}

/// Settings come from the file; those that are typed again must say the same.
fn same_settings(
    invocation: &Invocation,
    measuring: Measuring<'_>,
    machine: &dyn Machine,
    was: &LatencySettings,
) -> Result<(), Failure> {
    let typed = |ids: &[&str]| ids.iter().find(|id| invocation.has(id)).map(|id| flag(id));
    let seed = invocation.cli.global.seed.unwrap_or(was.seed);
    let settings = [
        "cpus",
        "smt",
        "pairs",
        "protocol",
        "hint",
        "home",
        "lines",
        "samples",
        "iterations",
        "parallel",
        "precision",
        "seed",
        "tails",
        "rate",
        "imitate",
        "keep_raw",
    ];
    if typed(&settings).is_none() {
        return Ok(());
    }
    let now = resolve::request(machine, &invocation.cli.global, measuring, seed)?.settings;
    let sorted = |settings: &LatencySettings| {
        let mut cpus = settings.cpus.clone();
        cpus.sort();
        cpus
    };
    let differs: [(&[&str], bool); 12] = [
        (&["cpus", "smt", "pairs"], sorted(&now) != sorted(was) || now.pairs != was.pairs),
        (&["protocol"], now.protocols != was.protocols),
        (&["hint"], now.hint != was.hint),
        (&["home"], now.home != was.home),
        (&["lines"], now.lines != was.lines),
        (&["samples", "iterations"], now.counts != was.counts),
        (&["parallel"], now.parallel != was.parallel),
        (&["precision"], now.precision != was.precision),
        (&["seed"], now.seed != was.seed),
        (&["tails", "rate"], now.tails != was.tails),
        (&["imitate"], now.imitate != was.imitate),
        (&["keep_raw"], now.keep_raw != was.keep_raw),
    ];
    for (ids, differs) in differs {
        if let (Some(option), true) = (typed(ids), differs) {
            return Err(Failure::Usage(format!(
                "{option} differs from the run that is resumed; leave it out (only --budget may be new), or begin a \
                 new run"
            )));
        }
    }
    Ok(())
}
