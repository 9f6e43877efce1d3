//! Creations of threads and processes.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader};
use super::super::run::list;
use super::trials::{placed, width};
use super::unheld;
use serde_json::Value;

pub const PATTERNS: &[Pattern] = &[unheld("µs, medians: {rest}", "a heading")];

/// Creations: medians, and what lies between return and first statement.
pub fn table(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows[1..] {
        let cell = |title: &str| table.column(title).map_or("", |at| row[at].as_str());
        let place = cell("CPUs").replace(" → any", "").replace(" → ", " ");
        let pause = Printed::time(cell("pause")).map_or(0.0, |time| (time.value * 1e9).round());
        let of = |view: &str| {
            list(&reader.run.document["series"]).iter().find(|trial| {
                let parameters = &trial["parameters"];
                trial["probe"] == "spawn"
                    && parameters["kind"] == row[0].as_str()
                    && parameters["pause_ns"].as_f64().unwrap_or(0.0).round() == pause
                    && parameters["view"] == view
                    && placed(trial) == place
            })
        };
        for (title, view, key) in [
            ("cost", "cost", "50"),
            ("runs µs", "latency", "50"),
            ("p99", "latency", "99"),
            ("p99.9", "latency", "99.9"),
            ("max", "latency", "100"),
            ("joined", "join", "50"),
        ] {
            if let Some(number) = Printed::read(cell(title)) {
                let exact = of(view).and_then(|trial| trial["percentiles"][key].as_f64()).map(|ns| ns / 1e3);
                reader.is("spawn", number, exact, title);
            }
        }
        if let Some(trial) = of("latency") {
            width(reader, cell("±"), trial["percentiles"]["50"].as_f64(), &trial["intervals"]["median_ns"]);
        }
        let told = ["cost", "first", "latency", "join"].into_iter().filter_map(of);
        let difference =
            told.filter(|trial| !trial["values"]["after_return_ns"].is_null()).last().unwrap_or(&Value::Null);
        let us = |value: &Value| value.as_f64().map(|ns| ns / 1e3);
        let shown = cell("C−B").to_owned();
        match shown.split_once("..") {
            Some((low, high)) => {
                for (end, index) in [(low, 0), (high, 1)] {
                    reader.is(
                        "spawn",
                        Printed::read(end).unwrap(),
                        us(&difference["intervals"]["after_return_ns"][index]),
                        "an end of C−B",
                    );
                }
            }
            None => {
                if let Some(number) = Printed::read(&shown) {
                    reader.is("spawn", number, us(&difference["values"]["after_return_ns"]), "C−B");
                    let [runs, cost] = ["runs", "cost µs"]
                        .map(|title| Printed::read(cell(title)).map(|number| number.value));
                    if let (Some(runs), Some(cost)) = (runs, cost) {
                        let off = (runs - cost - number.value).abs();
                        reader.holds("spawn beside", off <= 0.04 * runs + 0.3, || {
                            format!(
                                "it goes on after {cost} µs and the new one runs after {runs}, and C−B is {}",
                                number.value
                            )
                        });
                    }
                }
            }
        }
    }
}
