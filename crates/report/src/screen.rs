//! The screens that a person sees after a run, assembled from their parts.

use super::heat_map::PairMap;
use super::place::place_screen;
use super::saved::Screen;
use super::series::series_screen;
use super::states::cell_interval;
use super::style::Style;
use super::{answer, execution, fmt, ladder, saved, states, structure, words};
use crate::blocks::value::{DisplayValue, MapSource, Number, Operation, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Drawing, Table};
use crate::reasons::{Worded, unrecorded};
use crate::render::terminal;
use coretalk_model::histogram::tells;
use coretalk_model::infer::{Findings, levels_changed};
use coretalk_model::latency::summary::{
    Overall, all_apart, class_pairs, contrasts, id_distance_correlation, overall, readings,
};
use coretalk_model::latency::summary::{counts_percentile, counts_total};
use coretalk_model::latency::{self, LatencyMap, LatencySettings, PairChoice, TailSeries};
use coretalk_model::run::{LatencyReport, RunReport, SeriesReport};
use coretalk_model::series::Gathering;
use coretalk_model::stats::gate::GATE_MARGIN;
use coretalk_model::{CpuId, CpuSet, Level, Topology};
use std::borrow::Cow;

const MAX_LISTED: usize = 12;

/// The screen of any run; every line ends with a line end.
pub fn render(report: &RunReport, screen: Screen<'_>, style: &Style) -> String {
    terminal::screen(&blocks(report, screen), style)
}

/// The blocks of the screen of a run.
pub fn blocks<'a>(report: &'a RunReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    match (&report.series, &report.place) {
        (_, Some(place)) => place_screen(report, place, screen),
        (Some(series), None) => match series.settings.gathering() {
            None => series_screen(report, series, screen),
            Some(Gathering::QuickLook) => latency_blocks(report, screen),
            Some(Gathering::Suite) => suite_screen(report, series, screen),
        },
        (None, None) => latency_blocks(report, screen),
    }
}

/// The screen of a map; every line ends with a line end.
pub fn latency_screen(report: &RunReport, screen: Screen<'_>, style: &Style) -> String {
    terminal::screen(&latency_blocks(report, screen), style)
}

fn latency_blocks<'a>(report: &'a RunReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    let mut blocks = words::heading(report, screen);
    blocks.extend(answer(report));
    blocks.extend(map_blocks(report, screen));
    blocks.extend(report.series.as_ref().and_then(super::series::overview_beside));
    let saved = screen.saved();
    blocks.extend(saved::ending(report, saved.name()));
    blocks.extend(words::isolated(report));
    blocks.extend(words::doubt(report));
    blocks.push(Block::Gap);
    blocks.extend(answer::what_to_do(report, saved));
    blocks.push(saved::next(report, screen));
    blocks
}

fn suite_screen<'a>(report: &'a RunReport, series: &'a SeriesReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    let mut blocks = words::heading(report, screen);
    let has_map = report.latency.is_some();
    if has_map {
        blocks.extend(answer(report));
        blocks.extend(map_blocks(report, screen));
    }
    blocks.extend(super::suite::blocks(report, series));
    blocks.push(Block::Gap);
    blocks.extend(super::doubts::of_trials(series));
    let saved = screen.saved();
    if has_map {
        blocks.extend(saved::ending(report, saved.name()));
    }
    blocks.extend(super::series::ending(report, series, saved));
    blocks.extend(words::isolated(report));
    blocks.extend(words::doubt(report));
    blocks.push(super::series::next(series, saved));
    blocks
}

fn answer(report: &RunReport) -> Vec<Block<'static>> {
    let Some(map) = report.maps().first() else { return Vec::new() };
    let answer = match the_only_pair(map) {
        Some((pair, value)) => Some(Block::Headline(states::headline(report, &map.kernel, pair, value))),
        None => answer::sentence(report, map).map(Block::Answer),
    };
    let tail = report.latencies().and_then(|result| answer::tail(&result.tails)).map(Block::Answer);
    let mut blocks: Vec<Block<'_>> = answer.into_iter().chain(tail).collect();
    let is_answered = !blocks.is_empty();
    blocks.extend(is_answered.then_some(Block::Gap));
    blocks
}

