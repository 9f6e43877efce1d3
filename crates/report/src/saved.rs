//! [`Screen`] and [`Saved`]: the occasion of a screen, the place of a saved run, and the commands to type next.

use super::fmt;
use super::lists::enumerated;
use crate::blocks::Block;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence, Source, pointer};
use coretalk_model::latency::LeftOut;
use coretalk_model::run::{RunHeader, RunReport};
use coretalk_model::series::Gathering;
use coretalk_model::{CpuLoss, LossReason};

/// Where the run was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved<'a> {
    /// Under this name: a tag or the shortest unique prefix of the id.
    As(&'a str),
    /// Not saved, as requested.
    Not,
}

/// The occasion on which a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen<'a> {
    /// After measuring.
    Measured(Saved<'a>),
    /// Read from a file. The screen shows the time at which the run was started.
    Shown(Saved<'a>),
    /// Like `Shown`, with the tables that the screen after measuring omits.
    Whole(Saved<'a>),
}

impl<'a> Saved<'a> {
    /// The name, if the run was saved.
    pub fn name(self) -> Option<&'a str> {
        match self {
            Saved::As(id) => Some(id),
            Saved::Not => None,
        }
    }
}

impl<'a> Screen<'a> {
    /// Whether the screen shows the ladder table. A quick look shows its map, and the ladder table only on request.
    pub fn has_ladder_table(self, report: &RunReport) -> bool {
        matches!(self, Screen::Whole(_)) || report.gathering() != Some(Gathering::QuickLook)
    }

    /// Where the run was saved.
    pub fn saved(self) -> Saved<'a> {
        match self {
            Screen::Measured(saved) | Screen::Shown(saved) | Screen::Whole(saved) => saved,
        }
    }
}

/// The CPUs lost during the measurement, and the command that resumes with them; `None` without a loss.
pub fn departed(header: &RunHeader, saved_as: Option<&str>) -> Option<Block<'static>> {
    let how = saved_as.map_or(Sentence::new(""), |id| {
        let template = match header.departed.len() {
            1 => "; once it is back: coretalk --resume {id}",
            _ => "; once they are back: coretalk --resume {id}",
        };
        Sentence::new(template).with_name("id", id)
    });
    departures(header.departed.iter().enumerate(), how)
}

/// Like [`departed`], for unsaved results. `all` holds each CPU with its index in the document; `continuation` follows.
pub fn departures<'a>(
    all: impl IntoIterator<Item = (usize, &'a CpuLoss)>,
    continuation: impl Into<Sentence>,
) -> Option<Block<'static>> {
    let words: Vec<Sentence> =
        all.into_iter().map(|(at, departure)| departure_words(at, departure)).collect();
    let template = match words.len() {
        0 => return None,
        1 => "{all}: measurements with it are incomplete{then}",
        _ => "{all}: measurements with them are incomplete{then}",
    };
    Some(Block::Doubt(
        Sentence::new(template).with("all", enumerated(words)).with("then", continuation.into()),
    ))
}

/// Describes the loss of a CPU as text.
pub fn departed_text(departure: &CpuLoss) -> String {
    fmt::sentence(&departure_words(0, departure))
}

fn departure_words(at: usize, departure: &CpuLoss) -> Sentence {
    let is_at_once = departure.is_at_once();
    let template = match departure.why {
        LossReason::Offline if is_at_once => "CPU {cpu} is offline",
        LossReason::Cpuset if is_at_once => "CPU {cpu} is not in the cpuset of this process",
        LossReason::PinRefused if is_at_once => "CPU {cpu} refuses pinned threads",
        LossReason::NotRun if is_at_once => "CPU {cpu} does not run the thread pinned to it",
        LossReason::Offline => "CPU {cpu} went offline after {after} s",
        LossReason::Cpuset => "CPU {cpu} was removed from the cpuset after {after} s",
        LossReason::PinRefused => {
            "CPU {cpu} lost its thread, which could not be pinned again after {after} s"
        }
        LossReason::NotRun => "CPU {cpu} ran its thread no more after {after} s",
    };
    let field = DisplayValue::field(pointer!("/departed/{at}/at_s"), Number::Point(departure.after.secs()));
    Sentence::new(template)
        .with("cpu", departure.cpu)
        .with("after", DisplayValue { unit: DisplayUnit::Decimals(1), ..field })
}

