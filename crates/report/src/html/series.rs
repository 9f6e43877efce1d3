//! Series on a page: curves over parameters, distributions, and a table.

use super::escape::escaped;
use super::section::{WIDTHS, figures_of, part};
use crate::blocks::value::{DisplayValue, Number, Sentence, pointer};
use crate::blocks::{Cell, Column, Table};
use crate::document::{PercentilesDoc, SeriesDoc};
use crate::figure::curves::{self, Curves, Room, VIEWS};
use crate::input::ReportInput;
use crate::parameters::{places_of, sentence_of, words_of};
use crate::render::html::table;
use crate::scope::relation_words;
use crate::text::plain;
use coretalk_model::series::MASK;
use coretalk_model::stats::Estimate;
use coretalk_model::{CpuId, Relation, Topology};
use std::collections::BTreeSet;
use std::fmt::Write;

type IndexedSeries<'a> = (usize, SeriesDoc<'a>);

const MAX_ROWS: usize = 64;

pub(super) fn body(series: &[SeriesDoc<'_>], topology: &Topology) -> String {
    let probes = by_probe(series);
    let probe_count = probes.len();
    let part_of = |(probe, mut of_probe): (&str, Vec<IndexedSeries<'_>>)| {
        let mut body = String::new();
        let common = take_common_parameters(&mut of_probe);
        if !common.is_empty() {
            let _ = writeln!(body, "<p class=\"note\">{}</p>", escaped(&plain(&common)));
        }
        body.push_str(&by_relation(&of_probe, topology));
        let caption = caption(of_probe.len());
        body.push_str(&table(&caption, &table_of_series(&of_probe)));
        part(probe, None, &(of_probe.len().to_string() + " series"), &body, probe_count)
    };
    probes.into_iter().map(part_of).collect()
}

/// The tables of all probes with series.
pub fn tables(input: &ReportInput<'_>) -> Vec<Table> {
    by_probe(&input.outline.series).iter().map(|(_, of_probe)| table_of_series(of_probe)).collect()
}

fn by_probe<'a>(series: &'a [SeriesDoc<'_>]) -> Vec<(&'a str, Vec<IndexedSeries<'a>>)> {
    let mut probes: Vec<(&str, Vec<IndexedSeries<'_>>)> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        match probes.iter_mut().find(|(known, _)| **known == *one.probe) {
            Some((_, of_probe)) => of_probe.push((index, one.clone())),
            None => probes.push((&one.probe, vec![(index, one.clone())])),
        }
    }
    probes
}

