//! The ladder, and the table of kinds of cores.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words};
use super::held;
use super::map::{OFF, cells};
use coretalk_measure::probes::kernel_by_id;
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Relation};
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[
    held("medians over at most {n#} representative pair{s?} per relation{rest?}", most),
    held("one pair per relation{rest?}", one),
];

/// What other tools print is another statistic of other lines.
const OFF_OF_TOOLS: f64 = 0.6;

fn rows<'a>(reader: &Reader<'a>) -> &'a [Value] {
    list(&reader.run.document["ladder"])
}

fn most(reader: &mut Reader<'_>, said: &Said<'_>) {
    let pairs = rows(reader).iter().filter_map(|row| row["pairs"].as_f64()).fold(0.0, f64::max);
    reader.is("count", said.number("n"), Some(pairs), "the most pairs of a row");
    asleep(reader, said);
}

fn one(reader: &mut Reader<'_>, said: &Said<'_>) {
    let alone = rows(reader).iter().all(|row| row["pairs"] == 1);
    reader.holds("count", alone, || "some row is of several pairs".to_owned());
    asleep(reader, said);
}

/// `futex and pipe: until a thread that slept 1.0 ms runs again`.
fn asleep(reader: &mut Reader<'_>, said: &Said<'_>) {
    let Some((_, time)) = said.text("rest").split_once("until a thread that slept ") else { return };
    let time = Printed::time(time.split(" runs again").next().unwrap_or_default()).unwrap();
    let wakes = list(&reader.run.document["series"]).iter().filter(|trial| trial["probe"] == "wake");
    let gaps: Vec<f64> = wakes.filter_map(|trial| trial["parameters"]["gap_ns"].as_f64()).collect();
    reader.holds("ladder", gaps.iter().any(|gap| time.reads(gap * 1e-9)), || {
        format!("trials slept {gaps:?} ns")
    });
}

/// Step and code of a column, from the two lines of its heading.
fn step_of(first: &str, second: &str) -> (String, String) {
    let tool = |name: &str| (format!("as:{name}"), format!("as:{name}"));
    match first {
        "~core-to-" => tool("core-to-core-latency"),
        "~coherency-" => tool("coherency-latency"),
        other if other.starts_with('~') => tool(&other[1..]),
        other => {
            let step = match other {
                "mailbox" => "msg",
                "read" => "xfer",
                step => step,
            };
            let hint = if second.starts_with('+') { second } else { "" };
            (step.to_owned(), format!("{step}{hint}"))
        }
    }
}

/// Every cell is that of the document, near what its pairs take in truth, and all of a row in one state.
pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let (heading, second) = (table.rows[0].clone(), table.rows[1].clone());
    let run = reader.run;
    let line = run.document["matrices"][0]["kernel"].as_str().unwrap_or_default().to_owned();
    for row in &table.rows[2..] {
        let of_row: Vec<&Value> = rows(reader).iter().filter(|told| named(reader, told) == row[0]).collect();
        if of_row.is_empty() {
            reader.fail("ladder", format!("the document has no row of {}", row[0]));
            continue;
        }
        // By state: by how much the farthest column is off.
        let mut by_state = vec![(0f64, String::new()); run.machine.states().len().max(1)];
        for ((first, second), cell) in heading.iter().zip(&second).zip(row).skip(1) {
            match first.as_str() {
                "pairs" => {
                    let pairs = of_row.iter().filter_map(|told| told["pairs"].as_f64()).fold(0.0, f64::max);
                    reader.is("ladder", Printed::read(cell).unwrap(), Some(pairs), "the number of pairs");
                }
                "range" => {
                    let told = of_row.iter().find(|told| told["kernel"] == line.as_str());
                    if let (Some((low, high)), Some(told)) = (cell.split_once('–'), told) {
                        for (end, index) in [(low, 0), (high, 1)] {
                            reader.is(
                                "ladder",
                                Printed::read(end).unwrap(),
                                told["range"][index].as_f64(),
                                "an end of the range",
                            );
                        }
                    }
                }
                _ => {
                    let (step, kernel) = match first.as_str() {
                        "line" => (String::new(), line.clone()),
                        first => step_of(first, second),
                    };
                    let told = of_row.iter().find(|told| {
                        told["kernel"] == kernel.as_str()
                            && (step.is_empty() || told["step"] == step.as_str())
                            || !step.is_empty()
                                && told["step"] == step.as_str()
                                && kernel == step
                                && told["kernel"] != line.as_str()
                                && kernel_by_id(&kernel).is_none()
                    });
                    let (point, width) = cell.split_once('±').unwrap_or((cell, ""));
                    let Some(number) = Printed::read(point) else {
                        let is_empty = told.is_none_or(|told| told["median"].is_null());
                        reader.holds("ladder", is_empty, || format!("{kernel} is known"));
                        continue;
                    };
                    let exact = told.and_then(|told| told["median"].as_f64());
                    reader.is("ladder", number, exact, &kernel);
                    if let (Some(width), Some(told), Some(exact)) = (Printed::read(width), told, exact) {
                        let half = told["ci"][1]
                            .as_f64()
                            .zip(told["ci"][0].as_f64())
                            .map(|(high, low)| (high - exact).max(exact - low));
                        reader.is("ladder", width, half, "the reach of its interval");
                    }
                    if kernel_by_id(&kernel).is_some() {
                        let bound = if kernel.starts_with("as:") { OFF_OF_TOOLS } else { OFF + 0.04 };
                        for (state, worst) in by_state.iter_mut().enumerate() {
                            let off = off(reader, &row[0], &kernel, number.value, state) / bound;
                            if off > worst.0 {
                                *worst = (off, kernel.clone());
                            }
                        }
                    }
                }
            }
        }
        let best = by_state.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let within = best.0 <= 1.0;
        let states = run.machine.states().len() > 1;
        let claim = if states { "ladder of states" } else { "ladder" };
        reader.holds(claim, within, || {
            format!("{}: {} is no time of these pairs in the state of the others of the row", row[0], best.1)
        });
    }
}

