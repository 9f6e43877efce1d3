//! The tables of `compare`: one row for each level, and the cells that stand out.

use super::CompareView;
use super::paths::{of_pairs, path};
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use crate::labels::Labels;
use crate::parameters::series_words;
use crate::trial_words::relation_sentence;
use coretalk_model::compare::{
    ALL, Basis, CellDifference, Comparison, DatasetComparison, Difference, Letter, LevelAlone,
    LevelDifference, ReadingKey, Verdict,
};
use coretalk_model::quantity::Unit;
use coretalk_model::series::SeriesName;
use coretalk_model::{Relation, Topology};

pub(super) const MAX_CELLS: usize = 12;

pub fn heading(dataset: &DatasetComparison) -> Sentence {
    let basis = match dataset.basis {
        Basis::Cycles => Sentence::from("shifts in core cycles, which do not depend on the core clock"),
        Basis::AsRead if dataset.quantity == "half_round_trip" => {
            Sentence::new("shifts in {unit} as measured, because the core clock of one side is unknown")
                .with_name("unit", &dataset.unit)
        }
        Basis::AsRead => "shifts as measured".into(),
    };
    let labels = labels(dataset);
    let every = labels.shared().map(|shared| Sentence::new("; every row: {shared}").with("shared", shared));
    Sentence::new("{dataset}: {basis}{every}")
        .with("dataset", dataset_words(dataset))
        .with("basis", basis)
        .with("every", Sentence::joined(every, ""))
}

pub(super) fn dataset_words(dataset: &DatasetComparison) -> Sentence {
    Sentence::new("{subject}, {quantity}")
        .with("subject", series_words(&dataset.subject))
        .with_name("quantity", &dataset.quantity.replace('_', " "))
}

pub(super) fn labels(dataset: &DatasetComparison) -> Labels {
    let alone = dataset.alone.iter().map(|level| level.level.as_str());
    Labels::from_names(dataset.levels.iter().map(|level| level.level.as_str()).chain(alone))
}

/// The rows of a dataset with their indices, in the order of the labels. Levels of a matrix keep their order.
fn in_order<'a>(dataset: &'a DatasetComparison, labels: &Labels) -> Vec<(usize, &'a LevelDifference)> {
    let mut levels: Vec<(usize, &LevelDifference)> = dataset.levels.iter().enumerate().collect();
    levels.sort_by_key(|(_, level)| labels.rank(&level.level));
    levels
}

pub(super) fn of_numbers(dataset: &DatasetComparison, called: &[String; 2]) -> [Column; 5] {
    let [a, b] = called.each_ref().map(|side| {
        let title = Sentence::new("{side} {unit}").with_name("side", side);
        Column::numbers(title.with_name("unit", &dataset.unit))
    });
    [a, b, Column::numbers("shift"), Column::numbers("95 %"), Column::words("verdict")]
}

pub fn levels(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
    let called = view.called();
    let columns = [Column::words("level").cut(), Column::numbers("pairs")]
        .into_iter()
        .chain(of_numbers(dataset, &called));
    let labels = labels(dataset);
    let path_of = |row| path(dataset, view.comparison, row);
    let shared = in_order(dataset, &labels).into_iter();
    let shared =
        shared.map(|(row, level)| level_row(level, dataset, view.topology(), &labels, &path_of(row)));
    let alone = (dataset.levels.len()..).zip(&dataset.alone);
    let alone = alone.map(|(row, level)| alone_row(level, view, &called, &labels, &path_of(row)));
    Table::new(columns.collect::<Vec<_>>()).with(shared.chain(alone))
}

