//! Series: a table of percentiles for each probe, and what is to be said below it.

use super::contend;
use super::doubts;
use super::heat_map::HeatMap;
use super::idle;
use super::jitter;
use super::ladder::relation_words;
use super::look::Look;
use super::queue;
use super::screen::{Saved, Screen};
use super::spawn;
use super::table::{Align, Columns};
use super::text::{self, chosen_time, count, duration, flow, grouped, ns, percent, plain, spaced, wrap};
use super::view::parameters;
use super::wait;
use super::words;
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_measure::probes::broadcast::names as broadcast;
use coretalk_measure::probes::strain::names as strain;
use coretalk_measure::series::{Column, SeriesProbe};
use coretalk_model::latency::summary::Reading;
use coretalk_model::queue::{QueueCell, names};
use coretalk_model::series::summary::{by_relation, headline, modes};
use coretalk_model::series::{Gathering, TrialResult, Value};
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Flag, Histogram, Matrix};
use std::collections::BTreeMap;

/// Trials whose times fall into heaps that are told one by one; more are counted.
const MOST_HEAPS: usize = 4;
/// More pairs than this are a map.
pub(super) const MOST_LISTED: usize = 8;
/// From this width on a table has every percentile.
const ROOMY: usize = 90;
const SHARES: [(&str, f64); 1] = [("p90", 0.9)];
const TAIL: [(&str, f64); 3] = [("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The whole screen of a run of series, with a line end after each line.
pub fn series_screen(report: &RunReport, series: &SeriesReport, screen: Screen<'_>, look: &Look) -> String {
    let width = look.width;
    let mut lines = words::title(report, width);
    let saved = match screen {
        Screen::Measured(saved) | Screen::Shown(saved) => saved,
    };
    if let Screen::Shown(_) = screen {
        lines.extend(wrap(&format!("measured {}", plain(&report.header.started)), width, 2));
    }
    for name in &series.settings.probes {
        lines.extend(probes::series_by_id(name).map(|probe| question(probe, width)).unwrap_or_default());
        lines.push(String::new());
        lines.extend(found(report, series, name, look));
    }
    lines.push(String::new());
    lines.extend(doubts::of_trials(&series.result.trials, width));
    lines.extend(ending(report, series, saved, width));
    lines.extend(words::doubt(report, width));
    lines.extend(next(series, saved, width));
    lines.join("\n") + "\n"
}

/// What one probe found: its tables, and what is to be said below them.
pub fn found(report: &RunReport, series: &SeriesReport, name: &str, look: &Look) -> Vec<String> {
    spaced(found_with(report, series, name, look, queue::lines))
}

/// The same on a page, which draws the maps of queues and says in its summary what follows from them.
pub fn found_on_a_page(report: &RunReport, series: &SeriesReport, name: &str, look: &Look) -> Vec<String> {
    let queues = |report: &_, series: &_, look: &Look| queue::tables(report, series, look.width);
    spaced(found_with(report, series, name, look, queues))
}

fn found_with(
    report: &RunReport,
    series: &SeriesReport,
    name: &str,
    look: &Look,
    queues: impl FnOnce(&RunReport, &SeriesReport, &Look) -> Vec<String>,
) -> Vec<String> {
    let Some(probe) = probes::series_by_id(name) else {
        return wrap(&format!(" This version has no probe `{}`.", plain(name)), look.width, 1);
    };
    let trials: Vec<&TrialResult> =
        series.result.trials.iter().filter(|trial| trial.spec.probe == name).collect();
    match name {
        coretalk_model::contend::names::PROBE => return contend::lines(probe, &series.result, look.width),
        coretalk_model::jitter::names::PROBE => return jitter::lines(&trials, look.width),
        "spawn" => return spawn::lines(probe, &trials, look.width),
        _ => (),
    }
    let listed: Vec<&TrialResult> = trials.into_iter().filter(|trial| !QueueCell::holds(trial)).collect();
    match name {
        wait::PROBE => wait::lines(report, series, &listed, look),
        names::PROBE => {
            let mut lines = queues(report, series, look);
            lines.extend(body(report, series, probe, &listed, look));
            lines
        }
        _ => body(report, series, probe, &listed, look),
    }
}

/// The questions of a run of series, its doubts and how it ended, without its tables.
pub fn overview(report: &RunReport, series: &SeriesReport, saved: Saved<'_>, width: usize) -> Vec<String> {
    let questions = series.settings.probes.iter().filter_map(|name| probes::series_by_id(name));
    let mut lines: Vec<String> = questions.flat_map(|probe| question(probe, width)).collect();
    if series.settings.gathering() == Some(Gathering::QuickLook) {
        return overview_beside(series, width);
    }
    lines.extend(queue::words(report, series, width));
    lines.extend(doubts::of_trials(&series.result.trials, width));
    lines.extend(ending(report, series, saved, width));
    lines
}

/// What stands beside the map of a quick look, in words.
pub(super) fn overview_beside(series: &SeriesReport, width: usize) -> Vec<String> {
    let watched = series.result.trials.iter();
    jitter::one_line(&watched.collect::<Vec<_>>(), width)
}

pub(super) fn question(probe: &dyn SeriesProbe, width: usize) -> Vec<String> {
    let question = probe.spec().question;
    let mut letters = question.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    wrap(&format!("{first}{}", letters.as_str()), width, 2)
}

/// A map for each kind of trial where there is one for many pairs, else a table; then what is to be said about them.
fn body(
    report: &RunReport,
    series: &SeriesReport,
    probe: &dyn SeriesProbe,
    trials: &[&TrialResult],
    look: &Look,
) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for trial in trials {
        let label = trial.spec.label();
        if !kinds.contains(&label) {
            kinds.push(label);
        }
    }
    let mut lines = Vec::new();
    let mut listed: Vec<&TrialResult> = Vec::new();
    for kind in &kinds {
        let alike: Vec<&TrialResult> =
            trials.iter().copied().filter(|trial| trial.spec.label() == *kind).collect();
        let pairs = alike.iter().filter(|trial| trial.spec.placement.len() == 2).count();
        if pairs > MOST_LISTED {
            lines.extend(map(report, series, &alike, unit_of_map(probe), look));
        } else {
            listed.extend(alike);
        }
    }
    if !listed.is_empty() {
        lines.extend(table(report, probe, &listed, look.width));
    }
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    for remark in probe.remarks(&specs) {
        lines.extend(wrap(&format!(" {}", plain(&remark)), look.width, 3));
    }
    lines.extend(idle::lines(trials, look.width));
    lines.extend(heaps(report, series, trials, &listed, look.width));
    lines
}

/// What a map shows, and what its rows and columns are.
pub(super) struct Unit {
    pub name: &'static str,
    /// Nanoseconds in it.
    pub ns: f64,
    pub roles: &'static str,
}

/// Queues hand on at a rate; everything else of this kind wakes.
fn unit_of_map(probe: &dyn SeriesProbe) -> &'static Unit {
    if probe.spec().id == names::PROBE { &DELAYS } else { &MICROS }
}

