//! What a probe found, in one sentence above its tables: the best subject and the worst under one condition.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words};
use super::held;
use super::trials::reads_as;
use coretalk_model::stats::median;
use coretalk_model::{CpuId, Flag};
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

pub const PATTERNS: &[Pattern] = &[
    held("Messages per second{condition?}: {found}", found),
    held("Round trip, including one clock read, median{condition?}: {found}", found),
    held("Time until a sleeping thread runs again, median{condition?}: {found}", found),
    held("Hot, median{condition?}: {found}", found),
    held("Time until the first statement runs, median{condition?}: {found}", found),
    held("Time per operation and thread{condition?}: {found}", found),
    held("Time of an addition while both threads add{condition?}: {found}", found),
    held("Time until the last reader sees the write, median{condition?}: {found}", found),
    held("Time from when a message was due until it was received, median{condition?}: {found}", found),
    held("Half a round trip, minus half a clock read{condition?}: {found}", found),
];

/// `3.61 µs ±2 % over 3 pairs !`.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<value>\d[\d.]*(?: \d{3})*) ?(?P<unit>ns|µs|ms|M|k|×)?(?: ±(?P<width>[\d.]+) %| \([^)]* to [^)]*\))?(?: over (?P<pairs>\d+) pairs)?(?: !)?$",
    )
    .unwrap()
});

/// A number of the document.
struct Known {
    /// Names of what the trial is.
    names: Vec<String>,
    /// Its other parameters as they read, and what its CPUs share.
    words: Vec<String>,
    /// Which number it is.
    key: String,
    value: f64,
    interval: Value,
    /// Its values in other states of the machine.
    in_states: Vec<f64>,
    is_wrong: bool,
}

impl Known {
    fn is_of(&self, kind: &str) -> bool {
        kind.split(' ').all(|word| self.names.iter().any(|name| name == word)) || kind.is_empty()
    }

    fn is_under(&self, condition: &str) -> bool {
        let is_told = |part: &str| {
            let names = || self.names.iter();
            names().any(|name| name == part)
                || self.words.iter().any(|word| part == word || part.ends_with(&format!(" {word}")))
        };
        condition.is_empty() || condition.split(", ").all(is_told)
    }
}

