//! Comparisons of placements: where work ran, a table for each piece of work, and what follows in a sentence.

mod answer;
mod doubts;
mod reason;

use super::saved::{self, Saved, Screen};
use super::text::{count, duration, figure, interval, percent, plain};
use super::words;
use crate::blocks::value::Sentence;
use crate::blocks::{Block, Cell, Column, Table};
use crate::snippets::snippets;
use crate::{PlaceReport, RunHeader, RunReport};
pub(super) use answer::answer;
use answer::given;
use coretalk_model::place::{
    Behaviour, Binding, COMMAND, Comparison, Difference, Open, Outcome, PlaceSettings, Placement, Preset,
    WorkSettings, Workload, least_repetitions, why,
};
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Topology};
use doubts::{doubts, streams};
use reason::{reasons, structure_words};

/// The whole screen of a run of comparisons.
pub fn place_screen<'a>(report: &RunReport, place: &'a PlaceReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    let mut blocks = words::heading(report, screen);
    blocks.extend(answers(place));
    blocks.push(Block::Gap);
    blocks.extend(placements(&place.settings, &report.topology));
    blocks.extend(works(report, place));
    blocks.push(Block::Gap);
    blocks.extend(place.result.doubts.iter().flat_map(doubts));
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

/// The table of each piece of work, and what follows from it.
pub fn works(report: &RunReport, place: &PlaceReport) -> Vec<Block<'static>> {
    let of_work = |work: &WorkSettings| {
        let comparisons: Vec<&Comparison> =
            place.result.comparisons.iter().filter(|comparison| comparison.work == work.name).collect();
        [Block::Gap].into_iter().chain(part(report, place, &comparisons))
    };
    place.settings.works.iter().flat_map(of_work).collect()
}

/// The answer for each piece of work, and every doubt, without tables.
pub fn overview(report: &RunReport, place: &PlaceReport) -> Vec<Block<'static>> {
    let doubts = place.result.doubts.iter().flat_map(doubts);
    answers(place).into_iter().chain(doubts).chain(ending(&report.header, place, Saved::Not)).collect()
}

/// The answer for each piece of work, under its name.
fn answers<'a>(place: &PlaceReport) -> Vec<Block<'a>> {
    let of_work = |(_, headline): (usize, &Comparison)| {
        let said = Sentence::new("{work}: {answer}").with("work", given(&headline.work));
        Block::Answer(said.with("answer", answer(place, headline)))
    };
    headlines(place).map(of_work).collect()
}

/// The name of a placement in a sentence, where `none` and `one` would read as words.
fn quoted(name: &str) -> String {
    format!("`{}`", plain(name))
}

/// Threads up to which it is said line by line how to hold each on its CPU.
const MOST_HELD: usize = 16;

/// The placements as a table: what they are called, what they share, and the words that do the same elsewhere; where it
/// matters which thread runs where, that too.
pub fn placements(settings: &PlaceSettings, topology: &Topology) -> Vec<Block<'static>> {
    let roles = settings.roles_in_order();
    let mut columns = ["placement", "uses", "threads on CPUs", "command"].map(Column::words).to_vec();
    if roles.is_none() {
        columns.remove(2);
    }
    let rows = settings.placements.iter().map(|placement| {
        let line = placement.taskset().unwrap_or_else(|| "unbound".to_owned());
        let mut row: Vec<Cell> =
            vec![plain(&placement.name).into(), structure_words(topology, placement).into()];
        row.extend(roles.map(|roles| match placement.binding {
            Binding::Bound => Cell::from(listed(&placement.roles(roles))),
            Binding::Free => "anywhere".into(),
        }));
        row.push(line.into());
        row
    });
    let mut blocks = vec![Block::Table(Table::new(columns).with(rows))];
    for placement in &settings.placements {
        if let Some(presets) = Preset::several(&placement.name) {
            let names = presets.iter().map(|preset| quoted(preset.name())).collect::<Vec<_>>().join(" and ");
            blocks.push(Block::Prose(format!("{names} use the same CPUs here and are run as one.").into()));
        }
    }
    blocks.extend(roles.into_iter().flat_map(|roles| held(settings, roles)));
    blocks
}