const DELAYS: Unit = Unit {
    name: "µs",
    ns: 1e3,
    roles: "from the time that a message is meant to be sent until it is received; the row produces, the column consumes",
};
const MICROS: Unit = Unit { name: "µs", ns: 1e3, roles: "the row wakes the column" };

/// The headlines of one kind of trial over many pairs, and what they are by relation.
pub(super) fn map(
    report: &RunReport,
    series: &SeriesReport,
    alike: &[&TrialResult],
    unit: &Unit,
    look: &Look,
) -> Vec<String> {
    let Some(first) = alike.first() else { return Vec::new() };
    // Of a pair that cannot keep up with a rate no delay is known, and the rate that it reached is none.
    let alike: &[&TrialResult] =
        &alike.iter().copied().filter(|trial| !trial.flags.contains(Flag::Saturated)).collect::<Vec<_>>();
    let of_pair: BTreeMap<&[CpuId], &TrialResult> =
        alike.iter().map(|trial| (trial.spec.placement.as_slice(), *trial)).collect();
    let readings = Matrix::directed(series.settings.cpus.clone(), |row, column| {
        let (from, to) = (series.settings.cpus[row], series.settings.cpus[column]);
        let trial = of_pair.get(&[from, to][..])?;
        let doubtful = trial.flags.has_doubt();
        Some(Reading { ns: headline(&series.settings, trial)?.point / unit.ns, doubtful })
    });
    let title = format!(" {}: median in {}, {}", plain(&parameters(&first.spec)), unit.name, unit.roles);
    let mut lines = wrap(&title, look.width, 1);
    lines.extend(HeatMap::new(&readings, &report.topology, look).draw(look).0);
    let relations: Vec<String> = by_relation(&series.settings, &report.topology, alike)
        .into_iter()
        .map(|(relation, value, pairs)| {
            let words = relation_words(relation, &report.topology);
            format!("{words} {} {} ({})", text::ns(value / unit.ns), unit.name, count(pairs as u64, "pair"))
        })
        .collect();
    lines.extend(wrap(&format!(" {}", relations.join(", ")), look.width, 1));
    lines.push(String::new());
    lines
}

