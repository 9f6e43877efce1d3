//! What `advise --prove` found: predicted and measured beside each other, and what follows.

use super::super::text::{count, plain};
use crate::advice::ProofView;
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::advise::{Against, Bracket, Proof, ProofVerdict};

/// The part of the screen, from its heading to what follows.
pub(super) fn blocks(view: &ProofView, threads: usize) -> Vec<Block<'static>> {
    let (proof, place) = match view {
        ProofView::NotRun(reason) => {
            return vec![Block::Prose(format!("Not proven: {}.", plain(reason)).into())];
        }
        ProofView::Ran { proof, place } => (proof, place),
    };
    let heading = format!(
        "Proof: workload {} with {}, {} on each placement, interleaved",
        proof.work.name(),
        count(threads as u64, "thread"),
        count(view.runs() as u64, "run")
    );
    let row = |against: &Against| {
        let measured = against.measured.as_ref();
        let Bracket { point, low, high } = against.arm.predicted;
        [
            named(against).into(),
            times(point, low, high).into(),
            Cell::known(measured.map(|measured| times(measured.point, measured.low, measured.high))),
            verdict(against.verdict).into(),
        ]
    };
    let columns = ["advised vs.", "predicted", "measured", "verdict"].map(Column::words);
    let table = Table::new(columns).with(proof.held.iter().map(row));
    let mut blocks = vec![
        Block::Heading(heading.into()),
        Block::Table(table),
        Block::Conclusion(conclusion(proof).into()),
    ];
    if place.result.budget_ended {
        let text = "The budget ended before every difference was known to ±2 %; try a longer --budget.";
        blocks.push(Block::Prose(text.to_owned().into()));
    }
    blocks
}

/// `4.72 × (4.53–4.91)`.
fn times(ratio: f64, low: f64, high: f64) -> String {
    format!("{} × ({}–{})", digits(ratio), digits(low), digits(high))
}

fn digits(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.2}") }
}

fn verdict(held: ProofVerdict) -> &'static str {
    match held {
        ProofVerdict::AsPredicted => "as predicted",
        ProofVerdict::Less => "less than predicted",
        ProofVerdict::More => "more than predicted",
        ProofVerdict::Absent => "no gain",
        ProofVerdict::Contradicted => "contradicted",
        ProofVerdict::CannotTell => "cannot tell",
    }
}

/// The worst news first.
fn conclusion(proof: &Proof) -> String {
    let of = |wanted: ProofVerdict| {
        let found = proof.held.iter().filter(move |against| against.verdict == wanted);
        found.map(named).collect::<Vec<String>>()
    };
    let [contradicted, absent, less, more, unclear] = [
        ProofVerdict::Contradicted,
        ProofVerdict::Absent,
        ProofVerdict::Less,
        ProofVerdict::More,
        ProofVerdict::CannotTell,
    ]
    .map(of);
    if !contradicted.is_empty() {
        return format!(
            "Prediction and measurement disagree: the work ran faster on {} than on the advised CPUs. Something \
             other than latency limits this work here; trust the measurement.",
            contradicted.join(" and ")
        );
    }
    if !absent.is_empty() {
        return format!(
            "Prediction and measurement disagree: the gain over {} did not appear. Something other than \
             latency limits this work here; trust the measurement.",
            absent.join(" and ")
        );
    }
    if unclear.len() == proof.held.len() {
        return "Cannot tell: the runs are too noisy or too few.".to_owned();
    }
    let mut text = "The advice holds".to_owned();
    if !less.is_empty() {
        text.push_str(&format!("; over {} it gains less than predicted", less.join(" and ")));
    }
    if !more.is_empty() {
        text.push_str(&format!("; over {} it gains more than predicted", more.join(" and ")));
    }
    if !unclear.is_empty() {
        text.push_str(&format!("; for {} the runs are inconclusive", unclear.join(" and ")));
    }
    text + "."
}

/// `by number, compact`: short, for a row of 80 columns.
fn named(against: &Against) -> String {
    let word = |name: &&'static str| if *name == "system-order" { "by number" } else { *name };
    against.arm.names.iter().map(word).collect::<Vec<&str>>().join(", ")
}
