//! Comparisons of two runs.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words, reported};
use super::map::cells as values_of;
use super::{held, unheld};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Relation};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("A {name} · {machine} · {started} · {n#} CPU{s?}", side),
    held("B {name} · {machine} · {started} · {n#} CPU{s?}", side),
    held(
        "cells: {slower#} slower, {faster#} faster, {same#} the same, {untold#} undecided (at most 5 % of the differences found are false alarms)",
        tally,
    ),
    held("A and B are alike: no level differs by {share%} or more.", no_difference),
    held("B is slower than A: {levels~}.", slower),
    held("B is faster than A: {levels~}.", faster),
    held("Cannot tell: {levels~}.", untold),
    held("{n#} pair{s?} changed differently from the rest of the level.", single),
    held(
        "In {unit} as measured, B differs by up to {share%}: its core clock was about {clock%} {how}.",
        clock,
    ),
    held("B is slower than A: all pairs alike ({share%} ±{reach%}).", together),
    held("B is faster than A: all pairs alike ({share%} ±{reach%}).", together),
    held("CPU model: {a} in A, {b} in B", mismatch),
    held("topology: {a} in A, {b} in B: different experiments, compared because of --force", mismatch),
    held("topology: {a} in A, {b} in B", mismatch),
    held("scenario: {a} in A, {b} in B", mismatch),
    held("CPUs: {a} in A, {b} in B", mismatch),
    unheld(
        "Left out because they changed state during a run: {n#} pair{s?}.",
        "the document tells cells, not whether they were left out",
    ),
    unheld("On one side only: {n#} value{s?}.", "the document holds what both sides have"),
];

fn differences<'a>(reader: &Reader<'a>) -> &'a [Value] {
    list(&reader.run.document["differences"])
}

fn side(reader: &mut Reader<'_>, said: &Said<'_>) {
    let letter = if said.sentence.starts_with('A') { "a" } else { "b" };
    let told = &reader.run.document["compared"][letter];
    reader.is("compare", said.number("n"), told["cpus"].as_f64(), "CPUs");
    reader.holds("compare", told["machine"] == said.text("machine"), || {
        format!("the document says {}", told["machine"])
    });
}

fn mismatch(reader: &mut Reader<'_>, said: &Said<'_>) {
    let what = said.sentence.split(':').next().unwrap_or_default();
    let told = list(&reader.run.document["compared"]["mismatches"]).iter().find(|told| told["what"] == what);
    let same = |side: &str| {
        let shown = said.text(side).trim_end_matches('…');
        told.is_some_and(|told| told[side].as_str().unwrap_or("unknown").starts_with(shown))
    };
    reader.holds("compare", same("a") && same("b"), || format!("the document has {told:?}"));
}

fn is_level(difference: &&Value) -> bool {
    difference["cell"].is_null()
}

/// The row of a level: by the words of its relation.
fn level<'a>(reader: &Reader<'a>, words: &str) -> Option<&'a Value> {
    differences(reader).iter().filter(is_level).find(|difference| {
        let name = difference["level"].as_str().unwrap_or_default();
        let relation = Relation::ALL.into_iter().find(|relation| relation.name() == name);
        let of_topology = relation.map(|relation| relation_words(relation, &reader.run.reported));
        of_topology.as_deref() == Some(words) || name == words || name == "all" && words == "all pairs"
    })
}

/// The median of the pairs of a relation on a side, by what that side itself says that they share.
fn own_median(side: &Value, relation: Relation) -> Option<f64> {
    let topology = reported(side);
    let of: Vec<f64> = values_of(&side["matrices"][0])
        .into_iter()
        .filter(|(a, b, _)| topology.relation(CpuId(*a), CpuId(*b)) == relation)
        .map(|cell| cell.2)
        .collect();
    median(&of)
}

