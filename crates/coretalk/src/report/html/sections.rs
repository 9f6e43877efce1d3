//! The results of a run, section by section: each appears where the run has something to say there.

use super::escape::escaped;
use super::machine::findings;
use super::section::{Of, Section, WIDTH};
use super::series;
use crate::blocks::Block;
use crate::render::html::{self, figure};
use crate::report::figure::{ladder, multiples, placements, timeline};
use crate::report::imported::ImportedFile;
use crate::report::input::ReportInput;
use crate::report::text::{count, duration, grouped, ns, plus_minus};
use crate::report::{self, answer, execution, place, saved, screen, states, structure, words};
use crate::{LatencyReport, RunReport};
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{Extreme, class_pairs, overall};
use coretalk_model::{CpuId, Verdict};
use std::fmt::Write;

/// Whether the heat maps of a run stand among its sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maps {
    /// Yes.
    Here,
    /// They stand beside those of other runs.
    Elsewhere,
}

/// Everything that the run found out.
pub(super) fn results(input: &ReportInput<'_>, of: Of<'_>, maps: Maps) -> Vec<Section> {
    let mut parts = vec![summary(input, of)];
    let square = input.maps.iter().any(|map| map.columns.cpus.len() > 2);
    if maps == Maps::Here && square {
        parts.push(heat_maps(input, of));
    }
    let section =
        |id: &str, title: &str, body: String| (!body.is_empty()).then(|| Section::new(id, title, of, body));
    let multiples: String = multiples::by_capacity(input).iter().map(figure).collect();
    parts.extend(section("capacities", "At each capacity", multiples));
    let kinds: String = multiples::by_kind(input).iter().map(figure).collect();
    parts.extend(section("kinds", "Between all pairs", kinds));
    parts.extend(section("states", "Over time", states_body(input)));
    parts.extend(section("ladder", "The ladder", ladder_body(input)));
    parts.extend(section("groups", "Groups and agreement", groups_body(input)));
    parts.extend(section("found", "What was found", found_body(input)));
    parts.extend(section("distributions", "Distributions", series::body(&input.outline.series)));
    parts.extend(section("placements", "Placements", placements_body(input)));
    if maps == Maps::Here && !square {
        parts.push(heat_maps(input, of));
    }
    parts
}

fn summary(input: &ReportInput<'_>, of: Of<'_>) -> Section {
    let body = match (input.run(), input.file()) {
        (Some(report), _) => run_summary(input, report),
        (None, file) => html::blocks(&file.map(ImportedFile::summary).unwrap_or_default()),
    };
    Section::new("summary", "Summary", of, body)
}

fn run_summary(input: &ReportInput<'_>, report: &RunReport) -> String {
    let mut body = String::new();
    for map in report.maps() {
        if report.maps().len() > 1 {
            let _ = writeln!(body, "<h3>{}</h3>", escaped(map.kernel.as_str()));
        }
        match screen::the_only_pair(map) {
            Some((pair, value)) => {
                body.push_str(&html::blocks(&[Block::Headline(states::headline(report, pair, value))]));
                body.push_str(&html::blocks(&states::story(report, pair, value)));
            }
            None => {
                let answer = answer::sentence(report, map).map(Block::Headline);
                body.push_str(&html::blocks(answer.as_slice()));
                body.extend(report.latency.as_ref().map(|latency| tiles(latency, map)));
            }
        }
        body.push_str(&html::blocks(&screen::in_words(report, map)));
    }
    let ending = || saved::ending(report, Some(input.name));
    let found = match (&report.series, &report.place) {
        (Some(series), _) => {
            let mut found = report::series::overview(report, series, report::Saved::As(input.name));
            if report.latency.is_some() {
                found.extend(ending());
            }
            found
        }
        (None, Some(place)) => place::overview(report, place),
        (None, None) => {
            if report.maps().is_empty() {
                let imitates = !input.maps.is_empty();
                let what = if imitates { "This run imitates other tools." } else { "This run holds no map." };
                let _ = writeln!(body, "<p>{what}</p>");
            }
            ending()
        }
    };
    body.push_str(&html::blocks(&found));
    if report.findings.iter().any(|finding| finding.verdict >= Verdict::Warn) {
        body.push_str("<h3>Doubts about the machine</h3>\n");
        body.push_str(&findings(report, Verdict::Warn));
    }
    body
}

/// What each probe of series prints.
fn found_body(input: &ReportInput<'_>) -> String {
    let Some(report) = input.run() else { return String::new() };
    let Some(series) = &report.series else { return String::new() };
    series
        .settings
        .probes
        .iter()
        .map(|name| {
            let found = html::blocks(&report::series::found_on_a_page(report, series, name));
            format!("<h3>{}</h3>\n{found}", escaped(name))
        })
        .collect()
}

