//! The sections with the results of a run. Sections without content are left out.

use super::escape::escaped;
use super::lead::lead;
use super::machine;
use super::section::{MAPS, Of, SUMMARY, Section, figures, part};
use super::series;
use crate::blocks::Block;
use crate::figure::{batches, ladder, load, multiples, placements, queue, sides, sweep, timeline};
use crate::fmt::digits::{count, duration, grouped, ns, plus_minus};
use crate::imported::ImportedFile;
use crate::input::ReportInput;
use crate::render::html;
use crate::{answer, execution, findings, fmt, place, saved, screen, states, structure, words};
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{Extreme, class_pairs, overall};
use coretalk_model::run::{LatencyReport, RunReport};
use coretalk_model::{CpuId, Verdict};
use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maps {
    /// In a section of the run.
    Here,
    /// Next to the maps of other runs.
    Elsewhere,
}

pub(super) fn results(input: &ReportInput<'_>, of: Of<'_>, maps: Maps) -> Vec<Section> {
    let mut parts = Vec::new();
    let has_square = input.maps.iter().any(|map| map.columns.cpus.len() > 2);
    if maps == Maps::Here && has_square {
        parts.push(heat_maps(input, of));
    }
    parts.push(summary(input, of));
    let section =
        |id: &str, title: &str, body: String| (!body.is_empty()).then(|| Section::new(id, title, of, body));
    let curves = figures(|width| queue::over_capacities(input, [width, 340.0]));
    let multiples = figures(|width| multiples::by_capacity(input, width));
    parts.extend(section("capacities", "At each capacity", curves + &multiples));
    let kinds = figures(|width| multiples::by_kind(input, width));
    parts.extend(section("kinds", "Between all pairs", kinds));
    parts.extend(section("states", "Over time", states_body(input)));
    parts.extend(section("ladder", "The ladder", ladder_body(input)));
    // Groups come first for files and runs with latencies, otherwise last.
    let mut groups = section("groups", "Groups and agreement", groups_body(input));
    if input.file().is_some() || !input.latencies().is_empty() {
        parts.extend(groups.take());
    }
    let has_commands =
        |report: &RunReport| report.place.as_ref().is_some_and(|place| place.settings.versus.is_some());
    let title = if input.run().is_some_and(has_commands) { "Commands" } else { "Placements" };
    parts.extend(section("placements", title, placements_body(input)));
    parts.extend(section("found", "Results", found_body(input)));
    let curves = series::body(&input.outline.series, input.topology());
    parts.extend(section("distributions", "Distributions", curves));
    parts.extend(groups);
    if maps == Maps::Here && !has_square {
        parts.push(heat_maps(input, of));
    }
    parts
}

fn summary(input: &ReportInput<'_>, of: Of<'_>) -> Section {
    // The lead of a single run is already at the top of the page.
    let mut body = if of.is_some() { lead(input) } else { String::new() };
    match (input.run(), input.file()) {
        (Some(report), _) => body.push_str(&run_summary(input, report)),
        (None, file) => body.push_str(&html::blocks(&file.map(ImportedFile::summary).unwrap_or_default())),
    }
    Section::new(SUMMARY, "Summary", of, body)
}

