//! `place` and `versus`: compare placements of the same work, or compare commands.

use crate::args::words::FailOnWord;
use crate::exit::{ExitCode, Failure};
use crate::resolve::output::{OutputOptions, Verbosity, print_notice};
use crate::run::outputs::Outputs;
use crate::run::segment::{Closed, Segment};
use crate::run::watcher::{Watched, Watcher};
use coretalk_measure::session::latency::Ended;
use coretalk_measure::session::place::{self, PlaceEnded, PlaceJob, Unfinished};
use coretalk_measure::session::series::SeriesResumedState;
use coretalk_measure::{Hook, Hooks, Machine, Stop, Work};
use coretalk_model::place::{COMMAND, PairVerdict, PlaceResult, PlaceSettings};
use coretalk_model::run::{PlaceReport, RunReport, RunSettings};
use coretalk_model::{CommandReason, TrialFailure};
use coretalk_report::export::Format;
use coretalk_report::fmt::digits::duration;
use coretalk_report::plain;
use coretalk_report::text::cut;
use std::path::Path;

/// A comparison to perform.
pub struct Comparison {
    /// Settings of the comparison.
    pub settings: PlaceSettings,
    /// Workloads or command of `place`, or the command of each arm of `versus`.
    pub works: Vec<Work>,
    /// Commands before, between and after the runs.
    pub hooks: Hooks,
    /// `--fail-on`.
    pub fail_on: Option<FailOnWord>,
}

impl Comparison {
    /// Performs one segment and writes the results. After a [`Failure`], earlier runs of the work are saved.
    pub fn perform(
        self,
        machine: &mut dyn Machine,
        mut segment: Segment,
        resumed: SeriesResumedState,
        mut outputs: Outputs,
        options: &OutputOptions,
        stop: &Stop,
    ) -> Result<ExitCode, Failure> {
        let Comparison { settings, works, hooks, fail_on } = self;
        announce(&settings, options, segment.path.as_deref());
        let lines = outputs.lines(options);
        let asked = RunSettings { place: Some(&settings), ..RunSettings::default() };
        let watched = Watched::new(&segment.topology, asked);
        let segment_index = segment.header.segments - 1;
        let mut watcher = Watcher::new(options, &segment.topology, watched, segment_index, lines, stop);
        let job = PlaceJob { settings: &settings, works: &works, hooks: Some(&hooks) };
        let measured = place::go_on(machine, job, resumed, segment.sink.sink(), &mut watcher, stop);
        clean_up(machine, &hooks, options.verbosity);
        let measured = measured.map(|(result, ended)| {
            let segment_ended = match ended {
                PlaceEnded::Interrupted(_) => Ended::Interrupted,
                _ => Ended::Complete,
            };
            ((result, ended), segment_ended)
        });
        let (closed, (result, ended)) = segment.close(measured, watcher.end(), options.verbosity)?;
        let Closed { mut header, mut environment, findings, topology, end } = closed;
        environment.note_surroundings(machine.environment());
        header.complete = result.complete;
        let failure = failure(&settings, &works, &ended);
        let notices = budget_notices(&settings, &ended);
        let code = match (fail_on, &failure) {
            (Some(what), None) => fail_on_code(&result, &settings, what, options.verbosity),
            _ => ExitCode::Done,
        };
        let place = Some(PlaceReport { settings, result });
        let report =
            RunReport { header, environment, doctor: findings, topology, latency: None, series: None, place };
        // A failed comparison has no result to print as text. Other formats tell programs how the comparison ended.
        if let Some(failure) = failure {
            if options.format != Format::Text {
                outputs.write(&report, end.name(), options).inspect_err(|failure| end.say_where(failure))?;
            }
            end.say_where(&failure);
            return Err(failure);
        }
        for text in notices {
            print_notice(options.verbosity, Verbosity::Normal, &text);
        }
        end.write(stop, |name| outputs.write(&report, name, options))?;
        Ok(code)
    }
}

/// Runs the command of `--cleanup` in every case. Its failure changes no result.
fn clean_up(machine: &mut dyn Machine, hooks: &Hooks, verbosity: Verbosity) {
    let Some(line) = hooks.get(&Hook::Cleanup) else { return };
    print_notice(verbosity, Verbosity::Verbose, "running the command of --cleanup");
    // A new `Stop`: the signal that ended the run must not end the cleanup. A second signal ends the process.
    if let Err(failure) = place::run_hook(machine, line, &Stop::new()) {
        let text = explain("the command of --cleanup failed", "test it on its own", &failure);
        print_notice(verbosity, Verbosity::Normal, &text);
    }
}

fn announce(settings: &PlaceSettings, options: &OutputOptions, path: Option<&Path>) {
    for placement in &settings.placements {
        let line = placement.taskset().unwrap_or_else(|| "unbound".to_owned());
        print_notice(options.verbosity, Verbosity::Verbose, &format!("{}: {line}", placement.name));
    }
    let joined =
        |names: &mut dyn Iterator<Item = &String>| names.map(String::as_str).collect::<Vec<_>>().join(", ");
    let arms = settings.placements.len();
    let what = match settings.versus {
        Some(_) => joined(&mut settings.placements.iter().map(|placement| &placement.name)),
        None => {
            format!("{arms} placements with {}", joined(&mut settings.works.iter().map(|work| &work.name)))
        }
    };
    let text = format!("comparing {what} for at most {}, seed {}", settings.budget, settings.seed);
    print_notice(options.verbosity, Verbosity::Normal, &text);
    if let Some(path) = path {
        print_notice(options.verbosity, Verbosity::Verbose, &format!("writing {}", path.display()));
    }
}