fn known(reader: &Reader<'_>, probe: &str) -> Vec<Known> {
    let has = |of: &Value, is_so: &dyn Fn(&Flag) -> bool| {
        let flags = list(&of["flags"]);
        Flag::ALL.iter().filter(|flag| is_so(flag)).any(|known| flags.iter().any(|flag| flag == known.name()))
    };
    let of_state = |state: &Value| {
        let values = state["values"].as_object().into_iter().flatten();
        values.map(|(_, value)| value).chain([&state["median"]]).filter_map(Value::as_f64).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    let mut add =
        |parameters: &Value, cpus: Vec<u64>, of: &Value, key: &str, value: &Value, interval: &Value| {
            let Some(value) = value.as_f64().filter(|_| !has(of, &|flag| *flag == Flag::SharedSpin)) else {
                return;
            };
            let parameters = parameters.as_object().into_iter().flatten();
            let (texts, numbers): (Vec<_>, Vec<_>) = parameters.partition(|(_, value)| value.is_string());
            let mut words: Vec<String> = numbers.iter().map(|(name, value)| reads_as(name, value)).collect();
            words.extend(match cpus[..] {
                [from, to] => {
                    let pair = [from, to].map(|cpu| CpuId(cpu as u32));
                    Some(relation_words(reader.run.reported.relation(pair[0], pair[1]), &reader.run.reported))
                }
                _ => None,
            });
            // Of many CPUs each is a word.
            words.push(format!("CPUs {}", cpus.iter().map(u64::to_string).collect::<Vec<_>>().join(" → ")));
            words.push(format!("CPU {}", cpus.first().copied().unwrap_or_default()));
            let names = texts.into_iter().filter(|(name, _)| *name != "view");
            let names = names.flat_map(|(_, value)| value.as_str().unwrap_or_default().split(' '));
            all.push(Known {
                names: names.map(str::to_owned).collect(),
                words,
                key: key.to_owned(),
                value,
                interval: interval.clone(),
                in_states: list(&of["states"]).iter().flat_map(of_state).collect(),
                is_wrong: has(of, &|flag| matches!(flag, Flag::Invalid | Flag::LostUpdates)),
            });
        };
    for matrix in list(&reader.run.document["matrices"]).iter().filter(|matrix| matrix["probe"] == probe) {
        for cell in list(&matrix["cells"]) {
            let cpus = ["from", "to"].map(|end| cell[end].as_u64().unwrap_or_default()).to_vec();
            add(&matrix["parameters"], cpus, cell, "median", &cell["median"], &cell["ci"]);
        }
    }
    for trial in list(&reader.run.document["series"]).iter().filter(|trial| trial["probe"] == probe) {
        let cpus: Vec<u64> = list(&trial["placement"]).iter().filter_map(Value::as_u64).collect();
        let view = format!("p50 of {}", trial["parameters"]["view"].as_str().unwrap_or_default());
        let interval = &trial["intervals"]["median_ns"];
        add(&trial["parameters"], cpus.clone(), trial, &view, &trial["percentiles"]["50"], interval);
        let values = trial["values"].as_object().into_iter().flatten();
        // What a read of the clock costs is no result, and may read like one.
        for (name, value) in values.filter(|(name, _)| *name != "clock_ns") {
            add(&trial["parameters"], cpus.clone(), trial, name, value, &trial["intervals"][name.as_str()]);
        }
    }
    // What all are is no part of a kind.
    let common: Vec<String> = all.first().map_or(Vec::new(), |first: &Known| first.names.clone());
    let common: Vec<String> =
        common.into_iter().filter(|name| all.iter().all(|known| known.names.contains(name))).collect();
    all.iter_mut().for_each(|known| known.names.retain(|name| !common.contains(name)));
    all
}

fn printed(of: &Captures<'_>) -> Printed {
    let scale = match of.name("unit").map_or("", |unit| unit.as_str()) {
        "µs" | "k" => 1e3,
        "ms" | "M" => 1e6,
        _ => 1.0,
    };
    let number = Printed::read(&of["value"]).unwrap();
    Printed { value: number.value * scale, half: number.half * scale }
}

/// A number of the sentence, and of what it is.
struct Told {
    /// Its name; `None` where the sentence does not say which of several it is.
    subject: Option<String>,
    shown: Printed,
    width: Option<String>,
    pairs: usize,
    end: End,
}

/// What a number is said to be among those of its condition.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Best,
    Worst,
    Unsaid,
}

/// The numbers of a sentence; `None` where one of them cannot be read.
fn told(text: &str) -> Option<Vec<Told>> {
    let mut all = Vec::new();
    let mut add = |subject: Option<&str>, number: &str, end: End| {
        let of = NUMBER.captures(number)?;
        all.push(Told {
            subject: subject.map(str::to_owned),
            shown: printed(&of),
            width: of.name("width").map(|width| format!("{} %", width.as_str())),
            pairs: of.name("pairs").map_or(1, |pairs| pairs.as_str().parse().unwrap()),
            end,
        });
        Some(())
    };
    for (index, clause) in text.split("; ").enumerate() {
        if clause.starts_with("cannot tell") {
            continue;
        }
        if let Some((_, range)) = clause.split_once(" alike within their intervals, ") {
            let (best, worst) = range.split_once(" to ")?;
            add(None, best, End::Best)?;
            add(None, worst, End::Worst)?;
        } else if let Some((subject, rest)) = clause.split_once(" is ") {
            // The best comes first.
            let end = if index == 0 { End::Best } else { End::Worst };
            add(Some(subject), rest.rsplit_once(", ")?.1, end)?;
        } else {
            let (subject, number) = clause.rsplit_once(", ").unwrap_or(("", clause));
            add(Some(subject), number, End::Unsaid)?;
        }
    }
    Some(all)
}

