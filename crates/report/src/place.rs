//! Comparisons of placements and commands: the placements, a table for each piece of work, and the conclusion.

mod answer;
mod doubts;
mod numbers;
mod reason;
mod versus;

use super::saved::{self, Saved, Screen};
use super::text::plain;
use super::{fmt, words};
use crate::blocks::value::{Arg, DisplayValue, Number, Sentence, Source};
use crate::blocks::{Block, Cell, Column, Table};
use crate::snippets::snippets;
pub(super) use answer::answer;
use coretalk_model::place::{
    Behaviour, Binding, COMMAND, Open, PlaceOutcome, PlaceSettings, Placement, Preset, VersusSettings,
    WorkSettings, Workload, least_repetitions, why,
};
use coretalk_model::quantity::Unit;
use coretalk_model::run::{PlaceReport, RunHeader, RunReport};
use coretalk_model::{CpuId, Topology};
use doubts::{doubts, streams};
pub use numbers::Numbered;
pub(super) use numbers::noun;
use numbers::{given, quoted};
use reason::{Sides, reasons, structure};

/// The screen of a run of comparisons.
pub fn place_screen<'a>(report: &RunReport, place: &'a PlaceReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    let mut blocks = words::heading(report, screen);
    blocks.extend(answers(place));
    blocks.push(Block::Gap);
    blocks.extend(placements(&place.settings, &report.topology));
    blocks.extend(works(report, place));
    blocks.push(Block::Gap);
    blocks.extend(place.result.doubts.iter().flat_map(|doubt| doubts(place, doubt)));
    if let Screen::Shown(_) = screen {
        blocks.extend(place.result.doubts.iter().flat_map(streams));
    }
    blocks.extend(ending(&report.header, place, screen.saved()));
    blocks.extend(words::doubt(report));
    let next = [
        "see it again: coretalk runs show {id}",
        "to share: coretalk report {id} -o z.html",
        "as data: coretalk export {id} --format json",
    ];
    blocks.push(Block::Parts(saved::saved_as(screen.saved(), &next)));
    blocks
}

/// The table of each piece of work, with its conclusion.
pub fn works(report: &RunReport, place: &PlaceReport) -> Vec<Block<'static>> {
    let of_work = |work: &WorkSettings| {
        let all = Numbered::all(&place.result.comparisons);
        let comparisons: Vec<Numbered<'_>> =
            all.filter(|numbered| numbered.comparison.work == work.name).collect();
        [Block::Gap].into_iter().chain(work_blocks(report, place, &comparisons))
    };
    place.settings.works.iter().flat_map(of_work).collect()
}

/// The answer for each piece of work, and every doubt, without tables.
pub fn overview(report: &RunReport, place: &PlaceReport) -> Vec<Block<'static>> {
    let doubts = place.result.doubts.iter().flat_map(|doubt| doubts(place, doubt));
    answers(place).into_iter().chain(doubts).chain(ending(&report.header, place, Saved::Not)).collect()
}

fn answers<'a>(place: &PlaceReport) -> Vec<Block<'a>> {
    let of_work = |(_, headline): (usize, Numbered<'_>)| {
        let template = if place.settings.versus.is_some() { "{answer}" } else { "{work}: {answer}" };
        let sentence = Sentence::new(template).with("work", given(&headline.comparison.work));
        Block::Answer(sentence.with("answer", answer(place, headline)))
    };
    headlines(place).map(of_work).collect()
}

const MAX_LISTED_CPUS: usize = 16;

/// The placements as a table: names, what they share, commands that reproduce them, and the CPU of each thread.
pub fn placements(settings: &PlaceSettings, topology: &Topology) -> Vec<Block<'static>> {
    let roles = settings.roles_in_order();
    let has_environment =
        |versus: &&VersusSettings| versus.arms.iter().any(|arm| !arm.environment.is_empty());
    let environment = settings.versus.as_ref().filter(has_environment);
    let mut columns = vec![Column::words(noun(settings)), Column::words("uses")];
    columns.extend(roles.map(|_| Column::words("threads on CPUs")));
    columns.push(Column::words("command"));
    columns.extend(environment.map(|_| Column::words("sets")));
    let rows = settings.placements.iter().enumerate().map(|(index, placement)| {
        let mut row: Vec<Cell> =
            vec![Cell::name(&placement.name), structure(topology, index, placement).into()];
        row.extend(roles.map(|roles| match placement.binding {
            Binding::Bound => listed(&placement.roles(roles)).into(),
            Binding::Free => "anywhere".into(),
        }));
        row.push(match placement.binding {
            Binding::Bound => Sentence::new("taskset -c {cpus}").with("cpus", placement.set()).into(),
            Binding::Free => "unbound".into(),
        });
        row.extend(environment.map(|versus| {
            let keys =
                versus.arms[index].environment.iter().map(|key| Sentence::new("{key}").with_name("key", key));
            Cell::from(Sentence::joined(keys, ", "))
        }));
        row
    });
    let mut blocks = vec![Block::Table(Table::new(columns).with(rows))];
    for placement in &settings.placements {
        if let Some(presets) = Preset::several(&placement.name) {
            let names = Sentence::joined(presets.iter().map(|preset| quoted(preset.name())), " and ");
            let same = Sentence::new("{names} use the same CPUs here and are run as one.");
            blocks.push(Block::Prose(same.with("names", names)));
        }
    }
    blocks.extend(roles.into_iter().flat_map(|roles| pinning_note(settings, roles)));
    blocks
}

