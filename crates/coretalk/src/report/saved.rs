//! [`Screen`] and [`Saved`]: on which occasion a run is shown, and under what name it can be found again; how it ended, and
//! what to type next.

use super::text::{count, duration, plain};
use crate::blocks::Block;
use crate::blocks::value::Sentence;
use crate::{RunHeader, RunReport};
use coretalk_model::Departure;
use coretalk_model::latency::LeftOut;
use coretalk_model::series::Gathering;

/// Where the run was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved<'a> {
    /// Under this name: a tag or the shortest unique prefix of the id.
    As(&'a str),
    /// Nowhere, as asked.
    Not,
}

/// Which screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen<'a> {
    /// After measuring.
    Measured(Saved<'a>),
    /// Of a run read from its file; says when it was started.
    Shown(Saved<'a>),
    /// The same with every table that the screen after measuring leaves to it.
    Whole(Saved<'a>),
}

impl<'a> Saved<'a> {
    /// The name, where it has one.
    pub fn name(self) -> Option<&'a str> {
        match self {
            Saved::As(id) => Some(id),
            Saved::Not => None,
        }
    }
}

impl<'a> Screen<'a> {
    /// Whether it shows every step of the ladder: where that was asked for, and not beside the map of a quick look.
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

/// The CPUs that went away while it was measured, and how to go on with them; nothing where none did.
pub fn departed(header: &RunHeader, saved_as: Option<&str>) -> Option<Block<'static>> {
    let back = if header.departed.len() == 1 { "it is" } else { "they are" };
    let how =
        saved_as.map_or(String::new(), |id| format!("; once {back} back: coretalk --resume {}", plain(id)));
    departures(&header.departed, &how)
}

/// The same of what is not saved, with what follows from it.
pub fn departures(all: &[Departure], then: &str) -> Option<Block<'static>> {
    let words: Vec<String> = all.iter().map(ToString::to_string).collect();
    let (last, others) = words.split_last()?;
    let who = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    Some(Block::Doubt(format!("{who}: measurements with {} are incomplete{then}", pronoun(all.len())).into()))
}

fn pronoun(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

/// How the run ended, where that matters to a reader.
pub fn ending(report: &RunReport, saved_as: Option<&str>) -> Vec<Block<'static>> {
    let latency = report.latency.as_ref();
    let mut blocks: Vec<Block<'_>> = departed(&report.header, saved_as).into_iter().collect();
    let trials_left = report.series.as_ref().is_some_and(|series| !series.result.complete);
    let map_left = latency.is_some_and(|latency| !latency.result.complete);
    let is_partial = map_left || (trials_left && report.gathering().is_some());
    if is_partial && blocks.is_empty() {
        let how =
            saved_as.map_or(String::new(), |id| format!("; to continue: coretalk --resume {}", plain(id)));
        blocks.push(Block::Prose(
            format!(
                "Interrupted after {}, before everything was measured{how}",
                count(u64::from(latency.map_or(0, |latency| latency.result.passes)), "pass")
            )
            .into(),
        ));
    } else if let Some(latency) = latency.filter(|latency| latency.result.budget_ended) {
        let part = if report.series.is_some() { " for the map" } else { "" };
        blocks.push(Block::Prose(
            format!(
                "The budget of {}{part} ended before every interval was as narrow as requested; try a longer \
             --budget.{}",
                duration(latency.settings.budget.secs()),
                left_out(report)
            )
            .into(),
        ));
    } else if report.gathering() == Some(Gathering::QuickLook) {
        // Its trials have a budget of their own, and no screen of theirs.
        let left = left_out(report);
        blocks.extend((!left.is_empty()).then(|| Block::Prose(left.trim_start().to_owned().into())));
    }
    blocks
}

/// What a budget left no time for, as a sentence after others; nothing where that is nothing.
pub(super) fn left_out(report: &RunReport) -> String {
    let words = |left: LeftOut| match left {
        LeftOut::Pairs(pairs) => count(pairs as u64, "pair"),
        LeftOut::Ladder => "the ladder".to_owned(),
        LeftOut::SingleRoundTrips(pairs) => format!("single round trips of {}", count(pairs as u64, "pair")),
        LeftOut::Trials(trials) => count(trials as u64, "trial"),
    };
    let left: Vec<String> = report.left_out().into_iter().map(words).collect();
    if left.is_empty() { String::new() } else { format!(" Left out for lack of time: {}.", left.join(", ")) }
}

/// Where a run lies, and what to type next: each with `{id}` in the place of its name.
pub fn saved_as(saved: Saved<'_>, next: &[&str]) -> Vec<Sentence> {
    let Saved::As(id) = saved else { return vec!["not saved (--no-save)".into()] };
    ["saved as {id}"].iter().chain(next).map(|part| part.replace("{id}", &plain(id)).into()).collect()
}

/// Where the run lies and what to type next.
pub fn next(report: &RunReport, screen: Screen<'_>) -> Block<'static> {
    let has_ladder = report.latencies().is_some_and(|result| !result.ladder.is_empty());
    let ladder = (has_ladder && !screen.has_ladder_table(report))
        .then_some("every step of the ladder: coretalk runs show {id} --ladder");
    let share = ["to share: coretalk report {id} -o z.html", "as data: coretalk export {id} --format csv"];
    Block::Parts(saved_as(screen.saved(), &ladder.into_iter().chain(share).collect::<Vec<_>>()))
}
