//! What `advise --prove` found: predicted and measured beside each other, and what follows.

use super::super::text::{count, plain, wrap};
use crate::advice::ProofView;
use crate::blocks::Align;
use crate::render::terminal::Columns;
use coretalk_model::advise::{Against, Bracket, Held, Proof};

/// The part of the screen, from its heading to what follows.
pub(super) fn lines(view: &ProofView, threads: usize, width: usize) -> Vec<String> {
    let (proof, place) = match view {
        ProofView::NotRun(reason) => return wrap(&format!(" Not proven: {}.", plain(reason)), width, 1),
        ProofView::Ran { proof, place } => (proof, place),
    };
    let heading = format!(
        " Proof: the workload {} by {}, {} on each placement in turn",
        proof.work.name(),
        count(threads as u64, "thread"),
        count(view.runs() as u64, "run")
    );
    let mut lines = wrap(&heading, width, 2);
    let mut table = Columns::new(&[
        ("advised against", Align::Left),
        ("predicted", Align::Left),
        ("measured", Align::Left),
        ("so", Align::Left),
    ]);
    for against in &proof.held {
        let measured = against.measured.as_ref();
        let measured = measured.map(|measured| times(measured.point, measured.low, measured.high));
        let Bracket { point, low, high } = against.arm.predicted;
        table.row(vec![
            named(against),
            times(point, low, high),
            measured.unwrap_or_else(|| "·".to_owned()),
            verdict(against.verdict).to_owned(),
        ]);
    }
    lines.extend(table.lines(width));
    lines.extend(wrap(&conclusion(proof), width, 2));
    if place.result.budget_ended {
        let text = " The budget ended before every difference was known to ±2 %; try a longer --budget.";
        lines.extend(wrap(text, width, 1));
    }
    lines
}

/// `4.72 × (4.53–4.91)`.
fn times(ratio: f64, low: f64, high: f64) -> String {
    format!("{} × ({}–{})", digits(ratio), digits(low), digits(high))
}

fn digits(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.2}") }
}

fn verdict(held: Held) -> &'static str {
    match held {
        Held::AsPredicted => "as predicted",
        Held::Less => "less than predicted",
        Held::More => "more than predicted",
        Held::Absent => "no gain",
        Held::Contradicted => "contradicted",
        Held::CannotTell => "cannot tell",
    }
}

/// The worst news first.
fn conclusion(proof: &Proof) -> String {
    let of = |wanted: Held| {
        let found = proof.held.iter().filter(move |against| against.verdict == wanted);
        found.map(named).collect::<Vec<String>>()
    };
    let [contradicted, absent, less, more, unclear] =
        [Held::Contradicted, Held::Absent, Held::Less, Held::More, Held::CannotTell].map(of);
    if !contradicted.is_empty() {
        return format!(
            " → Prediction and measurement disagree: the work ran faster on {} than where it was advised. Latency does not \
             decide here; believe the measurement.",
            contradicted.join(" and ")
        );
    }
    if !absent.is_empty() {
        return format!(
            " → Prediction and measurement disagree: nothing of the gain over {} was seen. Something else than latency \
             decides how fast this work runs here; believe the measurement.",
            absent.join(" and ")
        );
    }
    if unclear.len() == proof.held.len() {
        return " → Cannot tell: the runs scatter too much, or were too few.".to_owned();
    }
    let mut text = " → The advice holds".to_owned();
    if !less.is_empty() {
        text.push_str(&format!(
            "; over {} it gains less than predicted, for the work does more than pass messages",
            less.join(" and ")
        ));
    }
    if !more.is_empty() {
        text.push_str(&format!("; over {} it gains more than predicted", more.join(" and ")));
    }
    if !unclear.is_empty() {
        text.push_str(&format!("; of {} the runs do not tell", unclear.join(" and ")));
    }
    text + "."
}

/// `by number, compact`: short, for a row of 80 columns.
fn named(against: &Against) -> String {
    let word = |name: &&'static str| if *name == "system-order" { "by number" } else { *name };
    against.arm.names.iter().map(word).collect::<Vec<&str>>().join(", ")
}
