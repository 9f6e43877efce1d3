//! The commands that measure series: everything but their own options, which are a file each below.

mod outputs;
mod queue;
mod request;
mod resume;
mod wake;

pub use outputs::{is_folder, write_folder};
pub use queue::QueueArgs;
pub use request::{SeriesRequested, request};
pub use resume::act as resume;
pub use wake::WakeArgs;

use super::measure::Keeper;
use super::output::{self, Out};
use super::parse::Invocation;
use super::resolve::{Keeping, Strictness, Talk, Wish};
use super::value::PairsWord;
use super::watcher::Watcher;
use super::{machine, runs, signals};
use crate::exit::{ExitCode, Failure};
use crate::report;
use crate::store::{NewRun, RunWriter, fresh_id, now};
use crate::{RunHeader, RunReport, SeriesReport};
use coretalk_measure::session::latency::{Ended, RunError};
use coretalk_measure::session::series::{self, SeriesPast};
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::latency::{LatencyResult, LatencySettings};
use coretalk_model::series::{Parameters, SeriesSettings};
use coretalk_model::{Environment, Finding, Grade, Picos, Topology};
use outputs::Outputs;
use std::path::PathBuf;

/// The options of a command that measures series: what a family adds to the command line.
pub trait Family {
    /// The probe.
    fn probe(&self) -> &'static str;

    /// What was asked of it, defaults left out: its trials follow from it.
    fn asked(&self) -> Parameters;

    /// Which pairs, as typed.
    fn pairs(&self) -> Option<&PairsWord> {
        None
    }

    /// The least number of CPUs that it makes sense on.
    fn fewest_cpus(&self) -> usize {
        2
    }

    /// Upper bound of machine time where none was asked for.
    fn budget(&self) -> Picos {
        Picos::from_ms(30_000)
    }
}

/// Measures, or goes on with a run.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn act(invocation: &Invocation, family: &dyn Family) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let stop = signals::stop()?;
    if let Some(run) = &global.resume {
        return resume::act(invocation, Some(family), run, &stop);
    }
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let mut machine = machine::open(global.machine.as_ref(), seed)?;
    let requested = request(&*machine, global, family, seed)?;
    let outputs = Outputs::open(&requested.wish, &requested.settings)?;
    let findings = machine.examine();
    let granted = machine.engage(&requested.crew)?;
    let mut environment = machine.environment().clone();
    environment.priority = Some(granted.priority);
    environment.label = requested.remarks.label.clone();
    environment.notes.extend(requested.remarks.notes.clone());
    for notice in &requested.notices {
        output::remark(requested.wish.talk, Talk::Normal, notice);
    }
    let header = header(invocation, &requested.keeping, seed, &environment);
    let new = NewRun {
        header: &header,
        environment: &environment,
        findings: &findings,
        topology: machine.topology(),
        settings: &nothing(&requested.settings),
        series: Some(&requested.settings),
        allowed: &machine.allowance().cpuset,
    };
    let (sink, path) = keeper(&new, &requested.keeping, requested.wish.talk)?;
    let sitting = Sitting {
        header,
        environment,
        findings,
        topology: machine.topology().clone(),
        settings: requested.settings,
        past: SeriesPast::default(),
        sink,
        path,
    };
    sit(&mut *machine, sitting, &requested.wish, requested.strictness, outputs, &stop)
}

/// `plan` of a family.
///
/// # Errors
/// As measuring itself would be refused.
pub fn plan(invocation: &Invocation, family: &dyn Family) -> Result<ExitCode, Failure> {
    let global = &invocation.cli.global;
    let seed = global.seed.unwrap_or_else(machine::fresh_seed);
    let machine = machine::open(global.machine.as_ref(), seed)?;
    let requested = request(&*machine, global, family, seed)?;
    let plan = series::plan(&requested.settings);
    let output = global.output.as_deref();
    let text = report::plan::series_plan(&plan, &requested.settings, output::width(output));
    Out::open(output)?.text(&text)?;
    Ok(ExitCode::Done)
}

/// One sitting of a run, ready to begin.
struct Sitting {
    header: RunHeader,
    environment: Environment,
    findings: Vec<Finding>,
    topology: Topology,
    settings: SeriesSettings,
    past: SeriesPast,
    sink: Keeper,
    path: Option<PathBuf>,
}

