//! One pair over time, and a machine that changes its state.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words};
use super::held;
use super::map::{OFF, nearest};
use coretalk_model::{CpuId, Relation};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("{value} ns between CPUs {a#} and {b#}: stable for {time@}{but?}", still),
    held("{value} ns between CPUs {a#} and {b#}: {why}", of_pair),
    held("changed {times}", changed),
    held("95 % over {batches#} batch{es?} and {passes#} pass{s?}", from),
    held("fastest batch {min#} ns", fastest),
    held("{cycles} core cycles at {ghz#} GHz", cycles),
    held("CPUs {a#} and {b#}: {shares}", shares),
    held("lines on the better node ({node#}); {penalty#} × as long on the other", home),
    held(
        "{k#} of {n#} pair{s?} changed during the {time@} watched. Each cell shows its most frequent level; the others \
         are in the JSON document.",
        pairs_changed,
    ),
    held(
        "{k#} of {n#} pair{s?} changed for a while during the {time@} watched. Each cell shows its most frequent level; \
         the others are in the JSON document.",
        pairs_changed,
    ),
    held("The pair that changed most, CPU {a#} ↔ CPU {b#}:", most_changed),
    held("cannot tell how they are connected: the states differ by {ratio#} ×", differ),
    held("cannot tell how they are connected: the states differ by {ratio#} ×.", differ),
    held(
        "cannot tell how they are connected: the states differ by {ratio#} ×, which the headline does not show",
        differ_elsewhere,
    ),
    held(
        "cannot tell how they are connected: the states differ by {ratio#} ×, which the headline does not show.",
        differ_elsewhere,
    ),
    held(
        "The system reports one {what} for CPUs {a#} and {b#}, and state {letter} contradicts it: {known}.",
        contradicts,
    ),
    held(
        "The system reports one {what} for both CPUs, and state {letter} contradicts it: {known}.",
        contradicts,
    ),
];

/// The only cell of the map.
fn cell<'a>(reader: &Reader<'a>) -> &'a Value {
    &reader.run.document["matrices"][reader.matrix]["cells"][0]
}

fn reach(of: &Value, point: f64) -> Option<f64> {
    Some((of[1].as_f64()? - point).max(point - of[0].as_f64()?))
}

/// A point with the reach of its interval.
fn with_reach(reader: &mut Reader<'_>, text: &str, told: &Value, what: &str) {
    let (point, width) = text.trim_end_matches([' ', '!']).split_once('±').unwrap_or((text, ""));
    let exact = told["median"].as_f64();
    reader.is("pair", Printed::read(point).unwrap(), exact, what);
    if let Some(width) = Printed::read(width) {
        let reach = exact.and_then(|point| reach(&told["ci"], point));
        reader.is("pair", width, reach, "the reach of its interval");
    }
}

fn of_pair(reader: &mut Reader<'_>, said: &Said<'_>) {
    with_reach(reader, said.text("value"), cell(reader), "the value");
    let kernel = reader.run.document["matrices"][reader.matrix]["kernel"].as_str().unwrap_or_default();
    let value = Printed::read(said.text("value").split('±').next().unwrap_or_default()).unwrap();
    let truth = nearest(&reader.run.true_ns(kernel, said.cpu("a"), said.cpu("b")), value.value);
    reader.is_near("pair", value, truth, OFF, "this pair");
}

fn still(reader: &mut Reader<'_>, said: &Said<'_>) {
    of_pair(reader, said);
    held_still(reader, said);
}

fn cycles(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cell = cell(reader);
    with_reach(reader, said.text("cycles"), &cell["cycles"], "cycles");
    reader.is("pair", said.number("ghz"), cell["core_ghz"].as_f64(), "the clock");
}

fn from(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cell = cell(reader);
    reader.is("count", said.number("batches"), cell["n"].as_f64(), "batches");
    reader.is("count", said.number("passes"), cell["passes"].as_f64(), "passes");
}

