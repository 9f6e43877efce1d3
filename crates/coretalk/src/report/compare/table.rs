//! The tables of `compare`: a row for each level, and the cells that stand out.

use super::CompareView;
use crate::blocks::{Block, Cell, Column, Table};
use crate::report::labels::Labels;
use crate::report::parameters::series_words;
use crate::report::scope::relation_words;
use crate::report::text::{figure, ns, percent, signed_percent};
use coretalk_model::compare::{
    ALL, Basis, CellDifference, DatasetComparison, Difference, Letter, LevelAlone, LevelDifference,
    ReadingKey, Verdict,
};
use coretalk_model::series::SeriesName;
use coretalk_model::{Relation, Topology};

/// Cells that are listed one by one.
pub(super) const MOST_CELLS: usize = 12;

/// The title of a dataset: what it is, in which unit shifts are given, and what all its rows share.
pub fn heading(dataset: &DatasetComparison) -> String {
    let basis = match dataset.basis {
        Basis::Cycles => "shifts in core cycles, which do not depend on the core clock".to_owned(),
        Basis::AsRead if dataset.quantity == "half_round_trip" => {
            format!("shifts in {} as measured, because the core clock of one side is unknown", dataset.unit)
        }
        Basis::AsRead => "shifts as measured".to_owned(),
    };
    let every = labels(dataset).shared().map_or(String::new(), |shared| format!("; every row: {shared}"));
    format!("{}, {}: {basis}{every}", series_words(&dataset.name), dataset.quantity.replace('_', " "))
}

/// What the rows of a dataset are called.
pub(super) fn labels(dataset: &DatasetComparison) -> Labels {
    let alone = dataset.alone.iter().map(|level| level.level.as_str());
    Labels::of(dataset.levels.iter().map(|level| level.level.as_str()).chain(alone))
}

/// The rows of a dataset as a reader looks for them; levels of a matrix as they are.
fn in_order<'a>(dataset: &'a DatasetComparison, labels: &Labels) -> Vec<&'a LevelDifference> {
    let mut levels: Vec<&LevelDifference> = dataset.levels.iter().collect();
    levels.sort_by_key(|level| labels.rank(&level.level));
    levels
}

/// The columns of [`numbers`].
pub(super) fn of_numbers(dataset: &DatasetComparison, [a, b]: &[String; 2]) -> [Column; 5] {
    [
        Column::numbers(format!("{a} {}", dataset.unit)),
        Column::numbers(format!("{b} {}", dataset.unit)),
        Column::numbers("shift"),
        Column::numbers("95 %"),
        Column::words("verdict"),
    ]
}

pub(super) fn of_text(row: Vec<String>) -> Vec<Cell> {
    row.into_iter().map(Cell::from).collect()
}

/// A row for each level.
pub fn levels(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
    let (topology, called) = (view.topology(), view.called());
    let columns = [Column::words("level").cut(), Column::numbers("pairs")]
        .into_iter()
        .chain(of_numbers(dataset, &called));
    let labels = labels(dataset);
    let shared = in_order(dataset, &labels).into_iter();
    let shared = shared.map(|level| level_row(level, dataset, topology, &labels));
    let alone = dataset.alone.iter().map(|level| alone_row(level, view, &called, &labels));
    Table::new(columns.collect::<Vec<_>>()).with(shared.chain(alone).map(of_text))
}

/// The same with the rows that begin alike below what they have in common.
pub(super) fn in_sections(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
    let labels = labels(dataset);
    let mut table = levels(dataset, view);
    let mut rows = std::mem::take(&mut table.rows).into_iter();
    let mut sections: Vec<(String, Vec<Vec<Cell>>)> = Vec::new();
    for (level, mut row) in in_order(dataset, &labels).into_iter().zip(&mut rows) {
        let section = labels.section(&level.level);
        if !section.is_empty() {
            row[0] = format!("  {}", labels.row(&level.level)).into();
        }
        match sections.iter_mut().find(|(known, _)| *known == section) {
            Some((_, levels)) => levels.push(row),
            None => sections.push((section, vec![row])),
        }
    }
    for (section, levels) in sections {
        if !section.is_empty() {
            let blank = vec![Cell::Blank; table.columns.len() - 1];
            table.row([section.into()].into_iter().chain(blank).collect::<Vec<_>>());
        }
        table.rows.extend(levels);
    }
    table.rows.extend(rows);
    // A series is no group of pairs: its rows have the room.
    let names = dataset.levels.iter().map(|level| &level.level);
    if names.chain(dataset.alone.iter().map(|level| &level.level)).all(|name| SeriesName::of(name).is_some())
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
) -> Vec<String> {
    let pairs = match level.pairs {
        [a, b] if a == b => a.to_string(),
        [a, b] => format!("{a}, {b}"),
    };
    let mut row = vec![level_words(&level.level, topology, labels), pairs];
    row.extend(numbers(&level.difference, dataset));
    row
}

/// The row of a level that only one side has.
fn alone_row(
    level: &LevelAlone,
    view: &CompareView<'_>,
    called: &[String; 2],
    labels: &Labels,
) -> Vec<String> {
    let [a, b] = called;
    let (letter, other) = if level.of == Letter::A { (a, b) } else { (b, a) };
    let mut medians = [number(level.median), "–".to_owned()];
    if level.of == Letter::B {
        medians.reverse();
    }
    let name = format!("{} of {letter}", level_words(&level.level, view.topology(), labels));
    let [a, b] = medians;
    let verdict = match view.alignment.doubts().iter().any(|doubt| doubt.level == level.level) {
        true => format!("cannot tell: may be another thing in {other}"),
        false => format!("cannot tell: no counterpart is known in {other}"),
    };
    vec![name, level.pairs.to_string(), a, b, "–".to_owned(), "–".to_owned(), verdict]
}