fn map_blocks<'a>(report: &'a RunReport, screen: Screen<'_>) -> Vec<Block<'a>> {
    let Some(LatencyReport { settings, result }) = &report.latency else {
        return vec![Block::Prose(match report.cpus()[..] {
            [cpu] => Sentence::new(
                "There is only CPU {cpu}, so no latency between CPUs can be measured. `coretalk wait`, \
                 `queue`, `contend`, `spawn` and `jitter` measure what one CPU can show.",
            )
            .with("cpu", cpu),
            _ => Sentence::new("This run holds no cell."),
        })];
    };
    let mut blocks: Vec<Block<'_>> =
        result.maps.iter().flat_map(|map| map_part(report, settings, map)).collect();
    if result.maps.is_empty() && result.imitated.is_empty() {
        blocks.push(Block::Prose(Sentence::new("This run holds no cell.")));
    }
    if !result.ladder.is_empty() && screen.has_ladder_table(report) {
        blocks.push(Block::Gap);
        blocks.extend(ladder::blocks(result, &report.topology, report.environment.disturbance()));
    }
    if !result.tails.is_empty() {
        blocks.push(Block::Gap);
        blocks.extend(tail_table(&result.tails));
    }
    blocks.push(Block::Gap);
    // A selection of pairs shows nothing about groups.
    let findings = Findings::of_run(result, &report.topology).filter(|_| settings.pairs == PairChoice::All);
    let confirmation = findings.as_ref().and_then(structure::same_as_reported);
    match (&result.maps[..], confirmation) {
        ([map], Some(confirmation)) => blocks.extend(confirmed(report, map, confirmation)),
        (maps, _) => {
            blocks.extend(maps.iter().flat_map(|map| summary_part(report, map)));
            if let Some(findings) = &findings {
                blocks.extend(structure::sentence(findings));
            }
        }
    }
    blocks.extend(execution::sentences(&result.execution, Some(&report.topology)));
    blocks.extend(ladder::in_short(result, &report.topology, report.environment.disturbance()));
    blocks
}

fn map_part<'a>(report: &'a RunReport, settings: &'a LatencySettings, map: &'a LatencyMap) -> Vec<Block<'a>> {
    let has_legend = the_only_pair(map).is_none() && listed_pairs(report).is_none();
    let question = if has_legend { words::question_alone(map) } else { words::question(map) };
    let mut blocks = vec![Block::Question(question)];
    if let Some((pair, value)) = the_only_pair(map) {
        blocks.push(Block::Gap);
        blocks.extend(states::story(report, &map.kernel, pair, value));
        return blocks;
    }
    if let Some(pairs) = listed_pairs(report) {
        blocks.extend([Block::Gap, Block::Table(pair_table(report, map, pairs))]);
        return blocks;
    }
    let classes = class_pairs(map, &report.topology);
    if !classes.is_empty() {
        blocks.extend([Block::Table(words::class_table(map, &classes, &report.topology)), Block::Gap]);
    }
    let picture = move || {
        let source = MapSource::Kernel(map.kernel.to_string());
        PairMap::new(Cow::Owned(readings(map)), &report.topology, source)
    };
    let legend = Block::sketch(move |style| {
        let picture = picture();
        let (threads, (_, how)) = (picture.threads_per_core(style), picture.draw(style));
        let legend = words::legend(settings, &report.topology, map, threads, how);
        let lines = terminal::lines(&[Block::Title(legend.clone())], style);
        Drawing { lines, said: legend, ..Drawing::default() }
    });
    blocks.extend([legend, Block::Gap, Block::sketch(move |style| picture().draw(style).0)]);
    blocks
}

fn summary_part<'a>(report: &'a RunReport, map: &LatencyMap) -> Vec<Block<'a>> {
    let is_named = the_only_pair(map).is_none() && report.maps().len() > 1;
    let name =
        is_named.then(|| Block::Heading(Sentence::new("{kernel}:").with_name("kernel", map.kernel.as_str())));
    name.into_iter().chain(in_words(report, map)).collect()
}

/// Groups and confirmation share one line. The gain of staying inside a group is left out if the answer states it.
fn confirmed<'a>(report: &'a RunReport, map: &LatencyMap, confirmation: Sentence) -> Vec<Block<'a>> {
    let mut blocks = in_words(report, map);
    let contrasts = contrasts(map, &report.topology);
    let siblings = usize::from(report.topology.has_smt(report.topology.cpus()));
    let answered_numbers = answer::answer(report, map).map_or(0, |answer| answer.numbers.len());
    if answered_numbers > contrasts.len() + siblings && !contrasts.is_empty() {
        blocks.retain(|block| !is_of_groups(block));
        let all = words::groups_alone(&contrasts).into_iter().chain([confirmation]);
        blocks.insert(0, Block::Fact(GROUPS, Sentence::joined(all, " · ")));
        return blocks;
    }
    match blocks.iter_mut().rfind(|block| is_of_groups(block)) {
        Some(Block::Fact(_, sentence)) => {
            *sentence =
                Sentence::joined([std::mem::replace(sentence, Sentence::new("")), confirmation], " · ");
        }
        _ => blocks.insert(0, Block::Fact(GROUPS, confirmation)),
    }
    blocks
}

