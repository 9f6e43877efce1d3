//! Doubts about matrices of other tools.

use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::{held, unheld};

/// Why nothing here says which pairs fit.
const OF_THE_INFERENCE: &str = "what groups explain is for the inference to say, which `topology` tells too";

pub const PATTERNS: &[Pattern] = &[
    held("{file}.csv · {format} · {n#} CPUs · {unit}", file),
    held("CPU {a} and {b}: {words}", doubt),
    held(
        "CPUs {who}: a median of {x#} {unit} with the other CPUs, which have {y#} among themselves: {rest}",
        doubt,
    ),
    held(
        "CPU {who}: a median of {x#} {unit} with the other CPUs, which have {y#} among themselves: {rest}",
        doubt,
    ),
    held(
        "{n#} pair{s?} {lie} nearer than the other pairs of their CPUs allow, and nothing shows {rest}",
        doubt,
    ),
    held(
        "CPUs {who} are as slow among themselves ({x#} {unit}) as across ({y#}), while CPUs {clean} are not ({z#}): {rest}",
        doubt,
    ),
    held("CPUs {who}: {x#} {unit}, where other CPUs have {y#} to their nearest: {rest}", doubt),
    held("CPUs {who}: up to {x#} {unit} against a median of {y#}; {rest}", doubt),
    held("the values are multiples of {x#} {unit}: {rest}", doubt),
    held("the two directions of a typical pair differ by {x%}, most by {y%} ({who}): {rest}", doubt),
    unheld("{n#} pair{s?} {do} not fit the groups, such as CPUs {rest}", OF_THE_INFERENCE),
    unheld("{n#} pair{s?} {are} unlike the rest, such as CPUs {rest}", OF_THE_INFERENCE),
    held(
        "values vary by {x%}, and no CPU's row resembles another's (similar rows explain only {y%} of that){rest?}",
        doubt,
    ),
];

fn file(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.probe = "lint".to_owned();
    let cpus = list(&reader.run.document["matrices"][0]["cpus"]).len();
    reader.is("lint", said.number("n"), Some(cpus as f64), "CPUs");
}

/// A simulated machine that is sound gives no ground for any doubt about the tool that measured it.
fn doubt(reader: &mut Reader<'_>, _: &Said<'_>) {
    reader.holds("lint", false, || "the values are those of a sound machine, measured well".to_owned());
}