/// Distributions that fall into several heaps, and whether a placement that was measured explains it.
///
/// `listed` are those that stand in tables: they are told in the unit of their table, and the others in that of maps.
fn heaps(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    listed: &[&TrialResult],
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left_out = 0u64;
    for trial in trials {
        let Some((view, heaps)) = trial
            .histograms
            .iter()
            .map(|(view, histogram)| (view, modes(histogram)))
            .find(|(_, modes)| modes.len() > 1)
        else {
            continue;
        };
        if lines.len() >= MOST_HEAPS {
            left_out += 1;
            continue;
        }
        let is_listed = listed.iter().any(|other| std::ptr::eq(*other, *trial));
        let times = if is_listed { times_beside(trial, listed) } else { MICROSECONDS };
        let shares: Vec<String> = heaps
            .iter()
            .map(|heap| {
                format!("{} at {} {}", percent(heap.share), ns(heap.median_ns / times.ns), times.name)
            })
            .collect();
        let alike = |other: &&&TrialResult| {
            other.spec.parameters == trial.spec.parameters && other.spec.placement != trial.spec.placement
        };
        let near = |other: &&&TrialResult| {
            let headline = headline(&series.settings, other).map(|estimate| estimate.point);
            heaps.iter().any(|heap| headline.is_some_and(|ns| (ns / heap.median_ns - 1.0).abs() < 0.2))
        };
        let explained = match trials.iter().filter(alike).find(near) {
            Some(other) => format!("one of them is what {} take", places(report, &other.spec.placement)),
            None => "no placement measured here explains it".to_owned(),
        };
        let text = format!(
            " {} on {}, {}: {}; {explained}",
            plain(&parameters(&trial.spec)),
            places(report, &trial.spec.placement),
            plain(view),
            shares.join(", ")
        );
        lines.push(text);
    }
    let mut lines: Vec<String> = lines.iter().flat_map(|text| wrap(text, width, 3)).collect();
    if left_out > 0 {
        let verb = if left_out == 1 { "falls" } else { "fall" };
        let text = format!(" {} {verb} into several heaps too", count(left_out, "more trial"));
        lines.extend(wrap(&text, width, 3));
    }
    lines
}

/// CPUs of a trial that its place in a table is by: neighbours that keep busy, and readers, are told by its parameters.
fn group(trial: &TrialResult) -> &[CpuId] {
    let has = |name: &str| trial.spec.parameters.0.contains_key(name);
    let shared = match () {
        () if has(strain::LOAD) => 2,
        () if has(broadcast::READERS) => 1,
        () => usize::MAX,
    };
    let placement = &trial.spec.placement;
    &placement[..placement.len().min(shared)]
}

/// One row for each distribution of each trial, with the values and counts of the trial in its first row; trials on the
/// same CPUs stand together.
fn table(report: &RunReport, probe: &dyn SeriesProbe, trials: &[&TrialResult], width: usize) -> Vec<String> {
    let mut placements: Vec<&[CpuId]> = Vec::new();
    for trial in trials {
        if !placements.contains(&group(trial)) {
            placements.push(group(trial));
        }
    }
    let mut lines = Vec::new();
    for placement in placements {
        let here = trials.iter().copied().filter(|trial| group(trial) == placement);
        let most = here.clone().map(|trial| trial.spec.placement.as_slice()).max_by_key(|cpus| cpus.len());
        let title = match (placement, most) {
            ([writer], Some([_, readers @ ..])) if !readers.is_empty() => {
                format!("CPU {writer} writes; readers are the first of CPUs {}", listed(readers))
            }
            _ => places(report, placement),
        };
        lines.push(super::text::cut(&format!(" {title}"), width));
        for (times, alike) in by_unit(here, trials) {
            lines.extend(part(probe, &alike, times, width));
        }
    }
    lines
}