const REPORTED: &str = "reported";
const GROUPS: &str = "groups";

fn is_of_groups(block: &Block<'_>) -> bool {
    matches!(block, Block::Fact(REPORTED | GROUPS, _))
}

/// A map in sentences: its extremes, groups, states and doubts. A single pair has its own description.
pub fn in_words<'a>(report: &'a RunReport, map: &LatencyMap) -> Vec<Block<'a>> {
    let all = overall(map);
    let mut blocks = Vec::new();
    if the_only_pair(map).is_none() {
        blocks.extend(overview(report, map, &all));
        // The watch covers only the pairs and values of the first map.
        let is_first = report.maps().first().is_some_and(|first| first.protocol == map.protocol);
        if let Some(watch) = report.watch().filter(|_| is_first && map.protocol.is_latency()) {
            blocks.extend(states::of_map(watch, &map.kernel, all.measured, &report.topology));
        }
        blocks.extend(words::cell_doubts(&map.kernel, &all));
    }
    let at = report.maps().iter().position(|other| other.kernel == map.kernel).unwrap_or(0);
    blocks.extend(words::regime(&map.regime, at, GATE_MARGIN, &report.topology));
    blocks
}

fn overview(report: &RunReport, map: &LatencyMap, all: &Overall) -> Vec<Block<'static>> {
    // A hybrid machine has no single median or ratio; the table of the kinds of cores has the values.
    let is_hybrid = !class_pairs(map, &report.topology).is_empty();
    let middle = if is_hybrid { words::Middle::LeftOut } else { words::Middle::Shown };
    let mut blocks = Vec::new();
    if listed_pairs(report).is_none() && !is_hybrid {
        let contrasts = contrasts(map, &report.topology);
        let holding = match report.watch() {
            Some(watch) if levels_changed(watch) => words::Holding::Changed,
            _ => words::Holding::Still,
        };
        let (apart, by_distance) = (all_apart(map, &report.topology), id_distance_correlation(map));
        let mut groups =
            words::groups(&map.kernel, all, &contrasts, &report.topology, holding, apart, by_distance);
        // If the system reports several groups, the map is not a single group, even if no pair shows this.
        if contrasts.is_empty() && apart.is_none() && spans_several_groups(map, &report.topology) {
            groups.clear();
        }
        let label = if contrasts.is_empty() { GROUPS } else { REPORTED };
        blocks.extend(groups.into_iter().map(|sentence| Block::Fact(label, sentence)));
    }
    blocks.push(words::extremes(&map.kernel, all, middle));
    blocks
}

fn spans_several_groups(map: &LatencyMap, topology: &Topology) -> bool {
    let measured: CpuSet = map.cells.cpus().iter().copied().collect();
    topology.levels().into_iter().filter(|&level| level > Level::Core).any(|level| {
        let groups = topology.level(level);
        groups.iter().filter(|domain| !domain.cpus.intersection(&measured).is_empty()).count() > 1
    })
}

/// The pair of a map of two CPUs, if it has a single value. Directed maps have a value for each direction.
pub fn the_only_pair(map: &LatencyMap) -> Option<([CpuId; 2], &coretalk_model::latency::CellValue)> {
    let cpus = map.cells.cpus();
    if cpus.len() != 2 || !map.cells.is_symmetric() {
        return None;
    }
    Some(([cpus[0], cpus[1]], map.cells.get(1, 0)?.value()?))
}

fn listed_pairs(report: &RunReport) -> Option<&[[CpuId; 2]]> {
    match &report.latency.as_ref()?.settings.pairs {
        PairChoice::Listed(pairs) if pairs.len() <= MAX_LISTED => Some(pairs),
        _ => None,
    }
}

