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
    LevelDifference, Mismatch, ReadingKey, Verdict, Weight,
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
    /// What the user calls it: the name before `=`, or the tag of a run.
    pub given: Option<String>,
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
    /// Whether the user insists on comparing different experiments (`--force`).
    pub is_forced: bool,
    /// Whether a side is a file of another tool.
    pub files: bool,
    /// The least share that counts.
    pub least: f64,
}

impl CompareView<'_> {
    /// What the two sides are called: as the user named them, else A and B.
    pub fn called(&self) -> [String; 2] {
        called(&self.sides)
    }

    /// What a system reports, where pairs are grouped by that.
    pub(super) fn topology(&self) -> Option<&Topology> {
        self.alignment.levels()[0].topology()
    }
}

/// What two sides are called: as the user named them, else A and B.
pub fn called(sides: &[SideView; 2]) -> [String; 2] {
    let letters = ["A", "B"].map(str::to_owned);
    let mut named = letters.clone();
    for (called, side) in named.iter_mut().zip(sides) {
        if let Some(given) = &side.given {
            *called = cut(&plain(given), MOST_OF_A_NAME);
        }
    }
    if named[0] == named[1] { letters } else { named }
}

/// Characters of a name in sentences and headings.
const MOST_OF_A_NAME: usize = 20;
/// Values that are named one by one.
const MOST_VALUES: usize = 6;
/// Cells that are listed one by one.
const MOST_CELLS: usize = 12;
/// A shift of the clock by more than this is worth a sentence.
const CLOCK_SHIFT: f64 = 0.01;

