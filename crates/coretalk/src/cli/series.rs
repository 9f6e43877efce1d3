//! The commands that measure series: everything but their own options, which are a file each below.

mod broadcast;
mod contend;
mod jitter;
mod outputs;
mod queue;
mod request;
mod resume;
mod sharing;
mod spawn;
mod strain;
mod wait;
mod wake;

pub use broadcast::BroadcastArgs;
pub use contend::ContendArgs;
pub use jitter::JitterArgs;
pub use outputs::{Outputs, is_folder, write_folder};
pub use queue::QueueArgs;
pub use request::{SeriesRequested, possible, request};
pub use resume::act as resume;
pub use sharing::SharingArgs;
pub use spawn::SpawnArgs;
pub use wait::WaitArgs;
pub use wake::WakeArgs;

use super::meant::settings_of_trials;
use super::measure::Results;
use super::output::{self, Out};
use super::parse::Invocation;
use super::resolve::{Strictness, Talk, Wish};
use super::sitting::{Closed, Opening, Sitting, Ways};
use super::value::{AutoOr, PairsWord};
use super::watcher::Watcher;
use super::{machine, signals};
use crate::exit::{ExitCode, Failure};
use crate::report;
use crate::report::text::count;
use crate::{RunReport, SeriesReport};
use coretalk_measure::session::series::{self, SeriesPast};
use coretalk_measure::{Machine, probes};
use coretalk_model::latency::{LatencyResult, LatencySettings};
use coretalk_model::series::{Parameters, SeriesSettings};
use coretalk_model::{Grade, Picos};

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

    /// Pairs at the same time, as typed.
    fn parallel(&self) -> Option<AutoOr> {
        None
    }

    /// Whether two roles may be on one CPU: `--pairs 0-0`.
    fn may_share_a_cpu(&self) -> bool {
        false
    }

    /// Whether CPUs beside those of `--pairs` take part.
    fn has_neighbours(&self) -> bool {
        false
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
    let outputs = Outputs::open(&requested.wish, &requested.settings, &stop)?;
    for notice in &requested.notices {
        output::remark(requested.wish.talk, Talk::Normal, notice);
    }
    let opening = Opening {
        invocation,
        crew: &requested.crew,
        keeping: &requested.keeping,
        remarks: &requested.remarks,
        settings: &nothing(&requested.settings),
        series: Some(&requested.settings),
        talk: requested.wish.talk,
        stop: &stop,
    };
    let sitting = opening.open(&mut *machine)?;
    let (settings, past) = (requested.settings, SeriesPast::default());
    let ways = Ways { wish: &requested.wish, strictness: requested.strictness, stop: &stop };
    sit(&mut *machine, sitting, settings, past, outputs, ways)
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
    let plan = series::plan(&*machine, &requested.settings);
    let output = global.output.as_deref();
    let text = report::plan::series_plan(&plan, &requested.settings, output::width(output));
    Out::open(output)?.text(&text)?;
    Ok(ExitCode::Done)
}

/// Performs a sitting and writes what came out.
fn sit(
    machine: &mut dyn Machine,
    mut sitting: Sitting,
    settings: SeriesSettings,
    past: SeriesPast,
    mut outputs: Outputs,
    Ways { wish, strictness, stop }: Ways<'_>,
) -> Result<ExitCode, Failure> {
    announce(&settings, wish, sitting.path.as_deref());
    let latency = nothing(&settings);
    let lines = outputs.lines(wish);
    let mut watcher = Watcher::new(wish, &sitting.topology, &latency, past.segments, lines, stop)
        .of_trials(&settings.trials);
    let measured = series::run(machine, &settings, past, &mut sitting.sink, &mut watcher, stop);
    let told = watcher.end();
    let (closed, result) = sitting.close(measured, told, wish.talk)?;
    let Closed { mut header, mut environment, findings, topology, end } = closed;
    environment.note_surroundings(machine.environment());
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
    end.write(stop, |name| outputs.write(&report, name, wish))?;
    if let Some(reason) = report.series.as_ref().and_then(|series| series.result.nothing_said()) {
        return Err(Failure::Environment(format!(
            "no trial gave a value: {reason}; `coretalk doctor` looks for the cause"
        )));
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

fn announce(settings: &SeriesSettings, wish: &Wish, path: Option<&std::path::Path>) {
    let text = format!(
        "measuring {} of {} for at most {}, seed {}",
        count(settings.trials.len() as u64, "trial"),
        settings.probes.join(", "),
        settings.budget,
        settings.seed
    );
    output::remark(wish.talk, Talk::Normal, &text);
    if let Some(path) = path {
        output::remark(wish.talk, Talk::Verbose, &format!("writing {}", path.display()));
    }
    output::remark(wish.talk, Talk::Verbose, &settings_of_trials(settings));
}

/// The distributions that a trial of a probe can have.
fn views(settings: &SeriesSettings) -> usize {
    let of = |trial: &coretalk_model::series::TrialSpec| {
        probes::series_by_id(&trial.probe).map_or(0, |probe| probe.distributions(trial))
    };
    settings.trials.iter().map(of).sum()
}