fn listed(cpus: &[CpuId]) -> Sentence {
    let shown = cpus.iter().take(MAX_LISTED_CPUS).map(|cpu| Sentence::new("{cpu}").with("cpu", *cpu));
    let more = if cpus.len() > MAX_LISTED_CPUS { ", …" } else { "" };
    Sentence::new("{cpus}{more}").with("cpus", Sentence::joined(shown, ", ")).with("more", more)
}

/// Warns that a set of CPUs does not pin each thread to its own CPU, and states the command that does.
fn pinning_note(settings: &PlaceSettings, roles: usize) -> Vec<Block<'static>> {
    let bound = || settings.placements.iter().filter(|placement| placement.binding == Binding::Bound);
    let twins = bound().enumerate().find_map(|(number, first)| {
        let twin = bound().skip(number + 1).find(|other| other.set() == first.set())?;
        let names = Sentence::new(", so {first} and {twin} become the same");
        Some(names.with("first", quoted(&first.name)).with("twin", quoted(&twin.name)))
    });
    let sentence = Sentence::new(
        "Here each thread is pinned to one CPU, in this order. taskset pins the whole process: its threads may run in \
         any order{twins}.",
    );
    let how = match roles > MAX_LISTED_CPUS {
        true => "--format json lists the CPU of each thread under `roles`.",
        false => "To pin each thread as here, with OpenMP (other programs pin their own threads):",
    };
    let mut blocks = vec![
        Block::Prose(sentence.with("twins", twins.unwrap_or_else(|| "".into()))),
        Block::Prose(how.into()),
    ];
    let openmp = bound().filter(|_| roles <= MAX_LISTED_CPUS).filter_map(|placement| {
        let openmp =
            snippets(&placement.roles(roles)).into_iter().find(|snippet| snippet.name == "openmp")?;
        Some(Block::Command(plain(&placement.name), openmp.text))
    });
    blocks.extend(openmp);
    blocks
}

/// Each metric on every placement. Differences are relative to the winner or, without a winner, to the first placement.
pub fn table<'a>(place: &PlaceReport, comparisons: impl IntoIterator<Item = Numbered<'a>>) -> Table {
    let columns = [
        Column::words("metric"),
        Column::words(noun(&place.settings)),
        Column::numbers("median"),
        Column::numbers("95 % interval"),
        Column::numbers("difference"),
        Column::numbers("p"),
        Column::words("verdict"),
    ];
    Table::new(columns).with(comparisons.into_iter().flat_map(|numbered| rows(place, numbered)))
}

fn rows<'a>(place: &'a PlaceReport, numbered: Numbered<'a>) -> impl Iterator<Item = [Cell; 7]> + use<'a> {
    (0..numbered.comparison.arms.len()).map(move |arm| {
        let on_first_row = |cell: Cell| if arm == 0 { cell } else { Cell::Blank };
        [
            on_first_row(Cell::name(&numbered.comparison.metric.title)),
            Cell::name(&numbered.comparison.arms[arm].placement.name),
            Cell::number(numbered.median(arm)),
            Cell::number(numbered.interval(arm)),
            numbered
                .pair(arm)
                .map_or(Cell::Blank, |_| numbered.difference(arm).map_or(Cell::Unknown, Cell::from)),
            numbered.p_value(arm),
            match numbered.comparison.outcome {
                PlaceOutcome::PerArm => versus::verdict(place, numbered, arm),
                _ => on_first_row(verdict(numbered)),
            },
        ]
    })
}

pub(super) fn difference_words(numbered: Numbered<'_>, arm: usize) -> Option<String> {
    Some(fmt::sentence(&numbered.difference(arm)?))
}

