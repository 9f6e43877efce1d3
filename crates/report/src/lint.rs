//! The screen of `lint`: each doubt with its cells, the evidence, and a remedy.

use super::lists::{self, cpus};
use super::structure::{contradictory_words, unfit_words};
use crate::blocks::value::{DisplayValue, Number, Sentence, Source, pointer};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::CpuId;
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::lint::LintFinding;
use coretalk_model::quantity::Unit;

/// A matrix and its doubts.
#[derive(Debug, Clone)]
pub struct LintView<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The matrix as read.
    pub matrix: &'a ImportedMatrix,
    /// The doubts found.
    pub doubts: Vec<LintFinding>,
}

const MAX_NAMED: usize = 6;

/// The screen.
pub fn blocks(views: &[LintView<'_>]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for view in views {
        let unit = view.matrix.unit.name();
        let head = head(view.name, view.matrix, Source::Field("/topology/cpus".to_owned()));
        blocks.extend([Block::Gap, Block::Question(head)]);
        if view.doubts.is_empty() {
            blocks.push(Block::Prose("nothing doubtful found".into()));
        }
        let rows = view
            .doubts
            .iter()
            .enumerate()
            .map(|(at, doubt)| [doubt.kind().name().into(), words(at, doubt, unit)].map(Cell::Sentence));
        blocks.push(Block::Table(Table::new(["", ""].map(Column::words)).with(rows)));
    }
    blocks
}

/// Describes a matrix of a file, in one line.
pub fn head(file: &str, matrix: &ImportedMatrix, cpus: Source) -> Sentence {
    let parts = [
        Some(Sentence::name(file)),
        matrix.title.as_deref().map(Sentence::name),
        Some(matrix.format.name().into()),
        Some(Sentence::counted(matrix.matrix.len() as u64, cpus, ["CPU", "CPUs"])),
        Some(matrix.unit.name().into()),
    ];
    Sentence::joined(parts.into_iter().flatten(), " · ")
}

fn unrecorded(number: f64) -> DisplayValue {
    DisplayValue::bare(Number::Point(number), Source::Unrecorded)
}

