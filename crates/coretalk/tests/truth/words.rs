//! Checks of the words of sentences against the document: CPU sets, the title of a map and the advice below it.

use super::fields::path_of;
use super::maps::cells;
use super::run::{Run, cpu_set, cpus, ends_of, list};
use coretalk_model::{CpuId, CpuSet, Relation, Scope};
use coretalk_report::blocks::value::{Arg, Sentence, Source};
use coretalk_report::fmt;
use serde_json::Value;
use std::collections::HashSet;

/// Adds the CPU sets of a document: texts such as `0-3` and arrays of numbers.
fn add_sets(value: &Value, found: &mut HashSet<CpuSet>) {
    let mut add = |cpus: &[CpuId]| found.extend([cpus.iter().copied().collect::<CpuSet>()]);
    match value {
        Value::String(text) => found.extend(text.parse::<CpuSet>()),
        Value::Array(all) => {
            let numbers = cpus(value);
            if numbers.len() == all.len() {
                // The first CPU may have another role, so the rest is also a set.
                (0..2.min(all.len())).for_each(|first| add(&numbers[first..]));
            }
            all.iter().for_each(|one| add_sets(one, found));
        }
        Value::Object(fields) => {
            // A screen may list only the first or the last CPUs with the same `standing`.
            for standing in ["use", "avoid"] {
                let subjects = list(&value["subjects"]).iter().filter(|one| one["standing"] == standing);
                let cpus: Vec<CpuId> = subjects.flat_map(|one| cpus(&one["placement"])).collect();
                (0..=cpus.len()).for_each(|at| [&cpus[..at], &cpus[at..]].into_iter().for_each(&mut add));
            }
            fields.values().for_each(|field| add_sets(field, found));
        }
        _ => {}
    }
}

/// CPU sets in sentences that are in no field of the documents; for `advise` and `compare`, those that are not in the
/// answer.
fn unknown_sets(run: &Run) -> Vec<String> {
    let (measured, advice) = (run.measured(), &run.document["advice"][0]);
    let mut known = HashSet::new();
    [&run.document].into_iter().chain(&run.sources).for_each(|document| add_sets(document, &mut known));
    let advised = cpu_set(&advice["cpus"]);
    let candidates: CpuSet = advice["candidates"].as_str().unwrap_or_default().parse().unwrap_or_default();
    let excluded = measured.difference(&candidates);
    let rows = list(&run.document["differences"]).iter().filter(|row| row["departs"] == true);
    let departing: CpuSet = rows.flat_map(|row| cpus(&row["cell"])).collect();
    let is_known = |shown: &CpuSet| match (run.words[0].as_str(), shown.len()) {
        ("advise", 1) if shown.is_subset(&advised) => true,
        ("advise", _) => [&advised, &candidates, &excluded].contains(&shown),
        ("compare", _) if !run.document["compared"].is_null() => shown.is_subset(&departing),
        (_, 0 | 1) => shown.is_subset(run.reported.cpus()),
        // A reported group may be reduced to its measured CPUs.
        _ => known.iter().any(|set| set == shown || set.intersection(&measured) == *shown),
    };
    let set = |arg: &Arg| match arg {
        Arg::Cpus(cpus) => Some(cpus.iter().copied().collect()),
        Arg::CpuSet(cpus) => Some(cpus.clone()),
        _ => None,
    };
    let mut unknown = Vec::new();
    for sentence in &run.sentences {
        // A sentence that states the number of groups of a level also lists these groups.
        let paths: Vec<&str> = sentence.values().iter().filter_map(|value| path_of(&value.source)).collect();
        let level = match paths[..] {
            [path] => path.strip_suffix("/groups").and_then(|level| run.document.pointer(level)),
            _ => None,
        };
        let mut of_level = HashSet::new();
        level.into_iter().for_each(|level| add_sets(level, &mut of_level));
        let args = sentence.all().into_iter().flat_map(|part| &part.args);
        let mut sets = args.filter_map(|(_, arg)| set(arg));
        let other = sets.find(|cpus| !is_known(cpus) || level.is_some() && !of_level.contains(cpus));
        let text = fmt::sentence(sentence);
        unknown.extend(other.map(|cpus| format!("`{text}`: no field has the CPUs {cpus}")));
    }
    unknown
}

