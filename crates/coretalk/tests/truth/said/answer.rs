//! The sentence above the map, and the commands below it.

use super::super::printed::Printed;
use super::super::reader::{Pattern, Reader, Said};
use super::super::run::{Run, list, pairs, relation_words};
use super::groups::named_groups;
use super::held;
use super::map::{cells, nearest};
use coretalk_model::stats::median;
use coretalk_model::{CpuId, CpuSet, Relation};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

pub const PATTERNS: &[Pattern] = &[
    held("Usually {usual}. CPUs {a#} and {b#}: {levels}", usual_and_levels),
    held("{first#} ns between any two cores{rest?}", answer),
    held("{first#} ns between any two CPUs{rest?}", answer),
    held("{first#} to {last#} ns between any two cores, median {middle#}{rest?}", range),
    held("{first#} to {last#} ns between any two CPUs, median {middle#}{rest?}", range),
    held("{first#} ns between these CPUs{rest?}", answer),
    held("{first#} to {last#} ns between these CPUs, median {middle#}{rest?}", range),
    held("{first#} to {last#} ns inside {where}, median {middle#}{rest?}", range),
    held("{first#} to {last#} ns across {where}, median {middle#}{rest?}", range),
    held("{first#} ns inside {rest}", answer),
    held("{first#} ns across {rest}", answer),
    held("{first#} ns between the threads of a core", answer),
    held("{first#} ns {a}–{b}", answer),
    held("{first#} ns between CPUs {a#} and {b#} {often} of the time, {levels}", levels_of_pair),
    held("No single number. CPUs {a#} and {b#}: {levels}", levels),
    held("threads that talk to each other: taskset -c {cpus} COMMAND", bound),
    held("threads that talk to each other: the {kind} cores, taskset -c {cpus} COMMAND", kind),
    held("threads that talk to each other: any cores (all are about equally close)", anywhere),
    held(
        "threads that talk to each other: if {ns#} ns is too slow, ask for dedicated cores or another host",
        elsewhere,
    ),
    held("where {n#} threads should run: coretalk advise -n {m#} --from {run}", advice),
];

/// `86`, `across (4.7 ×)`, `E–E same cluster`.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<value>[\d.]+) (?:ns )?(?P<words>.+?)(?: \((?P<ratio>[\d.]+) ×\))?(?:: slower inside .*)?$",
    )
    .unwrap()
});

/// The pairs that some words of distance speak of; `across` alone is the farthest.
fn speaks_of(reader: &Reader<'_>, words: &str, [a, b]: [CpuId; 2]) -> bool {
    let run = reader.run;
    let relation = run.reported.relation(a, b);
    let shared = relation_words(relation, &run.reported);
    if words.contains('–') {
        let (kinds, of) = words.split_once(' ').unwrap_or((words, ""));
        let of = of.trim_start_matches(", ");
        let fits = of.is_empty() || shared == of || of == "other cluster" && shared == "same L3";
        return relation != Relation::Smt && kinds_of(run, a, b) == kinds.trim_end_matches(',') && fits;
    }
    match words {
        "between any two cores" | "between any two CPUs" | "between these CPUs" => relation != Relation::Smt,
        "between the threads of a core" => relation == Relation::Smt,
        "across" => shared.starts_with("across"),
        words => {
            let inside = words.strip_prefix("inside an ").or(words.strip_prefix("inside a "));
            inside.is_some_and(|thing| shared == format!("same {thing}")) || words == shared
        }
    }
}

