//! Trials: where they run, tables and maps of percentiles, and their doubts.

use super::super::page::Table;
use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{Run, list};
use super::{held, unheld};
use serde_json::Value;
use std::collections::BTreeSet;

pub const PATTERNS: &[Pattern] = &[
    held("Any of CPUs {mask}", unbound),
    held("Where the waiter ran relative to the waker when it resumed: {rest}", unbound_trials),
    held("{k#} of {n#} results missed ±{width%} (worst ±{worst%}); first: {trial}", missed),
    held(
        "{k#} of {n#} results missed ±{width%}, for which the clock is too coarse (worst ±{worst%}); first: {trial}",
        missed,
    ),
    held("{k#} of {n#} results missed ±{width%} (worst too wide to state); first: {trial}", doubts),
    held(
        "{k#} of {n#} results missed ±{width%}, for which the clock is too coarse (worst too wide to state); first: {trial}",
        doubts,
    ),
    held("{k#} of {n#} results: {reason}; first: {trial}", doubts),
    held("{n#} more doubtful result{s?}; see `flags` and `reason` in the data", more_doubts),
    unheld("{trial}: ± {width%} is wider than requested", "one trial and its reason, as the document has it"),
    held("{trial}: the interval is wider than the value", wider_than_itself),
    unheld("{trial}: only {passes#} passes", "one trial and its reason, as the document has it"),
    unheld(
        "Every CPU reads the clock all the time; two reads more than 0.5 µs apart are a gap. {rest}",
        "a heading",
    ),
    unheld(
        "{modes} on {any?}CPUs {cpus}, {view}: {shares}; {explained}",
        "modes of a distribution are in no document",
    ),
    unheld("{kind}: median in {unit}, {roles}", "the title of a map"),
    held("{trial}: the machine changed state: {n#} levels", levels),
    unheld("{relation} {x#} µs ({n#} pairs){rest?}", "maps of trials of many pairs are held by their cells"),
];

/// The CPUs of a trial, in role order; the ends of its mask where both of its threads are not bound.
pub fn placed(trial: &Value) -> String {
    if let Some(mask) = trial["parameters"]["mask"].as_str().filter(|_| list(&trial["placement"]).len() > 1) {
        return mask.replace('-', " ");
    }
    list(&trial["placement"]).iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
}

/// Every word that a question is known by: the probe whose tables come.
pub fn question(line: &str) -> Option<&'static str> {
    let lower = |text: &str| text.to_lowercase();
    coretalk_measure::probes::REGISTRY
        .iter()
        .find(|probe| {
            lower(line).trim_end_matches('?').starts_with(lower(probe.spec().question).trim_end_matches('?'))
        })
        .map(|probe| probe.spec().id)
}

/// Whether a line says what a name in the tables means.
pub fn is_meaning(run: &Run, line: &str) -> bool {
    list(&run.document["series"])
        .iter()
        .filter_map(|trial| trial["parameters"].as_object())
        .flat_map(|parameters| parameters.values())
        .filter_map(Value::as_str)
        .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")))
}

fn unbound_trials(reader: &mut Reader<'_>, _said: &Said<'_>) {
    let has_mask = |trial: &Value| trial["parameters"]["mask"].is_string();
    let is_so = list(&reader.run.document["series"]).iter().any(has_mask);
    reader.holds("places", is_so, || "every trial is bound".to_owned());
}

fn unbound(reader: &mut Reader<'_>, said: &Said<'_>) {
    reader.place = said.text("mask").replace('-', " ");
}

/// Where waiters ran: shares with their intervals.
pub fn places(reader: &mut Reader<'_>, table: &Table) {
    for row in &table.rows[1..] {
        let named = row[0].rsplit(", ").next().unwrap_or_default();
        let trial = list(&reader.run.document["series"]).iter().find(|trial| {
            trial["parameters"]["primitive"] == named && !trial["values"]["same_cpu_share"].is_null()
        });
        let Some(trial) = trial else {
            reader.fail("places", format!("no trial is called {named}"));
            continue;
        };
        for (title, cell) in table.heading().iter().zip(row).skip(1) {
            let name = format!("{}_share", title.to_lowercase().replace(' ', "_"));
            let numbers = cell
                .trim_end_matches(']')
                .split(" [")
                .flat_map(|part| part.split(" .. "))
                .filter_map(Printed::read);
            let [low, high] = [0, 1].map(|end| trial["intervals"][&name][end].as_f64());
            let exact = [trial["values"][&name].as_f64(), low, high];
            let is_so = numbers.clone().count() == 3
                && numbers.zip(exact).all(|(number, exact)| exact.is_some_and(|share| number.reads(share)));
            reader.holds("places", is_so, || format!("{title} of {named}: {exact:?}"));
        }
    }
}

