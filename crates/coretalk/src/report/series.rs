//! Series: a table of percentiles for each probe, and what is to be said below it.

mod rows;

use super::contend;
use super::doubts;
use super::idle;
use super::jitter;
use super::padding;
use super::plateaus;
use super::queue;
use super::saved::{Saved, Screen};
use super::spawn;
use super::style::Style;
use super::text::{count, duration, flow, ns, percent, plain, wrap};
use super::trial_maps::map;
use super::trial_words::{placement_words, question};
use super::view::parameters;
use super::wait;
use super::words;
use crate::blocks::Block;
use crate::render::terminal;
use crate::{RunReport, SeriesReport};
use coretalk_measure::probes;
use coretalk_measure::series::SeriesProbe;
use coretalk_model::queue::{QueueCell, names};
use coretalk_model::series::summary::{headline, modes};
use coretalk_model::series::{Gathering, TimeUnit, TrialResult, alike};

use rows::{table, times_beside};

/// Trials whose times fall into modes that are told one by one; more are counted.
const MOST_MODES: usize = 4;

/// The whole screen of a run of series, with a line end after each line.
pub fn series_screen(report: &RunReport, series: &SeriesReport, screen: Screen<'_>, style: &Style) -> String {
    let width = style.width;
    let mut lines = words::heading(report, screen, width);
    let saved = screen.saved();
    for name in &series.settings.probes {
        lines.extend(probes::series_by_id(name).map(|probe| question(probe, width)).unwrap_or_default());
        lines.push(String::new());
        lines.extend(found(report, series, name, style));
    }
    lines.push(String::new());
    lines.extend(doubts::of_trials(&series.result.trials, width));
    lines.extend(ending(report, series, saved, width));
    lines.extend(words::doubt(report, width));
    lines.extend(next(series, saved, width));
    lines.join("\n") + "\n"
}

/// What one probe found, on a terminal.
pub fn found(report: &RunReport, series: &SeriesReport, name: &str, style: &Style) -> Vec<String> {
    terminal::lines(&found_with(report, series, name, queue::lines), style)
}

/// The same on a page, which draws the maps of queues and says in its summary what follows from them.
pub fn found_on_a_page<'a>(report: &'a RunReport, series: &'a SeriesReport, name: &str) -> Vec<Block<'a>> {
    let queues = |report: &_, series: &_, style: &Style| queue::tables(report, series, style.width);
    found_with(report, series, name, queues)
}

fn found_with<'a>(
    report: &'a RunReport,
    series: &'a SeriesReport,
    name: &str,
    queues: impl Fn(&RunReport, &SeriesReport, &Style) -> Vec<String> + 'a,
) -> Vec<Block<'a>> {
    let Some(probe) = probes::series_by_id(name) else {
        return vec![Block::Prose(format!("This version has no probe `{}`.", plain(name)))];
    };
    let trials: Vec<&TrialResult> =
        series.result.trials.iter().filter(|trial| trial.spec.probe == name).collect();
    let listed: Vec<&TrialResult> = trials.iter().copied().filter(|trial| !QueueCell::holds(trial)).collect();
    let mut blocks = match name {
        coretalk_model::contend::names::PROBE => contend::blocks(probe, &series.result),
        coretalk_model::jitter::names::PROBE => jitter::blocks(&trials),
        spawn::PROBE => spawn::blocks(probe, &trials),
        wait::PROBE => vec![Block::drawing(move |style| wait::lines(report, series, &listed, style))],
        names::PROBE => vec![Block::drawing(move |style| {
            let mut lines = queues(report, series, style);
            lines.extend(body(report, series, probe, &listed, style));
            lines
        })],
        _ => vec![Block::drawing(move |style| body(report, series, probe, &listed, style))],
    };
    blocks.push(Block::drawing(move |style| plateaus::lines(series, &trials, style.width)));
    blocks
}