/// By which share a time lies outside of what the pairs of a row take in truth.
fn off(reader: &Reader<'_>, row: &str, kernel: &str, ns: f64, state: usize) -> f64 {
    let run = reader.run;
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for [a, b] in super::super::run::pairs(&run.measured()) {
        let words = relation_words(run.reported.relation(a, b), &run.reported);
        let fits = match row.split_once(", ") {
            None => words == row,
            Some((kinds, shared)) => {
                kinds_of(run, a, b) == kinds
                    && (words == shared || shared == "other cluster" && words == "same L3")
            }
        };
        if fits {
            let ns = run.true_ns(kernel, a.0, b.0)[state];
            (least, most) = (least.min(ns), most.max(ns));
        }
    }
    (least / ns - 1.0).max(ns / most - 1.0).max(0.0)
}

/// `P–E`.
pub fn kinds_of(run: &super::super::run::Run, a: CpuId, b: CpuId) -> String {
    let classes = list(&run.document["topology"]["reported"]["classes"]);
    let class = |cpu: CpuId| {
        let of = |class: &&Value| {
            class["cpus"]
                .as_str()
                .and_then(|cpus| cpus.parse::<coretalk_model::CpuSet>().ok())
                .is_some_and(|cpus| cpus.contains(cpu))
        };
        classes.iter().find(of).map(|class| {
            (class["rank"].as_i64().unwrap_or(0), class["name"].as_str().unwrap_or_default().to_owned())
        })
    };
    let mut both: Vec<(i64, String)> = [a, b].into_iter().filter_map(class).collect();
    both.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    both.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join("–")
}

/// What a row of the document is called on a screen.
fn named(reader: &Reader<'_>, told: &Value) -> String {
    let relation = Relation::ALL.into_iter().find(|relation| told["relation"] == relation.name());
    let words = relation.map_or(String::new(), |relation| relation_words(relation, &reader.run.reported));
    let Some(kinds) = told["classes"].as_array() else { return words };
    let kinds = kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("–");
    // Where kinds have clusters of their own, what shares only more is in two of them.
    let clustered =
        rows(reader).iter().any(|row| row["classes"] == told["classes"] && row["relation"] == "cluster");
    let words = if clustered && words == "same L3" { "other cluster".to_owned() } else { words };
    format!("{kinds}, {words}")
}

/// Medians and ranges of each combination of kinds.
pub fn classes(reader: &mut Reader<'_>, table: &Table) {
    let run = reader.run;
    let cells = cells(&run.document["matrices"][reader.matrix]);
    let kernel = run.document["matrices"][reader.matrix]["kernel"].as_str().unwrap_or_default();
    let mut told = 0.0;
    for row in &table.rows[1..] {
        let of: Vec<&(u32, u32, f64)> = cells
            .iter()
            .filter(|(a, b, _)| {
                let (a, b) = (CpuId(*a), CpuId(*b));
                let words = relation_words(run.reported.relation(a, b), &run.reported);
                kinds_of(run, a, b) == row[0]
                    && (words == row[1] || row[1] == "other cluster" && words == "same L3")
            })
            .collect();
        let values: Vec<f64> = of.iter().map(|cell| cell.2).collect();
        let truth: Vec<f64> = of.iter().map(|(a, b, _)| run.true_ns(kernel, *a, *b)[0]).collect();
        let pairs = Printed::read(&row[2]).unwrap();
        told += pairs.value;
        reader.is("classes", pairs, Some(values.len() as f64), "the number of pairs");
        let middle = Printed::read(&row[3]).unwrap();
        reader.is("classes", middle, median(&values), "the median");
        reader.is_near("classes", middle, median(&truth).unwrap_or(f64::NAN), OFF, "the median");
        if let Some((low, high)) = row.get(4).and_then(|range| range.split_once('–')) {
            reader.is(
                "classes",
                Printed::read(low).unwrap(),
                values.iter().copied().reduce(f64::min),
                "the least",
            );
            reader.is(
                "classes",
                Printed::read(high).unwrap(),
                values.iter().copied().reduce(f64::max),
                "the most",
            );
        }
    }
    reader.holds("classes", told == cells.len() as f64, || format!("{} pairs have a value", cells.len()));
}
