//! The screen of `compare`: conditions, a table of levels, the cells that stand out, and one sentence.

pub(super) mod paths;
mod sentences;
mod table;

pub(super) use sentences::{answer, remarks, saturated};
use table::{MAX_CELLS, cell_row, cells, in_sections, of_numbers, standing_out};
pub(super) use table::{heading, levels, tally, verdict_words};

use super::alignment::{groups, pairing_words};
use super::fmt;
use super::text::{cut, plain, started};
use crate::blocks::value::{DisplayValue, Number, Sentence, pointer};
use crate::blocks::{Block, Column, Table};
use crate::render::markdown;
use coretalk_model::Topology;
use coretalk_model::compare::{Alignment, Comparison, Mismatch, Weight};

/// A side of a comparison, in words.
#[derive(Debug, Clone)]
pub struct SideView {
    /// Short name.
    pub name: String,
    /// Name of the machine.
    pub machine: String,
    /// Time of the measurement.
    pub started: Option<String>,
    /// Number of CPUs.
    pub cpus: usize,
    /// Whether the name may be published: part of a run's id, or a name that the user gave to a file.
    pub is_public: bool,
    /// The user's name for the side: the name before `=`, the file name, or the tag of the run.
    pub given: Option<String>,
}

/// The content of the screen.
#[derive(Debug, Clone)]
pub struct CompareView<'a> {
    /// Sides A and B.
    pub sides: [SideView; 2],
    /// Conditions that differ.
    pub mismatches: &'a [Mismatch],
    /// The result.
    pub comparison: &'a Comparison,
    /// The parts of the two sides that are compared with each other.
    pub alignment: &'a Alignment,
    /// Whether the user insists on comparing different experiments (`--force`).
    pub is_forced: bool,
    /// Whether a side is a file of another tool.
    pub files: bool,
    /// The smallest relative difference that counts.
    pub least: f64,
}

impl CompareView<'_> {
    /// The names of the two sides: those that the user gave, else A and B.
    pub fn called(&self) -> [String; 2] {
        called(&self.sides)
    }

    pub(super) fn topology(&self) -> Option<&Topology> {
        self.alignment.levels()[0].topology()
    }
}

/// The names of two sides: those that the user gave, else A and B.
pub fn called(sides: &[SideView; 2]) -> [String; 2] {
    let letters = ["A", "B"].map(str::to_owned);
    let mut named = letters.clone();
    for (called, side) in named.iter_mut().zip(sides) {
        if let Some(given) = &side.given {
            *called = cut(&plain(given), MAX_NAME_WIDTH);
        }
    }
    if named[0] == named[1] { letters } else { named }
}

const MAX_NAME_WIDTH: usize = 20;

/// The screen.
pub fn blocks(view: &CompareView<'_>) -> Vec<Block<'static>> {
    let called = view.called();
    let mut blocks = vec![Block::Answer(answer(view)), Block::Gap];
    blocks.extend(sides_words(view, "{called}  {side}").map(Block::Remark));
    blocks.extend(mismatches_words(view).map(Block::Doubt));
    blocks.extend(pairing_words(view.alignment, view.comparison, &called).map(Block::Doubt));
    blocks.extend(groups(view.alignment, &called).into_iter().map(Block::Remark));
    for dataset in &view.comparison.datasets {
        blocks.extend([Block::Gap, Block::Question(heading(dataset))]);
        blocks.push(Block::Table(in_sections(dataset, view)));
        blocks.extend(remarks(dataset, view).into_iter().map(Block::Prose));
        blocks.extend(cells(dataset, view));
    }
    blocks.push(Block::Gap);
    blocks.extend(saturated(view).map(Block::Prose));
    if view.files {
        let text = "Files do not record how they were measured or what their groups are: a shift of all \
                    pairs (core \
            clock, different kernel, different lines) looks like a change of the machine.";
        blocks.push(Block::Prose(text.into()));
    }
    blocks
}

/// The screen as Markdown, for pull requests and forums.
pub fn markdown(view: &CompareView<'_>) -> String {
    let called = view.called();
    let escaped = |sentence: &Sentence| markdown::escaped(&fmt::sentence(sentence));
    let bold = called.iter().map(|called| markdown::escaped(called)).zip(sides_words(view, "{side}"));
    let mut text: String =
        bold.map(|(called, side)| format!("- **{called}**: {}\n", escaped(&side))).collect();
    text.extend(mismatches_words(view).map(|words| format!("- differs: {}\n", escaped(&words))));
    let pairing = pairing_words(view.alignment, view.comparison, &called)
        .into_iter()
        .chain(groups(view.alignment, &called));
    text.extend(pairing.map(|words| format!("- {}\n", escaped(&words))));
    for dataset in &view.comparison.datasets {
        let levels = markdown::table(&levels(dataset, view));
        text.push_str(&format!("\n{}\n\n{levels}", escaped(&heading(dataset))));
        let shown = standing_out(dataset, view.comparison);
        if !shown.is_empty() {
            let titles = ["pair", "level"].map(Column::words);
            let columns: Vec<Column> = titles.into_iter().chain(of_numbers(dataset, &called)).collect();
            let rows = shown.iter().take(MAX_CELLS).map(|cell| cell_row(cell, dataset, view.topology()));
            text.push_str(&format!("\n{}", markdown::table(&Table::new(columns).with(rows))));
        }
        text.extend(tally(dataset).map(|tally| format!("\n{}\n", fmt::sentence(&tally))));
        text.extend(remarks(dataset, view).iter().map(|remark| format!("\n{}\n", escaped(remark))));
    }
    text.extend(saturated(view).map(|left_out| format!("\n{}\n", fmt::sentence(&left_out))));
    text.push_str(&format!("\n**{}**\n", escaped(&answer(view))));
    text
}

pub(super) fn sides_words(view: &CompareView<'_>, template: &'static str) -> impl Iterator<Item = Sentence> {
    let sides = view.called().into_iter().zip(&view.sides).zip(["a", "b"]);
    sides.map(move |((called, side), key)| {
        Sentence::new(template).with_name("called", &called).with("side", side_words(side, key))
    })
}

fn side_words(side: &SideView, key: &str) -> Sentence {
    let name = (side.given.as_ref() != Some(&side.name)).then(|| Sentence::name(&side.name));
    let mut parts: Vec<Sentence> = name.into_iter().chain([Sentence::name(&side.machine)]).collect();
    parts.extend(side.started.as_deref().map(|time| Sentence::name(&started(time))));
    let cpus = DisplayValue::field(pointer!("/compared/{key}/cpus"), Number::Count(side.cpus as u64));
    parts.push(Sentence::pluralized("{number} CPU{s}", cpus));
    Sentence::joined(parts, " · ")
}

pub(super) fn mismatches_words(view: &CompareView<'_>) -> impl Iterator<Item = Sentence> {
    let [first, second] = view.called();
    let side = |text: &Option<String>| text.as_deref().map_or("unknown".into(), |text| cut(&plain(text), 48));
    view.mismatches.iter().map(move |mismatch| {
        let why = match mismatch.weight {
            Weight::Refuses if view.is_forced => ": different experiments, compared because of --force",
            _ => "",
        };
        Sentence::new("{what}: {a} in {first}, {b} in {second}{why}")
            .with_name("what", &mismatch.what)
            .with_name("a", &side(&mismatch.a))
            .with_name("first", &first)
            .with_name("b", &side(&mismatch.b))
            .with_name("second", &second)
            .with("why", why)
    })
}