/// Drawings of all pairs and of the pairs of each relation. The page shows one of the drawings.
fn by_relation(series: &[IndexedSeries<'_>], topology: &Topology) -> String {
    let series: Vec<&SeriesDoc<'_>> = series.iter().map(|(_, one)| one).collect();
    let mut relations: Vec<(Relation, Vec<&SeriesDoc<'_>>)> = Vec::new();
    for &one in series.iter().filter(|one| one.histogram.is_some()) {
        let [from, to] = one.placement[..] else { continue };
        let relation = topology.relation(CpuId(from), CpuId(to));
        match relations.iter_mut().find(|(known, _)| *known == relation) {
            Some((_, alike)) => alike.push(one),
            None => relations.push((relation, vec![one])),
        }
    }
    let rooms = WIDTHS.map(Room::of_width);
    let drawn = |series: &[&SeriesDoc<'_>]| curves::in_rooms(series.iter().copied(), rooms);
    let of_all = drawn(&series);
    let all = values(&of_all) + &shares(&of_all);
    if relations.len() < 2 {
        return all;
    }
    relations.sort_by_key(|(relation, _)| Relation::ALL.iter().position(|known| known == relation));
    let part = |name: &str, drawings: &str| {
        let name = escaped(name);
        format!("<div data-choice=\"{name}\">\n<h4>{name}</h4>\n{drawings}</div>\n")
    };
    let all = part("all distances", &all);
    let each = relations
        .iter()
        .map(|(relation, alike)| part(&relation_words(*relation, topology), &values(&drawn(alike))));
    format!("<div class=\"choices\" data-label=\"Pairs\">\n{all}{}</div>\n", each.collect::<String>())
}

fn values(drawn: &[Curves; 2]) -> String {
    let together = drawn.each_ref().map(|drawn| [&drawn.headline[..], &drawn.others].concat());
    figures_of(together.each_ref())
}

/// Figures with a linear time axis are collapsed.
fn shares([wide, narrow]: &[Curves; 2]) -> String {
    let [log, linear] = [0, 1].map(|axis| figures_of([&wide.cdfs[axis], &narrow.cdfs[axis]]));
    let linear = match linear {
        empty if empty.is_empty() => empty,
        figures => {
            format!("<details><summary>The same with time on a linear axis</summary>\n{figures}</details>\n")
        }
    };
    log + &linear
}

/// Moves common parameters into a text, except those that select a distribution, because figures need them.
fn take_common_parameters(series: &mut [IndexedSeries<'_>]) -> String {
    let Some((_, first)) = series.first().filter(|_| series.len() > 1) else { return String::new() };
    let mut common = SeriesDoc { parameters: first.parameters.clone(), ..SeriesDoc::default() };
    common.parameters.retain(|name, value| {
        name != MASK
            && !VIEWS.contains(&name.as_ref())
            && series.iter().all(|(_, one)| one.parameters.get(name) == Some(value))
    });
    for (_, one) in series.iter_mut() {
        one.parameters.retain(|name, _| !common.parameters.contains_key(name));
    }
    words_of(&common, &[])
}

/// Percentiles, values and counts, one row per series; if there are too many, the series with the greatest p99.
fn table_of_series(series: &[IndexedSeries<'_>]) -> Table {
    let mut shown: Vec<&IndexedSeries<'_>> = series.iter().collect();
    if series.len() > MAX_ROWS {
        let p99 = |(_, one): &&IndexedSeries<'_>| one.percentiles.p99.unwrap_or(f64::NEG_INFINITY);
        shown.sort_by(|a, b| p99(b).total_cmp(&p99(a)));
        shown.truncate(MAX_ROWS);
    }
    let known = |(_, one): &&IndexedSeries<'_>| {
        one.percentiles.named().into_iter().filter(|(_, value)| value.is_some())
    };
    let known: BTreeSet<&str> = shown.iter().flat_map(known).map(|(name, _)| name).collect();
    let percentiles = PercentilesDoc::default().named().map(|(name, _)| name);
    let percentiles: Vec<&str> = percentiles.into_iter().filter(|name| known.contains(name)).collect();
    let values = shown.iter().flat_map(|(_, one)| &one.values).filter(|(_, value)| value.is_some());
    let values: BTreeSet<&str> = values.map(|(name, _)| name.as_ref()).collect();
    let counts: BTreeSet<&str> =
        shown.iter().flat_map(|(_, one)| one.counts.keys()).map(AsRef::as_ref).collect();
    let unit = shown.first().map_or("", |(_, one)| one.unit);
    let mut columns =
        vec![Column::words("what"), Column::numbers("CPUs"), Column::words("kind"), Column::numbers("count")];
    columns.extend(percentiles.iter().map(|&name| {
        let title = Sentence::new(if name == "100" { "max {unit}" } else { "p{name} {unit}" });
        Column::numbers(title.with("name", name).with("unit", unit))
    }));
    let in_words = |name: &&str| Column::numbers(Sentence::name(&name.replace('_', " ")));
    columns.extend(values.iter().chain(&counts).map(in_words));
    columns.push(Column::words("doubts"));
    let mut rows = Table::new(columns);
    for (index, one) in shown {
        let value = |number, field| DisplayValue::field(pointer!("/series/{index}/{field}"), number);
        let mut row: Vec<Cell> = vec![
            sentence_of(one, *index, &[MASK]).into(),
            Cell::name(&places_of(one)),
            Cell::name(&one.kind.replace('-', " ")),
            value(Number::Count(one.count), "count".to_owned()).into(),
        ];
        let median = one.median().and_then(|(_, interval)| interval);
        let shown = one.percentiles.named().into_iter().filter(|(name, _)| percentiles.contains(name));
        row.extend(shown.map(|(name, point)| {
            let number = point.map(|point| with_interval(point, median.filter(|_| name == "50")));
            Cell::number(number.map(|number| value(number, pointer!("percentiles/{name}"))))
        }));
        row.extend(values.iter().map(|&name| {
            let number = one.value(name).map(|point| with_interval(point, one.interval(name)));
            Cell::number(number.map(|number| value(number, pointer!("values/{name}"))))
        }));
        row.extend(counts.iter().map(|&name| {
            let count = one.counts.get(name).map(|count| Number::Count(*count));
            Cell::number(count.map(|count| value(count, pointer!("counts/{name}"))))
        }));
        let grade = one.grade.as_ref().map(|grade| format!("grade {}", plain(grade)));
        let doubts = one.flags.iter().copied().chain(one.reason.as_deref()).map(plain);
        row.push(Cell::name(&grade.into_iter().chain(doubts).collect::<Vec<_>>().join(", ")));
        rows.row(row);
    }
    rows
}

fn caption(all: usize) -> String {
    match all > MAX_ROWS {
        true => {
            format!("Percentiles and values: the {MAX_ROWS} of {all} with the largest p99; the data have all")
        }
        false => "Percentiles and values, with the 95 % interval over passes where there is one".to_owned(),
    }
}

fn with_interval(point: f64, interval: Option<[f64; 2]>) -> Number {
    match interval {
        // Documents contain only 95 % intervals.
        Some([low, high]) => {
            Number::Estimate(Estimate { point, low, high, confidence: 0.95, effective_n: 0.0 })
        }
        None => Number::Point(point),
    }
}
