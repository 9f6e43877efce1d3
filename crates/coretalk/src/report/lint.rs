//! The screen of `lint`: each doubt with its cells, what shows it, and what to do about it.

use super::structure::{contradictory_words, unfit_words};
use super::text::{count, ns, percent, plain};
use crate::blocks::{Block, Column, Table};
use coretalk_model::CpuId;
use coretalk_model::formats::ImportedMatrix;
use coretalk_model::lint::Doubt;

/// A matrix and its doubts.
#[derive(Debug, Clone)]
pub struct LintView<'a> {
    /// The file.
    pub name: &'a str,
    /// As read.
    pub matrix: &'a ImportedMatrix,
    /// What was found.
    pub doubts: Vec<Doubt>,
}

/// Cells that are named one by one.
const NAMED: usize = 6;

/// The screen.
pub fn blocks(views: &[LintView<'_>]) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for view in views {
        let title = view.matrix.title.as_ref().map_or(String::new(), |title| format!(" · {}", plain(title)));
        let cpus = count(view.matrix.matrix.len() as u64, "CPU");
        let unit = view.matrix.unit.to_string();
        let head = format!("{}{title} · {} · {cpus} · {unit}", plain(view.name), view.matrix.format);
        blocks.extend([Block::Gap, Block::Question(head.into())]);
        if view.doubts.is_empty() {
            blocks.push(Block::Prose("nothing doubtful found".to_owned().into()));
        }
        let rows = view.doubts.iter().map(|doubt| [doubt.kind().name().into(), words(doubt, &unit).into()]);
        blocks.push(Block::Table(Table::new(["", ""].map(Column::words)).with(rows)));
    }
    blocks
}

/// A doubt as a sentence.
pub(super) fn words(doubt: &Doubt, unit: &str) -> String {
    match doubt {
        Doubt::Zero { cells } => format!(
            "{}: {} exactly 0: the clock of that tool was too coarse; do not read {} as fast",
            pairs(cells),
            if cells.len() == 1 { "the value is" } else { "the values are" },
            if cells.len() == 1 { "it" } else { "them" },
        ),
        Doubt::TooFast { cells, least } => format!(
            "{}: down to {} {unit}, faster than any two CPUs can be; check the unit and the tool",
            pairs(cells),
            ns(*least)
        ),
        Doubt::TooSlow { cells, most, median } => format!(
            "{}: up to {} {unit} against a median of {}; something else was running there; measure again",
            pairs(cells),
            ns(*most),
            ns(*median)
        ),
        Doubt::Missing { cells, of } => {
            format!("{}: no value ({} of {of} are not in the file)", pairs(cells), cells.len())
        }
        Doubt::ClockComb { step, least } => format!(
            "the values are multiples of {} {unit}: the clock of that tool was coarse; smaller differences \
             mean nothing, and the fastest pair ({} {unit}) may be off by half of it",
            ns(*step),
            ns(*least)
        ),
        Doubt::TaintedHome { clean, tainted, far: [inside, same, across] } => format!(
            "CPUs {tainted} are as slow among themselves ({} {unit}) as across ({}), while CPUs {clean} are not ({}): \
             the measured line was in the memory of CPUs {clean}, and the other pairs paid for that distance; the true values of CPUs {tainted} are lower",
            ns(*same),
            ns(*across),
            ns(*inside)
        ),
        Doubt::Asymmetry { typical, cells, worst } => format!(
            "the two directions of a typical pair differ by {}, most by {} ({}): a round trip has no direction, so this \
             is the noise of the tool, or two runs in one file",
            percent(typical - 1.0),
            percent(worst - 1.0),
            pairs(cells)
        ),
        Doubt::Unpinned { predicted, spread, open } => {
            let triples = if open.is_empty() {
                String::new()
            } else {
                format!("; fast pairs that fit no group: {}", pairs(open))
            };
            format!(
                "values vary by {}, and no CPU's row resembles another's (similar rows explain only {} of \
                 that){triples}: unpinned threads look like this, and so does noise; no groups can be inferred",
                percent(*spread),
                percent(predicted.max(0.0))
            )
        }
        Doubt::FirstCpu { pair, value, usual } => format!(
            "{}: {} {unit}, where other CPUs have {} to their nearest: the tool itself ran there; measure this pair \
             again",
            pairs(&[*pair]),
            ns(*value),
            ns(*usual)
        ),
        Doubt::OddCpu { cpus, value, usual } => format!(
            "CPU{} {cpus}: a median of {} {unit} with the other CPUs, which have {} among themselves: disturbed while \
             measured, slower hardware, or far away; measure again",
            if cpus.len() == 1 { "" } else { "s" },
            ns(*value),
            ns(*usual)
        ),
        Doubt::Copied { cells, of } => format!(
            "{}: digit by digit the values of {}: copied, not measured; measure again",
            pairs(cells),
            pairs(of)
        ),
        Doubt::Contradictory { pairs } => contradictory_words(*pairs),
        Doubt::Unfit { cells, has_groups } => {
            let [a, b] = cells[0].pair;
            format!(
                "{}, such as CPUs {a} and {b}: disturbed while measured, or built differently; `topology` lists them",
                unfit_words(cells.len(), *has_groups)
            )
        }
    }
}

/// What is doubtful about the numbers whose structure is shown above, but for what that says itself.
pub fn remarks(doubts: &[Doubt], unit: &str) -> Vec<Block<'static>> {
    let others =
        doubts.iter().filter(|doubt| !matches!(doubt, Doubt::Unfit { .. } | Doubt::Contradictory { .. }));
    others.map(|doubt| Block::Doubt(format!("{}: {}", doubt.kind(), words(doubt, unit)).into())).collect()
}

/// `CPUs 0 and 1, 0 and 2 and 17 more pairs`.
fn pairs(cells: &[[CpuId; 2]]) -> String {
    let named: Vec<String> = cells.iter().take(NAMED).map(|[a, b]| format!("{a} and {b}")).collect();
    let more = cells.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {} more", count(more as u64, "pair")) } else { String::new() };
    format!("CPUs {}{rest}", named.join(", "))
}
