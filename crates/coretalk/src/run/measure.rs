//! Measures a latency map, trials, or both.

use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{OutputOptions, Verbosity, print_notice};
use crate::resolve::run_options::{RunOptions, Strictness};
use crate::run::out::{self, Out};
use crate::run::outputs::Outputs;
use crate::run::saved;
use crate::run::segment::{Closed, Past, Segment};
use crate::run::watcher::{Watched, Watcher};
use crate::store::RunFile;
use coretalk_measure::probes::GLOSSARY;
use coretalk_measure::session::latency::{self, Ended, ResumedState, RunError};
use coretalk_measure::session::series::{self, Earlier};
use coretalk_measure::{Machine, Stop, probes};
use coretalk_model::latency::{
    Choices, Counts, HintChoice, HomeSetting, Imitated, LatencyMap, LatencySettings, MissingReason,
    PairChoice, PairOutcome, Parallel, Spacing, analyse, cells,
};
use coretalk_model::run::{LatencyReport, RunReport, RunSettings, SeriesReport};
use coretalk_model::series::{Gathering, SeriesSettings, TrialSpec, analyse_series};
use coretalk_model::{CpuId, CpuSet, Grade, Picos, Reason, TickRate};
use coretalk_report::document::Identity;
use coretalk_report::export::Format;
use coretalk_report::fmt::digits::{count, duration, percent};
use coretalk_report::reasons::Worded;
use coretalk_report::text::plain;
use std::path::Path;
use std::time::Duration;

type Settings = (Option<LatencySettings>, Option<SeriesSettings>);

/// Measures one segment and writes the results. After a [`Failure`], earlier measurements are saved.
pub fn perform(
    machine: &mut dyn Machine,
    mut segment: Segment,
    settings: Settings,
    past: Past,
    mut outputs: Outputs,
    options: &RunOptions,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let RunOptions { output: output_options, strictness, .. } = options;
    let asked = RunSettings { latency: settings.0.as_ref(), series: settings.1.as_ref(), place: None };
    announce(machine, asked, output_options, segment.path.as_deref());
    let lines = outputs.lines(output_options);
    let watched = Watched::new(&segment.topology, asked).then(expected_trials_time(machine, asked));
    let segment_index = segment.header.segments - 1;
    let mut watcher = Watcher::new(output_options, &segment.topology, watched, segment_index, lines, stop);
    let measured = measure(machine, settings, past, &mut segment, &mut watcher, stop);
    let departed = watcher.end();
    let path = segment
        .path
        .clone()
        .filter(|_| output_options.format == Format::Text && output_options.output.is_none());
    let closed = segment.close(measured, departed, output_options.verbosity);
    if let (Err(Failure::Interrupted(_)), Some(path)) = (&closed, path) {
        // Errors are ignored, because the following message says where the measurements are saved.
        let _ = show_so_far(&path, output_options);
    }
    let (closed, (latency, series)) = closed?;
    let Closed { mut header, mut environment, findings, topology, end } = closed;
    environment.note_surroundings(machine.environment());
    header.complete = latency.as_ref().is_none_or(|latency| latency.result.complete)
        && series.as_ref().is_none_or(|series| series.result.complete);
    let mut report =
        RunReport { header, environment, doctor: findings, topology, latency, series, place: None };
    report.complete_the_ladder();
    if output_options.identity == Identity::Included {
        report.reveal();
    }
    end.write(stop, |name| outputs.write(&report, name, output_options))?;
    match nothing_measured(&report) {
        Some(failure) => Err(failure),
        None => Ok(trust(&report, *strictness)),
    }
}

/// Maximum CPUs for showing an interrupted run. Reading a larger run back delays the exit too much.
const MAX_SHOWN: usize = 192;

fn show_so_far(path: &Path, options: &OutputOptions) -> Result<(), Failure> {
    let file = RunFile::open(path)?;
    let report = file.report()?;
    if report.topology.cpus().len() > MAX_SHOWN {
        return Ok(());
    }
    let name = saved::name_of(&report.header.id, path);
    out::write_run(&mut Out::open(None)?, Format::Text, &out::whole(&report, Some(&name), options))
}

/// Returns the expected duration of the trials after a map; zero without a map or without trials.
fn expected_trials_time(machine: &dyn Machine, asked: RunSettings<'_>) -> Duration {
    let (Some(_), Some(trials)) = (asked.latency, asked.series) else { return Duration::ZERO };
    let [least, most] = series::plan(machine, trials).machine_time;
    Duration::from_secs_f64((least.secs() + most.secs()) / 2.0)
}

