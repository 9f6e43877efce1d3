//! The results of a run, section by section: each appears where the run has something to say there.

use super::escape::escaped;
use super::machine::findings;
use super::section::{Of, Section, WIDTH};
use super::series;
use crate::blocks::{Block, Cell, Column, Table};
use crate::render::html::{self, figure, paragraphs, table};
use crate::report::figure::{ladder, multiples, placements, timeline};
use crate::report::imported::ImportedFile;
use crate::report::input::ReportInput;
use crate::report::structure::{far_inside, why_alone};
use crate::report::text::{count, duration, grouped, ns, percent, plain, plus_minus, signed_percent};
use crate::report::view::{ComparisonView, bare};
use crate::report::{screen, states, words};
use crate::{LatencyReport, RunReport};
use coretalk_model::latency::LatencyMap;
use coretalk_model::latency::summary::{Extreme, class_pairs, overall};
use coretalk_model::stats::gate::GATE_MARGIN;
use coretalk_model::{CpuId, CpuSet, Level, Relation, Verdict};
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
    parts.extend(section("states", "Over time", states_body(input)));
    parts.extend(section("ladder", "The ladder", ladder_body(input)));
    parts.extend(section("groups", "Groups and agreement", groups_body(input)));
    parts.extend(section("found", "What was found", found_body(input)));
    parts.extend(section("distributions", "Distributions", series::body(&input.view.series)));
    parts.extend(section("placements", "Placements", placements_body(input)));
    parts.extend(section("differences", "Differences", differences_body(input)));
    if maps == Maps::Here && !square {
        parts.push(heat_maps(input, of));
    }
    parts
}

fn summary(input: &ReportInput<'_>, of: Of<'_>) -> Section {
    let body = match (input.run(), input.file()) {
        (Some(report), _) => run_summary(input, report),
        (None, file) => paragraphs(file.map(ImportedFile::summary).unwrap_or_default()),
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
            Some((pair, value)) => body.push_str(&html::blocks(&states::story(report, pair, value))),
            None => body.extend(report.latency.as_ref().map(|latency| map_summary(report, latency, map))),
        }
    }
    let ending = || words::ending(report, Some(input.name));
    let found = match (&report.series, &report.place) {
        (Some(series), _) => {
            let mut found =
                crate::report::series::overview(report, series, crate::report::Saved::As(input.name));
            if report.latency.is_some() {
                found.extend(ending());
            }
            found
        }
        (None, Some(place)) => crate::report::place::overview(report, place),
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
            let found = html::blocks(&crate::report::series::found_on_a_page(report, series, name));
            format!("<h3>{}</h3>\n{found}", escaped(name))
        })
        .collect()
}

fn map_summary(report: &RunReport, latency: &LatencyReport, map: &LatencyMap) -> String {
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
    let mut blocks = screen::overview(report, map, &all);
    if let Some(watch) = report.watch().filter(|watch| watch.states.len() > 1) {
        blocks.push(Block::Prose(states::change_of_map(watch, all.measured)));
    }
    blocks.extend(words::cell_doubts(&all));
    blocks.extend(words::regime(&map.regime, GATE_MARGIN, &report.topology));
    body + &html::blocks(&blocks)
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
    let watch = input.run().and_then(RunReport::watch);
    let Some(watch) = watch else { return String::new() };
    let drawn = input.view.watch.as_ref().and_then(|watch| timeline::timeline(watch, WIDTH));
    let Some(picture) = drawn else { return String::new() };
    let mut body = figure(&picture);
    let rows = watch.states.iter().enumerate().map(|(index, state)| {
        let kernels = state
            .kernels
            .iter()
            .map(|(kernel, latency)| format!("{} {} ns", plain(kernel.as_str()), states::interval(latency)));
        [
            states::letter(index).to_string(),
            percent(state.share),
            state.visits.to_string(),
            duration(state.longest.secs()),
            kernels.collect::<Vec<_>>().join(" · "),
        ]
        .map(Cell::from)
    });
    let who = watch.pair.map_or(String::new(), |[a, b]| format!(" of CPUs {a} and {b}"));
    let columns = [
        Column::words("state"),
        Column::numbers("share of passes"),
        Column::numbers("visits"),
        Column::numbers("longest stay"),
        Column::words("latency in it"),
    ];
    body.push_str(&table(&format!("States{who}"), &Table::new(columns).with(rows)));
    body
}