/// Returns the exit code of `--fail-on` from the verdicts of the main metric. An undecided verdict also fails.
pub(super) fn fail_on_code(
    result: &PlaceResult,
    settings: &PlaceSettings,
    what: FailOnWord,
    verbosity: Verbosity,
) -> ExitCode {
    let headline = result.comparisons.first();
    let verdicts: Vec<PairVerdict> = headline
        .into_iter()
        .flat_map(|headline| &headline.pairs)
        .filter(|pair| Some(pair.b) != settings.control())
        .map(|pair| pair.verdict)
        .collect();
    let is_found = |verdict: &PairVerdict| match what {
        FailOnWord::Slower => *verdict == PairVerdict::Worse,
        FailOnWord::Faster => *verdict == PairVerdict::Better,
        FailOnWord::Any => matches!(verdict, PairVerdict::Worse | PairVerdict::Better),
    };
    if verdicts.iter().any(is_found) {
        return ExitCode::Found;
    }
    let is_open =
        |verdict: &&PairVerdict| matches!(verdict, PairVerdict::CannotTell | PairVerdict::Withheld(_));
    let open = verdicts.iter().filter(is_open).count();
    if open == 0 && !verdicts.is_empty() {
        return ExitCode::Done;
    }
    let text = format!("{open} of {} verdicts are open, which fails with --fail-on", verdicts.len());
    print_notice(verbosity, Verbosity::Normal, &text);
    ExitCode::CannotTell
}

/// Describes the work that was left undone when the budget ended, and a remedy.
fn budget_notices(settings: &PlaceSettings, ended: &PlaceEnded) -> Vec<String> {
    let budget = duration(settings.budget.secs());
    let (needed, unfinished) = match ended {
        PlaceEnded::TooShort { needed, unfinished } => (Some(needed), unfinished.as_ref()),
        PlaceEnded::Budget { unfinished } => (None, unfinished.as_ref()),
        _ => return Vec::new(),
    };
    let ended_early = unfinished.map(|Unfinished { work, arm, after, before }| {
        let what = match settings.versus {
            Some(_) => format!("arm {arm} was still running"),
            None if work == COMMAND => format!("the command was still running on placement {arm}"),
            None => format!("{work} was still running on placement {arm}"),
        };
        let before = match before {
            Some(before) => format!("the previous run took {}", duration(before.secs())),
            None => "no run of it has finished there".to_owned(),
        };
        format!(
            "{what} after {} when the budget of {budget} ended, and was stopped; {before}",
            duration(after.secs())
        )
    });
    let too_short = needed.map(|needed| match unfinished {
        Some(Unfinished { before: None, .. }) => format!(
            "nothing can be compared: check that the work ends by itself, then set --budget to {} or more",
            duration(needed.secs())
        ),
        _ => format!(
            "the budget of {budget} was too short to run everything {}; set --budget to {} or more",
            if settings.versus.is_some() {
                "for every arm, including a warm-up run of each"
            } else {
                "on every placement, including a warm-up run on each"
            },
            duration(needed.secs())
        ),
    });
    ended_early.into_iter().chain(too_short).collect()
}

fn failure(settings: &PlaceSettings, works: &[Work], ended: &PlaceEnded) -> Option<Failure> {
    let (what, failure) = match ended {
        PlaceEnded::Failed { trial, failure } => {
            let arms = settings.placements.len();
            let arm = &settings.placements[trial % arms].name;
            let work = works.get(if settings.versus.is_some() { trial % arms } else { trial / arms });
            let name = match work {
                Some(Work::Command(line)) => format!("`{}`", line.name()),
                _ => "the work".to_owned(),
            };
            let what = match settings.versus {
                Some(_) if settings.control() == Some(trial % arms) => {
                    format!(
                        "arm {arm} ({name}), which runs {} once more, failed",
                        settings.placements[0].name
                    )
                }
                Some(_) => format!("arm {arm} ({name}) failed"),
                None => format!("{name} failed on placement {arm}"),
            };
            (what, failure)
        }
        PlaceEnded::HookFailed { hook, failure } => {
            let option = match hook {
                Hook::Prepare => "--prepare",
                Hook::Between => "--between",
                Hook::Cleanup => "--cleanup",
            };
            let sentence = explain(&format!("the command of {option} failed"), "test it on its own", failure);
            return Some(Failure::Environment(sentence));
        }
        _ => return None,
    };
    let is_refused = matches!(failure, TrialFailure::NotPinned { .. } | TrialFailure::NoResources { .. });
    let sentence = explain(&what, "make it work on its own", failure);
    Some(if is_refused { Failure::Environment(sentence) } else { Failure::Command(sentence) })
}

/// Maximum columns of a command's last output line in a message.
const MAX_OUTPUT_COLUMNS: usize = 200;

/// Formats one sentence: the failure, the last line of the output, and advice.
fn explain(what: &str, advice: &str, failure: &TrialFailure) -> String {
    let (output, advice) = match failure {
        TrialFailure::Command { reason, stdout, stderr, .. } => {
            let output = last_line(stderr).map(|line| format!(" (its last error: {line})"));
            let output =
                output.or_else(|| last_line(stdout).map(|line| format!(" (its last output: {line})")));
            let advice = match reason {
                CommandReason::NoNumber { .. } => "test the pattern on its output",
                CommandReason::Other(_) => advice,
            };
            (output, advice)
        }
        TrialFailure::NotPinned { .. } => (None, "check whether the cpuset has changed"),
        // The failure already names the limit to raise.
        TrialFailure::NoResources { .. } => return format!("{what}: {failure}, then compare again"),
        _ => (None, advice),
    };
    let output = output.unwrap_or_default();
    format!("{what}: {failure}{output}; {advice}, then compare again")
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut(&plain(line), MAX_OUTPUT_COLUMNS))
}