fn fastest(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.is("pair", said.number("min"), cell(reader)["min"].as_f64(), "the fastest batch");
}

fn shares(reader: &mut Reader<'_>, said: &Said<'_>) {
    let [a, b] = ["a", "b"].map(|hole| CpuId(said.cpu(hole)));
    let of_map = ["from", "to"].map(|end| CpuId(cell(reader)[end].as_u64().unwrap_or(0) as u32));
    reader.holds("pair", [a, b] == of_map, || format!("the map is of {of_map:?}"));
    let words = relation_words(reader.run.reported.relation(a, b), &reader.run.reported);
    reader.holds("pair", said.text("shares") == words, || format!("these share: {words}"));
}

fn home(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cell = cell(reader);
    reader.is("pair", said.number("node"), cell["home"].as_f64(), "the node of its lines");
    reader.is("pair", said.number("penalty"), cell["home_penalty"].as_f64(), "what the other node costs");
}

fn held_still(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.is(
        "time",
        said.time("time"),
        reader.run.document["watch"]["watched_s"].as_f64(),
        "the time watched",
    );
    let states = list(&reader.run.document["watch"]["states"]).len();
    reader.holds("states", states < 2, || format!("it was in {states} states"));
}

fn changed(reader: &mut Reader<'_>, said: &Said<'_>) {
    let visits: u64 = list(&reader.run.document["watch"]["states"])
        .iter()
        .filter_map(|state| state["visits"].as_u64())
        .sum();
    let words = said.text("times").split(',').next().unwrap_or_default().to_owned();
    let times = match words.as_str() {
        "once" => 1.0,
        "twice" => 2.0,
        more => more.strip_suffix(" times").and_then(Printed::read).map_or(f64::NAN, |number| number.value),
    };
    reader
        .holds("states", times == visits.saturating_sub(1) as f64, || format!("there were {visits} visits"));
}

/// A pair that is said to have changed does so in truth.
fn moves(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (a, b) = (said.cpu("a"), said.cpu("b"));
    let truth = reader.run.true_ns("cas+pause", a, b);
    reader.holds("states", reader.run.moves(CpuId(a), CpuId(b)), || {
        format!("CPUs {a} and {b} take {truth:?} ns in truth")
    });
}

fn most_changed(reader: &mut Reader<'_>, said: &Said<'_>) {
    moves(reader, said);
}

fn pairs_changed(reader: &mut Reader<'_>, said: &Said<'_>) {
    let watch = &reader.run.document["watch"];
    let cells = list(&reader.run.document["matrices"][reader.matrix]["cells"]);
    let measured = cells.iter().filter(|cell| !cell["median"].is_null()).count() as f64;
    reader.is("count", said.number("n"), Some(measured), "pairs");
    reader.is("time", said.time("time"), watch["watched_s"].as_f64(), "the time watched");
    let told = cells.iter().filter(|cell| list(&cell["states"]).len() > 1).count() as f64;
    reader.is("count", said.number("k"), Some(told), "the number of cells with several states");
    let moving = cells.iter().filter(|cell| {
        let cpu = |name: &str| CpuId(cell[name].as_u64().unwrap_or(0) as u32);
        reader.run.moves(cpu("from"), cpu("to"))
    });
    let moving = moving.count() as f64;
    // Of many pairs some have two visits that were spoilt alike.
    let most = moving + 0.001 * measured;
    reader.holds("states", said.number("k").value <= most, || format!("{moving} pairs change in truth"));
}

/// The time of the drawn code in each state, by its letter, as the table says it.
fn levels(reader: &Reader<'_>) -> Vec<(String, Printed)> {
    let table = reader.tables.iter().rev().find(|table| table.column("share of passes").is_some());
    let rows = table.into_iter().flat_map(|table| table.rows[1..].iter());
    rows.filter_map(|row| Some((row[0].clone(), Printed::read(row.get(4)?.split('±').next()?)?))).collect()
}

