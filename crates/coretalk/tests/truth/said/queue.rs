//! Queues: maps of rates, and the load of CPUs.

use super::super::page::Map;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::{held, unheld};
use coretalk_model::Flag;
use coretalk_model::stats::WIDEST_STATED;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("Million messages per second; {rest} ±{width%} at 95 %{wider?}", precision),
    held("{queue}, u64", named),
    held("Load of each CPU from the measured threads over the run: each column is {step@}, {rest}", load),
    unheld("Not every pair was measured. {rest}", "the document has no verification of pairs"),
];

/// The matrix of a queue at a capacity.
fn matrix<'a>(reader: &Reader<'a>, queue: &str, capacity: f64) -> Option<&'a Value> {
    list(&reader.run.document["matrices"]).iter().find(|matrix| {
        let of = &matrix["parameters"];
        matrix["probe"] == "queue" && of["queue"] == queue && of["capacity"].as_f64() == Some(capacity)
    })
}

fn has(cell: &Value, flag: &str) -> bool {
    list(&cell["flags"]).iter().any(|of| of == flag)
}

fn doubted(cell: &Value) -> bool {
    list(&cell["flags"])
        .iter()
        .any(|flag| Flag::ALL.iter().any(|known| flag == known.name() && known.may_be_wrong()))
}

/// The rate of a pair; a queue that looks on a shared CPU has none.
fn rate(cell: &Value) -> Option<f64> {
    cell["median"].as_f64().filter(|_| !has(cell, "shared-spin"))
}

fn precision(reader: &mut Reader<'_>, said: &Said<'_>) {
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    reader.is("precision", said.share("width"), Some(asked), "the precision that was asked for");
    let wider = said.text("wider").to_owned();
    let (mut wide, mut all) = (Vec::new(), 0);
    for matrix in list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue") {
        for cell in list(&matrix["cells"]).iter().filter(|cell| !doubted(cell) && !has(cell, "shared-spin")) {
            let Some((point, (low, high))) =
                cell["median"].as_f64().zip(cell["ci"][0].as_f64().zip(cell["ci"][1].as_f64()))
            else {
                continue;
            };
            let half = (high - point).max(point - low) / point;
            if has(cell, "wide-ci") {
                wide.push(half);
            } else {
                let width = said.share("width").value;
                reader.holds("precision", half <= width * 1.02 + 1e-4, || {
                    format!("CPUs {} → {}: ±{half:.4} and not flagged", cell["from"], cell["to"])
                });
            }
        }
        let cells = list(&matrix["cells"]).iter();
        all += cells.filter(|cell| cell["median"].is_number() && !has(cell, "shared-spin")).count();
    }
    let stated = wide.iter().filter(|half| **half < WIDEST_STATED).count();
    let expected = if stated == 0 { String::new() } else { format!(", {stated} of {all} up to ±") };
    reader.holds(
        "precision",
        wider.starts_with(&expected) && wider.is_empty() == (wide.is_empty() && !wider.contains('!')),
        || format!("{} of {all} are wider", wide.len()),
    );
}

fn named(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("queue").to_owned();
}

/// Every number of a map is that of the document.
pub fn map(reader: &mut Reader<'_>, map: &Map) {
    let (queue, capacity) = match map.title.strip_prefix("capacity ") {
        Some(capacity) => (reader.place.clone(), Printed::read(capacity).map(|number| number.value)),
        None => {
            let queue = map.title.split(',').next().unwrap_or_default().to_owned();
            let of = list(&reader.run.document["matrices"])
                .iter()
                .find(|matrix| matrix["parameters"]["queue"] == queue.as_str());
            (queue, of.and_then(|matrix| matrix["parameters"]["capacity"].as_f64()))
        }
    };
    let Some(matrix) = capacity.and_then(|capacity| matrix(reader, &queue, capacity)) else {
        return reader.fail("queue", format!("the document has no {queue} at {capacity:?}"));
    };
    for (row, from) in map.cpus.iter().enumerate() {
        for (column, to) in map.cpus.iter().enumerate() {
            let shown = map.cells[row][column].as_str();
            let cell =
                list(&matrix["cells"]).iter().find(|cell| cell["from"] == from[0] && cell["to"] == to[0]);
            let Some(cell) = cell else {
                reader.holds("queue", shown.is_empty(), || format!("nothing is known of {from:?} → {to:?}"));
                continue;
            };
            reader.holds("queue", (shown == "s") == has(cell, "shared-spin"), || {
                format!("{from:?} → {to:?} shows `{shown}`")
            });
            if shown == "s" {
                continue;
            }
            reader.holds("queue", shown.ends_with('!') == doubted(cell), || {
                format!("doubt in {from:?} → {to:?}: {}", doubted(cell))
            });
            if let Some(number) = Printed::read(shown) {
                reader.is("queue", number, rate(cell).map(|rate| rate / 1e6), &format!("{from:?} → {to:?}"));
                reader.holds("queue", number.value > 0.0, || "reads as nothing at all".to_owned());
            }
        }
    }
}

fn load(reader: &mut Reader<'_>, said: &Said<'_>) {
    let step = reader.run.document["load"]["step_s"].as_f64().unwrap_or(f64::NAN);
    let columns = (said.time("step").value / step).round().max(1.0);
    reader.is("time", said.time("step"), Some(step * columns), "the time of a column");
}