/// The end of the run, if it matters to a reader.
pub fn ending(report: &RunReport, saved_as: Option<&str>) -> Vec<Block<'static>> {
    let latency = report.latency.as_ref();
    let mut blocks: Vec<Block<'_>> = departed(&report.header, saved_as).into_iter().collect();
    let trials_incomplete = report.series.as_ref().is_some_and(|series| !series.result.complete);
    let map_incomplete = latency.is_some_and(|latency| !latency.result.complete);
    let is_partial = map_incomplete || (trials_incomplete && report.gathering().is_some());
    if is_partial && blocks.is_empty() {
        let passes = u64::from(latency.map_or(0, |latency| latency.result.passes));
        let sentence = Sentence::new("Interrupted after {passes}, before everything was measured{resume}");
        let passes = Sentence::counted(passes, Source::Listed, ["pass", "passes"]);
        blocks.push(Block::Prose(sentence.with("passes", passes).with("resume", resume(saved_as))));
    } else if let Some(latency) = latency.filter(|latency| latency.result.budget_ended) {
        let part = if report.series.is_some() { " for the map" } else { "" };
        let sentence = Sentence::new(
            "The budget of {budget}{part} ended before every interval was as narrow as requested; try a longer \
             --budget.{left}",
        );
        let sentence = sentence.with("budget", budget(latency.settings.budget.secs())).with("part", part);
        blocks.push(Block::Prose(sentence.with("left", left_out(report))));
    } else if report.gathering() == Some(Gathering::QuickLook) && !report.left_out().is_empty() {
        // The screen of a quick look has no other report about trials that its budget left out.
        blocks.push(Block::Prose(left_out_alone(report)));
    }
    blocks
}

/// The command that continues an interrupted run, `; to continue: coretalk --resume 50b3`; empty for an unsaved run.
pub(super) fn resume(saved_as: Option<&str>) -> Sentence {
    let command = |id| Sentence::new("; to continue: coretalk --resume {id}").with_name("id", id);
    saved_as.map_or(Sentence::new(""), command)
}

pub(super) fn budget(seconds: f64) -> DisplayValue {
    DisplayValue::bare(Number::Duration(seconds), Source::Option("budget"))
}

/// The work that did not fit into the budget, as a separate sentence; empty if all work did.
pub(super) fn left_out(report: &RunReport) -> Sentence {
    match report.left_out().is_empty() {
        true => Sentence::new(""),
        false => Sentence::new(" {left}").with("left", left_out_alone(report)),
    }
}

fn left_out_alone(report: &RunReport) -> Sentence {
    let field = |index| Source::Field(pointer!("/run/left_out/{index}/count"));
    let part = |(index, left)| match left {
        LeftOut::Pairs(pairs) => Sentence::counted(pairs as u64, field(index), ["pair", "pairs"]),
        LeftOut::Ladder => Sentence::new("the ladder"),
        LeftOut::SingleRoundTrips(pairs) => Sentence::new("single round trips of {pairs}")
            .with("pairs", Sentence::counted(pairs as u64, field(index), ["pair", "pairs"])),
        LeftOut::Trials(trials) => Sentence::counted(trials as u64, field(index), ["trial", "trials"]),
    };
    let parts = report.left_out().into_iter().enumerate().map(part);
    Sentence::new("Left out for lack of time: {parts}.").with("parts", Sentence::joined(parts, ", "))
}

/// The place of a saved run, and the commands to type next; `{id}` in `next` stands for the name of the run.
pub fn saved_as(saved: Saved<'_>, next: &[&'static str]) -> Vec<Sentence> {
    let Saved::As(id) = saved else { return vec!["not saved (--no-save)".into()] };
    ["saved as {id}"].iter().chain(next).map(|part| Sentence::new(part).with_name("id", id)).collect()
}

/// The commands to type next.
pub fn next(report: &RunReport, screen: Screen<'_>) -> Block<'static> {
    let has_ladder = report.latencies().is_some_and(|result| !result.ladder.is_empty());
    let ladder = (has_ladder && !screen.has_ladder_table(report))
        .then_some("every step of the ladder: coretalk runs show {id} --ladder");
    let share = ["to share: coretalk report {id} -o z.html", "as data: coretalk export {id} --format csv"];
    Block::Parts(saved_as(screen.saved(), &ladder.into_iter().chain(share).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretalk_model::{CpuId, Picos};

    #[test]
    fn a_refusal_at_the_start_is_not_described_as_a_loss() {
        let lost_after =
            |ms| CpuLoss { cpu: CpuId(2), after: Picos::from_ms(ms), why: LossReason::PinRefused };
        assert_eq!(departed_text(&lost_after(0)), "CPU 2 refuses pinned threads");
        let text = "CPU 2 lost its thread, which could not be pinned again after 0.4 s";
        assert_eq!(departed_text(&lost_after(400)), text);
    }
}