/// Like [`levels`], with the rows grouped by section. A row above each group states the common properties.
pub(super) fn in_sections(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
    let labels = labels(dataset);
    let mut table = levels(dataset, view);
    let mut rows = std::mem::take(&mut table.rows).into_iter();
    let mut sections: Vec<(Option<Sentence>, Vec<Vec<Cell>>)> = Vec::new();
    for ((_, level), mut row) in in_order(dataset, &labels).into_iter().zip(&mut rows) {
        let section = labels.section(&level.level);
        if section.is_some() {
            row[0] = Sentence::new("  {row}").with("row", labels.row(&level.level)).into();
        }
        match sections.iter_mut().find(|(known, _)| *known == section) {
            Some((_, levels)) => levels.push(row),
            None => sections.push((section, vec![row])),
        }
    }
    for (section, levels) in sections {
        if let Some(section) = section {
            let blank = vec![Cell::Blank; table.columns.len() - 1];
            table.row([section.into()].into_iter().chain(blank).collect::<Vec<_>>());
        }
        table.rows.extend(levels);
    }
    table.rows.extend(rows);
    // A series is not a group of pairs, so the column of pairs is removed.
    let names = dataset.levels.iter().map(|level| &level.level);
    if names
        .chain(dataset.alone.iter().map(|level| &level.level))
        .all(|name| SeriesName::parse(name).is_some())
    {
        table.columns.remove(1);
        table.rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    table
}

fn level_row(
    level: &LevelDifference,
    dataset: &DatasetComparison,
    topology: Option<&Topology>,
    labels: &Labels,
    path: &str,
) -> Vec<Cell> {
    let [a, b] = level.pairs.map(|pairs| Number::Count(pairs as u64));
    let a_pairs = DisplayValue::field(pointer!("{path}/pairs"), a);
    let pairs = match a == b {
        true => a_pairs.into(),
        false => Sentence::new("{a}, {b}")
            .with("a", a_pairs)
            .with("b", DisplayValue::field(pointer!("{path}/pairs_b"), b))
            .into(),
    };
    let mut row = vec![level_words(&level.level, topology, labels).into(), pairs];
    row.extend(numbers(&level.difference, dataset, path));
    row
}

fn alone_row(
    level: &LevelAlone,
    view: &CompareView<'_>,
    [a, b]: &[String; 2],
    labels: &Labels,
    path: &str,
) -> Vec<Cell> {
    let (side, other, key) = if level.of == Letter::A { (a, b, "a") } else { (b, a, "b") };
    let median = DisplayValue::field(pointer!("{path}/{key}"), Number::Figure(level.median));
    let mut medians = [Cell::from(median), "–".into()];
    if level.of == Letter::B {
        medians.reverse();
    }
    let name = level_words(&level.level, view.topology(), labels);
    let name = Sentence::new("{level} of {side}").with("level", name).with_name("side", side);
    let pairs = DisplayValue::field(pointer!("{path}/pairs"), Number::Count(level.pairs as u64));
    let verdict = match view.alignment.doubts().iter().any(|doubt| doubt.level == level.level) {
        true => "cannot tell: may be another thing in {other}",
        false => "cannot tell: no counterpart is known in {other}",
    };
    let verdict = Sentence::new(verdict).with_name("other", other);
    let [a, b] = medians;
    vec![name.into(), pairs.into(), a, b, "–".into(), "–".into(), verdict.into()]
}

fn numbers(difference: &Difference, dataset: &DatasetComparison, path: &str) -> [Cell; 5] {
    let field = |key: &str, number| DisplayValue::field(pointer!("{path}/{key}"), number);
    let (low, high) = (difference.shift.low, difference.shift.high);
    let interval = match low.is_finite() && high.is_finite() {
        true => Sentence::new("{low} … {high}")
            .with("low", field("ci/0", Number::Difference(low)))
            .with("high", field("ci/1", Number::Difference(high))),
        false => "unknown".into(),
    };
    [
        field("a", Number::Figure(difference.a)).into(),
        field("b", Number::Figure(difference.b)).into(),
        field("shift_percent", Number::Difference(difference.shift.point)).into(),
        interval.into(),
        verdict_words(difference, dataset, path).into(),
    ]
}

/// The verdict on a difference, with its reason or interval; `path` points to the difference in the document.
pub fn verdict_words(difference: &Difference, dataset: &DatasetComparison, path: &str) -> Sentence {
    let share = |key: &str, share: f64| {
        DisplayValue::field(pointer!("{path}/{key}"), Number::Point(share)).in_unit(Unit::Share)
    };
    let end = |end: &str, share| DisplayValue::field(pointer!("{path}/ci/{end}"), Number::Difference(share));
    let least = share("least_percent", difference.least);
    let [worse, better] = dataset.called().map(str::to_uppercase);
    match (difference.verdict, difference.reason) {
        (Verdict::Faster, _) => Sentence::name(&better),
        (Verdict::Slower, _) => Sentence::name(&worse),
        (Verdict::Same, Some(reason)) => Sentence::new("same: {reason}").with("reason", reason),
        (Verdict::Same, None) => Sentence::new("same within ±{within}")
            .with("within", difference.within.map_or(least, |within| share("within_percent", within))),
        (Verdict::CannotTell, Some(reason)) => Sentence::new("cannot tell: {reason}").with("reason", reason),
        (Verdict::CannotTell, None) => match difference.reach() {
            Some(reach) if reach >= difference.least => {
                let reach =
                    DisplayValue::field(pointer!("{path}/shift_percent"), Number::Reach(difference.shift));
                Sentence::new("cannot tell: known to ±{reach}, and {least} counts")
                    .with("reach", reach.in_unit(Unit::Share))
                    .with("least", least)
            }
            // The interval is narrow enough, but it contains the smallest difference that counts.
            Some(_) => Sentence::new("cannot tell: {low} to {high}, and {least} counts")
                .with("low", end("0", difference.shift.low))
                .with("high", end("1", difference.shift.high))
                .with("least", least),
            None => "cannot tell".into(),
        },
    }
}

pub(super) fn level_words(name: &str, topology: Option<&Topology>, labels: &Labels) -> Sentence {
    match (Relation::named(name), topology) {
        (Some(relation), Some(topology)) => relation_sentence(relation, topology),
        _ if name == ALL => "all pairs".into(),
        _ => labels.whole(name),
    }
}

/// Cells that changed differently from their level, with their paths in the document.
pub(super) fn standing_out<'a>(
    dataset: &'a DatasetComparison,
    comparison: &Comparison,
) -> Vec<(String, &'a CellDifference)> {
    let rows = (dataset.levels.len() + dataset.alone.len()..).zip(of_pairs(dataset));
    let mut shown: Vec<(usize, &CellDifference)> = rows.filter(|(_, cell)| cell.departs).collect();
    shown.sort_by(|(_, x), (_, y)| y.difference.shift.point.abs().total_cmp(&x.difference.shift.point.abs()));
    shown.into_iter().map(|(row, cell)| (path(dataset, comparison, row), cell)).collect()
}