fn part(probe: &dyn SeriesProbe, trials: &[&TrialResult], times: Times, width: usize) -> Vec<String> {
    // What none of them has is no column.
    let told = |column: &&Column| trials.iter().any(|trial| tells(trial, column));
    let columns: Vec<&Column> = probe.columns().iter().filter(told).collect();
    let has_views = columns.iter().any(|column| matches!(column, Column::Percentiles(..)));
    let shown = if width < ROOMY { &SHARES[..0] } else { &SHARES[..] };
    let mut heading: Vec<(&str, Align)> = Vec::new();
    let parameters: Vec<(&str, &str)> = columns
        .iter()
        .filter_map(|column| match column {
            Column::Parameter(name, title) => Some((*name, *title)),
            _ => None,
        })
        .collect();
    heading.extend(parameters.iter().map(|(_, title)| (*title, Align::Left)));
    if has_views {
        heading.extend([(times.name, Align::Left), ("events", Align::Right), ("mean", Align::Right)]);
        heading.extend([("p50", Align::Right), ("±", Align::Right)]);
        heading.extend(shown.iter().map(|(title, _)| (*title, Align::Right)));
        heading.extend(TAIL.map(|(title, _)| (title, Align::Right)));
    }
    let is_number = |column: &&Column| matches!(column, Column::Value(..) | Column::Count(..));
    let numbers: Vec<&Column> = columns.iter().copied().filter(is_number).collect();
    heading.extend(numbers.iter().map(|column| match column {
        Column::Value(_, title) | Column::Count(_, title) => (*title, Align::Right),
        Column::Parameter(..) | Column::Percentiles(..) => ("", Align::Right),
    }));
    let mut table = Columns::new(&heading);
    for trial in trials {
        let views: Vec<(&str, &str)> = columns
            .iter()
            .filter_map(|column| match column {
                Column::Percentiles(name, title) => trial.histogram(name).map(|_| (*name, *title)),
                _ => None,
            })
            .collect();
        for index in 0..views.len().max(1) {
            let first = index == 0;
            let blank = |text: String| if first { text } else { String::new() };
            let mut row: Vec<String> =
                parameters.iter().map(|(name, _)| blank(parameter(trial, name))).collect();
            if has_views {
                row.extend(view_cells(trial, views.get(index).copied(), times, shown));
            }
            row.extend(numbers.iter().map(|column| blank(number(trial, column))));
            table.row(row);
        }
    }
    table.lines(width)
}

fn tells(trial: &TrialResult, column: &Column) -> bool {
    match column {
        Column::Parameter(name, _) => trial.spec.parameters.0.contains_key(*name),
        Column::Percentiles(name, _) => trial.histogram(name).is_some(),
        Column::Value(name, _) => trial.values.contains_key(*name),
        Column::Count(name, _) => trial.counts.contains_key(*name),
    }
}

fn parameter(trial: &TrialResult, name: &str) -> String {
    match trial.spec.parameters.0.get(name) {
        Some(value) if name == strain::WHERE => {
            let neighbours = trial.spec.placement.len().saturating_sub(2) as u64;
            format!("{}, {}", plain(&value.to_string()), count(neighbours, "CPU"))
        }
        Some(Value::Number(number)) if name.ends_with("_ns") => chosen_time(*number),
        Some(value) => plain(&value.to_string()),
        None => "·".to_owned(),
    }
}

/// The CPUs in role order, and what two of them share.
pub(super) fn places(report: &RunReport, placement: &[CpuId]) -> String {
    let cpus = placement.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ");
    match placement {
        [from, to] => {
            let relation = report.topology.relation(*from, *to);
            format!("CPUs {cpus}, {}", relation_words(relation, &report.topology))
        }
        [_] => format!("CPU {cpus}"),
        [from, to, others @ ..] if others.len() > 2 => {
            let relation = relation_words(report.topology.relation(*from, *to), &report.topology);
            format!("CPUs {from} → {to}, {relation}, with {} more", others.len())
        }
        _ => format!("CPUs {cpus}"),
    }
}

fn listed(cpus: &[CpuId]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// What times of a table are counted in.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    name: &'static str,
    ns: f64,
}

const MICROSECONDS: Times = Times { name: "µs", ns: 1e3 };

/// Nanoseconds where no median reaches a microsecond and a half.
fn times_of(medians_ns: impl Iterator<Item = f64>) -> Times {
    match medians_ns.fold(0.0, f64::max) {
        ns if ns > 0.0 && ns < 1_500.0 => Times { name: "ns", ns: 1.0 },
        _ => MICROSECONDS,
    }
}

/// The unit of the times of a trial in a table of all these.
fn times_beside(trial: &TrialResult, all: &[&TrialResult]) -> Times {
    let alike = all.iter().filter(|other| other.medians_ns.keys().eq(trial.medians_ns.keys()));
    times_of(alike.flat_map(|other| other.medians_ns.values()).map(|median| median.point))
}