/// The questions of a run of series, its doubts and how it ended, without its tables.
pub fn overview(report: &RunReport, series: &SeriesReport, saved: Saved<'_>, width: usize) -> Vec<String> {
    let questions = series.settings.probes.iter().filter_map(|name| probes::series_by_id(name));
    let mut lines: Vec<String> = questions.flat_map(|probe| question(probe, width)).collect();
    if series.settings.gathering() == Some(Gathering::QuickLook) {
        return overview_beside(series)
            .map_or(Vec::new(), |block| terminal::lines(&[block], &Style { width, ..Style::default() }));
    }
    lines.extend(queue::words(report, series, width));
    lines.extend(doubts::of_trials(&series.result.trials, width));
    lines.extend(ending(report, series, saved, width));
    lines
}

/// What stands beside the map of a quick look, in words.
pub(super) fn overview_beside(series: &SeriesReport) -> Option<Block<'static>> {
    jitter::in_short(&series.result.trials.iter().collect::<Vec<_>>())
}

/// A map for each kind of trial where there is one for many pairs, else a table; then what is to be said about them.
fn body(
    report: &RunReport,
    series: &SeriesReport,
    probe: &dyn SeriesProbe,
    trials: &[&TrialResult],
    style: &Style,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut listed: Vec<&TrialResult> = Vec::new();
    for kind in alike(trials.iter().copied()) {
        match kind.is_map() {
            true => lines.extend(map(report, series, &kind, style)),
            false => listed.extend(kind.trials),
        }
    }
    if !listed.is_empty() {
        lines.extend(table(report, &series.settings, probe, &listed, style.width));
    }
    let specs: Vec<_> = trials.iter().map(|trial| &trial.spec).collect();
    for remark in probe.remarks(&specs) {
        lines.extend(wrap(&format!(" {}", plain(&remark)), style.width, 3));
    }
    lines.extend(idle::lines(trials, style.width));
    lines.extend(padding::lines(&report.topology, trials, style.width));
    lines.extend(mode_lines(report, series, trials, &listed, style.width));
    lines
}

/// Distributions that fall into several modes, and whether a placement that was measured explains it.
///
/// `listed` are those that stand in tables: they are told in the unit of their table, and the others in that of maps.
fn mode_lines(
    report: &RunReport,
    series: &SeriesReport,
    trials: &[&TrialResult],
    listed: &[&TrialResult],
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
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
        if lines.len() >= MOST_MODES {
            left_out += 1;
            continue;
        }
        let is_listed = listed.iter().any(|other| std::ptr::eq(*other, *trial));
        let of_map = || {
            let kinds = alike(trials.iter().copied());
            let kind = kinds.iter().find(|kind| kind.trials.iter().any(|other| std::ptr::eq(*other, *trial)));
            TimeUnit::of(kind.iter().flat_map(|kind| kind.medians_ns(&series.settings)))
        };
        let times = if is_listed { times_beside(trial, listed) } else { of_map() };
        let shares: Vec<String> = modes
            .iter()
            .map(|mode| {
                format!("{} at {} {}", percent(mode.share), ns(mode.median_ns / times.ns), times.name)
            })
            .collect();
        let alike = |other: &&&TrialResult| {
            other.spec.parameters == trial.spec.parameters && other.spec.placement != trial.spec.placement
        };
        let near = |other: &&&TrialResult| {
            let headline = headline(&series.settings, other).map(|estimate| estimate.point);
            modes.iter().any(|mode| headline.is_some_and(|ns| (ns / mode.median_ns - 1.0).abs() < 0.2))
        };
        let explained = match trials.iter().filter(alike).find(near) {
            Some(other) => {
                format!("one of them is what {} take", placement_words(report, &other.spec.placement))
            }
            None => "no placement measured here explains it".to_owned(),
        };
        let text = format!(
            " {} on {}, {}: {}; {explained}",
            plain(&parameters(&trial.spec)),
            placement_words(report, &trial.spec.placement),
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

/// How a run of trials ended, where that matters to a reader.
pub(super) fn ending(
    report: &RunReport,
    series: &SeriesReport,
    saved: Saved<'_>,
    width: usize,
) -> Vec<String> {
    let beside_a_map = report.gathering().is_some() && !report.settings.ask_for_nothing();
    // What is said of the map holds for the whole run.
    let mut lines =
        if beside_a_map { Vec::new() } else { words::departed(&report.header, saved.name(), width) };
    let text = if !series.result.complete && report.header.departed.is_empty() {
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
        return lines;
    };
    lines.extend(wrap(&text, width, 1));
    lines
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