fn ladder_body(input: &ReportInput<'_>) -> String {
    let rungs = &input.view.ladder;
    let relation = |name: &str| input.relation(name);
    let Some(picture) = ladder::ladder(rungs, relation, WIDTH) else { return String::new() };
    let mut body = figure(&picture);
    let rows = rungs.iter().map(|rung| {
        let range = rung.range.filter(|_| rung.pairs > 1);
        [
            ladder::heading(rung, relation),
            ladder::name(rung),
            ladder::words(rung),
            range.map_or(String::new(), |[low, high]| format!("{} – {}", ns(low), ns(high))),
            rung.pairs.to_string(),
        ]
        .map(Cell::from)
    });
    let caption =
        "Medians over representative pairs, ns per hop; ~ is what that tool would print, reproduced";
    let columns = [
        Column::words("relation"),
        Column::words("step"),
        Column::numbers("ns (95 %)"),
        Column::numbers("range of pairs"),
        Column::numbers("pairs"),
    ];
    body.push_str(&table(caption, &Table::new(columns).with(rows)));
    body
}

fn groups_body(input: &ReportInput<'_>) -> String {
    let topology = &input.view.topology;
    let mut body = String::new();
    let levels: Vec<_> = topology.reported.levels.iter().filter(|level| level.groups.len() > 1).collect();
    if !levels.is_empty() {
        let rows = levels.iter().map(|level| {
            [plain(&level.level), level.groups.len().to_string(), shortened(&level.groups)].map(Cell::from)
        });
        let columns = [Column::words("level"), Column::numbers("groups"), Column::words("CPUs")];
        body.push_str(&table("What the system reports", &Table::new(columns).with(rows)));
    }
    for map in input.latencies() {
        let classes = class_pairs(map, input.topology());
        let rows = classes.iter().map(|pair| {
            [
                plain(&pair.classes.join(" – ")),
                input.relation(pair.relation.name()),
                ns(pair.median_ns),
                format!("{} – {}", ns(pair.range_ns[0]), ns(pair.range_ns[1])),
                pair.pairs.to_string(),
            ]
            .map(Cell::from)
        });
        if !classes.is_empty() {
            let columns = [
                Column::words("classes"),
                Column::words("share"),
                Column::numbers("median ns"),
                Column::numbers("range"),
                Column::numbers("pairs"),
            ];
            body.push_str(&table(
                &format!("Kinds of cores, {}", map.kernel),
                &Table::new(columns).with(rows),
            ));
        }
    }
    if let Some(inferred) = &topology.inferred {
        let rows = inferred.levels.iter().map(|level| {
            let value = match (level.median, level.ci) {
                (Some(median), Some([low, high])) => {
                    format!("{} {}", ns(median), plus_minus(median, (high - median).max(median - low)))
                }
                (Some(median), None) => ns(median),
                (None, _) => "unknown".into(),
            };
            let cpus = match level.single.as_str() {
                "" => shortened(&level.groups),
                single => format!("{} | single: {}", shortened(&level.groups), plain(single)),
            };
            let inside = format!("{value} {}", plain(&level.unit));
            [plain(&level.name), level.groups.len().to_string(), cpus, inside].map(Cell::from)
        });
        if !inferred.levels.is_empty() {
            let columns = [
                Column::words("level"),
                Column::numbers("groups"),
                Column::words("CPUs"),
                Column::numbers("inside"),
            ];
            body.push_str(&table("What the values show", &Table::new(columns).with(rows)));
        }
        for beside in &inferred.all_but_one {
            let value = |value: Option<f64>| value.map_or("?".to_owned(), ns);
            let settles = |level: &Level| beside.reported.iter().any(|name| name == level.name());
            let reported: Vec<Level> = Level::ALL.into_iter().filter(settles).collect();
            let _ = writeln!(
                body,
                "<p>CPU {} takes {} {} to CPUs {}, which take {} to each other (medians{}): {}.</p>",
                beside.cpu,
                value(beside.across),
                plain(&beside.unit),
                plain(&beside.group),
                value(beside.inside),
                far_inside(beside.far_inside),
                why_alone(&reported)
            );
        }
        let is_told = !inferred.levels.is_empty() || !inferred.all_but_one.is_empty();
        if !is_told && inferred.continuous {
            body.push_str("<p>The values run on without groups.</p>\n");
        } else if !is_told && inferred.too_few {
            body.push_str("<p>Too few CPUs to tell whether the values form groups.</p>\n");
        }
    }
    if !topology.agreement.is_empty() {
        let rows = topology.agreement.iter().map(|agreement| {
            [
                plain(&agreement.level).into(),
                plain(&agreement.verdict.replace('-', " ")).into(),
                Cell::known(agreement.rand_index.map(|index| format!("{index:.2}"))),
            ]
        });
        let columns = [Column::words("level"), Column::words("verdict"), Column::numbers("Rand index")];
        body.push_str(&table("Reported and measured groups", &Table::new(columns).with(rows)));
    }
    body
}