/// Returns the failure of a run that ended without any value; `None` if it has values or was interrupted.
fn nothing_measured(report: &RunReport) -> Option<Failure> {
    let (what, why) = match (&report.latency, &report.series) {
        (Some(latency), _) => ("pair", no_pair(report, latency)?),
        (None, Some(series)) if series.settings.gathering().is_none() => {
            let SeriesReport { settings, result, .. } = series;
            let why = match result.reason_for_no_result(&report.header.departed) {
                Some(reason) => NoValue::Failed(reason_with_output(reason)),
                None if result.budget_ended && result.trials.iter().all(|trial| trial.passes == 0) => {
                    NoValue::TooShort(settings.budget)
                }
                None => return None,
            };
            ("trial", why)
        }
        _ => return None,
    };
    let reason = match why {
        NoValue::Failed(reason) => reason,
        NoValue::TooShort(budget) => {
            let budget = duration(budget.secs());
            let text = format!(
                "no {what} could be measured: the budget of {budget} ended first; try a longer --budget"
            );
            return Some(Failure::Environment(text));
        }
    };
    let hint = match report
        .series
        .as_ref()
        .is_some_and(|series| series.settings.trials.iter().all(is_external))
    {
        true => {
            "`coretalk adapters` lists the runtimes here, and `coretalk adapters check` what is wrong with one"
        }
        false => "`coretalk doctor` looks for the cause",
    };
    Some(Failure::Environment(format!("no {what} could be measured: {reason}; {hint}")))
}

enum NoValue {
    /// All attempts failed, for this reason.
    Failed(String),
    /// The budget ended before the first attempt.
    TooShort(Picos),
}

/// Formats a reason with the output of the measured program. That output is private: only for the user's terminal.
fn reason_with_output(reason: &Reason) -> String {
    let mut reason = reason.clone();
    reason.reveal();
    plain(&reason.text())
}

fn is_external(trial: &TrialSpec) -> bool {
    probes::series_by_id(&trial.probe).is_some_and(|probe| probe.external(trial).is_some())
}

/// Returns why no pair and no trial has a value; `None` if one has a value, or if the run was interrupted.
fn no_pair(report: &RunReport, latency: &LatencyReport) -> Option<NoValue> {
    let result = &latency.result;
    let trials = report.series.iter().flat_map(|series| &series.result.trials);
    let ended_by_itself = result.complete || result.budget_ended || !report.header.departed.is_empty();
    if !ended_by_itself || trials.into_iter().any(|trial| trial.passes > 0) {
        return None;
    }
    let pairs = cells(&report.topology, &latency.settings);
    let has_value = |imitated: &Imitated| imitated.cells.iter().any(|(_, _, cell)| cell.is_ok());
    if pairs.is_empty() || result.imitated.iter().any(has_value) {
        return None;
    }
    let mut reasons: Vec<&MissingReason> = Vec::new();
    for map in &result.maps {
        for &[a, b] in &pairs {
            let position = |cpu| map.cells.position(cpu);
            match position(b).zip(position(a)).and_then(|(row, column)| map.cells.get(row, column)) {
                Some(PairOutcome::Missing { reason }) => reasons.push(reason),
                Some(_) => return None,
                None => {}
            }
        }
    }
    let tool_cells = result.imitated.iter().flat_map(|imitated| imitated.cells.iter());
    let failed =
        tool_cells.filter(|(row, column, _)| row != column).filter_map(|(_, _, cell)| cell.as_ref().err());
    reasons.extend(failed);
    // The failure of a pair tells more than the pairs that were not reached.
    let failure = reasons.iter().find(|reason| ***reason != MissingReason::NotReached);
    if result.budget_ended && failure.is_none() {
        return Some(NoValue::TooShort(latency.settings.budget));
    }
    let no_response = || "no pair responded".to_owned();
    Some(NoValue::Failed(failure.or(reasons.first()).map_or_else(no_response, |reason| reason.text())))
}

type Reports = (Option<LatencyReport>, Option<SeriesReport>);