/// The screen.
pub fn blocks(view: &CompareView<'_>) -> Vec<Block<'static>> {
    let called = view.called();
    let [a, b] = &called;
    let mut blocks = vec![Block::Question(format!("Is {b} faster or slower than {a}?"))];
    let sides = called.iter().zip(&view.sides);
    blocks.extend(sides.map(|(called, side)| Block::Remark(format!("{called}  {}", side_words(side)))));
    blocks.extend(mismatches_words(view).map(Block::Doubt));
    blocks.extend(pairing_words(view.alignment, &called).map(Block::Doubt));
    blocks.extend(groups(view.alignment, &called).into_iter().map(Block::Remark));
    for dataset in &view.comparison.datasets {
        blocks.extend([Block::Gap, Block::Question(heading(dataset))]);
        blocks.push(Block::Table(in_sections(dataset, view)));
        blocks.extend(remarks(dataset, view).into_iter().map(Block::Prose));
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
    let called = view.called();
    for (called, side) in called.iter().zip(&view.sides) {
        text.push_str(&format!("- **{}**: {}\n", escaped(called), escaped(&side_words(side))));
    }
    for words in mismatches_words(view) {
        text.push_str(&format!("- differs: {}\n", escaped(&words)));
    }
    for words in pairing_words(view.alignment, &called).into_iter().chain(groups(view.alignment, &called)) {
        text.push_str(&format!("- {}\n", escaped(&words)));
    }
    for dataset in &view.comparison.datasets {
        let levels = markdown::table(&levels(dataset, view));
        text.push_str(&format!("\n{}\n\n{levels}", escaped(&heading(dataset))));
        let shown = standing_out(dataset);
        if !shown.is_empty() {
            let titles = ["pair", "level"].map(Column::words);
            let columns: Vec<Column> = titles.into_iter().chain(of_numbers(dataset, &called)).collect();
            let rows = shown.iter().take(MOST_CELLS).map(|cell| cell_row(cell, dataset, view.topology()));
            text.push_str(&format!("\n{}", markdown::table(&Table::new(columns).with(rows.map(of_text)))));
        }
        text.extend(tally(dataset).map(|tally| format!("\n{tally}\n")));
        text.extend(remarks(dataset, view).into_iter().map(|remark| format!("\n{}\n", escaped(&remark))));
    }
    text.extend(saturated(view).map(|left_out| format!("\n{left_out}\n")));
    text.push_str(&format!("\n**{}**\n", escaped(&conclusion(view))));
    text
}

pub(super) fn side_words(side: &SideView) -> String {
    let name = (side.given.as_ref() != Some(&side.name)).then(|| plain(&side.name));
    let mut parts: Vec<String> = name.into_iter().chain([plain(&side.machine)]).collect();
    parts.extend(side.started.as_deref().map(super::text::started));
    parts.push(count(side.cpus as u64, "CPU"));
    parts.join(" · ")
}

/// The conditions that differ, a line each.
pub(super) fn mismatches_words(view: &CompareView<'_>) -> impl Iterator<Item = String> {
    let called = view.called();
    view.mismatches.iter().map(move |mismatch| {
        let why = match mismatch.weight {
            Weight::Refuses if view.is_forced => ": different experiments, compared because of --force",
            _ => "",
        };
        format!("{}{why}", mismatch_words(mismatch, &called))
    })
}

fn mismatch_words(mismatch: &Mismatch, [first, second]: &[String; 2]) -> String {
    let said = |text: &Option<String>| text.as_deref().map_or("unknown".into(), |text| cut(&plain(text), 48));
    format!("{}: {} in {first}, {} in {second}", mismatch.what, said(&mismatch.a), said(&mismatch.b))
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
fn of_numbers(dataset: &DatasetComparison, [a, b]: &[String; 2]) -> [Column; 5] {
    [
        Column::numbers(format!("{a} {}", dataset.unit)),
        Column::numbers(format!("{b} {}", dataset.unit)),
        Column::numbers("shift"),
        Column::numbers("95 %"),
        Column::words("verdict"),
    ]
}

fn of_text(row: Vec<String>) -> Vec<Cell> {
    row.into_iter().map(Cell::from).collect()
}

/// A row for each level.
pub(super) fn levels(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
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
fn in_sections(dataset: &DatasetComparison, view: &CompareView<'_>) -> Table {
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
    let ([a, b], [first, second]) = (view.comparison.saturated, view.called());
    (a + b > 0).then(|| {
        format!(
            "Left out because the queue did not keep the send rate in every pass: {} of {first}, {b} of {second}.",
            count(a as u64, "result"),
        )
    })
}

pub(super) fn remarks(dataset: &DatasetComparison, view: &CompareView<'_>) -> Vec<String> {
    let [a, b] = view.called();
    let mut texts = Vec::new();
    let left_out: usize = dataset.levels.iter().map(|level| level.left_out).sum();
    if left_out > 0 {
        texts.push(format!(
            "Left out because they changed state during a run: {}.",
            count(left_out as u64, "pair")
        ));
    }
    if dataset.lonely > 0 {
        texts.push(format!("On one side only: {}.", count(dataset.lonely as u64, "value")));
    }
    if !dataset.without_ratio.is_empty() {
        let shown = dataset.without_ratio.iter().take(MOST_VALUES).map(|left_out| {
            let side = if left_out.of == Letter::A { &a } else { &b };
            let (of, value) = (key_words(&left_out.key), number(left_out.value));
            format!("{of} in {side} ({value} {})", dataset.unit)
        });
        let more = match dataset.without_ratio.len().saturating_sub(MOST_VALUES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        texts.push(format!(
            "Not compared, because zero and impossible values have no ratio: {}{more}.",
            shown.collect::<Vec<_>>().join(", ")
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
            "In {} as measured, {b} differs by up to {}: its core clock was about {} {how}.",
            dataset.unit,
            signed(as_read),
            percent(clock.abs())
        ));
    }
    texts
}

/// Cells that changed in another way than their level did.
fn standing_out(dataset: &DatasetComparison) -> Vec<&CellDifference> {
    let of_pairs = dataset.cells.iter().filter(|cell| matches!(cell.key, ReadingKey::Pair(_)));
    let mut shown: Vec<&CellDifference> = of_pairs.filter(|cell| cell.departs).collect();
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

fn key_words(key: &ReadingKey) -> String {
    match key {
        ReadingKey::Pair([a, b]) => format!("CPUs {a} and {b}"),
        ReadingKey::Series(series) => series_words(&series.name),
    }
}

fn cell_row(cell: &CellDifference, dataset: &DatasetComparison, topology: Option<&Topology>) -> Vec<String> {
    let labels = labels(dataset);
    let level = dataset
        .levels
        .get(cell.level)
        .map_or_else(String::new, |level| level_words(&level.level, topology, &labels));
    let mut row = vec![key_words(&cell.key), level];
    row.extend(numbers(&cell.difference, dataset));
    row
}

/// What follows, in one sentence.
pub(super) fn conclusion(view: &CompareView<'_>) -> String {
    let datasets = &view.comparison.datasets;
    let [a, b] = view.called();
    let several = datasets.len() > 1;
    let named = |wanted: Verdict, called: Option<&str>| -> Vec<String> {
        let mut named = Vec::new();
        for dataset in
            datasets.iter().filter(|dataset| called.is_none_or(|word| dataset.called().contains(&word)))
        {
            let labels = labels(dataset);
            let of = if several { format!("{}, ", series_words(&dataset.name)) } else { String::new() };
            let levels = dataset.levels.iter().filter(|level| level.difference.verdict == wanted);
            // One change of everything is one answer.
            let is_whole = levels.clone().count() == dataset.levels.len() && standing_out(dataset).is_empty();
            let together = dataset.together.as_ref().filter(|of| is_whole && of.verdict == wanted);
            if let Some(together) = together.filter(|_| wanted.is_different()) {
                named.push(format!("{of}all pairs alike ({})", signed(together.shift.point)));
                continue;
            }
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
            sentences.push(format!("{b} is {word}: {}.", levels.join(", ")));
        }
    }
    if datasets.iter().all(|dataset| dataset.levels.is_empty()) {
        return format!("Cannot tell: nothing in {a} is known to correspond to anything in {b}.");
    }
    if sentences.is_empty() && untold.is_empty() {
        sentences.push(format!("No level differs by {} or more.", percent(view.least)));
    }
    if !untold.is_empty() {
        sentences.push(format!("Cannot tell: {}.", untold.join(", ")));
    }
    let doubts = view.alignment.doubts().iter().filter(|_| !view.alignment.is_forced());
    let labels = datasets.first().map(labels);
    let words = |name: &str| match &labels {
        Some(labels) => level_words(name, view.topology(), labels),
        None => plain(name),
    };
    let doubts: Vec<String> = doubts.map(|doubt| words(&doubt.level)).collect();
    if !doubts.is_empty() {
        sentences.push(format!("Not compared: {}.", doubts.join(", ")));
    }
    if single > 0 {
        sentences.push(format!(
            "{} changed differently from the rest of the level.",
            count(single as u64, "pair")
        ));
    }
    sentences.join(" ")
}
