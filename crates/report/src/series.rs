//! Series: a table of percentiles for each probe, and the remarks below it.

mod rows;

use super::contend;
use super::doubts;
use super::findings;
use super::idle;
use super::jitter;
use super::parameters::parameters;
use super::plateaus;
use super::queue;
use super::runtimes;
use super::saved::{self, Saved, Screen};
use super::spawn;
use super::trial_maps::map;
use super::trial_words::{legend_of_trials, question, trial_place};
use super::wait;
use super::wake;
use super::words;
use crate::blocks::Block;
use crate::blocks::value::{DisplayUnit, DisplayValue, ModePart, Number, Sentence, Source};
use coretalk_model::findings::{Finding, ProbeFinding};
use coretalk_model::probes::{self, ProbeDeclaration};
use coretalk_model::quantity::Unit;
use coretalk_model::queue::{QueueCell, batch_curves, names, side_grids, sweeps};
use coretalk_model::run::{RunReport, SeriesReport};
use coretalk_model::series::summary::{headline, modes};
use coretalk_model::series::{Gathering, TimeUnit, TrialResult, alike};

use rows::{tables, times_beside};

const MAX_MODES: usize = 4;

/// The screen of a run of series.
pub fn series_screen<'a>(
    report: &'a RunReport,
    series: &'a SeriesReport,
    screen: Screen<'_>,
) -> Vec<Block<'a>> {
    let mut blocks = words::heading(report, screen);
    let saved = screen.saved();
    let answer = answer(report, series);
    blocks.extend(answer.iter().flat_map(|sentence| [Block::Answer(sentence.clone()), Block::Gap]));
    for name in &series.settings.probes {
        blocks.extend(probes::declaration(name).map(question));
        blocks.push(Block::Gap);
        blocks.extend(found_with(report, series, name, queue::blocks, answer.is_some()));
    }
    blocks.push(Block::Gap);
    blocks.extend(doubts::of_trials(series));
    blocks.extend(ending(report, series, saved));
    blocks.extend(words::doubt(report));
    blocks.push(next(series, saved));
    blocks
}

/// The finding of a run of one probe, in one sentence; `None` for several probes, which state their own findings.
pub(super) fn answer(report: &RunReport, series: &SeriesReport) -> Option<Sentence> {
    let [probe] = &series.settings.probes[..] else { return None };
    // In a run with a map, the answer is about the map.
    if series.settings.gathering().is_some() {
        return None;
    }
    findings::sentence(report, &findings::of_probe(report, series, probe)?)
}

/// The findings of one probe for a page. The page shows the maps of queues and their conclusions elsewhere.
pub fn found_on_a_page<'a>(report: &'a RunReport, series: &'a SeriesReport, name: &str) -> Vec<Block<'a>> {
    found_with(report, series, name, queue::tables, false)
}

/// `is_answered` if the answer above already states the findings.
fn found_with<'a>(
    report: &'a RunReport,
    series: &'a SeriesReport,
    name: &str,
    queues: impl Fn(&'a RunReport, &'a SeriesReport) -> Vec<Block<'a>>,
    is_answered: bool,
) -> Vec<Block<'a>> {
    let Some(probe) = probes::declaration(name) else {
        let sentence = Sentence::new("This version has no probe `{name}`.").with_name("name", name);
        return vec![Block::Prose(sentence)];
    };
    let trials: Vec<&TrialResult> =
        series.result.trials.iter().filter(|trial| trial.spec.probe == name).collect();
    let (sweeps, grids) = (sweeps(&series.result), side_grids(&series.result));
    let curves = batch_curves(&series.result);
    let is_listed = |trial: &&TrialResult| {
        !QueueCell::holds(trial)
            && !sweeps.iter().any(|sweep| sweep.holds(trial))
            && !grids.iter().any(|grid| grid.holds(trial))
            && !curves.iter().any(|curve| curve.holds(trial))
    };
    let listed: Vec<&TrialResult> = trials.iter().copied().filter(is_listed).collect();
    let mut blocks = match name {
        coretalk_model::contend::names::PROBE => contend::blocks(report, series),
        coretalk_model::jitter::names::PROBE => jitter::blocks(&trials),
        spawn::PROBE => spawn::blocks(report, series, &trials),
        wait::PROBE => wait::blocks(report, series, &listed),
        names::PROBE => {
            let mut blocks = queues(report, series);
            blocks.extend(queue::sweep::blocks(report, sweeps));
            blocks.extend(queue::sides::blocks(grids));
            blocks.extend(queue::batches::blocks(report, &curves));
            blocks.extend(body(report, series, probe, &listed));
            blocks
        }
        _ => body(report, series, probe, &listed),
    };
    let concludes =
        |found: &ProbeFinding<'_>| matches!(found.finding, Finding::Padding(_) | Finding::Noise(..));
    let found = findings::of_probe(report, series, name).filter(|found| !is_answered && concludes(found));
    blocks.extend(found.and_then(|found| findings::sentence(report, &found)).map(Block::Prose));
    blocks.extend(runtimes::blocks(report, series, &trials));
    blocks.extend(plateaus::blocks(series, &trials));
    blocks
}

/// The questions of a run of series, its doubts and how it ended, without tables.
pub fn overview(report: &RunReport, series: &SeriesReport, saved: Saved<'_>) -> Vec<Block<'static>> {
    if series.settings.gathering() == Some(Gathering::QuickLook) {
        return overview_beside(series).into_iter().collect();
    }
    let questions = series.settings.probes.iter().filter_map(|name| probes::declaration(name));
    let mut blocks: Vec<Block<'_>> = questions.map(question).collect();
    blocks.extend(queue::words(report, series));
    blocks.extend(doubts::of_trials(series));
    blocks.extend(ending(report, series, saved));
    blocks
}

pub(super) fn overview_beside(series: &SeriesReport) -> Option<Block<'static>> {
    jitter::in_short(&series.result.trials.iter().collect::<Vec<_>>())
}