/// Trials by the unit of their times, which those with the same distributions share all over the table: a hand-over of
/// 50 ns in the unit of a wake-up would lose its digits. A trial that was not reached stands with those beside it.
fn by_unit<'a>(
    here: impl Iterator<Item = &'a TrialResult>,
    all: &[&TrialResult],
) -> Vec<(Times, Vec<&'a TrialResult>)> {
    let mut tables: Vec<(Times, Vec<&TrialResult>)> = Vec::new();
    let mut before: Vec<&TrialResult> = Vec::new();
    let mut latest = 0;
    for trial in here {
        if trial.medians_ns.is_empty() {
            match tables.get_mut(latest) {
                Some((_, rows)) => rows.push(trial),
                None => before.push(trial),
            }
            continue;
        }
        let times = times_beside(trial, all);
        latest = tables.iter().position(|(known, _)| *known == times).unwrap_or(tables.len());
        match tables.get_mut(latest) {
            Some((_, rows)) => rows.push(trial),
            None => tables.push((times, std::mem::take(&mut before).into_iter().chain([trial]).collect())),
        }
    }
    if tables.is_empty() { vec![(times_of(std::iter::empty()), before)] } else { tables }
}

fn view_cells(
    trial: &TrialResult,
    view: Option<(&str, &str)>,
    times: Times,
    shown: &[(&str, f64)],
) -> Vec<String> {
    let Some((name, title)) = view else { return vec!["·".to_owned(); 5 + shown.len() + TAIL.len()] };
    let empty = Histogram::new();
    let histogram = trial.histogram(name).unwrap_or(&empty);
    let time = |value: Option<f64>| value.map_or("·".to_owned(), |value| ns(value / times.ns));
    let mut cells = vec![title.to_owned(), grouped(histogram.count() as i64), time(histogram.mean_ns())];
    cells.push(time(histogram.percentile_ns(0.5)));
    cells.push(trial.medians_ns.get(name).map_or("·".to_owned(), half_width));
    cells.extend(shown.iter().chain(&TAIL).map(|(_, share)| time(histogram.telling_percentile_ns(*share))));
    cells
}

pub(super) fn half_width(estimate: &Estimate) -> String {
    match estimate.relative_half_width() {
        // A few passes have a range, and no interval.
        _ if !estimate.is_sure() => "?".to_owned(),
        width if width > WIDEST_TOLD => format!(">{}", percent(WIDEST_TOLD)),
        width => percent(width),
    }
}

/// Beyond this a width says nothing more.
const WIDEST_TOLD: f64 = 9.99;

fn number(trial: &TrialResult, column: &Column) -> String {
    match column {
        Column::Value(name, _) => trial
            .values
            .get(*name)
            .map_or("·".to_owned(), |value| format!("{} ±{}", ns(value.point), half_width(value))),
        Column::Count(name, _) => {
            trial.counts.get(*name).map_or("·".to_owned(), |count| grouped(*count as i64))
        }
        Column::Parameter(..) | Column::Percentiles(..) => String::new(),
    }
}

/// Up to which wait looking is cheaper, as `wait` found it.
pub(super) fn crossovers(report: &RunReport, series: &SeriesReport, width: usize) -> Vec<String> {
    let found = coretalk_model::wait::crossovers(&series.result);
    found.iter().flat_map(|found| wait::crossover(report, found, width)).collect()
}

/// How a run of trials ended, where that matters to a reader.
pub(super) fn ending(
    report: &RunReport,
    series: &SeriesReport,
    saved: Saved<'_>,
    width: usize,
) -> Vec<String> {
    let beside_a_map = report.gathering().is_some() && !report.settings.ask_for_nothing();
    let text = if !series.result.complete {
        // What is said of the map holds for the whole run.
        if beside_a_map {
            return Vec::new();
        }
        let how = match saved {
            Saved::As(id) => format!("; to go on: coretalk --resume {}", plain(id)),
            Saved::Not => String::new(),
        };
        format!(" Interrupted: not everything was measured{how}")
    } else if series.result.budget_ended {
        format!(
            " The budget of {} ended before every interval was as narrow as asked, or before every sample; try a \
             longer --budget.",
            duration(report.budget().secs())
        )
    } else {
        return Vec::new();
    };
    wrap(&text, width, 1)
}

pub(super) fn next(series: &SeriesReport, saved: Saved<'_>, width: usize) -> Vec<String> {
    let Saved::As(id) = saved else { return vec![" not saved (--no-save)".to_owned()] };
    let id = plain(id);
    let mut parts = vec![
        format!(" saved as {id}"),
        format!("to share: coretalk report {id} -o z.html"),
        format!("as data: coretalk export {id} --format csv"),
    ];
    if series.result.trials.iter().any(|trial| !trial.histograms.is_empty()) {
        parts.push(format!("distributions: coretalk export {id} --format hgrm -o DIR"));
    }
    flow(parts.iter().map(String::as_str), " · ", width, 1)
}
