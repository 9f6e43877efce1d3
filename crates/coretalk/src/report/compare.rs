//! The screen of `compare`: conditions, a table of levels, the cells that stand out, and one sentence.

use super::alignment::{groups, pairing_words};
use super::labels::Labels;
use super::ladder::relation_words;
use super::parameters::series_words;
use super::text::{count, cut, figure, ns, percent, plain, signed_percent};
use crate::blocks::{Block, Cell, Column, Table};
use crate::render::markdown::{self, escaped};
use coretalk_model::compare::{
    Alignment, Basis, CellDifference, Comparison, DatasetComparison, Difference, Letter, LevelAlone,
    LevelDifference, Mismatch, ReadingKey, Verdict,
};
use coretalk_model::{Relation, Topology};

/// One side in words.
#[derive(Debug, Clone)]
pub struct SideView {
    /// Short name.
    pub name: String,
    /// Machine.
    pub machine: String,
    /// When it was measured.
    pub started: Option<String>,
    /// CPUs.
    pub cpus: usize,
    /// Whether everybody may see its name: that of a run is a part of its id, that of a file was given.
    pub is_public: bool,
}

/// Everything that the screen shows.
#[derive(Debug, Clone)]
pub struct CompareView<'a> {
    /// A and B.
    pub sides: [SideView; 2],
    /// Conditions that differ.
    pub mismatches: &'a [Mismatch],
    /// What was found.
    pub comparison: &'a Comparison,
    /// What of one side was held against what of the other.
    pub alignment: &'a Alignment,
    /// Whether a side is a file of another tool.
    pub files: bool,
    /// The least share that counts.
    pub least: f64,
}

impl CompareView<'_> {
    /// What a system reports, where pairs are grouped by that.
    pub(super) fn topology(&self) -> Option<&Topology> {
        self.alignment.levels()[0].topology()
    }
}

/// Cells that are listed one by one.
const MOST_CELLS: usize = 12;
/// A shift of the clock by more than this is worth a sentence.
const CLOCK_SHIFT: f64 = 0.01;

/// The screen.
pub fn blocks(view: &CompareView<'_>) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Question("Is B faster or slower than A?".to_owned())];
    let sides = ["A", "B"].into_iter().zip(&view.sides);
    blocks.extend(sides.map(|(letter, side)| Block::Remark(format!("{letter}  {}", side_words(side)))));
    blocks.extend(view.mismatches.iter().map(mismatch_words).map(Block::Doubt));
    blocks.extend(pairing_words(view.alignment).map(Block::Doubt));
    blocks.extend(groups(view.alignment).into_iter().map(Block::Remark));
    for dataset in &view.comparison.datasets {
        blocks.extend([Block::Gap, Block::Question(heading(dataset))]);
        blocks.push(Block::Table(in_sections(dataset, view.topology())));
        blocks.extend(remarks(dataset).into_iter().map(Block::Prose));
        blocks.extend(cells(dataset, view.topology()));
    }
    blocks.push(Block::Gap);
    blocks.extend(saturated(view).map(Block::Prose));
    blocks.push(Block::Prose(conclusion(view)));
    if view.files {
        let text = "Files do not record how they were measured or what their groups are: a shift of all \
                    pairs (core \
            clock, different kernel, different lines) looks like a change of the machine.";
        blocks.push(Block::Prose(text.to_owned()));
    }
    blocks
}