fn differ(reader: &mut Reader<'_>, said: &Said<'_>) {
    let levels = levels(reader);
    let most = levels.iter().map(|(_, level)| level.value).fold(0.0, f64::max);
    let least = levels.iter().map(|(_, level)| level.value).fold(f64::INFINITY, f64::min);
    reader.is_near("states", said.number("ratio"), most / least, 0.02, "the ratio in the table");
}

/// By the kernel of the table that shows most of it, where the headline shows nothing.
fn differ_elsewhere(reader: &mut Reader<'_>, said: &Said<'_>) {
    let table = reader.tables.iter().rev().find(|table| table.column("share of passes").is_some());
    let rows: Vec<Vec<String>> = table.map_or(Vec::new(), |table| table.rows[1..].to_vec());
    let ratio = |column: usize| {
        let read = |row: &Vec<String>| Some(Printed::read(row.get(column)?.split('±').next()?)?.value);
        let all: Vec<f64> = rows.iter().filter_map(read).collect();
        all.iter().copied().fold(0.0, f64::max) / all.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let widest = (5..8).map(ratio).fold(0.0, f64::max);
    reader.is_near("states", said.number("ratio"), widest, 0.03, "the widest ratio in the table");
    reader.holds("states", ratio(4) < 1.2, || "the headline shows it".to_owned());
}

fn contradicts(reader: &mut Reader<'_>, said: &Said<'_>) {
    let levels = levels(reader);
    let letter = said.text("letter").to_owned();
    let most = levels.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value)).map(|(letter, _)| letter.clone());
    reader.holds("states", most.as_ref() == Some(&letter), || format!("{most:?} is the slowest"));
    let pair = match said.sentence.contains("both CPUs") {
        true => ["from", "to"].map(|name| CpuId(cell(reader)[name].as_u64().unwrap_or(0) as u32)),
        false => ["a", "b"].map(|hole| CpuId(said.cpu(hole))),
    };
    let relation = reader.run.reported.relation(pair[0], pair[1]);
    let is_so = matches!(
        (said.text("what"), relation),
        ("L2", Relation::L2)
            | ("L3", Relation::L3)
            | ("cluster", Relation::Cluster)
            | ("core", Relation::Smt)
    );
    reader.holds("states", is_so, || format!("the system reports {relation:?}"));
    let truth = reader.run.truth().relation(pair[0], pair[1]);
    reader.holds("states", truth > relation, || format!("they truly share {truth:?}"));
}

/// Shares, visits, stays and times are those of the document.
pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let states = list(&reader.run.document["watch"]["states"]);
    reader.holds("states", table.rows.len() == states.len() + 1, || {
        format!("the document has {} states", states.len())
    });
    let heading = table.heading().to_vec();
    for (row, state) in table.rows[1..].iter().zip(states) {
        reader.is("states", Printed::read(&row[1]).unwrap(), state["share"].as_f64(), "the share");
        reader.is("states", Printed::read(&row[2]).unwrap(), state["visits"].as_f64(), "visits");
        reader.is("states", Printed::time(&row[3]).unwrap(), state["longest_s"].as_f64(), "the longest stay");
        for (title, cell) in heading.iter().zip(row).skip(4) {
            let kernel = title.trim_end_matches(" ns");
            let told = list(&state["kernels"]).iter().find(|told| told["kernel"] == kernel);
            let (point, width) = cell.split_once('±').unwrap_or((cell, ""));
            let Some(point) = Printed::read(point) else {
                reader.holds("states", told.is_none(), || format!("{kernel} is known"));
                continue;
            };
            let exact = told.and_then(|told| told["median"].as_f64());
            reader.is("states", point, exact, kernel);
            if let (Some(width), Some(told), Some(exact)) = (Printed::read(width), told, exact) {
                reader.is("states", width, reach(&told["ci"], exact), "the reach of its interval");
            }
        }
    }
}