/// The extremes of a map, and how much of it was measured.
fn tiles(latency: &LatencyReport, map: &LatencyMap) -> String {
    let all = overall(map);
    let mut body = String::from("<dl class=\"tiles\">");
    let mut tile = |name: &str, value: String, below: String| {
        let _ = write!(
            body,
            "<div><dt>{name}</dt><dd>{value}</dd><dd class=\"than\">{}</dd></div>",
            escaped(&below)
        );
    };
    let ends = [("fastest pair", all.min), ("slowest pair", all.max)];
    for (name, extreme) in ends.into_iter().filter_map(|(name, extreme)| Some((name, extreme?))) {
        tile(name, with_interval(map, &extreme), format!("CPUs {} and {}", extreme.pair[0], extreme.pair[1]));
    }
    let missing: u64 = all.missing.iter().map(|(_, cells)| cells).sum();
    let doubt = match (all.doubtful, missing) {
        (0, 0) => "none in doubt".to_owned(),
        (doubtful, 0) => format!("{} in doubt", grouped(doubtful as i64)),
        (doubtful, missing) => {
            format!("{} in doubt, {} not measured", grouped(doubtful as i64), grouped(missing as i64))
        }
    };
    tile("pairs measured", grouped(all.measured as i64), doubt);
    tile(
        "watched for",
        escaped(&duration(latency.result.watched.secs())),
        count(u64::from(latency.result.passes), "pass"),
    );
    body.push_str("</dl>\n");
    body
}

/// The value of a pair with half the width of its interval.
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
    format!("{} <small>{}</small>", ns(extreme.ns), escaped(&interval))
}

/// The element of the heat maps, which the script of the page fills.
pub(super) fn heat_maps(input: &ReportInput<'_>, of: Of<'_>) -> Section {
    // One pair is no map: its story, its states and its ladder say more.
    let square = input.maps.iter().any(|map| map.columns.cpus.len() > 2);
    let (id, title) = if square { ("maps", "Heat map") } else { ("data", "Data") };
    Section::new(id, title, of, heat_map_body(&[input], square))
}

/// The element that the script fills, and what stands there without it.
pub(super) fn heat_map_body(inputs: &[&ReportInput<'_>], square: bool) -> String {
    let mut body = String::new();
    if square {
        body.push_str(
        "<div class=\"heat-map\"><noscript><p>The heat map needs the script of this page, which your browser does not \
         run.</p></noscript></div>\n",
        );
    }
    for (index, input) in inputs.iter().enumerate() {
        let what = match super::data::is_exact(input) {
            true if input.file().is_some() => "the values as JSON, with the structure that they show",
            true => "exactly what coretalk export writes as JSON",
            false => "rounded to 0.01 ns, without the fields that this page does not hold",
        };
        let name =
            if inputs.len() > 1 { format!("&#32;of {}", escaped(&input.machine())) } else { String::new() };
        let _ = writeln!(
            body,
            "<p><button type=\"button\" data-download=\"{index}\" hidden>Download data{name}</button> \
             <span class=\"note\">{what}</span></p>"
        );
    }
    body
}

fn states_body(input: &ReportInput<'_>) -> String {
    input
        .watch()
        .and_then(|watch| timeline::timeline(watch, WIDTH, 320.0))
        .as_ref()
        .map(figure)
        .unwrap_or_default()
}

fn ladder_body(input: &ReportInput<'_>) -> String {
    let drawn = ladder::ladder(input.ladder(), input.topology(), WIDTH);
    let (Some(picture), Some(report)) = (drawn, input.run()) else { return String::new() };
    let steps = Block::Table(ladder::table(input.ladder(), input.topology()));
    let footnote = report.latencies().map(|result| Block::Prose(report::ladder::footnote(result)));
    figure(&picture) + &html::blocks(&[steps].into_iter().chain(footnote).collect::<Vec<_>>())
}

fn groups_body(input: &ReportInput<'_>) -> String {
    let (topology, findings) = (input.topology(), input.findings());
    let mut body = String::new();
    let mut add = |title: &str, blocks: &[Block<'_>]| {
        let _ = write!(body, "<h3>{}</h3>\n{}", escaped(title), html::blocks(blocks));
    };
    if topology.levels().into_iter().any(|level| !topology.level(level).is_empty()) {
        add("What the system reports", &report::topology::in_words(topology));
    }
    for map in input.latencies() {
        let classes = class_pairs(map, topology);
        if !classes.is_empty() {
            let table = Block::Table(words::class_table(&classes, topology));
            add(&format!("Kinds of cores, {}", map.kernel), &[table]);
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
    let figures = place.result.comparisons.iter().filter_map(|of| placements::placements(of, WIDTH));
    let figures: String = figures.map(|picture| figure(&picture)).collect();
    format!(
        "{where_it_ran}<h3>What was measured</h3>\n{}{figures}",
        html::blocks(&place::works(report, place))
    )
}