fn run_summary(input: &ReportInput<'_>, report: &RunReport) -> String {
    let mut body = String::new();
    for map in report.maps() {
        if report.maps().len() > 1 {
            let _ = writeln!(body, "<h3>{}</h3>", escaped(map.kernel.as_str()));
        }
        match screen::the_only_pair(map) {
            Some((pair, value)) => {
                body.push_str(&html::blocks(&states::story(report, &map.kernel, pair, value)))
            }
            None => {
                // The lead already states the answer for the first map.
                let is_first = report.maps().first().is_some_and(|first| std::ptr::eq(first, map));
                let answer = answer::sentence(report, map).filter(|_| !is_first).map(Block::Answer);
                body.push_str(&html::blocks(answer.as_slice()));
                body.extend(report.latency.as_ref().map(|latency| facts_of(latency, map)));
            }
        }
        body.push_str(&html::blocks(&screen::in_words(report, map)));
    }
    let ending = || saved::ending(report, Some(input.name));
    let found = match (&report.series, &report.place) {
        (Some(series), _) => {
            let mut found = crate::series::overview(report, series, crate::Saved::As(input.name));
            // The lead already answers the questions.
            found.retain(|block| !matches!(block, Block::Question(_)));
            if report.latency.is_some() {
                found.extend(ending());
            }
            found
        }
        // The headlines are in the lead.
        (None, Some(place)) => place::overview(report, place).split_off(place::headlines(place).count()),
        (None, None) => {
            if report.maps().is_empty() {
                let imitates = !input.maps.is_empty();
                let what = if imitates { "This run imitates other tools." } else { "This run has no map." };
                let _ = writeln!(body, "<p>{what}</p>");
            }
            ending()
        }
    };
    body.push_str(&html::blocks(&found));
    if report.doctor.iter().any(|finding| finding.verdict >= Verdict::Warn) {
        body.push_str("<h3>Doubts about the machine</h3>\n");
        body.push_str(&machine::findings(report, Verdict::Warn));
    }
    body
}

fn found_body(input: &ReportInput<'_>) -> String {
    let Some(report) = input.run() else { return String::new() };
    let Some(series) = &report.series else { return String::new() };
    let load = series.load_of_queues();
    let load =
        figures(|width| load.and_then(|curve| load::load(curve, [width, 260.0])).into_iter().collect());
    let tables = series
        .settings
        .probes
        .iter()
        .map(|name| {
            let mut found = crate::series::found_on_a_page(report, series, name);
            // The page shows figures instead of character drawings.
            found.retain(|block| !matches!(block, Block::Drawing(_)));
            let answer = findings::of_probe(report, series, name);
            let answer = answer.and_then(|found| findings::sentence(report, &found));
            let summary = answer.as_ref().map(fmt::sentence).unwrap_or_default();
            part(name, Some("found"), &summary, &html::blocks(&found), series.settings.probes.len())
        })
        .collect::<String>();
    let sweeps = figures(|width| sweep::charts(report, [width, 340.0]));
    let batches = figures(|width| batches::charts(report, [width, 340.0]));
    sweeps + &batches + &figures(|width| sides::maps(report, width)) + &tables + &load
}

fn facts_of(latency: &LatencyReport, map: &LatencyMap) -> String {
    let all = overall(map);
    let extreme = |extreme: Extreme| {
        let [from, to] = extreme.pair;
        format!("{}, CPUs {from} and {to}", with_interval(map, &extreme))
    };
    let missing: u64 = all.missing.iter().map(|(_, cells)| cells).sum();
    let mut measured = vec![grouped(all.measured as i64)];
    measured.extend((all.doubtful > 0).then(|| format!("{} may be wrong", grouped(all.doubtful as i64))));
    measured.extend((missing > 0).then(|| format!("{} not measured", grouped(missing as i64))));
    let watched = latency.result.watched.secs();
    let passes = count(u64::from(latency.result.passes), "pass");
    html::facts(&[
        ("fastest pair", all.min.map(extreme)),
        ("slowest pair", all.max.map(extreme)),
        ("pairs measured", Some(measured.join(", "))),
        ("watched for", Some(format!("{}, {passes}", duration(watched)))),
    ])
}

fn with_interval(map: &LatencyMap, extreme: &Extreme) -> String {
    let position = |cpu: CpuId| map.cells.position(cpu);
    let value = position(extreme.pair[0])
        .zip(position(extreme.pair[1]))
        .and_then(|(row, column)| map.cells.get(row, column))
        .and_then(|cell| cell.value());
    let interval = match value.map(|value| value.latency_ns) {
        Some(latency) if latency.is_sure() => plus_minus(latency.point, latency.reach()) + " ns",
        _ => "ns, no interval".into(),
    };
    format!("{} {interval}", ns(extreme.ns))
}

