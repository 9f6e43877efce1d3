//! The result of `advise --prove`: prediction, measurement and conclusion.

use super::{bounds, counted, field};
use crate::advice::ProofView;
use crate::blocks::value::{DisplayUnit, DisplayValue, Number, Sentence};
use crate::blocks::{Block, Cell, Column, Table};
use coretalk_model::advise::{Against, Bracket, Proof, ProofVerdict};

pub(super) fn blocks(view: &ProofView, threads: usize) -> Vec<Block<'static>> {
    let (proof, place) = match view {
        ProofView::NotRun(reason) => {
            return vec![Block::Prose(Sentence::new("Not proven: {reason}.").with("reason", reason.clone()))];
        }
        ProofView::Ran { proof, place } => (proof, place),
    };
    let threads = Sentence::pluralized("{number} thread{s}", counted("threads", threads));
    let runs = Sentence::pluralized("{number} run{s}", counted("proof/runs", view.runs()));
    let heading =
        Sentence::new("Proof: workload {work} with {threads}, {runs} on each placement, interleaved")
            .with("work", proof.work.name())
            .with("threads", threads)
            .with("runs", runs);
    let columns = ["advised vs.", "predicted", "measured", "verdict"].map(Column::words);
    let table = Table::new(columns).with(proof.held.iter().enumerate().map(row));
    let mut blocks = vec![Block::Heading(heading), Block::Table(table), Block::Conclusion(conclusion(proof))];
    if place.result.budget_ended {
        let text = "The budget ended before every difference was known to ±2 %; try a longer --budget.";
        blocks.push(Block::Prose(text.into()));
    }
    blocks
}

fn row((index, against): (usize, &Against)) -> [Cell; 4] {
    let path = format!("proof/against/{index}");
    let measured =
        against.measured.map(|ratio| Bracket { point: ratio.point, low: ratio.low, high: ratio.high });
    let measured =
        measured.map(|ratio| times([&format!("{path}/measured"), &format!("{path}/ci")], &ratio).into());
    let predicted =
        times([&format!("{path}/predicted"), &format!("{path}/predicted_bounds")], &against.arm.predicted);
    let verdict = verdict(against.verdict).into();
    [arm_names(against).into(), predicted.into(), measured.unwrap_or(Cell::Unknown), verdict]
}

/// A ratio with its bounds, `4.72 × (4.53–4.91)`. `point` and `ends` are their keys in the document.
fn times([point, ends]: [&str; 2], bracket: &Bracket) -> Sentence {
    let value = |key: &str, ratio: f64| DisplayValue {
        number: Number::Point(ratio),
        unit: DisplayUnit::Decimals(if ratio >= 9.95 { 1 } else { 2 }),
        source: field(key),
    };
    let [low, high] = bounds(ends, bracket, value);
    let point = value(point, bracket.point);
    Sentence::new("{point} × ({low}–{high})").with("point", point).with("low", low).with("high", high)
}

fn verdict(verdict: ProofVerdict) -> &'static str {
    match verdict {
        ProofVerdict::AsPredicted => "as predicted",
        ProofVerdict::Less => "less than predicted",
        ProofVerdict::More => "more than predicted",
        ProofVerdict::Absent => "no gain",
        ProofVerdict::Contradicted => "contradicted",
        ProofVerdict::CannotTell => "cannot tell",
    }
}

/// The conclusion; the worst verdict takes precedence.
fn conclusion(proof: &Proof) -> Sentence {
    let with_verdict = |wanted: ProofVerdict| {
        let found = proof.held.iter().filter(|against| against.verdict == wanted).map(arm_names);
        Some(found.collect::<Vec<_>>()).filter(|found| !found.is_empty())
    };
    let sentence = |template, names| Sentence::new(template).with("names", Sentence::joined(names, " and "));
    if let Some(contradicted) = with_verdict(ProofVerdict::Contradicted) {
        let template = "Prediction and measurement disagree: the work ran faster on {names} than on the advised CPUs. \
             Something other than latency limits this work here; trust the measurement.";
        return sentence(template, contradicted);
    }
    if let Some(absent) = with_verdict(ProofVerdict::Absent) {
        let template = "Prediction and measurement disagree: the gain over {names} did not appear. Something other than \
             latency limits this work here; trust the measurement.";
        return sentence(template, absent);
    }
    if proof.held.iter().all(|against| against.verdict == ProofVerdict::CannotTell) {
        return "Cannot tell: the runs are too noisy or too few.".into();
    }
    let limits = [
        (ProofVerdict::Less, "; over {names} it gains less than predicted"),
        (ProofVerdict::More, "; over {names} it gains more than predicted"),
        (ProofVerdict::CannotTell, "; for {names} the runs are inconclusive"),
    ];
    let limits =
        limits.into_iter().filter_map(|(verdict, template)| Some(sentence(template, with_verdict(verdict)?)));
    Sentence::new("The advice holds{limits}.").with("limits", Sentence::joined(limits, ""))
}

fn arm_names(against: &Against) -> Sentence {
    let word = |name: &&'static str| if *name == "system-order" { "by number" } else { *name };
    Sentence::joined(against.arm.names.iter().map(word).map(Sentence::from), ", ")
}