pub fn levels(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let at = |title: &str| heading.iter().position(|other| other.starts_with(title));
    for row in &table.rows[1..] {
        let Some(told) = level(reader, &row[0]) else {
            reader.fail("compare", format!("the document has no level {}", row[0]));
            continue;
        };
        if let Some(pairs) = at("pairs").and_then(|at| Printed::read(&row[at])) {
            reader.is("compare", pairs, told["pairs"].as_f64(), "the number of pairs");
        }
        let relation = Relation::ALL.into_iter().find(|relation| told["level"] == relation.name());
        for (title, key, side) in [("A ", "a", 0), ("B ", "b", 1)] {
            let Some(number) = at(title).and_then(|at| Printed::read(&row[at])) else { continue };
            reader.is("compare", number, told[key].as_f64(), title);
            let own = reader
                .run
                .sources
                .get(side)
                .zip(relation)
                .and_then(|(side, relation)| own_median(side, relation));
            if let Some(own) = own {
                reader.holds("compare of other numbers", number.is_near(own, 0.03), || {
                    format!("pairs that share this on side {title}take {own:.1}, not {}", number.value)
                });
            }
        }
        let shift = at("shift").and_then(|at| Printed::read(&row[at])).unwrap();
        reader.is(
            "compare",
            shift,
            told["shift_percent"].as_f64().map(|percent| percent / 100.0),
            "the shift",
        );
        let [a, b] = ["A ", "B "].map(|title| {
            at(title).and_then(|at| Printed::read(&row[at])).map_or(f64::NAN, |number| number.value)
        });
        // Shifts are in cycles of the core where both sides know them, and the medians of cells that move alike.
        reader.holds("shift", (b / a - 1.0 - shift.value).abs() < 0.04, || {
            format!("from {a} to {b} it is {:+.1} %", 100.0 * (b / a - 1.0))
        });
        if let Some((low, high)) = at("95 %").and_then(|at| row[at].split_once(" … ")) {
            for (end, index) in [(low, 0), (high, 1)] {
                reader.is(
                    "compare",
                    Printed::read(end).unwrap(),
                    told["ci"][index].as_f64().map(|percent| percent / 100.0),
                    "an end of its interval",
                );
            }
        }
        let verdict = row.last().cloned().unwrap_or_default();
        let is_so = match told["verdict"].as_str().unwrap_or_default() {
            "faster" => verdict == "FASTER",
            "slower" => verdict == "SLOWER",
            "same" => verdict.starts_with("same within"),
            _ => verdict.starts_with("cannot tell"),
        };
        reader.holds("compare", is_so, || format!("the document says {}", told["verdict"]));
        if let Some(within) = verdict.strip_prefix("same within ").and_then(Printed::read) {
            reader.is(
                "compare",
                within,
                told["within_percent"].as_f64().map(|percent| percent / 100.0),
                "within what",
            );
        }
    }
}

/// Cells that stand out.
pub fn cells(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows {
        let pair: Vec<u64> =
            row[0].split(|c: char| !c.is_ascii_digit()).filter_map(|cpu| cpu.parse().ok()).collect();
        let [a, b] = pair[..] else { continue };
        let Some(told) = differences(reader).iter().find(|told| told["cell"][0] == a && told["cell"][1] == b)
        else {
            reader.fail("compare", format!("the document has no {a} and {b}"));
            continue;
        };
        for (cell, exact) in [
            (2, told["a"].as_f64()),
            (3, told["b"].as_f64()),
            (4, told["shift_percent"].as_f64().map(|percent| percent / 100.0)),
        ] {
            if let Some(number) = row.get(cell).and_then(|cell| Printed::read(cell)) {
                reader.is("compare", number, exact, "a number of this pair");
            }
        }
    }
}

fn of_pairs<'a>(reader: &Reader<'a>) -> impl Iterator<Item = &'a Value> {
    differences(reader).iter().filter(|difference| !is_level(difference))
}

fn tally(reader: &mut Reader<'_>, said: &Said<'_>) {
    for (hole, verdict) in
        [("slower", "slower"), ("faster", "faster"), ("same", "same"), ("untold", "cannot-tell")]
    {
        let many = of_pairs(reader).filter(|difference| difference["verdict"] == verdict).count();
        reader.is("count", said.number(hole), Some(many as f64), verdict);
    }
}

fn no_difference(reader: &mut Reader<'_>, said: &Said<'_>) {
    let least = reader.run.document["compared"]["min_effect_percent"].as_f64().map(|percent| percent / 100.0);
    reader.is("compare", said.share("share"), least, "the least difference that counts");
    let differ: Vec<&Value> =
        differences(reader).iter().filter(|of| is_level(of) && of["verdict"] != "same").collect();
    reader.holds("compare", differ.is_empty(), || format!("{} levels are not the same", differ.len()));
}