fn tail_table(tails: &[TailSeries]) -> Vec<Block<'static>> {
    let titles = ["p50", "p90", "p99", "p99.9", "max"].map(Column::numbers);
    let columns = [Column::words("tails, ns per hop")].into_iter().chain(titles).collect::<Vec<_>>();
    let counted = |counts: &[(u64, u64)], share: f64| {
        let ps = tells(counts_total(counts), share).then(|| counts_percentile(counts, share))??;
        Some(ps as f64 / 1e3)
    };
    let mut table = Table::new(columns);
    for (pair, series) in tails.iter().enumerate() {
        let [closed, at_rate] = [2 * pair, 2 * pair + 1];
        let [a, b] = series.placement;
        let mut row = |what, path: String, names: [&str; 5], percentile: &dyn Fn(f64) -> Option<f64>| {
            let number = |(name, share): (&str, f64)| {
                let field = |ns| DisplayValue::field(pointer!("{path}/{name}"), Number::Point(ns));
                Cell::number(percentile(share).map(field))
            };
            let name = Sentence::new("{a} → {b} {what}").with("a", a).with("b", b).with("what", what);
            let numbers = names.into_iter().zip([0.5, 0.9, 0.99, 0.999, 1.0]).map(number);
            table.row([Cell::from(name)].into_iter().chain(numbers).collect::<Vec<_>>());
        };
        let percentiles = ["50", "90", "99", "99.9", "100"];
        let raw_path = pointer!("/series/{closed}/percentiles");
        row(Sentence::new("raw"), raw_path, percentiles, &|share| counted(&series.raw, share));
        let names = ["net_p50", "net_p90", "net_p99", "net_p99_9", "net_max"];
        row(Sentence::new("net"), pointer!("/series/{closed}/values"), names, &|share| series.net_ns(share));
        let rate = pointer!("/series/{at_rate}/values/rate_per_s");
        let rate = DisplayValue::field(rate, Number::Point(series.rate_per_s));
        let rate = Sentence::new("at {rate} messages/s").with("rate", rate);
        let rate_path = pointer!("/series/{at_rate}/percentiles");
        row(rate, rate_path, percentiles, &|share| counted(&series.at_rate, share));
    }
    let legend = tails.first().map(|series| {
        let field = |pair: usize, key: &str| pointer!("/series/{}/{key}", 2 * pair);
        let counts = tails.iter().map(|series| counts_total(&series.raw)).enumerate();
        let counts = counts.map(|(pair, count)| (count as f64, DisplayValue::field(field(pair, "count"), Number::Count(count))));
        let times = tails.iter().map(|series| series.observed.secs()).enumerate();
        let times = times.map(|(pair, time)| (time, DisplayValue::field(field(pair, "values/observed_s"), Number::Duration(time))));
        let clock = Number::Point(series.clock_ns);
        let below = |pair| Source::Field(field(pair, "values/negative_net"));
        let below = Operation::Sum.on((0..tails.len()).map(below).collect::<Vec<_>>());
        let negative = tails.iter().map(|series| series.negative_net).sum();
        let sentence = Sentence::new(
            "Single events, {events} round trips over {watched} for each pair; net: minus the median cost of the clock \
             ({clock} ns in a round trip, half of it in each hop); {negative} below zero.",
        );
        Block::Prose(
            sentence.with("events", number_range(counts.collect()))
                .with("watched", number_range(times.collect()))
                .with("clock", DisplayValue::field("/series/0/values/clock_ns", clock))
                .with("negative", Sentence::counted(negative, below, ["event", "events"])),
        )
    });
    [Block::Table(table)].into_iter().chain(legend).collect()
}

fn number_range(mut all: Vec<(f64, DisplayValue)>) -> Sentence {
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    match (all.first(), all.last()) {
        (Some((_, least)), Some((_, most))) => fmt::range([least.clone(), most.clone()]),
        _ => Sentence::new(""),
    }
}

fn pair_table(report: &RunReport, map: &LatencyMap, pairs: &[[CpuId; 2]]) -> Table {
    let columns = [
        Column::words("CPUs"),
        Column::words("relation"),
        Column::numbers("ns (95 %)"),
        Column::numbers("fastest"),
        Column::words("grade"),
        Column::words("doubts"),
    ];
    let rows = pairs.iter().map(|&[a, b]| {
        let position = map.cells.position(a).zip(map.cells.position(b));
        let cell = position.and_then(|(row, column)| map.cells.get(row, column));
        let source = |field| Source::Pair { kernel: map.kernel.to_string(), pair: [a, b], field };
        let [value, fastest, grade, doubts] = match cell {
            Some(latency::PairOutcome::Measured(value)) => {
                let doubts = value.flags.iter().filter(|flag| flag.is_doubt());
                let flags = Sentence::joined(doubts.map(|flag| Sentence::new(flag.name())), ", ");
                let mark = if value.flags.may_be_wrong() { "! " } else { "" };
                [
                    cell_interval(value, source).into(),
                    DisplayValue::bare(Number::Point(value.min_ns), source("/min")).into(),
                    Cell::name(&value.grade.to_string()),
                    Sentence::new("{mark}{flags}").with("mark", mark).with("flags", flags).into(),
                ]
            }
            Some(latency::PairOutcome::Missing { reason }) => {
                [Cell::Unknown, Cell::Unknown, Cell::Unknown, reason.sentence(&unrecorded).into()]
            }
            None => [Cell::Unknown, Cell::Unknown, Cell::Unknown, "not in this map".into()],
        };
        let share = ladder::shared_words(report.topology.relation(a, b), false, &report.topology);
        let cpus = Sentence::new("{a} ↔ {b}").with("a", a).with("b", b);
        [cpus.into(), share.into(), value, fastest, grade, doubts]
    });
    Table::new(columns).with(rows)
}
