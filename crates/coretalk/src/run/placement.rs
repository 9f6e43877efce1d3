//! `place`: compares placements with the same work.

use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{OutputOptions, Verbosity, remark};
use crate::resolve::placement::Requested;
use crate::run::outputs::Outputs;
use crate::run::segment::{Closed, Segment};
use crate::run::watcher::{Watched, Watcher};
use coretalk_measure::session::latency::Ended;
use coretalk_measure::session::place::{self, PlaceEnded, PlaceJob, Unfinished};
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::{Machine, Stop, Work};
use coretalk_model::place::COMMAND;
use coretalk_model::run::{PlaceReport, RunReport, RunSettings};
use coretalk_model::{CommandReason, TrialFailure};
use coretalk_report::export::Format;
use coretalk_report::fmt::digits::duration;
use coretalk_report::plain;
use coretalk_report::text::cut;
use std::path::Path;

/// Performs one segment and writes the results.
///
/// # Errors
/// [`Failure`]; earlier runs of the work are saved.
pub fn perform(
    machine: &mut dyn Machine,
    mut segment: Segment,
    requested: Requested,
    resumed: SeriesResumedState,
    options: &OutputOptions,
    mut outputs: Outputs,
    stop: &Stop,
) -> Result<ExitCode, Failure> {
    let Requested { settings, works } = requested;
    announce(&settings, options, segment.path.as_deref());
    let budget = duration(settings.budget.secs());
    let lines = outputs.lines(options);
    let asked = RunSettings { place: Some(&settings), ..RunSettings::default() };
    let watched = Watched::of(&segment.topology, asked);
    let mut watcher = Watcher::new(options, &segment.topology, watched, 0, lines, stop);
    let job = PlaceJob { settings: &settings, works: &works };
    let measured = place::go_on(machine, job, resumed, segment.sink.sink(), &mut watcher, stop);
    let measured = measured.map(|(result, ended)| {
        let whole = match ended {
            PlaceEnded::Interrupted(_) => Ended::Interrupted,
            _ => Ended::Complete,
        };
        ((result, ended), whole)
    });
    let (closed, (result, ended)) = segment.close(measured, watcher.end(), options.verbosity)?;
    let Closed { mut header, mut environment, findings, topology, end } = closed;
    environment.note_surroundings(machine.environment());
    header.complete = result.complete;
    let place = Some(PlaceReport { settings, result });
    let report =
        RunReport { header, environment, doctor: findings, topology, latency: None, series: None, place };
    // A failed comparison has no result to read as text; other formats tell programs how it ended.
    if let PlaceEnded::Failed { placement, failure } = &ended {
        let refused = matches!(failure, TrialFailure::NotPinned { .. } | TrialFailure::NoResources { .. });
        let failure = explain(&works, placement, failure);
        let failure = if refused { Failure::Environment(failure) } else { Failure::Command(failure) };
        if options.format != Format::Text {
            outputs.write(&report, end.name(), options).inspect_err(|failure| end.say_where(failure))?;
        }
        end.say_where(&failure);
        return Err(failure);
    }
    for text in of_the_budget(&ended, &budget) {
        remark(options.verbosity, Verbosity::Normal, &text);
    }
    end.write(stop, |name| outputs.write(&report, name, options))?;
    Ok(ExitCode::Done)
}

fn announce(settings: &coretalk_model::place::PlaceSettings, options: &OutputOptions, path: Option<&Path>) {
    let works: Vec<&str> = settings.works.iter().map(|work| work.name.as_str()).collect();
    for placement in &settings.placements {
        let line = placement.taskset().unwrap_or_else(|| "unbound".to_owned());
        remark(options.verbosity, Verbosity::Verbose, &format!("{}: {line}", placement.name));
    }
    let text = format!(
        "comparing {} placements with {} for at most {}, seed {}",
        settings.placements.len(),
        works.join(", "),
        settings.budget,
        settings.seed
    );
    remark(options.verbosity, Verbosity::Normal, &text);
    if let Some(path) = path {
        remark(options.verbosity, Verbosity::Verbose, &format!("writing {}", path.display()));
    }
}

/// Describes the work that the end of the budget left undone, and what would help.
fn of_the_budget(ended: &PlaceEnded, budget: &str) -> Vec<String> {
    let (needed, unfinished) = match ended {
        PlaceEnded::TooShort { needed, unfinished } => (Some(needed), unfinished.as_ref()),
        PlaceEnded::Budget { unfinished } => (None, unfinished.as_ref()),
        _ => return Vec::new(),
    };
    let broken_off = unfinished.map(|Unfinished { work, placement, after, before }| {
        let what = if work == COMMAND { "the command" } else { work };
        let before = match before {
            Some(before) => format!("the previous run took {}", duration(before.secs())),
            None => "no run of it has finished there".to_owned(),
        };
        format!(
            "{what} was still running on placement {placement} after {} when the budget of {budget} ended, and was stopped; {before}",
            duration(after.secs())
        )
    });
    let too_short = needed.map(|needed| match unfinished {
        Some(Unfinished { before: None, .. }) => format!(
            "nothing can be compared: check that the work ends by itself, then set --budget to {} or more",
            duration(needed.secs())
        ),
        _ => format!(
            "the budget of {budget} was too short to run everything on every placement, including a warm-up run on each; set --budget to {} or more",
            duration(needed.secs())
        ),
    });
    broken_off.into_iter().chain(too_short).collect()
}

/// Maximum columns of a command's last output line within a sentence.
const SAID: usize = 200;

/// Formats one sentence: what failed on which placement, and the last line of its output.
fn explain(works: &[Work], placement: &str, failure: &TrialFailure) -> String {
    let name = match works.first() {
        Some(Work::Command(line)) => format!("`{}`", line.name()),
        _ => "the work".to_owned(),
    };
    let (said, advice) = match failure {
        TrialFailure::Command { reason, stdout, stderr, .. } => {
            let said = last_line(stderr).map(|line| format!(" (its last error: {line})"));
            let said = said.or_else(|| last_line(stdout).map(|line| format!(" (its last output: {line})")));
            let advice = match reason {
                CommandReason::NoNumber { .. } => "test the pattern on its output",
                CommandReason::Other(_) => "make it work on its own",
            };
            (said, advice)
        }
        TrialFailure::NotPinned { .. } => (None, "check whether the cpuset has changed"),
        // The failure itself names the limit to raise.
        TrialFailure::NoResources { .. } => {
            return format!("{name} failed on placement {placement}: {failure}, then compare again");
        }
        _ => (None, "make it work on its own"),
    };
    let said = said.unwrap_or_default();
    format!("{name} failed on placement {placement}: {failure}{said}; {advice}, then compare again")
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut(&plain(line), SAID))
}