/// `same L3 (+5.0 %), across L3 (+3.1 %)`.
fn named(reader: &mut Reader<'_>, said: &Said<'_>, verdict: &str) {
    for part in said.text("levels").split("), ") {
        let Some((words, shift)) = part.rsplit_once(" (") else { continue };
        let words = words.rsplit(", ").next().unwrap_or(words);
        let Some(told) = level(reader, words) else {
            reader.fail("compare", format!("the document has no level {words}"));
            continue;
        };
        reader.holds("compare", told["verdict"] == verdict, || {
            format!("the document says {} of {words}", told["verdict"])
        });
        let (shift, reach) =
            shift.trim_end_matches(')').split_once(" ±").unwrap_or((shift.trim_end_matches(')'), ""));
        let shift = Printed::read(shift).unwrap();
        reader.is("compare", shift, told["shift_percent"].as_f64().map(|percent| percent / 100.0), words);
        let point = told["shift_percent"].as_f64().unwrap_or(f64::NAN);
        let ends = [0, 1].map(|end| told["ci"][end].as_f64());
        let exact = ends.map(|end| end.map(|end| (end - point).abs() / 100.0));
        match (Printed::read(reach), exact) {
            (Some(reach), [Some(low), Some(high)]) => {
                reader.is("compare", reach, Some(low.max(high)), "half the interval");
            }
            (reach, ends) => reader.holds("compare", reach.is_none() && ends.contains(&None), || {
                format!("the interval of {words} is {ends:?}")
            }),
        }
        if verdict != "cannot-tell" {
            let relation = Relation::ALL.into_iter().find(|relation| told["level"] == relation.name());
            let own: Vec<f64> =
                reader.run.sources.iter().filter_map(|side| own_median(side, relation?)).collect();
            if let [a, b] = own[..] {
                reader.holds("compare of other numbers", (b / a - 1.0 - shift.value).abs() < 0.04, || {
                    format!("{words} by what each side shares: {a:.1} and {b:.1}")
                });
            }
        }
    }
}

fn slower(reader: &mut Reader<'_>, said: &Said<'_>) {
    named(reader, said, "slower");
}

fn faster(reader: &mut Reader<'_>, said: &Said<'_>) {
    named(reader, said, "faster");
}

fn untold(reader: &mut Reader<'_>, said: &Said<'_>) {
    named(reader, said, "cannot-tell");
}

/// The same of every level.
fn together(reader: &mut Reader<'_>, said: &Said<'_>) {
    let verdict = match said.sentence {
        sentence if sentence.starts_with("B is slower") => "slower",
        _ => "faster",
    };
    let levels: Vec<&Value> = differences(reader).iter().filter(is_level).collect();
    reader.holds("compare", levels.iter().all(|level| level["verdict"] == verdict), || {
        format!("the levels are {levels:?}")
    });
    let shift = said.share("share").value;
    let is_near = |level: &&Value| {
        level["shift_percent"].as_f64().is_some_and(|percent| (percent / 100.0 - shift).abs() < 0.03)
    };
    reader.holds("compare", levels.iter().all(is_near), || format!("{shift}: {levels:?}"));
}

fn single(reader: &mut Reader<'_>, said: &Said<'_>) {
    let many = of_pairs(reader).filter(|pair| pair["departs"] == true).count();
    reader.is("count", said.number("n"), Some(many as f64), "pairs that stand out");
}

fn clock(reader: &mut Reader<'_>, said: &Said<'_>) {
    let ghz = |side: &Value| -> Option<f64> {
        let clocks: Vec<f64> =
            list(&side["matrices"][0]["cells"]).iter().filter_map(|cell| cell["core_ghz"].as_f64()).collect();
        median(&clocks)
    };
    let sides: Vec<f64> = reader.run.sources.iter().filter_map(ghz).collect();
    if let [a, b] = sides[..] {
        let told = said.share("clock");
        reader.holds("compare", (b < a) == (said.text("how") == "lower"), || format!("{a} and {b} GHz"));
        reader
            .holds("compare", (told.value - (b / a - 1.0).abs()).abs() < 0.01, || format!("{a} and {b} GHz"));
    }
}