/// Trials, each once whatever its views.
fn trials(reader: &Reader<'_>) -> usize {
    let mut seen = BTreeSet::new();
    for trial in list(&reader.run.document["series"]) {
        let mut parameters = trial["parameters"].clone();
        parameters.as_object_mut().map(|of| of.remove("view"));
        seen.insert(format!("{} {parameters} {}", trial["probe"], placed(trial)));
    }
    for matrix in list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == "queue") {
        for cell in list(&matrix["cells"]) {
            seen.insert(format!("{} {} {}", matrix["parameters"], cell["from"], cell["to"]));
        }
    }
    seen.len()
}

fn doubts(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = trials(reader);
    reader.is("count", said.number("n"), Some(all as f64), "the number of trials");
    reader.holds("count", said.number("k").value <= all as f64, || format!("there are {all} trials"));
    let trial = said.text("trial").to_owned();
    let of_probe = |of: &&Value| trial.split(',').next().is_some_and(|probe| of["probe"] == probe);
    let of_probe: Vec<&Value> = list(&reader.run.document["series"]).iter().filter(of_probe).collect();
    if let Some((_, cpus)) = trial.rsplit_once("CPUs ").filter(|_| !of_probe.is_empty()) {
        let is_here = of_probe.iter().any(|of| is_on(of, cpus));
        reader.holds("count", is_here, || format!("no trial of that probe is on CPUs {cpus}"));
    }
}

/// Whether a trial is on these CPUs, in role order: `0-4-1`; a long list is cut short.
fn is_on(trial: &Value, cpus: &str) -> bool {
    let cpus = cpus.replace('-', " ");
    match cpus.strip_suffix(" …") {
        Some(beginning) => placed(trial).starts_with(beginning),
        None => placed(trial) == cpus,
    }
}

/// Results that were not as narrow as requested: how many at most, and which is the widest.
fn missed(reader: &mut Reader<'_>, said: &Said<'_>) {
    doubts(reader, said);
    let asked = reader.run.words.iter().skip_while(|word| *word != "--precision").nth(1);
    let asked =
        asked.and_then(|text| text.trim_end_matches('%').parse().ok()).map_or(0.02, |p: f64| p / 100.0);
    reader.is("precision", said.share("width"), Some(asked), "the precision that was asked for");
    reader.holds("precision", said.share("worst").value > asked, || "the worst is narrow enough".to_owned());
}

/// A trial of the document on these CPUs has that reason.
fn wider_than_itself(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cpus = said.text("trial").rsplit_once("CPUs ").map_or("", |(_, cpus)| cpus).to_owned();
    let is_it = |trial: &Value| {
        let reason = trial["reason"].as_str().unwrap_or_default();
        is_on(trial, &cpus) && reason.contains("the interval is wider than the value")
    };
    let found = list(&reader.run.document["series"]).iter().any(is_it);
    reader.holds("width", found, || "no trial of the document says so of itself".to_owned());
}

fn more_doubts(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = trials(reader) as f64;
    reader.holds("count", said.number("n").value < all, || format!("there are {all} trials"));
}

/// Some trial of the document has so many states, and says so.
fn levels(reader: &mut Reader<'_>, said: &Said<'_>) {
    let count = said.number("n").value;
    let text = format!("the machine changed state: {count} levels");
    let matrices = list(&reader.run.document["matrices"]).iter().flat_map(|matrix| list(&matrix["cells"]));
    let mut all = list(&reader.run.document["series"]).iter().chain(matrices);
    let found = all.any(|one| {
        let said = one["reason"].as_str().unwrap_or_default();
        said.contains(&text) && list(&one["states"]).len() as f64 == count
    });
    reader.holds("states", found, || format!("no trial of the document has {count} states"));
}

/// Whether a table is of cells that stand out in a comparison.
pub fn is_cells_of_pairs(table: &Table) -> bool {
    table.rows.iter().all(|row| row[0].starts_with("CPUs ") && row[0].contains(" and "))
}