fn verdict(numbered: Numbered<'_>) -> Cell {
    match &numbered.comparison.outcome {
        PlaceOutcome::Winner { winner, .. } => {
            Sentence::new("{winner} wins").with("winner", numbered.name(*winner)).into()
        }
        PlaceOutcome::Same { within } => {
            let within = DisplayValue::bare(Number::Point(*within), numbered.source("within_percent"));
            Sentence::new("same within ±{within}").with("within", within.in_unit(Unit::Share)).into()
        }
        PlaceOutcome::CannotTell => match numbered.comparison.open() {
            Some(Open::NoValue) => "unknown".into(),
            Some(Open::BelowZero) => "not tested: below zero".into(),
            _ => "cannot tell".into(),
        },
        // `rows` adds the verdict of each arm.
        PlaceOutcome::PerArm => Cell::Blank,
        PlaceOutcome::NotTested => "not tested".into(),
    }
}

fn work_blocks(report: &RunReport, place: &PlaceReport, comparisons: &[Numbered<'_>]) -> Vec<Block<'static>> {
    let Some(headline) = comparisons.first() else { return Vec::new() };
    let mut blocks = vec![
        Block::Heading(heading(&place.settings, *headline)),
        Block::Table(table(place, comparisons.iter().copied())),
    ];
    if place.settings.versus.is_some() {
        blocks.extend(versus::rounds(place, *headline));
    }
    let is_run = headline.comparison.arms.iter().all(|arm| !arm.runs.is_empty());
    let why = comparisons.iter().find_map(|numbered| unknown_memory_note(*numbered));
    blocks.extend(why.filter(|_| is_run).map(|why| Block::Remark(why.into())));
    blocks.extend(
        comparisons.iter().filter_map(|numbered| note_if_medians_differ(*numbered)).map(Block::Remark),
    );
    blocks.extend(why_it_wins(report, place, *headline));
    blocks
}

fn heading(settings: &PlaceSettings, headline: Numbered<'_>) -> Sentence {
    let work = &headline.comparison.work;
    let threads = settings.threads.filter(|_| work != COMMAND).map(|threads| {
        let kind = work.parse::<Workload>().map(|workload| workload.kind);
        // Some workloads have a fixed number of threads.
        let (number, source) = match kind.ok().and_then(|kind| kind.roles(threads)) {
            Some(roles) => (roles, Source::Listed),
            None => (threads, Source::Option("threads")),
        };
        Sentence::new(", {threads}")
            .with("threads", Sentence::counted(number as u64, source, ["thread", "threads"]))
    });
    let arms = 0..headline.comparison.arms.len();
    let fewest = arms.clone().min_by_key(|arm| headline.comparison.arms[*arm].runs.len());
    let most = arms.max_by_key(|arm| headline.comparison.arms[*arm].runs.len());
    let runs = match fewest.zip(most) {
        // A placement that lost a CPU has fewer runs.
        Some((fewest, most)) if headline.runs(fewest).number != headline.runs(most).number => {
            Sentence::pluralized("{least} to {number} run{s} on a {noun}", headline.runs(most))
                .with("least", headline.runs(fewest))
        }
        found => {
            let runs = found.map_or_else(|| DisplayValue::listed(0), |(_, most)| headline.runs(most));
            let template = match settings.versus {
                Some(_) => "{number} round{s}",
                None => "{number} run{s} on each {noun}",
            };
            Sentence::pluralized(template, runs)
        }
    }
    .with("noun", noun(settings));
    let work = match work.as_str() {
        COMMAND if settings.versus.is_some() => "the commands",
        COMMAND => "the command",
        work => work,
    };
    Sentence::new("{work}{threads}, {runs}")
        .with("work", given(work))
        .with("threads", threads.unwrap_or_else(|| "".into()))
        .with("runs", runs)
}

fn note_if_medians_differ(numbered: Numbered<'_>) -> Option<Sentence> {
    let shown = (0..numbered.comparison.arms.len()).filter_map(|arm| {
        let pair = &numbered.comparison.pairs[numbered.pair(arm)?];
        let share = numbered.of_medians(arm).filter(|_| numbered.comparison.differs_from_medians(pair))?;
        Some(Sentence::new("{share} `{name}`").with("share", share).with("name", numbered.name(arm)))
    });
    let shown: Vec<Sentence> = shown.collect();
    let sentence = Sentence::new(
        "{metric}: by the medians the difference would be {shown}. The table has the middle of the ratios of runs that were \
         made side by side (Hodges–Lehmann), and those scatter unevenly.",
    );
    (!shown.is_empty()).then(|| {
        sentence
            .with("metric", given(&numbered.comparison.metric.title))
            .with("shown", Arg::Parts(shown, ", "))
    })
}

fn unknown_memory_note(numbered: Numbered<'_>) -> Option<&'static str> {
    let comparison = numbered.comparison;
    let unknown =
        comparison.metric.name == "peak_memory_mb" && comparison.arms.iter().any(|arm| arm.runs.is_empty());
    unknown.then_some(
        "Peak memory unknown: the work used less than the small process that starts it, which the system \
         includes in its count.",
    )
}

fn why_it_wins(report: &RunReport, place: &PlaceReport, headline: Numbered<'_>) -> Option<Block<'static>> {
    let PlaceOutcome::Winner { winner, runner_up, .. } = headline.comparison.outcome else { return None };
    let behaviour = behaviour(place, headline);
    let [best, next]: [&Placement; 2] =
        [winner, runner_up].map(|arm| &headline.comparison.arms[arm].placement);
    let why = why(&report.topology, &behaviour, best, next);
    // Cites the CPUs of the roles; without fixed roles, all CPUs of the placement.
    let field = if behaviour.roles.is_some() { "roles" } else { "cpus" };
    let sides = Sides {
        topology: &report.topology,
        names: [winner, runner_up].map(|arm| headline.name(arm)),
        cpus: [winner, runner_up].map(|arm| headline.of_arm(arm, field)),
    };
    Some(Block::Conclusion(reasons(&sides, &why)))
}

fn behaviour(place: &PlaceReport, headline: Numbered<'_>) -> Behaviour {
    let work = &headline.comparison.work;
    match work.parse::<Workload>() {
        Ok(workload) => workload.behaviour(place.settings.threads.unwrap_or(1)),
        Err(_) => {
            let doubts = place.result.doubts.iter().filter(|doubt| doubt.work == *work);
            Behaviour::of_command(doubts.filter_map(|doubt| doubt.tasks).any(|tasks| tasks > 1))
        }
    }
}

fn ending(header: &RunHeader, place: &PlaceReport, saved: Saved<'_>) -> Vec<Block<'static>> {
    let mut blocks: Vec<Block<'_>> = saved::departed(header, saved.name()).into_iter().collect();
    if !place.result.complete && blocks.is_empty() {
        let kept = if matches!(saved, Saved::As(_)) { "; the runs so far are kept" } else { "" };
        blocks.push(Block::Prose(Sentence::new("Ended early{kept}.").with("kept", kept)));
    } else if place.result.budget_ended {
        let is_versus = place.settings.versus.is_some();
        let before = match () {
            () if lacks_runs(place) && is_versus && place.result.rounds.dropped.is_empty() => {
                "every arm had been run".into()
            }
            () if lacks_runs(place) && !is_versus => "everything had been run on every placement".into(),
            () if lacks_repetitions(place) && is_versus => {
                "there were enough undisturbed rounds for a verdict".into()
            }
            () if lacks_repetitions(place) => "every repetition was made".into(),
            () => Sentence::new("every difference was known to ±{precision}")
                .with("precision", precision(&place.settings)),
        };
        let template = "The budget of {budget} ended before {before}; try a longer --budget.";
        blocks.push(Block::Prose(
            Sentence::new(template).with("budget", budget(&place.settings)).with("before", before),
        ));
    }
    blocks
}

pub(super) fn precision(settings: &PlaceSettings) -> DisplayValue {
    DisplayValue::bare(Number::Point(settings.precision), Source::Option("precision")).in_unit(Unit::Share)
}

pub(super) fn budget(settings: &PlaceSettings) -> DisplayValue {
    DisplayValue::bare(Number::Duration(settings.budget.secs()), Source::Option("budget"))
}

fn lacks_runs(place: &PlaceReport) -> bool {
    headlines(place).any(|(_, headline)| headline.comparison.arms.iter().any(|arm| arm.runs.is_empty()))
}

fn lacks_repetitions(place: &PlaceReport) -> bool {
    headlines(place).any(|(work, headline)| {
        let least = least_repetitions(&place.settings, work) as usize;
        headline.comparison.arms.iter().any(|arm| arm.runs.len() < least)
    })
}

/// The first comparison of each piece of work, with the index of the work.
pub(super) fn headlines(place: &PlaceReport) -> impl Iterator<Item = (usize, Numbered<'_>)> {
    let headline = |work: &WorkSettings| {
        Numbered::all(&place.result.comparisons).find(|headline| headline.comparison.work == work.name)
    };
    place.settings.works.iter().enumerate().filter_map(move |(number, work)| Some((number, headline(work)?)))
}