/// `P–E`.
fn kinds_of(run: &Run, a: CpuId, b: CpuId) -> String {
    let classes = list(&run.document["topology"]["reported"]["classes"]);
    let class = |cpu: CpuId| {
        let of = |class: &&Value| {
            class["cpus"]
                .as_str()
                .and_then(|cpus| cpus.parse::<CpuSet>().ok())
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

fn values(reader: &Reader<'_>, words: &str) -> Vec<f64> {
    let all = cells(&reader.run.document["matrices"][reader.matrix]);
    all.into_iter()
        .filter(|(a, b, _)| speaks_of(reader, words, [CpuId(*a), CpuId(*b)]))
        .map(|cell| cell.2)
        .collect()
}

/// Every part is the median of its pairs, and the ratio that of the first and the last.
fn answer(reader: &mut Reader<'_>, said: &Said<'_>) {
    parts(reader, said.sentence);
}

fn parts(reader: &mut Reader<'_>, sentence: &str) {
    let mut first = None;
    let near_or_far = sentence.contains("near or far");
    let sentence = sentence.replace(" · ! most pairs are doubtful", "").replace(", near or far", "");
    for part in sentence.split(", ") {
        let Some(found) = PART.captures(part) else {
            return reader.fail("answer", format!("`{part}` is no distance"));
        };
        let value = Printed::read(&found["value"]).unwrap();
        let known = median(&values(reader, &found["words"]));
        // Near and far read alike: the number is that of the nearest.
        let known = if near_or_far { known.map(|_| value.value) } else { known };
        reader.is("answer", value, known, &found["words"]);
        let first = *first.get_or_insert(known.unwrap_or(f64::NAN));
        if let (Some(ratio), Some(known)) = (found.name("ratio"), known) {
            reader.is("answer", Printed::read(ratio.as_str()).unwrap(), Some(known / first), "the ratio");
        }
    }
}

fn range(reader: &mut Reader<'_>, said: &Said<'_>) {
    let all = values(reader, "between any two cores");
    reader.is("answer", said.number("first"), all.iter().copied().reduce(f64::min), "the fastest pair");
    reader.is("answer", said.number("last"), all.iter().copied().reduce(f64::max), "the slowest pair");
    reader.is("answer", said.number("middle"), median(&all), "the median");
}

/// Every number is that of some state, and of the pair in truth; what is to be planned for is the slowest.
fn levels(reader: &mut Reader<'_>, said: &Said<'_>) {
    all_levels(reader, said, said.text("levels"));
}

/// The most frequent levels of all pairs are alike, and one pair changed most.
fn usual_and_levels(reader: &mut Reader<'_>, said: &Said<'_>) {
    parts(reader, said.text("usual"));
    levels(reader, said);
}

fn levels_of_pair(reader: &mut Reader<'_>, said: &Said<'_>) {
    let first = said.sentence.split(" ns ").next().unwrap_or_default();
    let levels = format!("{first} ns {} of the time, {}", said.text("often"), said.text("levels"));
    all_levels(reader, said, &levels);
}

fn all_levels(reader: &mut Reader<'_>, said: &Said<'_>, levels: &str) {
    let watch = &reader.run.document["watch"];
    let of_states: Vec<f64> =
        list(&watch["states"]).iter().filter_map(|state| state["kernels"][0]["median"].as_f64()).collect();
    let slowest = of_states.iter().copied().fold(0.0, f64::max);
    let fastest = of_states.iter().copied().fold(f64::INFINITY, f64::min);
    let shares = list(&watch["states"]).iter().filter_map(|state| state["share"].as_f64());
    let (first, rest) = levels.split_once(" ns ").unwrap_or((levels, ""));
    let first = Printed::read(first).unwrap();
    reader.is("answer", first, of_states.first().copied(), "the most frequent state");
    reader.holds(
        "answer",
        rest.starts_with("most of the time") == shares.clone().next().is_some_and(|share| share > 0.5),
        || "how often it is so".to_owned(),
    );
    if let Some(share) = rest.split_once(" of the time").and_then(|(share, _)| Printed::read(share)) {
        reader.is("answer", share, shares.clone().next(), "how often it is so");
    }
    for (begins, value) in [("up to ", slowest), ("as little as ", fastest)] {
        if let Some((_, other)) = rest.split_once(begins) {
            let other = Printed::read(other.split(' ').next().unwrap_or_default()).unwrap();
            reader.is("answer", other, Some(value), begins);
        }
    }
    let plan = rest.rsplit_once("plan for ").and_then(|(_, plan)| Printed::read(plan));
    reader.holds("answer", plan.is_some_and(|plan| plan.reads(slowest)), || {
        format!("the slowest is {slowest}")
    });
    let truth = reader.run.true_ns("cas+pause", said.cpu("a"), said.cpu("b"));
    let most = nearest(&truth, slowest);
    reader.holds("states", reader.run.moves(CpuId(said.cpu("a")), CpuId(said.cpu("b"))), || {
        format!("truly {truth:?}, {most}")
    });
}

fn advice(reader: &mut Reader<'_>, said: &Said<'_>) {
    let [n, m] = ["n", "m"].map(|hole| said.number(hole).value);
    reader.holds("answer", n == m, || format!("{n} threads and -n {m}"));
}

/// The values of pairs of cores in truth, by whether both CPUs are among some.
fn true_values(reader: &Reader<'_>, cpus: &CpuSet) -> [Vec<f64>; 2] {
    let mut values = [Vec::new(), Vec::new()];
    for [a, b] in pairs(&reader.run.measured()) {
        if reader.run.reported.relation(a, b) != Relation::Smt {
            let outside = !(cpus.contains(a) && cpus.contains(b));
            values[usize::from(outside)].extend(reader.run.true_ns("cas+pause", a.0, b.0).first());
        }
    }
    values
}

/// The cores of a kind are nearer to each other than any other two are, and these are all of that kind.
fn kind(reader: &mut Reader<'_>, said: &Said<'_>) {
    let cpus: CpuSet = said.text("cpus").parse().unwrap_or_default();
    let classes = list(&reader.run.document["topology"]["reported"]["classes"]);
    let class = classes.iter().find(|class| class["name"] == said.text("kind"));
    let of_kind: CpuSet = class.and_then(|class| class["cpus"].as_str()?.parse().ok()).unwrap_or_default();
    let all = of_kind.intersection(&reader.run.measured());
    reader.holds("answer", all == cpus, || format!("CPUs {all} are of this kind"));
    let [inside, outside] = true_values(reader, &cpus);
    let slowest = inside.iter().copied().fold(0.0, f64::max);
    let fastest = outside.iter().copied().fold(f64::INFINITY, f64::min);
    reader.holds("answer", slowest < fastest, || format!("truly {slowest} inside and {fastest} outside"));
}

fn anywhere(reader: &mut Reader<'_>, _: &Said<'_>) {
    let [values, _] = true_values(reader, &reader.run.measured());
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max]
        .map(|of| values.iter().copied().reduce(of).unwrap_or(f64::NAN));
    reader.holds("answer", high < 1.3 * low, || format!("truly {low} to {high}"));
}

/// The slowest level of the pair that was watched.
fn elsewhere(reader: &mut Reader<'_>, said: &Said<'_>) {
    let states = list(&reader.run.document["watch"]["states"]);
    let slowest = states.iter().filter_map(|state| state["kernels"][0]["median"].as_f64()).reduce(f64::max);
    reader.is("answer", said.number("ns"), slowest, "the slowest level");
}

fn bound(reader: &mut Reader<'_>, said: &Said<'_>) {
    let named = named_groups(said.text("cpus"));
    let cpus = said.text("cpus").parse().ok();
    let groups = reader.run.true_groups(&reader.run.measured());
    let is_so = cpus.is_some_and(|cpus| groups.iter().any(|(_, groups)| groups.contains(&cpus)));
    reader.holds("answer", is_so, || format!("{named:?} is none of {groups:?}"));
}
