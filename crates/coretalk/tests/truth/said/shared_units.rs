//! What work on both of two CPUs shows of the units that they share.

use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::held;
use coretalk_model::{CpuId, Relation};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("{verb} SMT siblings: CPUs {pairs} (each drops to {kept%} when both are busy)", threads),
    held("{verb} separate cores: CPUs {pairs} (each keeps {kept%} when both are busy)", cores),
    held("cannot tell whether CPUs {pairs} are threads of one core: {why}", untold),
    held("CONFLICT: the system reports CPUs {pairs} as {what}, but they share {else}", conflict_of_work),
];

/// `0+16, 7+23`.
fn pair_list(text: &str) -> Vec<[CpuId; 2]> {
    let pair = |text: &str| {
        let (a, b) = text.split_once('+')?;
        Some([CpuId(a.trim().parse().ok()?), CpuId(b.trim().parse().ok()?)])
    };
    text.split(", ").filter_map(pair).collect()
}

fn threads(reader: &mut Reader<'_>, said: &Said<'_>) {
    work(reader, said, true);
}

fn cores(reader: &mut Reader<'_>, said: &Said<'_>) {
    work(reader, said, false);
}

/// What is kept while both work is that of the document, and the verdict is true.
fn work(reader: &mut Reader<'_>, said: &Said<'_>, shared: bool) {
    let pairs = pair_list(said.text("pairs"));
    reader.holds("execution", !pairs.is_empty(), || "no pair is named".to_owned());
    let truth = reader.run.truth();
    let mut kept: Vec<f64> = Vec::new();
    for [a, b] in pairs {
        let is_smt = truth.relation(a, b) == Relation::Smt;
        reader.holds("execution", is_smt == shared, || {
            format!("CPUs {a} and {b} are threads of one core: {is_smt}")
        });
        if said.sentence.starts_with("confirms") {
            let told = reader.run.reported.relation(a, b) == Relation::Smt;
            reader.holds("execution", told == shared, || {
                format!("of CPUs {a} and {b} the system reports: {told}")
            });
        }
        let of = |test: &&Value| test["from"] == a.0 && test["to"] == b.0 && test["tested_as"] != "control";
        let Some(test) = list(&reader.run.document["topology"]["execution"]).iter().find(of) else {
            reader.fail("execution", format!("the document has no test of CPUs {a} and {b}"));
            continue;
        };
        let side = usize::from(!shared);
        kept.extend(
            ["multiplier_kept", "divider_kept"]
                .iter()
                .filter_map(|unit| test[*unit][side].as_f64())
                .reduce(f64::min),
        );
        let verdict = test["verdict"].as_str().unwrap_or_default();
        reader.holds("execution", verdict == if shared { "shared" } else { "apart" }, || {
            format!("the document says {verdict}")
        });
    }
    let told = kept.into_iter().reduce(if shared { f64::max } else { f64::min }).map(|kept| kept.min(1.0));
    reader.is("execution", said.share("kept"), told, "what is kept");
}

fn untold(reader: &mut Reader<'_>, said: &Said<'_>) {
    for [a, b] in pair_list(said.text("pairs")) {
        let of = |test: &&Value| test["from"] == a.0 && test["to"] == b.0;
        let test = list(&reader.run.document["topology"]["execution"]).iter().find(of);
        let verdict = test.and_then(|test| test["verdict"].as_str()).unwrap_or("no test").to_owned();
        reader.holds("execution", !["shared", "apart"].contains(&verdict.as_str()), || {
            format!("the document says {verdict}")
        });
    }
}

fn conflict_of_work(reader: &mut Reader<'_>, said: &Said<'_>) {
    let truth = reader.run.truth();
    for [a, b] in pair_list(said.text("pairs")) {
        let (told, is) = (reader.run.reported.relation(a, b), truth.relation(a, b));
        reader.holds("execution", (told == Relation::Smt) != (is == Relation::Smt), || {
            format!("reported {told:?}, truly {is:?}")
        });
    }
}