pub(super) fn heat_maps(input: &ReportInput<'_>, of: Of<'_>) -> Section {
    // One pair needs no map; states and ladder show more.
    let has_square = input.maps.iter().any(|map| map.columns.cpus.len() > 2);
    let (id, title) = if has_square { (MAPS, "Heat map") } else { ("data", "Data") };
    Section::new(id, title, of, heat_map_body(&[input], has_square))
}

pub(super) fn heat_map_body(inputs: &[&ReportInput<'_>], has_square: bool) -> String {
    let mut body = String::new();
    if has_square {
        body.push_str(
            "<div class=\"heat-map\"><noscript><p>The heat map needs JavaScript, which is off in your \
         browser.</p></noscript></div>\n",
        );
    }
    for (index, input) in inputs.iter().enumerate() {
        let what = match input.is_exact() {
            true if input.file().is_some() => "the values as JSON, with the groups inferred from them",
            true => "the same JSON as coretalk export writes",
            false => "rounded to 0.01 ns, without the fields that this page leaves out",
        };
        let name =
            if inputs.len() > 1 { format!("&#32;of {}", escaped(&input.machine())) } else { String::new() };
        let _ = writeln!(
            body,
            "<p class=\"download\"><button type=\"button\" data-download=\"{index}\" hidden>Download data{name}</button> \
             <span class=\"note\">{what}</span></p>"
        );
    }
    body
}

fn states_body(input: &ReportInput<'_>) -> String {
    figures(|width| {
        input.watch().and_then(|watch| timeline::timeline(watch, width, 320.0)).into_iter().collect()
    })
}

fn ladder_body(input: &ReportInput<'_>) -> String {
    let drawn =
        figures(|width| ladder::ladder(input.ladder(), input.topology(), width).into_iter().collect());
    let Some(report) = input.run().filter(|_| !drawn.is_empty()) else { return String::new() };
    let steps = Block::Table(ladder::table(input.ladder(), input.topology()));
    let disturbance = report.environment.disturbance();
    let footnote =
        report.latencies().map(|result| Block::Prose(crate::ladder::footnote(result, disturbance)));
    drawn + &html::blocks(&[steps].into_iter().chain(footnote).collect::<Vec<_>>())
}

fn groups_body(input: &ReportInput<'_>) -> String {
    let (topology, findings) = (input.topology(), input.findings());
    let mut body = String::new();
    let mut add = |title: &str, blocks: &[Block<'_>]| {
        let _ = write!(body, "<h3>{}</h3>\n{}", escaped(title), html::blocks(blocks));
    };
    if topology.levels().into_iter().any(|level| !topology.level(level).is_empty()) {
        add("What the system reports", &crate::topology::in_words(topology));
    }
    for map in input.latencies() {
        let classes = class_pairs(map, topology);
        if !classes.is_empty() {
            let table = Block::Table(words::class_table(map, &classes, topology));
            add(&format!("Core classes, {}", map.kernel), &[table]);
        }
    }
    if let Some((findings, unit)) = &findings {
        add("What the values show", &structure::blocks(findings, unit));
    }
    let tests = input.run().and_then(RunReport::latencies).map_or(&[][..], |result| &result.execution);
    body + &html::blocks(&execution::sentences(tests, Some(topology)))
}

fn placements_body(input: &ReportInput<'_>) -> String {
    let Some((report, place)) = input.run().and_then(|report| Some((report, report.place.as_ref()?))) else {
        return String::new();
    };
    let where_it_ran = html::blocks(&place::placements(&place.settings, &report.topology));
    let drawn = figures(|width| placements::all(place, width).collect());
    format!("{where_it_ran}<h3>What was measured</h3>\n{drawn}{}", html::blocks(&place::works(report, place)))
}