/// A doubt as a sentence. `at` is the index among the doubts of the matrix.
pub(super) fn words(at: usize, doubt: &LintFinding, unit: &'static str) -> Sentence {
    let pair_list = |cells: &[[CpuId; 2]]| list_of_pairs(pairs_source(at), cells);
    let share = |share: f64| unrecorded(share).in_unit(Unit::Share);
    match doubt {
        LintFinding::Zero { cells } => Sentence::new(match cells.len() {
            1 => {
                "{pairs}: the value is exactly 0: the clock of that tool was too coarse; do not read it as fast"
            }
            _ => {
                "{pairs}: the values are exactly 0: the clock of that tool was too coarse; do not read them as fast"
            }
        })
        .with("pairs", pair_list(cells)),
        LintFinding::TooFast { cells, least } => Sentence::new(
            "{pairs}: down to {least} {unit}, faster than any two CPUs can be; check the unit and the tool",
        )
        .with("pairs", pair_list(cells))
        .with("least", unrecorded(*least)),
        LintFinding::TooSlow { cells, most, median } => Sentence::new(
            "{pairs}: up to {most} {unit} against a median of {median}; something else was running there; measure again",
        )
        .with("pairs", pair_list(cells))
        .with("most", unrecorded(*most))
        .with("median", unrecorded(*median)),
        LintFinding::Missing { cells, of } => {
            let missing = Number::Count(cells.len() as u64);
            let total = DisplayValue::bare(Number::Count(*of as u64), Source::Unrecorded);
            Sentence::new("{pairs}: no value ({missing} of {all} are not in the file)")
                .with("pairs", pair_list(cells))
                .with("missing", DisplayValue::bare(missing, pairs_source(at)))
                .with("all", total)
        }
        LintFinding::ClockComb { step, least } => {
            let field = format!("/topology/doubts/{at}/step");
            Sentence::new(
                "the values are multiples of {step} {unit}: the clock of that tool was coarse; smaller differences \
                 mean nothing, and the fastest pair ({least} {unit}) may be off by half of it",
            )
            .with("step", DisplayValue::field(field, Number::Point(*step)))
            .with("least", unrecorded(*least))
        }
        LintFinding::TaintedHome { clean, tainted, far: [inside, same, across] } => Sentence::new(
            "CPUs {tainted} are as slow among themselves ({same} {unit}) as across ({across}), while CPUs {clean} are \
             not ({inside}): the measured line was in the memory of CPUs {clean}, and the other pairs paid for that \
             distance; the true values of CPUs {tainted} are lower",
        )
        .with("tainted", tainted.clone())
        .with("clean", clean.clone())
        .with("same", unrecorded(*same))
        .with("across", unrecorded(*across))
        .with("inside", unrecorded(*inside)),
        LintFinding::Asymmetry { typical, cells, worst } => Sentence::new(
            "the two directions of a typical pair differ by {typical}, most by {worst} ({pairs}): a round trip has no \
             direction, so this is the noise of the tool, or two runs in one file",
        )
        .with("typical", share(typical - 1.0))
        .with("worst", share(worst - 1.0))
        .with("pairs", pair_list(cells)),
        LintFinding::Unpinned { predicted, spread, open } => {
            let triples = match open.is_empty() {
                true => Sentence::new(""),
                false => Sentence::new("; fast pairs that fit no group: {pairs}").with("pairs", pair_list(open)),
            };
            Sentence::new(
                "values vary by {spread}, and no CPU's row resembles another's (similar rows explain only {predicted} \
                 of that){triples}: unpinned threads look like this, and so does noise; no groups can be inferred",
            )
            .with("spread", share(*spread))
            .with("predicted", share(predicted.max(0.0)))
            .with("triples", triples)
        }
        LintFinding::FirstCpu { pair, value, usual } => Sentence::new(
            "{pairs}: {value} {unit}, where other CPUs have {usual} to their nearest: the tool itself ran there; \
             measure this pair again",
        )
        .with("pairs", pair_list(&[*pair]))
        .with("value", unrecorded(*value))
        .with("usual", unrecorded(*usual)),
        LintFinding::OddCpu { cpus: odd, value, usual } => Sentence::new(
            "{cpus}: a median of {value} {unit} with the other CPUs, which have {usual} among themselves: disturbed \
             while measured, slower hardware, or far away; measure again",
        )
        .with("cpus", cpus(odd))
        .with("value", unrecorded(*value))
        .with("usual", unrecorded(*usual)),
        LintFinding::Copied { cells, of } => {
            Sentence::new("{pairs}: digit by digit the values of {others}: copied, not measured; measure again")
                .with("pairs", pair_list(cells))
                .with("others", list_of_pairs(Source::Unrecorded, of))
        }
        LintFinding::Contradictory { pairs } => contradictory_words(*pairs),
        LintFinding::Unfit { cells, has_groups } => {
            let [a, b] = cells[0].pair;
            Sentence::new(
                "{pairs}, such as CPUs {a} and {b}: disturbed while measured, or built differently; `topology` lists them",
            )
            .with("pairs", unfit_words(cells.len(), *has_groups))
            .with("a", a)
            .with("b", b)
        }
    }
    .with("unit", unit)
}

/// The doubts about a matrix, except those that the structure shown above already includes.
pub fn remarks(doubts: &[LintFinding], unit: &'static str) -> Vec<Block<'static>> {
    let is_other =
        |doubt: &LintFinding| !matches!(doubt, LintFinding::Unfit { .. } | LintFinding::Contradictory { .. });
    let others = doubts.iter().enumerate().filter(|(_, doubt)| is_other(doubt));
    let sentences = others.map(|(at, doubt)| {
        Sentence::new("{kind}: {words}")
            .with("kind", doubt.kind().name())
            .with("words", words(at, doubt, unit))
    });
    sentences.map(Block::Doubt).collect()
}

fn pairs_source(at: usize) -> Source {
    Source::Field(pointer!("/topology/doubts/{at}/pairs"))
}

fn list_of_pairs(all: Source, cells: &[[CpuId; 2]]) -> Sentence {
    let more = cells.len().saturating_sub(MAX_NAMED) as u64;
    let source = all.unlisted(MAX_NAMED);
    let rest = match more {
        0 => Sentence::new(""),
        _ => Sentence::pluralized(
            " and {number} more pair{s}",
            DisplayValue::bare(Number::Count(more), source),
        ),
    };
    Sentence::new("CPUs {pairs}{rest}")
        .with("pairs", lists::pairs(cells.iter().take(MAX_NAMED).copied()))
        .with("rest", rest)
}