/// `0, 8, 1, 9`, cut short where there are many.
fn listed(cpus: &[CpuId]) -> String {
    let shown: Vec<String> = cpus.iter().take(MOST_HELD).map(CpuId::to_string).collect();
    shown.join(", ") + if cpus.len() > MOST_HELD { ", …" } else { "" }
}

/// That a set of CPUs is not the placement where threads have places of their own in it, and what is.
fn held(settings: &PlaceSettings, roles: usize) -> Vec<Block<'static>> {
    let bound = || settings.placements.iter().filter(|placement| placement.binding == Binding::Bound);
    let twins = bound().enumerate().find_map(|(number, first)| {
        let twin = bound().skip(number + 1).find(|other| other.set() == first.set())?;
        Some(format!(", so {} and {} become the same", quoted(&first.name), quoted(&twin.name)))
    });
    let mut blocks = vec![Block::Prose(format!(
        "Here each thread is pinned to one CPU, in this order. taskset pins the whole process: its threads may \
         run in any order{}.",
        twins.unwrap_or_default()
    ).into())];
    let how = match roles > MOST_HELD {
        true => "--format json lists the CPU of each thread under `roles`.",
        false => "To pin each thread as here, with OpenMP (other programs pin their own threads):",
    };
    blocks.push(Block::Prose(how.to_owned().into()));
    let openmp = bound().filter(|_| roles <= MOST_HELD).filter_map(|placement| {
        let openmp =
            snippets(&placement.roles(roles)).into_iter().find(|snippet| snippet.name == "openmp")?;
        Some(Block::Command(plain(&placement.name), openmp.text))
    });
    blocks.extend(openmp);
    blocks
}

/// Each metric on every placement. Differences are those of the losers from the winner, or, where nobody wins, from the
/// first placement.
pub fn table<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Table {
    let columns = [
        Column::words("metric"),
        Column::words("placement"),
        Column::numbers("median"),
        Column::numbers("95 % interval"),
        Column::numbers("difference"),
        Column::numbers("p"),
        Column::words("verdict"),
    ];
    Table::new(columns).with(comparisons.into_iter().flat_map(rows))
}

/// The placement that the differences of the table are from.
fn reference(comparison: &Comparison) -> usize {
    match comparison.outcome {
        Outcome::Winner { winner, .. } => winner,
        Outcome::Same { .. } | Outcome::CannotTell | Outcome::NotTested => 0,
    }
}

fn rows(comparison: &Comparison) -> impl Iterator<Item = [Cell; 7]> {
    let reference = reference(comparison);
    comparison.arms.iter().enumerate().map(move |(number, arm)| {
        let difference = difference(comparison, reference, number);
        let p = difference.as_ref().and_then(|(_, p)| *p);
        let once = |text: String| if number == 0 { text.into() } else { Cell::Blank };
        [
            once(title(comparison)),
            plain(&arm.placement.name).into(),
            Cell::known(arm.median.map(|median| figure(median.point))),
            Cell::known(arm.interval().map(|[low, high]| interval(low, high))),
            difference.map_or(Cell::Blank, |(share, _)| Cell::known(share.as_ref().map(signed))),
            p.map_or(Cell::Blank, |p| p_words(p).into()),
            once(verdict(comparison)),
        ]
    })
}

fn title(comparison: &Comparison) -> String {
    plain(&comparison.metric.title)
}

fn pair_of(comparison: &Comparison, reference: usize, arm: usize) -> Option<&Difference> {
    let ends = (reference.min(arm), reference.max(arm));
    comparison.pairs.iter().find(|pair| (pair.a, pair.b) == ends && reference != arm)
}

