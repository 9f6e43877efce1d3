//! Trials that fall onto plateaus: how many, which, and between which values.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::list;
use super::held;
use super::suite::is_part;
use super::trials::placed;
use coretalk_model::CpuId;
use serde_json::Value;
use std::collections::BTreeMap;

pub const PATTERNS: &[Pattern] = &[
    held(
        "The machine changed state: {k#} of {n#} trial{s?} have several levels. The tables show the most \
         frequent one, never an average.",
        counted,
    ),
    held("{trial}: {share%} of the passes {rest}", told),
    held("{trial}: the machine changed state: {n#} levels", reason),
    held("{n#} more trial{s?} with several levels; see `states` in the data", more),
];

/// Trials whose plateaus a screen tells one by one.
const TOLD: usize = 6;

/// A trial as a document tells it: of a queue that is a cell of its matrix.
struct Trial<'a> {
    /// What holds its parameters.
    parameters: &'a Value,
    placement: String,
    states: Vec<&'a Value>,
}

/// The trials of the probe that is spoken of, each once whatever its views; what its views say of its states together.
fn trials<'a>(reader: &Reader<'a>) -> Vec<Trial<'a>> {
    let document = &reader.run.document;
    let mut known: BTreeMap<String, Trial<'a>> = BTreeMap::new();
    for trial in list(&document["series"]).iter().filter(|trial| trial["probe"] == reader.probe.as_str()) {
        let mut named = trial["parameters"].clone();
        named.as_object_mut().map(|of| of.remove("view"));
        let placement = placed(trial);
        let one = Trial { parameters: trial, placement: placement.clone(), states: Vec::new() };
        known.entry(format!("{named} {placement}")).or_insert(one).states.extend(list(&trial["states"]));
    }
    let of_probe = list(&document["matrices"]).iter().filter(|of| of["probe"] == reader.probe.as_str());
    for matrix in of_probe.filter(|_| reader.probe == "queue") {
        for cell in list(&matrix["cells"]) {
            let placement = format!("{} {}", cell["from"], cell["to"]);
            let states = list(&cell["states"]).iter().collect();
            let key = format!("{} {placement}", matrix["parameters"]);
            known.insert(key, Trial { parameters: matrix, placement, states });
        }
    }
    known.into_values().collect()
}

fn changed(reader: &Reader<'_>) -> usize {
    trials(reader).iter().filter(|trial| !trial.states.is_empty()).count()
}

fn counted(reader: &mut Reader<'_>, said: &Said<'_>) {
    let (all, changed) = (trials(reader).len(), changed(reader));
    reader.is("count", said.number("n"), Some(all as f64), "the number of trials");
    reader.is("count", said.number("k"), Some(changed as f64), "the number of trials with states");
    let machine = &reader.run.machine;
    let changes = machine.states().len() > 1 || machine.has_busy_neighbours();
    reader.holds("states", changes, || "the machine has one state in truth".to_owned());
}

/// Some trial of the document has so many states, and says so.
fn reason(reader: &mut Reader<'_>, said: &Said<'_>) {
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

fn more(reader: &mut Reader<'_>, said: &Said<'_>) {
    let more = changed(reader).saturating_sub(TOLD);
    reader.is("count", said.number("n"), Some(more as f64), "the number of trials that are not told");
}

/// Each plateau is a state of the trial in the document, and its CPUs change level in truth.
fn told(reader: &mut Reader<'_>, said: &Said<'_>) {
    let mut parts: Vec<&str> = said.text("trial").split(", ").collect();
    let cpus: Vec<u32> = parts
        .pop()
        .and_then(|last| last.rsplit_once("CPUs ").or(last.rsplit_once("CPU ")))
        .map_or(Vec::new(), |(_, cpus)| {
            cpus.trim_end_matches(" → any").split('-').filter_map(|cpu| cpu.parse().ok()).collect()
        });
    // Of many threads the first four are named.
    let is_cut = said.text("trial").ends_with('…');
    let placement = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let here = |trial: &Trial<'_>| {
        let same =
            trial.placement == placement || is_cut && trial.placement.starts_with(&format!("{placement} "));
        same && parts[1..].iter().all(|part| is_part(trial.parameters, part))
    };
    let found: Vec<Trial<'_>> = trials(reader).into_iter().filter(here).collect();
    let [trial] = &found[..] else {
        return reader.fail("states", format!("{} trials of the document are called so", found.len()));
    };
    let rest = format!("{} % of the passes {}", said.text("share"), said.text("rest"));
    for plateau in rest.split(", ") {
        let Some((share, value)) = plateau.split_once(" of the passes ") else {
            reader.fail("states", format!("`{plateau}` is no plateau"));
            continue;
        };
        let (point, width) = value.split_once(" ± ").unwrap_or((value, ""));
        let (digits, scale) = match point.rsplit_once(' ') {
            Some((digits, "ns")) => (digits, 1.0),
            Some((digits, "µs")) => (digits, 1e3),
            Some((digits, "ms" | "M/s")) => (digits, 1e6),
            Some((digits, "times")) => (digits, 1.0),
            _ => (point, 1.0),
        };
        let read = |text: &str| {
            Printed::read(text).map(|it| Printed { value: it.value * scale, half: it.half * scale })
        };
        let (share, point) = (Printed::read(share).unwrap(), read(digits).unwrap());
        let is_it = |state: &&&Value| {
            let values = state["values"].as_object().into_iter().flatten().map(|(_, value)| value);
            let mut values = values.chain([&state["median"]]).filter_map(Value::as_f64);
            state["share"].as_f64().is_some_and(|exact| share.reads(exact))
                && values.any(|value| point.reads(value))
        };
        let state = trial.states.iter().find(is_it);
        reader.holds("states", state.is_some(), || format!("`{plateau}` is no state in the document"));
        let median = state.and_then(|state| state["median"].as_f64()).filter(|median| point.reads(*median));
        let ends = state.and_then(|state| state["ci"][0].as_f64().zip(state["ci"][1].as_f64()));
        // Of values a document holds no interval in each state, and one may read like the median by chance.
        let headline = trial.parameters["headline"].as_str().unwrap_or_default();
        let of_value = state.and_then(|state| state["values"][headline].as_f64());
        if of_value.is_some_and(|value| point.reads(value)) {
            continue;
        }
        if let (Some(width), Some(median), Some((low, high))) = (read(width), median, ends) {
            reader.is("states", width, Some((median - low).max(high - median)), "the reach of its interval");
        }
    }
    let pairs = || cpus.iter().flat_map(|a| cpus.iter().map(move |b| [CpuId(*a), CpuId(*b)]));
    let moves = pairs().any(|[a, b]| a != b && reader.run.moves(a, b));
    reader.holds("states", moves, || "no pair of these CPUs changes level in truth".to_owned());
}