/// Both medians, the shift with its interval, and the verdict.
fn numbers(difference: &Difference, dataset: &DatasetComparison) -> [String; 5] {
    let (low, high) = (difference.shift.low, difference.shift.high);
    let interval = if low.is_finite() && high.is_finite() {
        format!("{} … {}", signed(low), signed(high))
    } else {
        "unknown".to_owned()
    };
    [
        number(difference.a),
        number(difference.b),
        signed(difference.shift.point),
        interval,
        verdict_words(difference, dataset),
    ]
}

/// Latencies as everywhere; seconds of a command and messages a second lie far below and above them.
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude != 0.0 && !(0.0995..1e7).contains(&magnitude) => figure(value),
        _ => ns(value),
    }
}

/// A share with its sign: `+5.0 %`.
pub(super) fn signed(share: f64) -> String {
    signed_percent(100.0 * share)
}

/// The verdict on a difference, with the reason or the interval behind it.
pub fn verdict_words(difference: &Difference, dataset: &DatasetComparison) -> String {
    let [worse, better] = dataset.called().map(str::to_uppercase);
    match (difference.verdict, difference.reason) {
        (Verdict::Faster, _) => better,
        (Verdict::Slower, _) => worse,
        (Verdict::Same, Some(reason)) => format!("same: {reason}"),
        (Verdict::Same, None) => {
            format!("same within ±{}", percent(difference.within.unwrap_or(difference.least)))
        }
        (Verdict::CannotTell, Some(reason)) => format!("cannot tell: {reason}"),
        (Verdict::CannotTell, None) => match difference.reach() {
            Some(reach) if reach >= difference.least => {
                format!("cannot tell: known to ±{}, and {} counts", percent(reach), percent(difference.least))
            }
            // Narrow enough, and it reaches over what counts.
            Some(_) => format!(
                "cannot tell: {} to {}, and {} counts",
                signed(difference.shift.low),
                signed(difference.shift.high),
                percent(difference.least)
            ),
            None => "cannot tell".to_owned(),
        },
    }
}

/// A level in words: what CPUs share, or the parameters of a series.
pub(super) fn level_words(name: &str, topology: Option<&Topology>, labels: &Labels) -> String {
    match (Relation::named(name), topology) {
        (Some(relation), Some(topology)) => relation_words(relation, topology),
        _ if name == ALL => "all pairs".to_owned(),
        _ => labels.whole(name),
    }
}

/// Cells that changed in another way than their level did.
pub(super) fn standing_out(dataset: &DatasetComparison) -> Vec<&CellDifference> {
    let of_pairs = dataset.cells.iter().filter(|cell| matches!(cell.key, ReadingKey::Pair(_)));
    let mut shown: Vec<&CellDifference> = of_pairs.filter(|cell| cell.departs).collect();
    shown.sort_by(|x, y| y.difference.shift.point.abs().total_cmp(&x.difference.shift.point.abs()));
    shown
}

/// How many cells have which verdict; `None` where no cells are compared.
pub fn tally(dataset: &DatasetComparison) -> Option<String> {
    if dataset.cells.is_empty() {
        return None;
    }
    let of =
        |verdict: Verdict| dataset.cells.iter().filter(|cell| cell.difference.verdict == verdict).count();
    let [worse, better] = dataset.called();
    Some(format!(
        "cells: {} {worse}, {} {better}, {} the same, {} undecided (at most 5 % of the differences found \
         are false alarms)",
        of(Verdict::Slower),
        of(Verdict::Faster),
        of(Verdict::Same),
        of(Verdict::CannotTell)
    ))
}

/// The count of verdicts, and the cells that stand out.
pub(super) fn cells(dataset: &DatasetComparison, topology: Option<&Topology>) -> Vec<Block<'static>> {
    if !dataset.cells.iter().any(|cell| matches!(cell.key, ReadingKey::Pair(_))) {
        return Vec::new();
    }
    let shown = standing_out(dataset);
    let rows = shown.iter().take(MOST_CELLS).map(|cell| of_text(cell_row(cell, dataset, topology)));
    let mut blocks: Vec<Block<'_>> =
        tally(dataset).map(|text| Block::Prose(text.into())).into_iter().collect();
    blocks.push(Block::Table(Table::new([""; 7].map(Column::words)).with(rows)));
    if shown.len() > MOST_CELLS {
        let more = shown.len() - MOST_CELLS;
        blocks.push(Block::Prose(format!("… and {more} more; --format json has them all").into()));
    }
    blocks
}

/// The two CPUs of a cell, or the name of a series.
pub(super) fn key_words(key: &ReadingKey) -> String {
    match key {
        ReadingKey::Pair([a, b]) => format!("CPUs {a} and {b}"),
        ReadingKey::Series(series) => series_words(&series.name),
    }
}

pub(super) fn cell_row(
    cell: &CellDifference,
    dataset: &DatasetComparison,
    topology: Option<&Topology>,
) -> Vec<String> {
    let labels = labels(dataset);
    let level = dataset
        .levels
        .get(cell.level)
        .map_or_else(String::new, |level| level_words(&level.level, topology, &labels));
    let mut row = vec![key_words(&cell.key), level];
    row.extend(numbers(&cell.difference, dataset));
    row
}