/// Minimum and maximum latency of pairs of cores, for pairs with zero, one and two CPUs in a set.
fn spreads(run: &Run, cpus: &CpuSet) -> [[f64; 2]; 3] {
    let mut spreads = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for (a, b, ns) in cells(&run.document["matrices"][0]) {
        let [a, b] = [a, b].map(CpuId);
        if run.reported.relation(a, b) != Relation::Smt {
            let [low, high] = &mut spreads[[a, b].iter().filter(|cpu| cpus.contains(**cpu)).count()];
            (*low, *high) = (low.min(ns), high.max(ns));
        }
    }
    spreads
}

fn has_several_states(run: &Run, pair: [CpuId; 2]) -> bool {
    let mut cells = list(&run.document["matrices"]).iter().flat_map(|matrix| list(&matrix["cells"]));
    cells.any(|cell| {
        let [a, b] = ends_of(cell);
        ([a, b] == pair || [b, a] == pair) && list(&cell["states"]).len() > 1
    })
}

fn arg<'a>(sentence: &'a Sentence, placeholder: &str) -> Option<&'a Arg> {
    sentence.args.iter().find(|(name, _)| *name == placeholder).map(|(_, arg)| arg)
}

/// An error if the scope named in a sentence differs from the relation of the pairs behind its number.
fn misplaced(run: &Run, sentence: &Sentence) -> Option<String> {
    let relation = sentence.values().into_iter().find_map(|value| match &value.source {
        Source::Pairs { relation, .. } => Some(*relation),
        _ => None,
    })?;
    let parts = sentence.all().into_iter().flat_map(|part| &part.args);
    let mut scopes = parts.filter_map(|(_, arg)| match arg {
        Arg::Place(scope) | Arg::Shared(scope) => Some(*scope),
        _ => None,
    });
    let expected = Scope::from_relation(relation, &run.reported);
    // A sentence about several groups is checked part by part.
    let (scope, is_one) = (scopes.next()?, scopes.next().is_none() && sentence.values().len() <= 3);
    (is_one && scope != expected).then(|| format!("the pairs are of {expected:?}"))
}

/// Templates that [`untrue_sentence`] checks; each must occur on a screen.
pub const TEMPLATES: [&str; 10] = [
    "{what}{hint}",
    "SIMULATED {scenario}",
    "one pair at a time",
    "up to {pairs} at once",
    "taskset -c {near} COMMAND",
    "the {kind} cores, taskset -c {cpus} COMMAND",
    "any cores (all are about equally close)",
    "most of the time",
    "CPUs {a} and {b}: ",
    ", CPU {a} ↔ CPU {b}",
];