/// What the placement differs by from the reference, and its p-value.
fn difference(
    comparison: &Comparison,
    reference: usize,
    arm: usize,
) -> Option<(Option<Estimate>, Option<f64>)> {
    let pair = pair_of(comparison, reference, arm)?;
    let turned = |share: f64| 1.0 / (1.0 + share) - 1.0;
    let sure = pair.share.filter(|_| pair.interval().is_some());
    let share = sure.map(|share| match pair.a == reference {
        true => share,
        false => {
            Estimate { point: turned(share.point), low: turned(share.high), high: turned(share.low), ..share }
        }
    });
    Some((share, pair.p_value))
}

/// The difference of a placement from the reference as the table has it, such as `−26 % ±2 %`.
pub(super) fn difference_words(comparison: &Comparison, arm: usize) -> Option<String> {
    let (share, _) = difference(comparison, reference(comparison), arm)?;
    Some(signed(&share?))
}

fn signed(share: &Estimate) -> String {
    // Zeros are endlessly far from other numbers, and such an interval says nothing.
    match share.reach().is_finite() {
        true => format!("{} ±{}", signed_share(share.point), percent(share.reach())),
        false => signed_share(share.point),
    }
}

fn signed_share(share: f64) -> String {
    let words = |share: f64| if share.is_finite() { percent(share) } else { "∞".to_owned() };
    let sign = match share {
        share if words(share.abs()) == words(0.0) => "",
        share if share < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{}", words(share.abs()))
}

fn p_words(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

fn verdict(comparison: &Comparison) -> String {
    match &comparison.outcome {
        Outcome::Winner { winner, .. } => format!("{} wins", plain(&comparison.arms[*winner].placement.name)),
        Outcome::Same { within } => format!("same within ±{}", percent(*within)),
        Outcome::CannotTell => match comparison.open() {
            Some(Open::NoValue) => "unknown".to_owned(),
            Some(Open::BelowZero) => "not tested: below zero".to_owned(),
            _ => "cannot tell".to_owned(),
        },
        Outcome::NotTested => "not tested".to_owned(),
    }
}

/// The table of one piece of work and what follows from its headline.
fn part(report: &RunReport, place: &PlaceReport, comparisons: &[&Comparison]) -> Vec<Block<'static>> {
    let Some(headline) = comparisons.first() else { return Vec::new() };
    let runs = headline.arms.iter().map(|arm| arm.runs.len());
    let (least_runs, most_runs) = (runs.clone().min().unwrap_or(0), runs.max().unwrap_or(0));
    let runs = match (least_runs, most_runs) {
        (least, most) if least == most => format!("{} on each placement", count(most as u64, "run")),
        // One whose CPU went away has fewer.
        (least, most) => format!("{least} to {} on a placement", count(most as u64, "run")),
    };
    let threads = match place.settings.threads {
        Some(threads) if headline.work != COMMAND => {
            let kind = headline.work.parse::<Workload>().map(|workload| workload.kind);
            // Some have as many as they always have.
            let threads = kind.ok().and_then(|kind| kind.roles(threads)).unwrap_or(threads);
            format!(", {}", count(threads as u64, "thread"))
        }
        _ => String::new(),
    };
    let work = if headline.work == COMMAND { "the command" } else { &headline.work };
    let mut blocks = vec![
        Block::Heading(format!("{}{threads}, {runs}", plain(work)).into()),
        Block::Table(table(comparisons.iter().copied())),
    ];
    let why = comparisons.iter().find_map(|comparison| without_memory(comparison));
    blocks.extend(why.filter(|_| least_runs > 0).map(|why| Block::Remark(why.to_owned().into())));
    blocks.extend(
        comparisons
            .iter()
            .flat_map(|comparison| off_medians(comparison))
            .map(|text| Block::Remark(text.into())),
    );
    blocks.extend(why_it_wins(report, place, headline));
    blocks
}

/// Why differences of the table do not fit the medians beside them.
fn off_medians(comparison: &Comparison) -> Option<String> {
    let shown = (0..comparison.arms.len()).filter(|arm| *arm != reference(comparison));
    let shown = shown.filter_map(|arm| {
        let pair = pair_of(comparison, reference(comparison), arm)?;
        let of_medians =
            comparison.of_medians(reference(comparison), arm).filter(|_| comparison.is_off_medians(pair))?;
        Some(format!("{} {}", signed_share(of_medians), quoted(&comparison.arms[arm].placement.name)))
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| {
        format!(
            "{}: by the medians the difference would be {}. The table has the middle of the ratios of runs that were \
             made side by side (Hodges–Lehmann), and those scatter unevenly.",
            title(comparison),
            shown.join(", ")
        )
    })
}

/// Why the peak memory of small programs is unknown.
fn without_memory(comparison: &Comparison) -> Option<&'static str> {
    let unknown =
        comparison.metric.name == "peak_memory_mb" && comparison.arms.iter().any(|arm| arm.runs.is_empty());
    unknown.then_some(
        "Peak memory unknown: the work used less than the small process that starts it, which the system \
         includes in its count.",
    )
}

/// What could make the winner of a headline the better one.
fn why_it_wins(report: &RunReport, place: &PlaceReport, headline: &Comparison) -> Option<Block<'static>> {
    let Outcome::Winner { winner, runner_up, .. } = headline.outcome else { return None };
    let [best, next]: [&Placement; 2] = [winner, runner_up].map(|arm| &headline.arms[arm].placement);
    let why = why(&report.topology, &behaviour(place, headline), best, next);
    Some(Block::Conclusion(reasons(&report.topology, &why, [&best.name, &next.name]).into()))
}

