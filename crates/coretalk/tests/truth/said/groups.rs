//! Groups that the system reports, and what staying inside one gains.

use super::super::reader::{Pattern, Reader, Said};
use super::super::run::relation_words;
use super::map::cells;
use super::{held, unheld};
use coretalk_model::{CpuId, CpuSet, Level};

pub const PATTERNS: &[Pattern] = &[
    held("{n#} {level}, {who}, as the system reports.", reported),
    held("{n#} {level}, {who}, as the system reports", reported),
    held("{n#} L2: {who}", reported),
    held("{n#} L3: {who}", reported),
    held("{n#} clusters: {who}", reported),
    held("{n#} dies: {who}", reported),
    held("{n#} nodes: {who}", reported),
    held("{n#} packages: {who}", reported),
    held(
        "no groups: values range from {a#} to {b#} ns without a gap, and the system reports one group",
        none,
    ),
    held(
        "no groups: values range from {a#} to {b#} ns without a gap, and the system reports that each CPU has its own {level}",
        all_apart,
    ),
    held("CPUs {a#} and {b#}: {shares}", shares),
    held("The pair that changed most, CPU {a#} ↔ CPU {b#}:", moves),
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

fn shares(reader: &mut Reader<'_>, said: &Said<'_>) {
    let relation = reader.run.reported.relation(CpuId(said.cpu("a")), CpuId(said.cpu("b")));
    let words = relation_words(relation, &reader.run.reported);
    reader.holds("pair", said.text("shares") == words, || format!("these share: {words}"));
}

/// A pair that is said to have changed does so in truth.
fn moves(reader: &mut Reader<'_>, said: &Said<'_>) {
    let [a, b] = ["a", "b"].map(|hole| CpuId(said.cpu(hole)));
    reader.holds("states", reader.run.moves(a, b), || format!("CPUs {a} and {b} take one time in truth"));
}