fn untrue_sentence(run: &Run, sentence: &Sentence) -> Option<String> {
    if let Some(why) = misplaced(run, sentence) {
        return Some(why);
    }
    let text = fmt::sentence(sentence);
    let set = |placeholder| match arg(sentence, placeholder) {
        Some(Arg::CpuSet(cpus)) => cpus.clone(),
        _ => CpuSet::new(),
    };
    let matrices = || list(&run.document["matrices"]).iter().filter(|matrix| !matrix["protocol"].is_null());
    let has_regime = |name: &str| matrices().any(|matrix| matrix["regime"] == name);
    let (is_right, why) = match sentence.template {
        "{what}{hint}" => {
            let title = |protocol: &Value| match protocol.as_str().unwrap_or_default() {
                "cas" => "another core gets my cache line: half round trip in ns, CAS",
                "store" => "another core sees my store: half round trip in ns, load and store",
                "msg" => "a message arrives: half round trip in ns, one mailbox line each way",
                "xfer" => "to read a line that another core wrote: ns, no spinning",
                _ => "a one-way time stamp lags behind the fastest: ns",
            };
            let hint = |matrix: &Value| match matrix["protocol"].as_str() {
                _ if matrix["kernel"].as_str().is_some_and(|kernel| kernel.ends_with("+pause")) => {
                    " with 1 pause"
                }
                Some("cas" | "store" | "msg") => " without pause",
                _ => "",
            };
            let is_of = |matrix: &Value| text.ends_with(&[title(&matrix["protocol"]), hint(matrix)].concat());
            (matrices().any(is_of), "no matrix was measured with this code".to_owned())
        }
        "SIMULATED {scenario}" => {
            let scenario = run.document["environment"]["simulated"].as_str();
            (scenario.is_some_and(|scenario| text.ends_with(scenario)), format!("it is {scenario:?}"))
        }
        "one pair at a time" => (has_regime("serial"), "pairs ran in parallel".to_owned()),
        "up to {pairs} at once" => (has_regime("parallel"), "pairs ran alone".to_owned()),
        "taskset -c {near} COMMAND" => {
            let [_, leaving, inside] = spreads(run, &set("near"));
            let is_closer = inside[1].is_finite() && 1.1 * inside[1] < leaving[0];
            (is_closer, format!("{inside:?} inside, {leaving:?} leaving"))
        }
        "the {kind} cores, taskset -c {cpus} COMMAND" => {
            let named = set("cpus");
            let kind = named.first().map_or("", |cpu| run.class(cpu));
            let of_kind: CpuSet = run.measured().iter().filter(|cpu| run.class(*cpu) == kind).collect();
            let is_named = !kind.is_empty() && text.starts_with(&format!("the {kind} "));
            let [others, leaving, inside] = spreads(run, &named);
            let is_closest = inside[1] < leaving[0].min(others[0]);
            let why = format!("CPUs {of_kind}: {inside:?} inside, {leaving:?} leaving, {others:?} of others");
            (of_kind == named && is_named && is_closest, why)
        }
        "any cores (all are about equally close)" => {
            let [.., [low, high]] = spreads(run, &run.measured());
            (high < 1.35 * low, format!("{low} to {high}"))
        }
        "most of the time" => {
            let share = run.document["watch"]["states"][0]["share"].as_f64();
            (share.is_some_and(|share| share > 0.5), format!("its share is {share:?}"))
        }
        template if template.starts_with("The budget of ") => {
            let is_placed = !list(&run.document["comparisons"]).is_empty();
            (is_placed || run.document["run"]["budget_ended"] == true, "no budget ended".to_owned())
        }
        // Such a sentence names a pair whose level changed.
        "CPUs {a} and {b}: " | ", CPU {a} ↔ CPU {b}" | "between CPUs {a} and {b} " => {
            let cpu = |placeholder| match arg(sentence, placeholder) {
                Some(Arg::Cpus(cpus)) => cpus.first().copied().unwrap_or(CpuId(0)),
                _ => CpuId(0),
            };
            (has_several_states(run, ["a", "b"].map(cpu)), "this pair has one level".to_owned())
        }
        _ => return None,
    };
    (!is_right).then_some(why)
}

/// Quotations that differ from the document.
fn misquoted(run: &Run) -> Vec<String> {
    let args = run.sentences.iter().flat_map(|sentence| &sentence.args);
    let wrong = |(_, arg): &(&str, Arg)| match arg {
        Arg::Recorded(text, Source::Field(path)) => {
            let recorded = run.document.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let is_same = [recorded, recorded.trim_end_matches('.')].contains(&text.as_str());
            (!is_same).then(|| format!("`{text}`: {path} is `{recorded}`"))
        }
        _ => None,
    };
    args.filter_map(wrong).collect()
}

pub fn untrue(run: &Run) -> Vec<String> {
    let untrue = |sentence: &Sentence| {
        let why = untrue_sentence(run, sentence)?;
        Some(format!("`{}`: {why}", fmt::sentence(sentence)))
    };
    run.sentences.iter().filter_map(untrue).chain(unknown_sets(run)).chain(misquoted(run)).collect()
}