/// The first groups of many, and how many there are more.
fn shortened(groups: &[String]) -> String {
    const MOST: usize = 8;
    let mut words = groups.iter().take(MOST).map(|group| plain(group)).collect::<Vec<_>>().join(" | ");
    if groups.len() > MOST {
        let _ = write!(words, " | … {} more", groups.len() - MOST);
    }
    words
}

fn placements_body(input: &ReportInput<'_>) -> String {
    let comparisons = &input.view.comparisons;
    let Some(first) = comparisons.first() else { return String::new() };
    let rows = first.placements.iter().map(|placement| {
        let role_order = || placement.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let all = || placement.cpus.iter().map(|cpu| CpuId(*cpu)).collect::<CpuSet>();
        let cpus = match placement.taskset {
            Some(_) => role_order(),
            None => format!("wherever the system puts it, among {}", all()),
        };
        let command = placement.taskset.as_ref().map_or(String::new(), |command| plain(command));
        [plain(&placement.name), cpus, command].map(Cell::from)
    });
    let columns = ["name", "CPUs", "command"].map(Column::words);
    let where_it_ran = table("Placements", &Table::new(columns).with(rows));
    where_it_ran + &comparisons.iter().map(comparison_body).collect::<String>()
}

fn comparison_body(comparison: &ComparisonView) -> String {
    let drawn = placements::placements(comparison, WIDTH);
    let mut body = drawn.as_ref().map(figure).unwrap_or_default();
    if drawn.is_none() {
        let title = format!("{}: no run has this number.", placements::title(comparison));
        let _ = writeln!(body, "<p>{}</p>", escaped(&title));
    }
    let _ = writeln!(body, "<p>{}</p>", escaped(&verdict_words(comparison)));
    body
}

fn verdict_words(comparison: &ComparisonView) -> String {
    match (&comparison.winner, comparison.delta_percent, comparison.p_value) {
        (Some(winner), Some(delta), Some(p)) => {
            let (winner, delta) = (plain(winner), delta.abs());
            let behind = if comparison.better == "higher" { "less" } else { "more" };
            return format!(
                "{winner} wins: the next best has {delta:.1} % {behind} (p {}).",
                words::p_value(p)
            );
        }
        (Some(winner), ..) => return format!("{} is better than every other.", plain(winner)),
        (None, ..) => {}
    }
    match (comparison.verdict.as_str(), comparison.within_percent) {
        ("same", Some(within)) => format!("No placement differs from another by more than {within} %."),
        ("told", _) => "Told and not tested.".into(),
        _ => "Cannot tell: no placement is shown to be better than every other, nor all to be equal.".into(),
    }
}

fn differences_body(input: &ReportInput<'_>) -> String {
    let differences = &input.view.differences;
    if differences.is_empty() {
        return String::new();
    }
    let rows = differences.iter().filter(|one| one.level.is_some()).map(|one| {
        let interval = one.ci.map(|[low, high]| {
            format!("{} .. {}", signed_percent(low).trim_end_matches(" %"), signed_percent(high))
        });
        [
            one.level.as_ref().map_or(String::new(), |level| plain(&bare(level))).into(),
            Cell::known(one.shift_percent.map(signed_percent)),
            Cell::known(interval),
            Cell::known(one.q_value.map(|q| format!("{q:.2e}"))),
            plain(&one.verdict.replace('-', " ")).into(),
        ]
    });
    let columns = [
        Column::words("level"),
        Column::numbers("shift"),
        Column::numbers("95 %"),
        Column::numbers("q"),
        Column::words("verdict"),
    ];
    table("Level by level", &Table::new(columns).with(rows))
}

impl ReportInput<'_> {
    /// A relation in words that fit this machine; the name itself where it is unknown.
    pub fn relation(&self, name: &str) -> String {
        let known = Relation::ALL.into_iter().find(|relation| relation.name() == name);
        known.map_or_else(
            || plain(name),
            |relation| crate::report::ladder::relation_words(relation, self.topology()),
        )
    }
}
