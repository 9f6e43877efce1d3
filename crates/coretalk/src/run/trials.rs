//! The commands that measure series: everything but their own options, which are a file each below.

use crate::exit::{ExitCode, Failure};
use crate::report::text::count;
use crate::resolve::output::OutputOptions;
use crate::resolve::run_options::{RunOptions, Strictness};
use crate::resolve::verbosity::{self, Verbosity};
use crate::run::outputs::Results;
use crate::run::segment::{Closed, Segment};
use crate::run::settings_text::settings_of_trials;
use crate::run::trial_outputs::TrialOutputs;
use crate::run::watcher::Watcher;
use crate::{RunReport, SeriesReport};
use coretalk_measure::session::series::{self, SeriesPast};
use coretalk_measure::{Machine, Stop};
use coretalk_model::Grade;
use coretalk_model::latency::{LatencyResult, LatencySettings};
use coretalk_model::series::SeriesSettings;

/// Performs a segment and writes what came out.
pub fn sit(
    machine: &mut dyn Machine,
    mut segment: Segment,
    settings: SeriesSettings,
    past: SeriesPast,
    mut outputs: TrialOutputs,
    options: &RunOptions,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let RunOptions { output: options, strictness, .. } = options;
    announce(&settings, options, segment.path.as_deref());
    let latency = nothing(&settings);
    let lines = outputs.lines(options);
    let mut watcher = Watcher::new(options, &segment.topology, &latency, past.segments, lines, stop)
        .of_trials(&settings.trials);
    let measured = series::run(machine, &settings, past, &mut segment.sink, &mut watcher, stop);
    let told = watcher.end();
    let (closed, result) = segment.close(measured, told, options.verbosity)?;
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
    end.write(stop, |name| outputs.write(&report, name, options))?;
    if let Some(reason) = report.series.as_ref().and_then(|series| series.result.reason_for_no_result()) {
        return Err(Failure::Environment(format!(
            "no trial gave a value: {reason}; `coretalk doctor` looks for the cause"
        )));
    }
    if *strictness == Strictness::Lenient || doubted == 0 {
        return Ok(ExitCode::Done);
    }
    let text = format!(
        "{doubted} trials cannot be trusted (grade C or D, or not measured), which --strict makes a failure"
    );
    verbosity::remark(Verbosity::Normal, Verbosity::Normal, &text);
    Ok(ExitCode::Found)
}

/// What a run of series asks of the latency map.
pub fn nothing(settings: &SeriesSettings) -> LatencySettings {
    LatencySettings::nothing(settings.cpus.clone(), settings.precision, settings.budget, settings.seed)
}

fn announce(settings: &SeriesSettings, options: &OutputOptions, path: Option<&std::path::Path>) {
    let text = format!(
        "measuring {} of {} for at most {}, seed {}",
        count(settings.trials.len() as u64, "trial"),
        settings.probes.join(", "),
        settings.budget,
        settings.seed
    );
    verbosity::remark(options.verbosity, Verbosity::Normal, &text);
    if let Some(path) = path {
        verbosity::remark(options.verbosity, Verbosity::Verbose, &format!("writing {}", path.display()));
    }
    verbosity::remark(options.verbosity, Verbosity::Verbose, &settings_of_trials(settings));
}