/// Measures the latencies, if requested, then the trials.
fn measure(
    machine: &mut dyn Machine,
    (latency, series): Settings,
    past: Past,
    segment: &mut Segment,
    watcher: &mut Watcher<'_>,
    stop: &Stop,
) -> Result<(Reports, Ended), RunError> {
    let began = machine.now();
    let (has_latency, mut ended) = (latency.is_some(), Ended::Complete);
    let Past { latency: resumed, series: mut resumed_trials } = past;
    let latency = match latency {
        None => None,
        Some(settings) if series.is_some() && is_settled(&resumed) => {
            // The map is complete. Its result is computed from the record, without machine time.
            let rate = TickRate { hz: segment.environment.clock.hz };
            let result = analyse(&segment.topology, &settings, rate, &resumed.record);
            segment.sink.sink().finish(&result)?;
            Some(LatencyReport { settings, result })
        }
        Some(settings) => {
            let (result, end) =
                latency::run(machine, &settings, resumed, segment.sink.sink(), watcher, stop)?;
            ended = end;
            Some(LatencyReport { settings, result })
        }
    };
    let Some(settings) = series else { return Ok(((latency, None), ended)) };
    if ended == Ended::Interrupted {
        let result = analyse_series(machine.topology(), &settings, &resumed_trials.record);
        return Ok(((latency, Some(SeriesReport { settings, result, glossary: GLOSSARY })), ended));
    }
    if has_latency || settings.gathering().is_some() {
        resumed_trials.earlier = Some(Earlier { began, departed: watcher.departed().to_vec() });
    }
    let (result, end) = series::run(machine, &settings, resumed_trials, segment.sink.sink(), watcher, stop)?;
    if end != Ended::Complete {
        ended = end;
    }
    Ok(((latency, Some(SeriesReport { settings, result, glossary: GLOSSARY })), ended))
}

fn is_settled(resumed: &ResumedState) -> bool {
    let choices = Choices::from_record(&resumed.record);
    choices.complete && !choices.budget_ended
}

fn announce(machine: &dyn Machine, settings: RunSettings<'_>, options: &OutputOptions, path: Option<&Path>) {
    let say = |verbosity, text: &str| print_notice(options.verbosity, verbosity, text);
    let trials = |series: &SeriesSettings| {
        format!("{} of {}", count(series.trials.len() as u64, "trial"), series.probes.join(", "))
    };
    let trials_and_time = |series: &SeriesSettings| {
        let [least, most] = series::plan(machine, series).machine_time.map(|time| duration(time.secs()));
        let time = if least == most { format!("about {most}") } else { format!("{least} to {most}") };
        format!("{} for {time}", trials(series))
    };
    let text = match (settings.latency, settings.series) {
        (Some(latency), None) => {
            format!("measuring {} CPUs for at most {}", latency.cpus.len(), latency.budget)
        }
        (Some(latency), Some(series)) => {
            let most = latency.budget;
            format!(
                "measuring {} CPUs for at most {most}, then {}",
                latency.cpus.len(),
                trials_and_time(series)
            )
        }
        (None, Some(series)) if series.gathering().is_some() => {
            format!("one CPU has no pairs, so there is no map; measuring {}", trials_and_time(series))
        }
        (None, Some(series)) => format!("measuring {} for at most {}", trials(series), series.budget),
        (None, None) => return,
    };
    say(Verbosity::Normal, &format!("{text}, seed {}", settings.seed()));
    if let Some(path) = path {
        say(Verbosity::Verbose, &format!("writing {}", path.display()));
    }
    let of_latency = settings.latency.map(settings_of_map);
    for settings in of_latency.into_iter().chain(settings.series.map(settings_of_trials)) {
        say(Verbosity::Verbose, &settings);
    }
}

/// Checks, with `--strict`, that every requested cell or trial can be trusted.
pub(super) fn trust(report: &RunReport, strictness: Strictness) -> ExitCode {
    let doubted = if strictness == Strictness::Lenient { 0 } else { doubted(report) };
    if doubted == 0 {
        return ExitCode::Done;
    }
    let what = if report.latency.is_some() || report.gathering().is_some() { "cells" } else { "trials" };
    let text = format!(
        "{doubted} {what} cannot be trusted (grade C or D, or not measured), which fails with --strict"
    );
    print_notice(Verbosity::Normal, Verbosity::Normal, &text);
    ExitCode::Found
}

fn doubted(report: &RunReport) -> usize {
    let of_latency = report.latency.as_ref().map_or(0, |latency| doubted_cells(report, latency));
    // A quick look does not promise its trials.
    let promised =
        report.series.iter().filter(|series| series.settings.gathering() != Some(Gathering::QuickLook));
    let trials = promised.flat_map(|series| &series.result.trials);
    of_latency + trials.filter(|trial| trial.grade.is_none_or(|grade| grade >= Grade::C)).count()
}