fn body<'a>(
    report: &'a RunReport,
    series: &'a SeriesReport,
    probe: &ProbeDeclaration,
    trials: &[&'a TrialResult],
) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut listed: Vec<&TrialResult> = Vec::new();
    for kind in alike(trials.iter().copied()) {
        match kind.is_map() {
            true => blocks.extend(map(report, series, &kind)),
            false => listed.extend(kind.trials),
        }
    }
    if !listed.is_empty() {
        blocks.extend(tables(report, &series.settings, probe, &listed));
    }
    blocks.extend(wake::places(trials));
    blocks.extend(legend_of_trials(report, series, trials));
    blocks.extend(idle::sentence(trials).map(Block::Prose));
    blocks.extend(modes_of(report, series, trials, &listed));
    blocks
}

/// `listed` are the trials in tables, with the unit of their table; other trials have the unit of their map.
fn modes_of(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    listed: &[&TrialResult],
) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    let mut left_out = 0u64;
    for trial in trials {
        let Some((view, modes)) = trial
            .histograms
            .iter()
            .map(|(view, histogram)| (view, modes(histogram)))
            .find(|(_, modes)| modes.len() > 1)
        else {
            continue;
        };
        if blocks.len() >= MAX_MODES {
            left_out += 1;
            continue;
        }
        let is_listed = listed.iter().any(|other| std::ptr::eq(*other, *trial));
        let of_map = || {
            let kinds = alike(trials.iter().copied());
            let kind = kinds.iter().find(|kind| kind.trials.iter().any(|other| std::ptr::eq(*other, *trial)));
            TimeUnit::for_values(kind.iter().flat_map(|kind| kind.medians_ns(&series.settings)))
        };
        let times = if is_listed { times_beside(trial, listed) } else { of_map() };
        let shares = modes.iter().enumerate().map(|(index, mode)| {
            let number = |number, unit, part| DisplayValue {
                number: Number::Point(number),
                unit,
                source: Source::Mode { trial: trial.spec.id(), view: view.clone(), index, part },
            };
            Sentence::new("{share} at {time} {unit}")
                .with("share", number(mode.share, DisplayUnit::Own(Unit::Share), ModePart::Share))
                .with("time", number(mode.median_ns, DisplayUnit::OfColumn(times.ns), ModePart::Median))
                .with("unit", times.name)
        });
        let is_elsewhere = |other: &&&TrialResult| {
            other.spec.parameters == trial.spec.parameters && other.spec.placement != trial.spec.placement
        };
        let matches_mode = |other: &&&TrialResult| {
            let headline = headline(&series.settings, other).map(|estimate| estimate.point);
            modes.iter().any(|mode| headline.is_some_and(|ns| (ns / mode.median_ns - 1.0).abs() < 0.2))
        };
        let explanation = match trials.iter().filter(is_elsewhere).find(matches_mode) {
            Some(other) => Sentence::new("one of them matches {where}")
                .with("where", trial_place(&report.topology, other)),
            None if trial.spec.mask().is_some() => Sentence::new("where the threads ran may explain this"),
            None => Sentence::new("no placement measured here explains this"),
        };
        let sentence = Sentence::new("{parameters} on {where}, {view}: {shares}; {explained}")
            .with("parameters", parameters(&trial.spec))
            .with("where", trial_place(&report.topology, trial))
            .with_name("view", view)
            .with("shares", Sentence::joined(shares, ", "))
            .with("explained", explanation);
        blocks.push(Block::Remark(sentence));
    }
    if left_out > 0 {
        let template = match left_out {
            1 => "{number} more trial has several modes too",
            _ => "{number} more trials have several modes too",
        };
        let number = DisplayValue::listed(left_out as usize);
        blocks.push(Block::Remark(Sentence::new(template).with("number", number)));
    }
    blocks
}

pub(super) fn ending(report: &RunReport, series: &SeriesReport, saved: Saved<'_>) -> Vec<Block<'static>> {
    // The end of the map lists everything that was left out.
    let is_in_map_ending = report.latencies().is_some_and(|result| result.budget_ended);
    let has_map = report.gathering().is_some() && report.latency.is_some();
    // The end of the map covers the whole run.
    let departed = saved::departed(&report.header, saved.name()).filter(|_| !has_map);
    let mut blocks: Vec<Block<'_>> = departed.into_iter().collect();
    if !series.result.complete && report.header.departed.is_empty() {
        let sentence = Sentence::new("Interrupted before everything was measured{resume}")
            .with("resume", saved::resume(saved.name()));
        blocks.extend((!has_map).then_some(Block::Prose(sentence)));
    } else if series.result.budget_ended {
        let sentence = Sentence::new(
            "The budget of {budget} ended before all samples were taken or all intervals were as narrow as requested; \
             try a longer --budget.{left}",
        );
        let left = if is_in_map_ending { Sentence::new("") } else { saved::left_out(report) };
        let sentence = sentence.with("budget", saved::budget(report.budget().secs())).with("left", left);
        blocks.push(Block::Prose(sentence));
    }
    blocks
}

pub(super) fn next(series: &SeriesReport, saved: Saved<'_>) -> Block<'static> {
    let mut next =
        vec!["to share: coretalk report {id} -o z.html", "as data: coretalk export {id} --format csv"];
    if series.result.trials.iter().any(|trial| !trial.histograms.is_empty()) {
        next.push("distributions: coretalk export {id} --format hgrm -o DIR");
    }
    Block::Parts(saved::saved_as(saved, &next))
}
