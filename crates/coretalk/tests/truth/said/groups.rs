//! Groups that the system reports, and what staying inside one gains.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::map::{OFF, cells};
use super::{held, unheld};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Level, Relation};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("{n#} {level}, {who}, as the system reports.", reported),
    held("{n#} {level}, {who}, as the system reports", reported),
    held("{n#} L2: {who}", reported),
    held("{n#} L3: {who}", reported),
    held("{n#} clusters: {who}", reported),
    held("{n#} dies: {who}", reported),
    held("{n#} nodes: {who}", reported),
    held("{n#} packages: {who}", reported),
    held("{inside#} ns inside, {across#} ns to the nearest other: {ratio#} × faster inside", faster),
    held("{inside#} ns inside, {across#} ns to the nearest other: slower inside", values),
    held("no visible difference: {inside#} ns inside, {across#} ns to the nearest other", values),
    held("in their most frequent state {inside#} ns inside, {across#} ns to the nearest other", while_moving),
    held(
        "time stamps from the same group vary less: {inside#} ns behind the fastest, {across#} ns from the nearest other",
        values,
    ),
    held(
        "cannot tell whether there are levels: values range from {a#} to {b#} ns, and their intervals do not separate them",
        ends,
    ),
    held(
        "no groups: values range from {a#} to {b#} ns without a gap, and the system reports one group",
        none,
    ),
    held(
        "no groups: values range from {a#} to {b#} ns without a gap, and the system reports that each CPU has its own {level}",
        all_apart,
    ),
    held("one group of cores; the values have no other gap", one_above_the_core),
    held("{n#} levels by value alone (the system reports no groups): {ranges}", by_value),
    unheld(
        "correlation with the distance between CPU ids {r#} ({low#} to {high#} at 95 %): {verdict}",
        "the document has no correlation",
    ),
];

/// A level by its word.
pub fn level_of(word: &str) -> Option<Level> {
    let bare = word.trim_end_matches('s').to_lowercase();
    Level::ALL.into_iter().find(|level| level.name() == bare)
}

/// `0-3, 4-7 … 12-15`: groups that are named.
pub fn named_groups(who: &str) -> Vec<CpuSet> {
    let who = who.replace(" and ", "|").replace(" … ", "|").replace(", ", "|");
    who.split('|').filter_map(|group| group.trim().parse().ok()).collect()
}

/// The groups of a level among the CPUs that were measured.
fn groups(reader: &Reader<'_>, level: Level) -> Vec<CpuSet> {
    let measured = reader.run.measured();
    let domains = reader.run.reported.level(level);
    domains.iter().map(|domain| domain.cpus.intersection(&measured)).filter(|cpus| !cpus.is_empty()).collect()
}

fn reported(reader: &mut Reader<'_>, said: &Said<'_>) {
    let word = match said.text("level") {
        "" => said.sentence.split([' ', ':']).nth(1).unwrap_or_default(),
        level => level,
    };
    let level = level_of(word).filter(|_| !named_groups(said.text("who")).is_empty());
    // `16 CPUs, 2 L3, as the system reports` counts what there is.
    let Some(level) = level else { return super::structure::size(reader, said) };
    reader.level = level.name().to_owned();
    let groups = groups(reader, level);
    reader.is("groups", said.number("n"), Some(groups.len() as f64), "the number of these groups");
    let named = named_groups(said.text("who"));
    let pieces = said.text("who").replace(" and ", ", ").replace(" … ", ", ");
    reader.holds("groups", pieces.split(", ").count() == named.len(), || "some are no CPUs".to_owned());
    for named in named {
        reader.holds("groups", groups.contains(&named), || format!("{named} is none of {groups:?}"));
    }
}

/// The median of the pairs that share so much and no more, in the document and in truth.
fn medians(reader: &Reader<'_>, relation: Relation) -> Option<[f64; 2]> {
    let matrix: &Value = &reader.run.document["matrices"][reader.matrix];
    let kernel = matrix["kernel"].as_str()?;
    let of = cells(matrix)
        .into_iter()
        .filter(|(a, b, _)| reader.run.reported.relation(CpuId(*a), CpuId(*b)) == relation)
        .collect::<Vec<_>>();
    let told: Vec<f64> = of.iter().map(|cell| cell.2).collect();
    let truth: Vec<f64> = match matrix["quantity"] == "one_way_variation" {
        true => told.clone(),
        false => of.iter().map(|(a, b, _)| reader.run.true_ns(kernel, *a, *b)[0]).collect(),
    };
    Some([median(&told)?, median(&truth)?])
}

/// Inside and across of the level that was just named, in the document and in truth.
fn both(reader: &Reader<'_>) -> Option<[[f64; 2]; 2]> {
    let level = Level::ALL.into_iter().find(|level| level.name() == reader.level)?;
    let reach = Relation::ALL.into_iter().find(|relation| relation.name() == level.name())?;
    let known = |relation: &Relation| *relation > Relation::Smt && medians(reader, *relation).is_some();
    let inside = Relation::ALL.into_iter().rev().filter(|relation| *relation <= reach).find(known)?;
    let across = Relation::ALL.into_iter().filter(|relation| *relation > reach).find(known)?;
    Some([medians(reader, inside)?, medians(reader, across)?])
}

