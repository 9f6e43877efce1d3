//! The screen of `compare`: conditions, a table of levels, the cells that stand out, and one sentence.

mod sentences;
mod table;

use sentences::answer;
pub(super) use sentences::{conclusion, remarks, saturated};
use table::{MOST_CELLS, cell_row, cells, in_sections, of_numbers, of_text, standing_out};
pub(super) use table::{heading, levels, number, tally, verdict_words};

use super::alignment::{groups, pairing_words};
use super::text::{count, cut, plain};
use crate::blocks::{Block, Column, Table};
use crate::render::markdown::{self, escaped};
use coretalk_model::Topology;
use coretalk_model::compare::{Alignment, Comparison, Mismatch, Weight};

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
    /// What the user calls it: the name before `=`, that of the file, or the tag of a run.
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
    /// Which parts of the two sides are compared with each other.
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

/// The screen.
pub fn blocks(view: &CompareView<'_>) -> Vec<Block<'static>> {
    let called = view.called();
    let mut blocks = vec![Block::Answer(answer(view)), Block::Gap];
    let sides = called.iter().zip(&view.sides);
    blocks
        .extend(sides.map(|(called, side)| Block::Remark(format!("{called}  {}", side_words(side)).into())));
    blocks.extend(mismatches_words(view).map(|text| Block::Doubt(text.into())));
    blocks.extend(pairing_words(view.alignment, &called).map(|text| Block::Doubt(text.into())));
    blocks.extend(groups(view.alignment, &called).into_iter().map(|text| Block::Remark(text.into())));
    for dataset in &view.comparison.datasets {
        blocks.extend([Block::Gap, Block::Question(heading(dataset).into())]);
        blocks.push(Block::Table(in_sections(dataset, view)));
        blocks.extend(remarks(dataset, view).into_iter().map(|text| Block::Prose(text.into())));
        blocks.extend(cells(dataset, view.topology()));
    }
    blocks.push(Block::Gap);
    blocks.extend(saturated(view).map(|text| Block::Prose(text.into())));
    if view.files {
        let text = "Files do not record how they were measured or what their groups are: a shift of all \
                    pairs (core \
            clock, different kernel, different lines) looks like a change of the machine.";
        blocks.push(Block::Prose(text.to_owned().into()));
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
