//! What a probe found, in one sentence above its tables: the best kind of trial and the worst, each over its own range.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{list, relation_words};
use super::held;
use super::trials::reads_as;
use coretalk_model::flags::Effect;
use coretalk_model::{CpuId, Flag};
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

pub const PATTERNS: &[Pattern] = &[
    held("Messages per second: {found}", found),
    held("Round trip, including one clock read, median: {found}", found),
    held("Time until a sleeping thread runs again, median: {found}", found),
    held("Hot, median: {found}", found),
    held("Time until the first statement runs, median: {found}", found),
    held("Time per operation and thread: {found}", found),
    held("Time of an addition while both threads add: {found}", found),
    held("Time until the last reader sees the write, median: {found}", found),
    held("Time from when a message was due until it was received, median: {found}", found),
    held("Half a round trip, minus half a clock read: {found}", found),
];

/// `3.61 µs ±2 % ! (gap 20 µs, same L3)`.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?P<value>\d[\d.]*(?: \d{3})*) ?(?P<unit>ns|µs|ms|M|k|×)?(?: ±(?P<width>[\d.]+) %| \(no interval\))?(?: !)?(?: \((?P<words>[^)]*)\))?$",
    )
    .unwrap()
});

/// What the sentence leaves out.
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"; (\d+) of (\d+) results left out as doubtful$").unwrap());

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
    is_doubtful: bool,
}

impl Known {
    fn is_of(&self, kind: &str) -> bool {
        kind.split(' ').all(|word| self.names.iter().any(|name| name == word)) || kind.is_empty()
    }

    /// Whether it is of that kind and of no more particular one.
    fn is_just(&self, kind: &str) -> bool {
        !kind.is_empty() && self.is_of(kind) && kind.split(' ').count() == self.names.len()
    }

    fn is_under(&self, words: &str) -> bool {
        let is_told =
            |part: &str| self.words.iter().any(|word| part == word || part.ends_with(&format!(" {word}")));
        words.is_empty() || words.split(", ").all(is_told)
    }
}

/// What the interval beside a number does not show.
fn is_doubt(flag: &Flag) -> bool {
    let is_shown = flag.effect() == Effect::Width || matches!(flag, Flag::CoarseClock | Flag::FewPasses);
    flag.is_doubt() && !is_shown
}