/// The same as Markdown, for pull requests and forums.
pub fn markdown(view: &CompareView<'_>) -> String {
    let mut text = String::new();
    for (letter, side) in ["A", "B"].into_iter().zip(&view.sides) {
        text.push_str(&format!("- **{letter}**: {}\n", escaped(&side_words(side))));
    }
    for mismatch in view.mismatches {
        text.push_str(&format!("- differs: {}\n", escaped(&mismatch_words(mismatch))));
    }
    for words in pairing_words(view.alignment).into_iter().chain(groups(view.alignment)) {
        text.push_str(&format!("- {}\n", escaped(&words)));
    }
    for dataset in &view.comparison.datasets {
        let levels = markdown::table(&levels(dataset, view.topology()));
        text.push_str(&format!("\n{}\n\n{levels}", escaped(&heading(dataset))));
        let shown = standing_out(dataset);
        if !shown.is_empty() {
            let titles = ["pair", "level"].map(Column::words);
            let columns: Vec<Column> = titles.into_iter().chain(of_numbers(dataset)).collect();
            let rows = shown.iter().take(MOST_CELLS).map(|cell| cell_row(cell, dataset, view.topology()));
            text.push_str(&format!("\n{}", markdown::table(&Table::new(columns).with(rows.map(of_text)))));
        }
        text.extend(tally(dataset).map(|tally| format!("\n{tally}\n")));
    }
    text.extend(saturated(view).map(|left_out| format!("\n{left_out}\n")));
    text.push_str(&format!("\n**{}**\n", conclusion(view)));
    text
}

pub(super) fn side_words(side: &SideView) -> String {
    let mut parts = vec![plain(&side.name), plain(&side.machine)];
    parts.extend(side.started.as_deref().map(super::text::started));
    parts.push(count(side.cpus as u64, "CPU"));
    parts.join(" · ")
}

pub(super) fn mismatch_words(mismatch: &Mismatch) -> String {
    let said = |text: &Option<String>| text.as_deref().map_or("unknown".into(), |text| cut(&plain(text), 48));
    format!("{}: {} in A, {} in B", mismatch.what, said(&mismatch.a), said(&mismatch.b))
}

