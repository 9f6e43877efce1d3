//! Ways of waiting: tables of trips, and from which wait on sleeping is cheaper.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::held;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[held(
    "CPUs {from#} → {to#}, {relation}: a sleep and its wake-up take {a#} µs ({b#} to {c#}) of CPU time, and the sleeper \
     resumes {d#} µs ({e#} to {f#}) later than with {busy}.",
    crossover,
)];

/// The trial of a strategy on the CPUs that stand above.
fn trial<'a>(reader: &Reader<'a>, name: &str, mode: Option<&str>) -> Option<&'a Value> {
    let bare = name.trim_end_matches([' ', '!', 's', 'g']);
    list(&reader.run.document["series"]).iter().find(|trial| {
        let of = &trial["parameters"];
        let strategy = of["strategy"].as_str().unwrap_or("clock");
        trial["probe"] == "wait"
            && (strategy == name || strategy == bare)
            && of["mode"].as_str()
                == mode.filter(|_| strategy != "clock").or((strategy == "clock").then_some("clock"))
            && super::trials::placed(trial) == reader.place
    })
}

fn crossover(reader: &mut Reader<'_>, said: &Said<'_>) {
    let of = |advice: &&Value| {
        advice["kind"] == "spin"
            && advice["placement"][0] == said.cpu("from")
            && advice["placement"][1] == said.cpu("to")
    };
    let Some(told) = list(&reader.run.document["advice"]).iter().find(of) else {
        return reader.fail("wait", "the document has no such advice");
    };
    let us = |value: &Value| value.as_f64().map(|ns| ns / 1e3);
    for (hole, value) in [
        ("a", &told["spin_ns"]),
        ("b", &told["ci"][0]),
        ("c", &told["ci"][1]),
        ("d", &told["later_ns"]),
        ("e", &told["later_ci"][0]),
        ("f", &told["later_ci"][1]),
    ] {
        reader.is("wait", said.number(hole), us(value), hole);
    }
    reader.holds("wait", told["strategy"] == said.text("busy"), || {
        format!("the document says {}", told["strategy"])
    });
    // Half of what the trips of the tables differ by.
    let place = format!("{} {}", said.cpu("from"), said.cpu("to"));
    reader.place = place;
    let median = |name: &str| trial(reader, name, None).and_then(|trial| trial["percentiles"]["50"].as_f64());
    if let (Some(asleep), Some(busy)) = (median("futex"), median(said.text("busy"))) {
        reader.is_near(
            "wait",
            said.number("d"),
            (asleep - busy) / 2.0 / 1e3,
            0.06,
            "half of what the trips differ by",
        );
    }
}

pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let mode = match heading.iter().any(|title| title == "times") {
        true => Some("sibling"),
        false => None,
    };
    for row in &table.rows[1..] {
        let Some(trial) = trial(reader, &row[0], mode) else {
            reader.fail("wait", format!("the document has no {} on {}", row[0], reader.place));
            continue;
        };
        let values = &trial["values"];
        for (title, shown) in heading.iter().zip(row).skip(1) {
            let percentiles = &trial["percentiles"];
            let exact = match title.as_str() {
                "p50" | "p90" | "p99" | "p99.9" => percentiles[title.trim_start_matches('p')].as_f64(),
                "max" => percentiles["100"].as_f64(),
                "mean" => values["mean_ns"].as_f64(),
                "clock" => values["clock_ns"].as_f64(),
                "net" => values["net_ns"].as_f64(),
                "loop" => values["loop_ns"].as_f64(),
                "polls" => values["spins_per_trip"].as_f64(),
                "CPU ns" => values["cpu_ns_per_trip"].as_f64(),
                "slept" => values["sleeps_per_trip"].as_f64(),
                "preempted" => values["taken_per_trip"].as_f64(),
                "times" => values["sibling_slowdown"].as_f64(),
                "trips" => trial["counts"]["samples"].as_f64(),
                "±" => {
                    let (point, interval) = match mode {
                        Some(_) => {
                            (values["sibling_slowdown"].as_f64(), &trial["intervals"]["sibling_slowdown"])
                        }
                        None => (percentiles["50"].as_f64(), &trial["intervals"]["median_ns"]),
                    };
                    super::trials::width(reader, shown, point, interval);
                    continue;
                }
                _ => continue,
            };
            let Some(number) = Printed::read(shown) else {
                // Percentiles of few events are told only where they tell something.
                continue;
            };
            match title.as_str() {
                "trips" => {
                    // Cut to whole thousands, not rounded.
                    let off = exact.map_or(f64::NAN, |exact| exact - number.value);
                    reader.holds(
                        "wait",
                        (-0.5..1_000.0).contains(&off) || number.reads(exact.unwrap_or(0.0)),
                        || format!("{exact:?} trips"),
                    );
                }
                _ => reader.is("wait", number, exact, title),
            }
        }
    }
}