fn doubted_cells(report: &RunReport, latency: &LatencyReport) -> usize {
    let pairs = cells(&report.topology, &latency.settings);
    let doubted_in_map = |map: &LatencyMap| {
        let position = |cpu| map.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| map.cells.get(position(b)?, position(a)?)?.value();
        pairs.iter().filter(|&&pair| cell(pair).is_none_or(|value| value.grade >= Grade::C)).count()
    };
    let doubted_of_tool = |imitated: &Imitated| {
        let position = |cpu| imitated.cells.position(cpu);
        let cell = |[a, b]: [CpuId; 2]| imitated.cells.get(position(b)?, position(a)?)?.as_ref().ok();
        pairs.iter().filter(|&&pair| cell(pair).is_none()).count()
    };
    let result = &latency.result;
    result.maps.iter().map(doubted_in_map).sum::<usize>()
        + result.imitated.iter().map(doubted_of_tool).sum::<usize>()
}

fn settings_of_map(settings: &LatencySettings) -> String {
    let pairs = match &settings.pairs {
        PairChoice::All => "all pairs".to_owned(),
        PairChoice::Representatives => "a few pairs of each relation".to_owned(),
        PairChoice::Siblings => "SMT siblings".to_owned(),
        PairChoice::Listed(pairs) if pairs.is_empty() => "no pairs".to_owned(),
        PairChoice::Listed(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|[from, to]| format!("{from}-{to}")).collect();
            format!("pairs {}", pairs.join(","))
        }
    };
    let mut parts = vec![cpus_text(&settings.cpus), pairs];
    if settings.imitate.is_empty() {
        let protocols: Vec<&str> = settings.protocols.iter().map(|protocol| protocol.name()).collect();
        parts.extend((!protocols.is_empty()).then(|| format!("protocol {}", protocols.join(", "))));
    } else {
        let tools: Vec<&str> = settings.imitate.iter().map(|tool| tool.name()).collect();
        parts.push(format!("as {}", tools.join(", ")));
    }
    parts.push(match settings.hint {
        HintChoice::Auto => "wait hint chosen by a pilot".to_owned(),
        HintChoice::None => "no wait hint".to_owned(),
        HintChoice::Pause => "wait hint pause".to_owned(),
    });
    parts.push(match settings.home {
        HomeSetting::Auto => "lines on the NUMA node of each side".to_owned(),
        HomeSetting::Node(home) => format!("lines on NUMA node {}", home.0),
    });
    parts.push(match settings.lines {
        None => "lines per visit by machine size".to_owned(),
        Some(lines) => format!("{lines} lines per visit"),
    });
    parts.push(match settings.counts {
        Counts::Adaptive => precision_text(settings.precision),
        Counts::Fixed { samples, iterations } => format!("{samples} samples of {iterations} round trips"),
    });
    parts.push(match settings.parallel {
        Parallel::Auto => "pairs in parallel if one at a time takes too long".to_owned(),
        Parallel::AtMost(1) => "one pair at a time".to_owned(),
        Parallel::AtMost(pairs) => format!("at most {pairs} pairs in parallel"),
    });
    parts.extend((settings.spacing == Spacing::Watch).then(|| "passes spread over the budget".to_owned()));
    parts.extend(settings.tails.map(|tails| format!("tails at {} messages/s", tails.rate_per_s)));
    parts.extend(settings.ladder.then(|| "ladder".to_owned()));
    parts.extend(settings.keep_raw.then(|| "raw ticks kept".to_owned()));
    sentence(&parts)
}

fn settings_of_trials(settings: &SeriesSettings) -> String {
    let mut parts = vec![cpus_text(&settings.cpus), format!("trials of {}", settings.probes.join(", "))];
    parts
        .extend(settings.options.0.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " "))));
    let headlines: Vec<String> = settings.headlines.iter().map(ToString::to_string).collect();
    parts.extend((!headlines.is_empty()).then(|| format!("judged by {}", headlines.join(", "))));
    parts.push(precision_text(settings.precision));
    sentence(&parts)
}

fn cpus_text(cpus: &[CpuId]) -> String {
    cpus.iter().copied().collect::<CpuSet>().named()
}

fn precision_text(precision: f64) -> String {
    format!("until intervals reach ±{}", percent(precision))
}

fn sentence(parts: &[String]) -> String {
    format!("settings: {}", parts.join("; "))
}
