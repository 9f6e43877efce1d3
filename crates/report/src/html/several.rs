//! Pages of several runs: common facts, their maps side by side, and a table of machines and relations.

use super::machine;
use super::section::{MAPS, Section};
use super::sections::{Maps, heat_map_body, results};
use crate::alignment::pairing_words;
use crate::blocks::value::{DisplayValue, Number, Sentence, Source};
use crate::blocks::{Block, Cell, Column, Table};
use crate::compare::{answer, heading, levels, mismatches_words, remarks, saturated, sides_words, tally};
use crate::difference::Differing;
use crate::fmt;
use crate::input::ReportInput;
use crate::overview::{about, found, kinds_words, level_words};
use crate::render::html::{self, table};
use coretalk_model::Relation;
use coretalk_model::compare::{GroupLevel, Levels, overview};
use coretalk_model::latency::summary::{OfRelation, by_relation};

pub(super) fn sections(inputs: &[ReportInput<'_>], differing: Option<&Differing<'_>>) -> Vec<Section> {
    let of_files = inputs.iter().any(|input| input.file().is_some());
    let table = if of_files { groups(inputs) } else { relations(inputs) };
    let mut parts: Vec<Section> = table.into_iter().collect();
    parts.extend(differing.map(difference));
    if inputs.iter().any(|input| input.maps.iter().any(|map| map.columns.cpus.len() > 1)) {
        let all: Vec<&ReportInput<'_>> = inputs.iter().collect();
        parts.push(Section::new(MAPS, "Heat maps", None, heat_map_body(&all, true)));
    }
    for (number, input) in (1..).zip(inputs) {
        let machine = input.machine();
        let of = Some((number, machine.as_str()));
        parts.extend(results(input, of, Maps::Elsewhere));
        if input.run().is_some() {
            parts.extend(machine::sections(input, of));
        }
    }
    // One section covers all files.
    if let Some(file) = inputs.iter().find(|input| input.file().is_some()) {
        parts.extend(machine::sections(file, None));
    }
    parts
}

pub(super) fn mixed(inputs: &[ReportInput<'_>]) -> String {
    let differ = |fact: &dyn Fn(&ReportInput<'_>) -> String| {
        inputs.windows(2).any(|pair| fact(&pair[0]) != fact(&pair[1]))
    };
    let mut sentences = Vec::new();
    if differ(&|input| input.is_simulated().to_string()) {
        sentences.push(
            "Simulated and real machines are mixed here: simulated numbers say nothing about any \
                        computer.",
        );
    }
    if differ(&|input| input.maps.first().map_or(String::new(), |map| map.kernel.clone())) {
        sentences.push(
            "These runs used different kernels (timed loops) for their first maps: their numbers are \
             different quantities.",
        );
    }
    if differ(&|input| input.file().is_some().to_string()) {
        sentences.push(
            "Runs of coretalk and files of other tools are mixed here: tools measure different \
                        things.",
        );
    }
    if inputs.iter().any(|input| !input.is_complete()) {
        sentences.push("A run marked incomplete was interrupted before everything was measured.");
    }
    sentences.iter().map(|sentence| format!("<p class=\"note\">! {sentence}</p>")).collect()
}

fn difference(differing: &Differing<'_>) -> Section {
    let Some(view) = differing.words() else {
        let refusal = differing.refusal().map(Block::Prose);
        return Section::new("difference", "Difference", None, html::blocks(&Vec::from_iter(refusal)));
    };
    let called = view.called();
    let mut blocks = vec![Block::Prose(answer(&view))];
    blocks.extend(sides_words(&view, "{called}: {side}").map(Block::Prose));
    blocks.extend(mismatches_words(&view).map(Block::Doubt));
    blocks.extend(pairing_words(view.alignment, view.comparison, &called).map(Block::Doubt));
    blocks.extend(saturated(&view).map(Block::Prose));
    let mut body = html::blocks(&blocks);
    for dataset in &view.comparison.datasets {
        body.push_str(&table(&fmt::sentence(&heading(dataset)), &levels(dataset, &view)));
        let words = remarks(dataset, &view).into_iter().chain(tally(dataset)).map(Block::Prose);
        body.push_str(&html::blocks(&Vec::from_iter(words)));
    }
    Section::new("difference", "Difference", None, body)
}

/// Machines × inferred groups of pairs, if some inputs are files. Files have no relations.
fn groups(inputs: &[ReportInput<'_>]) -> Option<Section> {
    let sides: Vec<_> = inputs.iter().map(ReportInput::side).collect();
    let with_levels: Vec<_> = sides.iter().map(|side| (side, Levels::from_side(side))).collect();
    let known = overview(&with_levels);
    if known.rows.is_empty() {
        return None;
    }
    // Levels at the same place share a column. Their kind shows whether they have the same meaning.
    let mut levels: Vec<&GroupLevel> = Vec::new();
    for group in &known.groups {
        if !levels.contains(&&group.level) {
            levels.push(&group.level);
        }
    }
    let kinds = kinds_words(&known);
    let rows = known.rows.iter().enumerate().map(|(index, row)| {
        let input = &inputs[row.side];
        let all = found(row, index);
        let found = || known.groups.iter().zip(&all).filter_map(|(of, group)| Some((of, group.as_ref()?)));
        let mut cells: Vec<Cell> =
            vec![Cell::name(&[input.marks().join(" "), input.machine()].join(" ")), Cell::name(&about(row))];
        let kind = || found().find_map(|(of, _)| of.kind);
        cells.extend(kinds.map(|_| Cell::known(kind().map(|kind| Cell::name(&kind.to_string())))));
        cells.extend(levels.iter().map(|level| {
            let of_level = found().find(|(of, _)| of.level == **level);
            of_level.map_or(Cell::Unknown, |(_, of)| of.in_short().into())
        }));
        cells
    });
    let mut columns = vec![Column::words("machine"), Column::words("what")];
    columns.extend(kinds.map(|_| Column::words("kind")));
    columns.extend(levels.iter().map(|level| Column::numbers(level_words(level))));
    let caption = "Median of the pairs in each group, with their 5th to 95th percentile; groups × CPUs \
                   where the latencies show groups";
    let words = kinds.map(|words| Block::Prose(Sentence::new("{words}.").with("words", words)));
    let body = table(caption, &Table::new(columns).with(rows)) + &html::blocks(&Vec::from_iter(words));
    Some(Section::new("relations", "Side by side", None, body))
}

fn relations(inputs: &[ReportInput<'_>]) -> Option<Section> {
    let relations_of =
        |input: &ReportInput<'_>| Some(by_relation(input.latencies().first()?, input.topology()));
    let known: Vec<Vec<OfRelation>> =
        inputs.iter().map(|input| relations_of(input).unwrap_or_default()).collect();
    let shown: Vec<Relation> = Relation::ALL
        .into_iter()
        .filter(|relation| known.iter().flatten().any(|row| row.relation == *relation))
        .collect();
    if shown.is_empty() {
        return None;
    }
    let rows = inputs.iter().zip(&known).map(|(input, known)| {
        let mut row: Vec<Cell> = vec![
            Cell::name(&[input.marks().join(" "), input.machine()].join(" ")),
            input.latencies().first().map_or("".into(), |map| Cell::name(map.kernel.as_str())),
        ];
        row.extend(shown.iter().map(|relation| {
            let found = known.iter().find(|row| row.relation == *relation);
            // The document of each run has the value of each pair.
            Cell::known(found.map(|row| {
                let median = DisplayValue::bare(Number::Point(row.median_ns), Source::Unrecorded);
                Sentence::new("{median} ({range}, {pairs})")
                    .with("median", median)
                    .with("range", fmt::span(row.range_ns, [Source::Unrecorded, Source::Unrecorded]))
                    .with("pairs", Sentence::counted(row.pairs, Source::Unrecorded, ["pair", "pairs"]))
            }))
        }));
        row
    });
    let mut columns = vec![Column::words("machine"), Column::words("kernel")];
    let title = |relation: &Relation| {
        let relation = relation.name().replace('-', " ");
        Column::numbers(Sentence::new("{relation} ns").with_name("relation", &relation))
    };
    columns.extend(shown.iter().map(title));
    let caption = "Median of the pairs by the closest thing that they share, with min and max";
    Some(Section::new("relations", "Side by side", None, table(caption, &Table::new(columns).with(rows))))
}