pub(super) fn heading(dataset: &DatasetComparison) -> String {
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
fn labels(dataset: &DatasetComparison) -> Labels {
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
fn of_numbers(dataset: &DatasetComparison) -> [Column; 5] {
    [
        Column::numbers(format!("A {}", dataset.unit)),
        Column::numbers(format!("B {}", dataset.unit)),
        Column::numbers("shift"),
        Column::numbers("95 %"),
        Column::words("verdict"),
    ]
}

fn of_text(row: Vec<String>) -> Vec<Cell> {
    row.into_iter().map(Cell::from).collect()
}

/// A row for each level.
pub(super) fn levels(dataset: &DatasetComparison, topology: Option<&Topology>) -> Table {
    let columns =
        [Column::words("level").cut(), Column::numbers("pairs")].into_iter().chain(of_numbers(dataset));
    let labels = labels(dataset);
    let shared = in_order(dataset, &labels).into_iter();
    let shared = shared.map(|level| level_row(level, dataset, topology, &labels));
    let alone = dataset.alone.iter().map(|level| alone_row(level, topology, &labels));
    Table::new(columns.collect::<Vec<_>>()).with(shared.chain(alone).map(of_text))
}

/// The same with the rows that begin alike below what they have in common.
fn in_sections(dataset: &DatasetComparison, topology: Option<&Topology>) -> Table {
    let labels = labels(dataset);
    let mut table = levels(dataset, topology);
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
    if names.chain(dataset.alone.iter().map(|level| &level.level)).all(|name| name.contains('=')) {
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

/// The row of a level that has nothing to be held against.
fn alone_row(level: &LevelAlone, topology: Option<&Topology>, labels: &Labels) -> Vec<String> {
    let (letter, other) = if level.of == Letter::A { ("A", "B") } else { ("B", "A") };
    let mut medians = [number(level.median), "–".to_owned()];
    if level.of == Letter::B {
        medians.reverse();
    }
    let name = format!("{} of {letter}", level_words(&level.level, topology, labels));
    let [a, b] = medians;
    let verdict = format!("cannot tell: no counterpart is known in {other}");
    vec![name, level.pairs.to_string(), a, b, "–".to_owned(), "–".to_owned(), verdict]
}

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
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude != 0.0 && !(0.0995..1e7).contains(&magnitude) => figure(value),
        _ => ns(value),
    }
}

/// A share with its sign: `+5.0 %`.
fn signed(share: f64) -> String {
    signed_percent(100.0 * share)
}

pub(super) fn verdict_words(difference: &Difference, dataset: &DatasetComparison) -> String {
    let [worse, better] = dataset.called().map(str::to_uppercase);
    match (difference.verdict, difference.reason) {
        (Verdict::Faster, _) => better,
        (Verdict::Slower, _) => worse,
        (Verdict::Same, Some(reason)) => format!("same: {reason}"),
        (Verdict::Same, None) => {
            format!("same within ±{}", percent(difference.within.unwrap_or(difference.least)))
        }
        (Verdict::CannotTell, Some(reason)) => format!("cannot tell: {reason}"),
        (Verdict::CannotTell, None) => match difference.within {
            Some(within) => {
                let [within, least] = [within, difference.least].map(percent);
                // Rounding must not hide that it lies beyond.
                let just = if within == least { "just over " } else { "" };
                format!("cannot tell: known to {just}±{within}; ±{least} is needed")
            }
            None => "cannot tell".to_owned(),
        },
    }
}

fn level_words(name: &str, topology: Option<&Topology>, labels: &Labels) -> String {
    let relation = Relation::ALL.into_iter().find(|relation| relation.name() == name);
    match (relation, topology) {
        (Some(relation), Some(topology)) => relation_words(relation, topology),
        _ if name == "all" => "all pairs".to_owned(),
        _ => labels.whole(name),
    }
}

/// How many results have no delay that could be compared.
pub(super) fn saturated(view: &CompareView<'_>) -> Option<String> {
    let [a, b] = view.comparison.saturated;
    (a + b > 0).then(|| {
        format!(
            "Left out because the queue did not keep the send rate in every pass: {} of A, {} of B.",
            count(a as u64, "result"),
            b
        )
    })
}

pub(super) fn remarks(dataset: &DatasetComparison) -> Vec<String> {
    let mut texts = Vec::new();
    let moved: usize = dataset.levels.iter().map(|level| level.moved).sum();
    if moved > 0 {
        texts.push(format!(
            "Left out because they changed state during a run: {}.",
            count(moved as u64, "pair")
        ));
    }
    if dataset.lonely > 0 {
        texts.push(format!("On one side only: {}.", count(dataset.lonely as u64, "value")));
    }
    if dataset.without_ratio > 0 {
        texts.push(format!(
            "Not compared, because values of zero or less have no ratio: {}.",
            count(dataset.without_ratio as u64, "value")
        ));
    }
    let farthest = dataset
        .levels
        .iter()
        .filter_map(|level| Some((level.clock()?, level.as_read?)))
        .max_by(|x, y| x.0.ln_1p().abs().total_cmp(&y.0.ln_1p().abs()));
    if let Some((clock, as_read)) = farthest.filter(|(clock, _)| clock.abs() >= CLOCK_SHIFT) {
        let how = if clock < 0.0 { "lower" } else { "higher" };
        texts.push(format!(
            "In {} as measured, B differs by up to {}: its core clock was about {} {how}.",
            dataset.unit,
            signed(as_read),
            percent(clock.abs())
        ));
    }
    texts
}

/// Cells that differ in another way than their level does.
fn standing_out(dataset: &DatasetComparison) -> Vec<&CellDifference> {
    let with_level = |cell: &CellDifference| {
        dataset
            .levels
            .get(cell.level)
            .is_some_and(|level| level.difference.verdict == cell.difference.verdict)
    };
    let mut shown: Vec<&CellDifference> = dataset
        .cells
        .iter()
        .filter(|cell| matches!(cell.key, ReadingKey::Pair(_)))
        .filter(|cell| cell.difference.verdict.is_different() && !with_level(cell))
        .collect();
    shown.sort_by(|x, y| y.difference.shift.point.abs().total_cmp(&x.difference.shift.point.abs()));
    shown
}

/// How many cells have which verdict; `None` where no pair is held against a pair.
pub(super) fn tally(dataset: &DatasetComparison) -> Option<String> {
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

fn cells(dataset: &DatasetComparison, topology: Option<&Topology>) -> Vec<Block<'static>> {
    if !dataset.cells.iter().any(|cell| matches!(cell.key, ReadingKey::Pair(_))) {
        return Vec::new();
    }
    let shown = standing_out(dataset);
    let rows = shown.iter().take(MOST_CELLS).map(|cell| of_text(cell_row(cell, dataset, topology)));
    let mut blocks: Vec<Block<'_>> = tally(dataset).map(Block::Prose).into_iter().collect();
    blocks.push(Block::Table(Table::new([""; 7].map(Column::words)).with(rows)));
    if shown.len() > MOST_CELLS {
        let more = shown.len() - MOST_CELLS;
        blocks.push(Block::Prose(format!("… and {more} more; --format json has them all")));
    }
    blocks
}

fn cell_row(cell: &CellDifference, dataset: &DatasetComparison, topology: Option<&Topology>) -> Vec<String> {
    let pair = match &cell.key {
        ReadingKey::Pair([a, b]) => format!("CPUs {a} and {b}"),
        ReadingKey::Series(series) => series_words(&series.name),
    };
    let labels = labels(dataset);
    let level = dataset
        .levels
        .get(cell.level)
        .map_or_else(String::new, |level| level_words(&level.level, topology, &labels));
    let mut row = vec![pair, level];
    row.extend(numbers(&cell.difference, dataset));
    row
}

/// What follows, in one sentence.
pub(super) fn conclusion(view: &CompareView<'_>) -> String {
    let datasets = &view.comparison.datasets;
    let several = datasets.len() > 1;
    let named = |wanted: Verdict, called: Option<&str>| -> Vec<String> {
        let mut named = Vec::new();
        for dataset in
            datasets.iter().filter(|dataset| called.is_none_or(|word| dataset.called().contains(&word)))
        {
            let labels = labels(dataset);
            let of = if several { format!("{}, ", series_words(&dataset.name)) } else { String::new() };
            let levels = dataset.levels.iter().filter(|level| level.difference.verdict == wanted);
            named.extend(levels.map(|level| {
                format!(
                    "{of}{} ({})",
                    level_words(&level.level, view.topology(), &labels),
                    signed(level.difference.shift.point)
                )
            }));
        }
        named
    };
    let words = [Verdict::Slower, Verdict::Faster].into_iter().zip(0..).flat_map(|(verdict, at)| {
        let mut words: Vec<&str> = datasets.iter().map(|dataset| dataset.called()[at]).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(move |word| (verdict, word))
    });
    let untold = named(Verdict::CannotTell, None);
    let single: usize = datasets.iter().map(|dataset| standing_out(dataset).len()).sum();
    let mut sentences = Vec::new();
    for (verdict, word) in words {
        let levels = named(verdict, Some(word));
        if !levels.is_empty() {
            sentences.push(format!("B is {word}: {}.", levels.join(", ")));
        }
    }
    if datasets.iter().all(|dataset| dataset.levels.is_empty()) {
        return "Cannot tell: nothing in A is known to correspond to anything in B.".to_owned();
    }
    if sentences.is_empty() && untold.is_empty() {
        sentences.push(format!("No level differs by {} or more.", percent(view.least)));
    }
    if !untold.is_empty() {
        sentences.push(format!("Cannot tell: {}.", untold.join(", ")));
    }
    if single > 0 {
        sentences.push(format!(
            "{} changed differently from the rest of the level.",
            count(single as u64, "pair")
        ));
    }
    sentences.join(" ")
}
