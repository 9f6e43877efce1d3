//! The commands that measure a map: the quick look, `latency`, and `suite`.

use crate::exit::{ExitCode, Failure};
use crate::report::text::{count, duration};
use crate::resolve::output::OutputOptions;
use crate::resolve::run_options::{RunOptions, Strictness};
use crate::resolve::verbosity::{self, Verbosity};
use crate::run::outputs::Results;
use crate::run::segment::{Closed, Segment};
use crate::run::settings_text::{settings_of_map, settings_of_trials};
use crate::run::watcher::Watcher;
use crate::{RunReport, SeriesReport};
use coretalk_measure::session::Sink;
use coretalk_measure::session::latency::{self, Ended, Past, RunError};
use coretalk_measure::session::series::{self, Earlier, SeriesPast};
use coretalk_measure::{Machine, Stop};
use coretalk_model::latency::{
    Cell, Choices, Imitated, LatencyMap, LatencyResult, LatencySettings, analyse, cells,
};
use coretalk_model::series::{Gathering, SeriesResult, SeriesSettings, analyse_series};
use coretalk_model::{CpuId, Grade, TickRate};
use std::path::Path;

/// Everything that a run with a map measures, and what earlier segments said of it.
pub struct RunPlan {
    /// What is asked of the map.
    pub settings: LatencySettings,
    /// What was said of it.
    pub past: Past,
    /// The trials beside it, and what was said of them.
    pub series: Option<(SeriesSettings, SeriesPast)>,
}

/// Performs a segment and writes what came out.
///
/// # Errors
/// [`Failure`]; what was measured until then is saved.
pub fn sit(
    machine: &mut dyn Machine,
    mut segment: Segment,
    plan: RunPlan,
    outputs: &mut dyn Results,
    options: &RunOptions,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let RunOptions { output: options, strictness, .. } = options;
    announce(machine, &plan, options, segment.path.as_deref());
    let RunPlan { settings, past, series } = plan;
    let lines = outputs.lines(options);
    let trials = series.as_ref().map_or(&[][..], |(series, _)| &series.trials);
    let mut watcher =
        Watcher::new(options, &segment.topology, &settings, past.segments, lines, stop).of_trials(trials);
    let measured = measured(machine, &settings, past, &series, &mut segment, &mut watcher, stop);
    let told = watcher.end();
    let (closed, (result, of_trials)) = segment.close(measured, told, options.verbosity)?;
    let Closed { mut header, mut environment, findings, topology, end } = closed;
    environment.note_surroundings(machine.environment());
    header.complete = result.complete && of_trials.as_ref().is_none_or(|result| result.complete);
    let series = series.zip(of_trials).map(|((settings, _), result)| SeriesReport { settings, result });
    let mut report =
        RunReport { header, environment, findings, topology, settings, result, series, place: None };
    report.complete_the_ladder();
    end.write(stop, |name| outputs.write(&report, name, options))?;
    if let Some(reason) = nothing_measured(&report) {
        return Err(Failure::Environment(format!(
            "no pair gave a value: {reason}; `coretalk doctor` looks for the cause"
        )));
    }
    Ok(trust(&report, *strictness))
}

/// Why nothing was measured by a run that ended by itself; `None` where something was, or where the budget ended: that is
/// said, and a longer one helps.
fn nothing_measured(report: &RunReport) -> Option<String> {
    let result = &report.result;
    let trials = report.series.iter().flat_map(|series| &series.result.trials);
    let ended_by_itself = result.complete || !report.header.departed.is_empty();
    if !ended_by_itself || result.budget_ended || trials.into_iter().any(|trial| trial.passes > 0) {
        return None;
    }
    let pairs = cells(&report.topology, &report.settings);
    let of_tool = |imitated: &Imitated| imitated.cells.iter().any(|(_, _, cell)| cell.is_ok());
    if pairs.is_empty() || result.imitated.iter().any(of_tool) {
        return None;
    }
    let mut reasons: Vec<String> = Vec::new();
    for map in &result.maps {
        for &[a, b] in &pairs {
            let place = |cpu| map.cells.position(cpu);
            match place(b).zip(place(a)).and_then(|(row, column)| map.cells.get(row, column)) {
                Some(Cell::Missing { reason }) => reasons.push(reason.clone()),
                Some(_) => return None,
                None => {}
            }
        }
    }
    // What happened to some pair says more than that others were not reached.
    let told = reasons.iter().find(|reason| !reason.contains("before this pair was reached"));
    let usual = || "no pair answered".to_owned();
    Some(told.or(reasons.first()).cloned().unwrap_or_else(usual))
}

type Both = (LatencyResult, Option<SeriesResult>);