fn values(reader: &mut Reader<'_>, said: &Said<'_>) {
    let Some([inside, across]) = both(reader) else {
        return reader.fail("contrast", format!("no pairs stand for {}", reader.level));
    };
    for (hole, [told, truth]) in [("inside", inside), ("across", across)] {
        reader.is("contrast", said.number(hole), Some(told), hole);
        reader.is_near("contrast", said.number(hole), truth, OFF, hole);
    }
    let ratio = across[1] / inside[1];
    let shows = !(1.0 / 1.1..1.1).contains(&ratio);
    let denied = said.sentence.contains("no visible difference");
    reader.holds("contrast", shows != denied, || format!("the true ratio is {ratio:.2}"));
    // The ladder above tells representatives of the same pairs.
    let reach = if reader.level == "l3" { "same L3" } else { "same cluster" };
    let rows: Vec<Vec<String>> = reader
        .tables
        .iter()
        .filter(|table| table.column("line").is_some())
        .flat_map(|table| table.rows.clone())
        .collect();
    let one_kernel = list(&reader.run.document["matrices"]).len() == 1
        && reader.level != "node"
        && reader.level != "package";
    if let Some(row) = rows.iter().find(|row| row[0] == reach).filter(|_| one_kernel)
        && let Some(line) = row.get(2).and_then(|cell| Printed::read(cell.split('±').next()?))
    {
        reader.is_near("contrast", said.number("inside"), line.value, 0.06, "the line of the ladder");
    }
}

fn faster(reader: &mut Reader<'_>, said: &Said<'_>) {
    values(reader, said);
    let matrix = &reader.run.document["matrices"][reader.matrix];
    let quantity = matrix["quantity"].as_str().unwrap_or_default();
    reader.holds("ratio of one-way", quantity != "one_way_variation", || {
        "what a message takes beyond its best time is no latency, and a ratio of it says nothing of distances".to_owned()
    });
    let ratio = said.number("ratio");
    let [inside, across] = [said.number("inside"), said.number("across")];
    let (low, high) = (
        (across.value - across.half) / (inside.value + inside.half),
        (across.value + across.half) / (inside.value - inside.half),
    );
    reader.holds("contrast", (low - ratio.half..=high + ratio.half).contains(&ratio.value), || {
        format!("{} / {} is {low:.2} to {high:.2}", across.value, inside.value)
    });
}

fn while_moving(reader: &mut Reader<'_>, said: &Said<'_>) {
    let Some([inside, across]) = both(reader) else {
        return reader.fail("contrast", "no pairs stand for these");
    };
    reader.is("contrast", said.number("inside"), Some(inside[0]), "inside");
    reader.is("contrast", said.number("across"), Some(across[0]), "across");
}

fn ends(reader: &mut Reader<'_>, said: &Said<'_>) {
    let values: Vec<f64> =
        cells(&reader.run.document["matrices"][reader.matrix]).into_iter().map(|cell| cell.2).collect();
    reader.is("extremes", said.number("a"), values.iter().copied().reduce(f64::min), "the least");
    reader.is("extremes", said.number("b"), values.iter().copied().reduce(f64::max), "the most");
}

fn none(reader: &mut Reader<'_>, said: &Said<'_>) {
    ends(reader, said);
    let truth = reader.run.true_groups(&reader.run.measured());
    reader.holds("groups", truth.is_empty(), || format!("the latencies truly show {truth:?}"));
}

fn all_apart(reader: &mut Reader<'_>, said: &Said<'_>) {
    none(reader, said);
    let measured = reader.run.measured();
    let level = level_of(said.text("level"));
    let together = level
        .into_iter()
        .flat_map(|level| reader.run.reported.level(level))
        .any(|domain| domain.cpus.intersection(&measured).len() > 1);
    reader.holds("groups", level.is_some() && !together, || "the system reports two in one".to_owned());
}

fn one_above_the_core(reader: &mut Reader<'_>, _: &Said<'_>) {
    let truth = reader.run.true_groups(&reader.run.measured());
    reader
        .holds("groups", truth.iter().all(|(level, _)| *level == Level::Core), || format!("truly {truth:?}"));
}

fn by_value(reader: &mut Reader<'_>, said: &Said<'_>) {
    let values: Vec<f64> =
        cells(&reader.run.document["matrices"][reader.matrix]).into_iter().map(|cell| cell.2).collect();
    let ranges: Vec<&str> = said.text("ranges").split(", ").collect();
    let mut told = 0.0;
    for range in &ranges {
        let Some((ends, many)) = range.split_once(" ns (") else { continue };
        let many =
            Printed::read(many.trim_end_matches(')').trim_end_matches("pairs").trim_end_matches("pair"))
                .unwrap();
        let (low, high) = ends.split_once('–').unwrap_or((ends, ends));
        let [low, high] = [low, high].map(|end| Printed::read(end).unwrap());
        let inside = values
            .iter()
            .filter(|ns| **ns >= low.value - low.half * 1.1 && **ns <= high.value + high.half * 1.1);
        reader.is("count", many, Some(inside.count() as f64), "the number of pairs in that range");
        told += many.value;
    }
    if ranges.len() < 5 {
        reader.is("levels", said.number("n"), Some(ranges.len() as f64), "the number of ranges");
        reader.holds("count", told == values.len() as f64, || format!("{} pairs have a value", values.len()));
    }
}