/// How the work behaves, as far as it is known.
fn behaviour(place: &PlaceReport, headline: &Comparison) -> Behaviour {
    match headline.work.parse::<Workload>() {
        Ok(workload) => workload.behaviour(place.settings.threads.unwrap_or(1)),
        // A command: by what was seen of it.
        Err(_) => {
            let doubts = place.result.doubts.iter().filter(|doubt| doubt.work == headline.work);
            Behaviour::of_command(doubts.filter_map(|doubt| doubt.tasks).any(|tasks| tasks > 1))
        }
    }
}

fn ending(header: &RunHeader, place: &PlaceReport, saved: Saved<'_>) -> Vec<Block<'static>> {
    let mut blocks: Vec<Block<'_>> = saved::departed(header, saved.name()).into_iter().collect();
    if !place.result.complete && blocks.is_empty() {
        let kept = if matches!(saved, Saved::As(_)) { "; the runs so far are kept" } else { "" };
        blocks.push(Block::Prose(format!("Ended early{kept}.").into()));
    } else if place.result.budget_ended {
        let before = match () {
            () if lacks_runs(place) => "everything had been run on every placement".to_owned(),
            () if lacks_repetitions(place) => "every repetition was made".to_owned(),
            () => format!("every difference was known to ±{}", percent(place.settings.precision)),
        };
        let budget = duration(place.settings.budget.secs());
        blocks.push(Block::Prose(
            format!("The budget of {budget} ended before {before}; try a longer --budget.").into(),
        ));
    }
    blocks
}

/// Whether some work has no run on some placement: by its headline, which every run has.
fn lacks_runs(place: &PlaceReport) -> bool {
    headlines(place).any(|(_, headline)| headline.arms.iter().any(|arm| arm.runs.is_empty()))
}

/// Whether some work has fewer runs than it takes at least.
fn lacks_repetitions(place: &PlaceReport) -> bool {
    headlines(place).any(|(work, headline)| {
        let least = least_repetitions(&place.settings, work) as usize;
        headline.arms.iter().any(|arm| arm.runs.len() < least)
    })
}

/// The first comparison of each piece of work, with its number.
pub(super) fn headlines(place: &PlaceReport) -> impl Iterator<Item = (usize, &Comparison)> {
    let of =
        |work: &WorkSettings| place.result.comparisons.iter().find(|comparison| comparison.work == work.name);
    place.settings.works.iter().enumerate().filter_map(move |(number, work)| Some((number, of(work)?)))
}