/// Performs a sitting and writes what came out.
fn sit(
    machine: &mut dyn Machine,
    sitting: Sitting,
    wish: &Wish,
    strictness: Strictness,
    mut outputs: Outputs,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let Sitting { mut header, environment, findings, topology, settings, past, mut sink, path } = sitting;
    announce(&settings, wish, path.as_deref());
    let latency = nothing(&settings);
    let mut watcher = Watcher::new(wish, &topology, &latency, past.segments, outputs.lines(wish), stop)
        .of_trials(&settings.trials);
    let measured = series::run(machine, &settings, past, &mut sink, &mut watcher, stop);
    let told = watcher.end();
    let path = match sink {
        Keeper::File(writer) => Some(writer.close()?),
        Keeper::Nothing => None,
    };
    let name = path.as_ref().map(|path| runs::name_of(&header.id, path));
    let say_where = |failure: &Failure| {
        // A closed pipe ends quietly.
        if let (Some(name), true) = (&name, failure.code() != ExitCode::Done) {
            let text = format!("what was measured until the failure is saved as {name}");
            output::remark(wish.talk, Talk::Normal, &text);
        }
    };
    let (result, ended) = match (measured, &name) {
        (Err(RunError::Interrupted), Some(name)) => {
            told.inspect_err(say_where)?;
            return Err(Failure::Interrupted(format!(
                "interrupted; what was measured is saved as {name}: go on with `coretalk --resume {name}`, or see it \
                 with `coretalk runs show {name}`"
            )));
        }
        (measured, _) => measured.map_err(Failure::from).inspect_err(say_where)?,
    };
    told.inspect_err(say_where)?;
    header.complete = result.complete;
    let doubted =
        result.trials.iter().filter(|trial| trial.grade.is_none_or(|grade| grade >= Grade::C)).count();
    let report = RunReport {
        header,
        environment,
        findings,
        topology,
        settings: latency,
        result: LatencyResult { complete: result.complete, ..LatencyResult::default() },
        series: Some(SeriesReport { settings, result }),
        place: None,
    };
    outputs.write(&report, name.as_deref(), wish).inspect_err(say_where)?;
    if ended == Ended::Interrupted {
        return Err(Failure::Interrupted("interrupted; nothing was saved, as --no-save asks".into()));
    }
    if strictness == Strictness::Lenient || doubted == 0 {
        return Ok(ExitCode::Done);
    }
    let text = format!(
        "{doubted} trials cannot be trusted (grade C or D, or not measured), which --strict makes a failure"
    );
    output::remark(Talk::Normal, Talk::Normal, &text);
    Ok(ExitCode::Found)
}

/// What a run of series asks of the latency map.
pub(super) fn nothing(settings: &SeriesSettings) -> LatencySettings {
    LatencySettings::nothing(settings.cpus.clone(), settings.precision, settings.budget, settings.seed)
}

/// Where a new run is kept, and its file.
pub(super) fn keeper(
    new: &NewRun<'_>,
    keeping: &Keeping,
    talk: Talk,
) -> Result<(Keeper, Option<PathBuf>), Failure> {
    let Keeping::Store { directory, .. } = keeping else { return Ok((Keeper::Nothing, None)) };
    let writer = RunWriter::create(runs::directory(directory.as_ref())?.path(), new)?;
    if let Some(notice) = writer.notice() {
        output::remark(talk, Talk::Normal, &notice);
    }
    let path = writer.path().to_owned();
    Ok((Keeper::File(Box::new(writer)), Some(path)))
}

/// What a new run is called.
pub(super) fn header(
    invocation: &Invocation,
    keeping: &Keeping,
    seed: u64,
    environment: &Environment,
) -> RunHeader {
    let tags = match keeping {
        Keeping::Store { tag, .. } => tag.iter().cloned().collect(),
        Keeping::Nowhere => Vec::new(),
    };
    RunHeader {
        id: fresh_id(),
        started: now(),
        command: invocation.words.clone(),
        seed,
        simulated: environment.simulated.is_some(),
        complete: false,
        tags,
        segments: 1,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn announce(settings: &SeriesSettings, wish: &Wish, path: Option<&std::path::Path>) {
    let text = format!(
        "measuring {} trials of {} for at most {}, seed {}",
        settings.trials.len(),
        settings.probes.join(", "),
        settings.budget,
        settings.seed
    );
    output::remark(wish.talk, Talk::Normal, &text);
    if let Some(path) = path {
        output::remark(wish.talk, Talk::Verbose, &format!("writing {}", path.display()));
    }
    output::remark(wish.talk, Talk::Verbose, &format!("settings: {settings:?}"));
}

/// The distributions that a trial of a probe can have.
fn views(settings: &SeriesSettings) -> usize {
    let of = |name: &String| {
        let columns = probes::series_by_id(name).map_or(&[][..], |probe| probe.columns());
        columns
            .iter()
            .filter(|column| matches!(column, coretalk_measure::series::Column::Percentiles(..)))
            .count()
    };
    settings.trials.iter().map(|trial| of(&trial.probe)).sum()
}