pub fn tally(dataset: &DatasetComparison) -> Option<Sentence> {
    if dataset.cells.is_empty() {
        return None;
    }
    let count_of = |verdict: Verdict| {
        let count = dataset.cells.iter().filter(|cell| cell.difference.verdict == verdict).count();
        differing(count, Some(dataset.name.clone()), "/verdict", verdict.name())
    };
    let [worse, better] = dataset.called();
    let sentence = Sentence::new(
        "cells: {slower} {worse}, {faster} {better}, {same} the same, {unclear} undecided (at most 5 % of the \
         differences found are false alarms)",
    );
    Some(
        sentence
            .with("slower", count_of(Verdict::Slower))
            .with("worse", worse)
            .with("faster", count_of(Verdict::Faster))
            .with("better", better)
            .with("same", count_of(Verdict::Same))
            .with("unclear", count_of(Verdict::CannotTell)),
    )
}

pub(super) fn departing(count: usize, matrix: Option<String>) -> DisplayValue {
    differing(count, matrix, "/departs", "true")
}

fn differing(count: usize, matrix: Option<String>, key: &'static str, value: &str) -> DisplayValue {
    let mut matching = vec![("/cell", "*".to_owned()), (key, value.to_owned())];
    matching.extend(matrix.map(|matrix| ("/matrix", matrix)));
    DisplayValue::bare(Number::Count(count as u64), Source::Count { list: "/differences", matching })
}

pub(super) fn cells(dataset: &DatasetComparison, view: &CompareView<'_>) -> Vec<Block<'static>> {
    if of_pairs(dataset).next().is_none() {
        return Vec::new();
    }
    let shown = standing_out(dataset, view.comparison);
    let rows = shown.iter().take(MAX_CELLS).map(|cell| cell_row(cell, dataset, view.topology()));
    let mut blocks: Vec<Block<'_>> = tally(dataset).map(Block::Prose).into_iter().collect();
    blocks.push(Block::Table(Table::new([""; 7].map(Column::words)).with(rows)));
    if shown.len() > MAX_CELLS {
        let source = departing(shown.len(), Some(dataset.name.clone())).source.unlisted(MAX_CELLS);
        let more = DisplayValue::bare(Number::Count((shown.len() - MAX_CELLS) as u64), source);
        let sentence = Sentence::new("… and {more} more; --format json has them all").with("more", more);
        blocks.push(Block::Prose(sentence));
    }
    blocks
}

pub(super) fn key_words(key: &ReadingKey) -> Sentence {
    match key {
        ReadingKey::Pair([a, b]) => Sentence::new("CPUs {a} and {b}").with("a", *a).with("b", *b),
        ReadingKey::Series(series) => series_words(&series.name),
    }
}

pub(super) fn cell_row(
    (path, cell): &(String, &CellDifference),
    dataset: &DatasetComparison,
    topology: Option<&Topology>,
) -> Vec<Cell> {
    let labels = labels(dataset);
    let level = dataset.levels.get(cell.level);
    let level = level.map_or(Cell::Blank, |level| level_words(&level.level, topology, &labels).into());
    let mut row = vec![key_words(&cell.key).into(), level];
    row.extend(numbers(&cell.difference, dataset, path));
    row
}
