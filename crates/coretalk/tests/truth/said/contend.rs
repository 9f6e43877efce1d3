//! Contention: tables of methods by threads, and whether the counts were exact.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::trials::placed;
use super::{held, unheld};
use serde_json::Value;
use std::collections::BTreeSet;

pub const PATTERNS: &[Pattern] = &[
    held("{inside} inside, {outside} outside; {arrange}: threads on CPUs {cpus}", section),
    held("No work inside or outside; {arrange}: threads on CPUs {cpus}", section),
    held("With {threads#} thread{s?}: operations of all threads; {rest}", with_threads),
    held("Every count was exact: none of {n#} additions was lost.", exact),
    held("Every other count was exact: none of {n#} additions was lost.", exact),
    held(
        "{method} with {threads#} thread{s?} ({inside} inside, {outside} outside) lost {lost#} of {made#} additions \
         ({share%}): its result is wrong.",
        lost,
    ),
    held(
        "Threads on CPUs of their own ran at the same time for at least {share%} of the measured time.",
        overlap,
    ),
    unheld("ns per operation and thread: {rest}", "a heading"),
];

fn section(reader: &mut Reader<'_>, said: &Said<'_>) {
    let ns = |hole: &str| Printed::time(said.text(hole)).map_or(0.0, |time| (time.value * 1e9).round());
    let (inside, outside) = match said.sentence.starts_with("No work") {
        true => (0.0, 0.0),
        false => (ns("inside"), ns("outside")),
    };
    reader.place = format!("{inside} {outside} {}", said.text("arrange"));
    let most = said.text("cpus").to_owned();
    let of = list(&reader.run.document["series"]).iter().filter(|trial| trial["probe"] == "contend");
    let longest = of.map(placed).max_by_key(String::len).unwrap_or_default();
    let shown = most.trim_end_matches([' ', '…']);
    reader.holds("contend", longest == shown || most.ends_with('…') && longest.starts_with(shown), || {
        format!("they take {longest}")
    });
}

/// The trial of a method with so many threads in the section that stands above.
fn contender<'a>(reader: &Reader<'a>, method: &str, threads: f64) -> Option<&'a Value> {
    list(&reader.run.document["series"]).iter().find(|trial| {
        let of = &trial["parameters"];
        let section = format!(
            "{} {} {}",
            of["critical_ns"].as_f64().unwrap_or(0.0),
            of["parallel_ns"].as_f64().unwrap_or(0.0),
            of["arrange"].as_str().unwrap_or_default()
        );
        trial["probe"] == "contend"
            && of["method"] == method
            && of["threads"].as_f64() == Some(threads)
            && section == reader.place
    })
}

fn with_threads(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.level = said.number("threads").value.to_string();
}

pub fn table(reader: &mut Reader<'_>, table: &Table) {
    let heading = table.heading().to_vec();
    let detail = heading.iter().any(|title| title == "M ops/s");
    for row in &table.rows[1..] {
        for (title, cell) in heading.iter().zip(row).skip(1) {
            let Some(number) = Printed::read(cell) else { continue };
            let threads = if detail {
                reader.level.parse().ok()
            } else {
                title.split(' ').next().and_then(|text| text.parse().ok())
            };
            let trial = threads.and_then(|threads| contender(reader, &row[0], threads));
            let value = |name: &str| trial.and_then(|trial| trial["values"][name].as_f64());
            let acquire = |key: &str| trial.and_then(|trial| trial["percentiles"][key].as_f64());
            let exact = match title.as_str() {
                "M ops/s" => value("ops_per_s").map(|rate| rate / 1e6),
                "wall ns" => value("ns_per_op_wall"),
                "Jain" => value("jain"),
                "1 ms" => value("jain_1ms"),
                "slowest" => value("share_min"),
                "fastest" => value("share_max"),
                "run" => value("run_length"),
                "p50" => acquire("50"),
                "p99" => acquire("99"),
                "max µs" => acquire("100").map(|ns| ns / 1e3),
                "CPU ns" => value("cpu_ns_per_op"),
                "sleeps" => value("voluntary_switches_per_op"),
                _ => value("ns_per_op_thread"),
            };
            reader.is("contend", number, exact, &format!("{} of {}", title, row[0]));
        }
    }
}

fn contenders<'a>(reader: &Reader<'a>) -> Vec<&'a Value> {
    let mut seen = BTreeSet::new();
    let all = list(&reader.run.document["series"]).iter().filter(|trial| trial["probe"] == "contend");
    all.filter(|trial| {
        let mut parameters = trial["parameters"].clone();
        parameters.as_object_mut().map(|of| of.remove("view"));
        seen.insert(parameters.to_string())
    })
    .collect()
}

fn exact(reader: &mut Reader<'_>, said: &Said<'_>) {
    let counts = contenders(reader).into_iter().filter_map(|trial| {
        let count = |name: &str| trial["counts"][name].as_f64();
        let (made, there) = (count("expected_count")?, count("final_count")?);
        (made == there).then_some(made)
    });
    reader.is("contend", said.number("n"), Some(counts.sum()), "all exact additions");
}

fn lost(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (lost, made) = (said.number("lost"), said.number("made"));
    reader.holds("contend", said.share("share").reads(lost.value / made.value), || {
        format!("it is {}", lost.value / made.value)
    });
    let told = contenders(reader).into_iter().any(|trial| {
        let count = |name: &str| trial["counts"][name].as_f64().unwrap_or(f64::NAN);
        trial["parameters"]["method"] == said.text("method")
            && made.reads(count("expected_count"))
            && lost.reads(count("expected_count") - count("final_count"))
    });
    reader.holds("contend", told, || "the document has no such count".to_owned());
}

fn overlap(reader: &mut Reader<'_>, said: &Said<'_>) {
    let apart = |trial: &&Value| {
        let cpus: BTreeSet<String> = list(&trial["placement"]).iter().map(Value::to_string).collect();
        cpus.len() == list(&trial["placement"]).len() && cpus.len() > 1
    };
    let least = contenders(reader)
        .into_iter()
        .filter(apart)
        .filter_map(|trial| trial["values"]["overlap"].as_f64())
        .reduce(f64::min);
    reader.is("contend", said.share("share"), least, "the least overlap");
}