fn known(reader: &Reader<'_>, probe: &str) -> Vec<Known> {
    let has = |of: &Value, is_so: &dyn Fn(&Flag) -> bool| {
        let flags = list(&of["flags"]);
        Flag::ALL.iter().filter(|flag| is_so(flag)).any(|known| flags.iter().any(|flag| flag == known.name()))
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
                is_doubtful: has(of, &is_doubt),
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
        for (name, value) in trial["values"].as_object().into_iter().flatten() {
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

/// The ends of `A to B`, or one number.
fn ends(text: &str) -> Vec<&str> {
    text.match_indices(" to ")
        .map(|(at, _)| vec![&text[..at], &text[at + 4..]])
        .find(|ends| ends.iter().all(|end| NUMBER.is_match(end)))
        .unwrap_or_else(|| vec![text])
}

/// A number of the sentence, and of what it is.
struct Told {
    kind: String,
    words: String,
    shown: Printed,
    width: Option<String>,
    /// Whether it is the best number of its kind; of kinds that are alike each is.
    is_best: bool,
    /// Whether no number of any kind is better.
    is_first: bool,
}

/// The numbers of a sentence; `None` where one of them cannot be read.
fn told(text: &str) -> Option<Vec<Told>> {
    let mut all = Vec::new();
    for clause in text.split("; ") {
        let (kind, numbers) = match clause.split_once(" is ") {
            Some((kind, rest)) => {
                let behind = rest.split_once(" (alike: ").and_then(|(_, alike)| alike.split_once("), "));
                (kind, behind.or(rest.split_once(", "))?.1)
            }
            None => ("", clause.split_once("intervals, ").map_or(clause, |(_, numbers)| numbers)),
        };
        let are_alike = clause.contains(" alike within ");
        for (at, part) in ends(numbers).into_iter().enumerate() {
            let number = NUMBER.captures(part)?;
            all.push(Told {
                kind: kind.to_owned(),
                words: number.name("words").map_or(String::new(), |words| words.as_str().to_owned()),
                shown: printed(&number),
                width: number.name("width").map(|width| format!("{} %", width.as_str())),
                is_best: at == 0 || are_alike,
                is_first: at == 0 && clause.contains(" is fastest"),
            });
        }
    }
    Some(all)
}

/// Every number is that of a trial of its kind, and where it is so measured; the first is the best of all that can be
/// trusted, and each kind spans its own numbers.
fn found(reader: &mut Reader<'_>, said: &Said<'_>) {
    let is_probe = |word: &&String| {
        coretalk_measure::probes::REGISTRY.iter().any(|probe| probe.spec().id == word.as_str())
    };
    let Some(probe) = reader.run.words.iter().find(is_probe) else {
        return reader.fail("best", "no run of one probe");
    };
    let text = said.text("found");
    let left_out = LEFT_OUT.captures(text);
    let Some(told) =
        told(left_out.as_ref().map_or(text, |left_out| &text[..left_out.get(0).unwrap().start()]))
    else {
        return reader.fail("best", "some number cannot be read");
    };
    let mut known = known(reader, probe);
    let everything: Vec<(String, bool)> =
        known.iter().map(|known| (known.key.clone(), known.is_doubtful)).collect();
    if known.iter().any(|known| !known.is_doubtful) {
        known.retain(|known| !known.is_doubtful);
    }
    let is_exact = |kind: &str| known.iter().any(|known| known.is_just(kind));
    let is_of =
        |known: &Known, kind: &str| if is_exact(kind) { known.is_just(kind) } else { known.is_of(kind) };
    let of = |told: &Told, key: &str| {
        let fits = |known: &&Known| {
            known.key == key
                && is_of(known, &told.kind)
                && known.is_under(&told.words)
                && told.shown.reads(known.value)
        };
        known.iter().find(fits)
    };
    // Two numbers of a trial may read alike: all are of that which has all of them.
    let keys: BTreeSet<&str> = known.iter().map(|known| known.key.as_str()).collect();
    let Some(key) = keys.into_iter().find(|key| told.iter().all(|told| of(told, key).is_some())) else {
        return reader.holds("best", false, || format!("no number of the trials has all of `{text}`"));
    };
    let of_key: Vec<bool> =
        everything.iter().filter(|(of, _)| of == key).map(|(_, doubtful)| *doubtful).collect();
    let doubtful = of_key.iter().filter(|doubtful| **doubtful).count();
    let missing = if doubtful == of_key.len() { 0 } else { doubtful };
    let printed = left_out.map_or((0, of_key.len()), |of| (of[1].parse().unwrap(), of[2].parse().unwrap()));
    reader.holds("best", printed == (missing, of_key.len()), || {
        format!("{missing} of {} results are left out", of_key.len())
    });
    // Of rates the best is the most.
    let is_rate = key == "median";
    let best_of = |values: &mut dyn Iterator<Item = f64>| {
        values.reduce(if is_rate { f64::max } else { f64::min }).unwrap_or(f64::NAN)
    };
    let worst_of = |values: &mut dyn Iterator<Item = f64>| {
        values.reduce(if is_rate { f64::min } else { f64::max }).unwrap_or(f64::NAN)
    };
    for one in &told {
        let mut of_kind =
            known.iter().filter(|known| known.key == key && is_of(known, &one.kind)).map(|known| known.value);
        let end = if one.is_best { best_of(&mut of_kind) } else { worst_of(&mut of_kind) };
        // Which kinds are alike is not named.
        let is_end = one.kind.is_empty() && one.is_best || one.shown.reads(end);
        reader.holds("best", is_end, || format!("this end of `{}` is {end}", one.kind));
        let mut all = known.iter().filter(|known| known.key == key).map(|known| known.value);
        if one.is_first {
            let best = best_of(&mut all);
            reader.holds("best", one.shown.reads(best), || format!("the best is {best}"));
        }
        if let (Some(width), Some(found)) = (&one.width, of(one, key)) {
            super::trials::width(reader, width, Some(found.value), &found.interval);
        }
    }
}