/// The map first, where one is asked for, then the trials beside it.
fn measured(
    machine: &mut dyn Machine,
    settings: &LatencySettings,
    past: Past,
    series: &Option<(SeriesSettings, SeriesPast)>,
    segment: &mut Segment,
    watcher: &mut Watcher<'_>,
    stop: &Stop,
) -> Result<(Both, Ended), RunError> {
    let began = machine.now();
    let (map, mut ended) = if settings.ask_for_nothing() {
        (LatencyResult { complete: true, ..LatencyResult::default() }, Ended::Complete)
    } else if series.is_some() && is_settled(&past) {
        // Trials were left, and no time is to be spent on the map again; its tables are derived anew.
        let rate = TickRate { hz: segment.environment.clock.hz };
        let map = analyse(&segment.topology, settings, rate, &past.record);
        segment.sink.finish(&map)?;
        (map, Ended::Complete)
    } else {
        latency::run(machine, settings, past, &mut segment.sink, watcher, stop)?
    };
    let Some((series, past)) = series else { return Ok(((map, None), ended)) };
    if ended == Ended::Interrupted {
        let trials = analyse_series(machine.topology(), series, &past.record);
        return Ok(((map, Some(trials)), ended));
    }
    let earlier = Some(Earlier { began, departed: watcher.departed().to_vec() });
    let past = SeriesPast { earlier, ..past.clone() };
    let (trials, ended_trials) = series::run(machine, series, past, &mut segment.sink, watcher, stop)?;
    if ended_trials != Ended::Complete {
        ended = ended_trials;
    }
    Ok(((map, Some(trials)), ended))
}

/// Whether a map of earlier segments needs nothing more.
fn is_settled(past: &Past) -> bool {
    let choices = Choices::of(&past.record);
    choices.complete && !choices.budget_ended
}

fn announce(machine: &dyn Machine, plan: &RunPlan, options: &OutputOptions, path: Option<&Path>) {
    let RunPlan { settings, series, .. } = plan;
    let mut text = match settings.ask_for_nothing() {
        true => "one CPU has no pair, so that there is no map; measuring".to_owned(),
        false => format!("measuring {} CPUs for at most {}", settings.cpus.len(), settings.budget),
    };
    if let Some((series, _)) = series {
        let plan = series::plan(machine, series);
        let join = if settings.ask_for_nothing() { "" } else { ", then" };
        let [least, most] = plan.machine_time.map(|time| duration(time.secs()));
        let time = if least == most { format!("about {most}") } else { format!("{least} to {most}") };
        let trials = count(plan.trials as u64, "trial");
        text.push_str(&format!("{join} {trials} of {} for {time}", series.probes.join(", ")));
    }
    verbosity::remark(options.verbosity, Verbosity::Normal, &format!("{text}, seed {}", settings.seed));
    if let Some(path) = path {
        verbosity::remark(options.verbosity, Verbosity::Verbose, &format!("writing {}", path.display()));
    }
    verbosity::remark(options.verbosity, Verbosity::Verbose, &settings_of_map(settings));
    if let Some((series, _)) = series {
        verbosity::remark(options.verbosity, Verbosity::Verbose, &settings_of_trials(series));
    }
}

/// Whether every cell that was asked for can be trusted, where that matters.
fn trust(report: &RunReport, strictness: Strictness) -> ExitCode {
    if strictness == Strictness::Lenient {
        return ExitCode::Done;
    }
    let doubted = doubted(report);
    if doubted == 0 {
        return ExitCode::Done;
    }
    let text = format!(
        "{doubted} cells cannot be trusted (grade C or D, or not measured), which --strict makes a failure"
    );
    verbosity::remark(Verbosity::Normal, Verbosity::Normal, &text);
    ExitCode::Found
}

fn doubted(report: &RunReport) -> usize {
    let pairs = cells(&report.topology, &report.settings);
    let of_map = |map: &LatencyMap| {
        let place = |cpu| map.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| map.cells.get(place(b)?, place(a)?)?.value();
        pairs.iter().filter(|&&pair| cell(pair).is_none_or(|value| value.grade >= Grade::C)).count()
    };
    let of_tool = |imitated: &Imitated| {
        let place = |cpu| imitated.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| imitated.cells.get(place(b)?, place(a)?)?.as_ref().ok();
        pairs.iter().filter(|&&pair| cell(pair).is_none()).count()
    };
    // What stands beside a quick look is no promise of it.
    let suite = report.series.iter().filter(|series| series.settings.gathering() == Some(Gathering::Suite));
    let trials = suite.flat_map(|series| &series.result.trials);
    report.result.maps.iter().map(of_map).sum::<usize>()
        + report.result.imitated.iter().map(of_tool).sum::<usize>()
        + trials.filter(|trial| trial.grade.is_none_or(|grade| grade >= Grade::C)).count()
}