/// The median over the pairs of a subject.
fn typical<'a>(known: impl Iterator<Item = &'a Known>) -> Option<(f64, Vec<&'a Known>)> {
    let of: Vec<&Known> = known.filter(|known| known.interval.is_array()).collect();
    Some((median(&of.iter().map(|known| known.value).collect::<Vec<_>>())?, of))
}

/// Every number is that of a subject under the condition; the best is the best of all that are ranked there.
fn found(reader: &mut Reader<'_>, said: &Said<'_>) {
    let is_probe = |word: &&String| {
        coretalk_measure::probes::REGISTRY.iter().any(|probe| probe.spec().id == word.as_str())
    };
    // A run of several says it below the question of each.
    let probe = reader.run.words.iter().find(is_probe).unwrap_or(&reader.probe).clone();
    let condition = said.text("condition").trim_start_matches(" (").trim_end_matches(')').to_owned();
    let text = said.text("found");
    let (text, unranked) = text.split_once("; not ranked: ").unwrap_or((text, ""));
    let Some(told) = told(text) else {
        return reader.fail("best", "some number cannot be read");
    };
    let mut known = known(reader, &probe);
    known.retain(|known| known.is_under(&condition) && !known.is_wrong);
    // Only names are left, of which the document has no verdict.
    if told.is_empty() {
        return reader.holds("best", !known.is_empty(), || format!("no number under `{condition}`"));
    }
    let is_unranked = |known: &Known| {
        known.names.iter().any(|name| unranked.split([' ', ',']).any(|word| word == name.as_str()))
    };
    known.retain(|known| !is_unranked(known));
    let keys: BTreeSet<&str> = known.iter().map(|known| known.key.as_str()).collect();
    let of = |told: &Told, key: &str| {
        let subject = told.subject.as_deref().unwrap_or_default();
        let every = known.iter().filter(|known| known.key == key);
        // Where the sentence names no subject the number is that of some.
        let subjects: BTreeSet<&[String]> = every.clone().map(|known| &known.names[..]).collect();
        let mut of = subjects.into_iter().filter_map(|names| {
            typical(every.clone().filter(|known| known.names == names && known.is_of(subject)))
        });
        of.find(|(value, of)| {
            let in_state =
                || of.iter().flat_map(|known| &known.in_states).any(|value| told.shown.reads(*value));
            // Subjects are compared between the pairs that all of them have.
            let is_part = of.len() > told.pairs && {
                let ends =
                    [f64::min, f64::max].map(|end| of.iter().map(|known| known.value).reduce(end).unwrap());
                told.shown.value >= ends[0] - told.shown.half && told.shown.value <= ends[1] + told.shown.half
            };
            is_part || of.len() == told.pairs && (told.shown.reads(*value) || in_state())
        })
    };
    let Some(key) = keys.into_iter().find(|key| told.iter().all(|told| of(told, key).is_some())) else {
        return reader.holds("best", false, || format!("no number under `{condition}` has all of `{text}`"));
    };
    // Of rates the best is the most.
    let is_rate = key == "median";
    let of_key = || known.iter().filter(|known| known.key == key);
    let subjects: BTreeSet<&[String]> = of_key().map(|known| &known.names[..]).collect();
    let values: Vec<f64> = subjects
        .into_iter()
        .filter_map(|names| Some(typical(of_key().filter(|known| known.names == names))?.0))
        .collect();
    let [least, most] =
        [values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max)];
    for one in &told {
        let Some((_, of)) = of(one, key) else { continue };
        let in_one_state = known.iter().all(|known| known.in_states.is_empty());
        if one.end == End::Best && in_one_state {
            let best = if is_rate { most } else { least };
            reader.holds("best", one.shown.reads(best), || format!("the best under `{condition}` is {best}"));
        }
        if let (Some(width), [of], true) = (&one.width, &of[..], in_one_state) {
            super::trials::width(reader, width, Some(of.value), &of.interval);
        }
    }
}
