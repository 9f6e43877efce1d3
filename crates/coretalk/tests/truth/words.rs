//! Checks of the words of sentences against the document and the simulated machine: CPU sets, the title of a map and the
//! advice below it.

use super::maps::{has_flag, is_doubtful, relative_reach};
use super::plants::plant;
use super::run::{Run, list, pairs};
use super::sources::recomputed;
use crate::cli::tool::Tool;
use coretalk::blocks::value::{Arg, Sentence, Source};
use coretalk::report::fmt;
use coretalk_model::{CpuId, CpuSet, Relation, Scope};
use serde_json::Value;
use std::collections::BTreeSet;

/// Adds the CPU sets of a document: texts such as `0-3` and arrays of numbers.
fn add_sets(of: &Value, found: &mut BTreeSet<Vec<u32>>) {
    let mut add = |cpus: &mut dyn Iterator<Item = u32>| {
        let cpus: BTreeSet<u32> = cpus.collect();
        found.insert(cpus.into_iter().collect());
    };
    let number = |cpu: &Value| cpu.as_u64().map(|cpu| cpu as u32);
    match of {
        Value::String(text) => {
            if let Ok(cpus) = text.parse::<CpuSet>() {
                add(&mut cpus.iter().map(|cpu| cpu.0));
            }
        }
        Value::Array(all) => {
            if let Some(cpus) = all.iter().map(number).collect::<Option<Vec<u32>>>() {
                // The first CPU may have another role, so the others are a set, too.
                add(&mut cpus.iter().skip(1).copied());
                add(&mut cpus.into_iter());
            }
            all.iter().for_each(|one| add_sets(one, found));
        }
        Value::Object(fields) => {
            // A screen names the quietest or the noisiest CPUs of a standing.
            for standing in ["use", "avoid"] {
                let subjects = list(&of["subjects"]).iter().filter(|one| one["standing"] == standing);
                let cpus: Vec<u32> = subjects.filter_map(|one| number(&one["placement"][0])).collect();
                (1..=cpus.len()).for_each(|first| add(&mut cpus[..first].iter().copied()));
                (0..cpus.len()).for_each(|first| add(&mut cpus[first..].iter().copied()));
            }
            fields.values().for_each(|field| add_sets(field, found));
        }
        _ => {}
    }
}

/// CPU sets in sentences that no field of the documents has.
fn unknown_sets(run: &Run) -> Vec<String> {
    let mut known = BTreeSet::new();
    [&run.document].into_iter().chain(&run.sources).for_each(|document| add_sets(document, &mut known));
    let (all, measured) = (run.reported.cpus(), run.measured());
    let is_known = |cpus: &BTreeSet<u32>| match cpus.len() {
        0 | 1 => cpus.iter().all(|cpu| all.contains(CpuId(*cpu))),
        // A reported group may be reduced to its measured CPUs.
        _ => known.iter().any(|of| {
            let here = || of.iter().filter(|cpu| measured.contains(CpuId(**cpu)));
            // No field has the CPUs that an advice excludes.
            let left_out = measured.iter().map(|cpu| cpu.0).filter(|cpu| !of.contains(cpu));
            let is_left_out = || run.words[0] == "advise" && left_out.eq(cpus.iter().copied());
            of.iter().eq(cpus.iter()) || here().eq(cpus.iter()) || is_left_out()
        }),
    };
    let mut wrong = Vec::new();
    for sentence in &run.sentences {
        for (hole, arg) in &sentence.args {
            let cpus: BTreeSet<u32> = match arg {
                Arg::Cpus(cpus) => cpus.iter().map(|cpu| cpu.0).collect(),
                Arg::CpuSet(cpus) => cpus.iter().map(|cpu| cpu.0).collect(),
                _ => continue,
            };
            if !is_known(&cpus) {
                let text = fmt::sentence(sentence);
                wrong.push(format!("`{text}`: no field has the CPUs {cpus:?} of `{hole}`"));
            }
        }
    }
    wrong
}

/// The true latencies of pairs of cores inside a CPU set, and of all others.
fn true_values(run: &Run, cpus: &CpuSet) -> [Vec<f64>; 2] {
    let mut values = [Vec::new(), Vec::new()];
    for [a, b] in pairs(&run.measured()) {
        if run.reported.relation(a, b) != Relation::Smt {
            let outside = !(cpus.contains(a) && cpus.contains(b));
            values[usize::from(outside)].extend(run.true_ns("cas+pause", a.0, b.0).first());
        }
    }
    values
}

/// The argument of a hole.
fn arg<'a>(sentence: &'a Sentence, hole: &str) -> Option<&'a Arg> {
    sentence.args.iter().find(|(name, _)| *name == hole).map(|(_, arg)| arg)
}

/// A cell without a flag whose interval is wider than requested, both in time and in core cycles.
fn imprecise(run: &Run) -> Option<String> {
    let asked = recomputed(run, &Source::Option("precision"))?;
    let matrices = list(&run.document["matrices"]).iter();
    let maps = matrices.filter(|matrix| !matrix["protocol"].is_null() && matrix["protocol"] != "one-way");
    let is_imprecise = |cell: &&Value| {
        let is_flagged = is_doubtful(cell) || has_flag(cell, &["wide-ci"]);
        let is_narrow = |of: &Value, room: f64| relative_reach(of).is_none_or(|reach| reach <= room);
        !is_flagged && !is_narrow(cell, asked * 1.02 + 1e-4) && !is_narrow(&cell["cycles"], asked * 1.001)
    };
    let cell = maps.flat_map(|matrix| list(&matrix["cells"])).find(is_imprecise)?;
    Some(format!("CPUs {} and {}: {:?} without a flag", cell["from"], cell["to"], relative_reach(cell)))
}

/// A place in a sentence that differs from the relation of the pairs of its number.
fn misplaced(run: &Run, sentence: &Sentence) -> Option<String> {
    let relation = sentence.values().into_iter().find_map(|value| match &value.source {
        Source::Pairs { relation, .. } => Some(*relation),
        _ => None,
    })?;
    let parts = sentence.all().into_iter().flat_map(|part| &part.args);
    let scopes = parts.filter_map(|(_, arg)| match arg {
        Arg::Place(scope) | Arg::Shared(scope) => Some(*scope),
        _ => None,
    });
    let expected = Scope::of(relation, &run.reported);
    // A sentence with several groups is checked in its parts.
    let scopes: Vec<Scope> = scopes.collect();
    let is_one = scopes.len() == 1 && sentence.values().len() <= 3;
    (is_one && scopes[0] != expected).then(|| format!("the pairs are of {expected:?}"))
}

/// Templates that [`untrue_sentence`] checks; a screen must have each of them.
pub const TEMPLATES: [&str; 11] = [
    "{what}{hint}",
    "SIMULATED {scenario}",
    "one pair at a time",
    "up to {pairs} at the same time",
    "taskset -c {near} COMMAND",
    "the {kind} cores, taskset -c {cpus} COMMAND",
    "any cores (all are about equally close)",
    "most of the time",
    "{none}±{precision} at 95 %{scale}{wider}",
    "CPUs {a} and {b}: ",
    ", CPU {a} ↔ CPU {b}",
];

/// An error in a sentence of a map.
fn untrue_sentence(run: &Run, sentence: &Sentence) -> Option<String> {
    if let Some(why) = misplaced(run, sentence) {
        return Some(why);
    }
    let cpus = |hole| match arg(sentence, hole) {
        Some(Arg::CpuSet(cpus)) => cpus.clone(),
        _ => CpuSet::new(),
    };
    let spread = |values: &[f64]| {
        [f64::min, f64::max].map(|end| values.iter().copied().reduce(end).unwrap_or(f64::NAN))
    };
    let matrices = || list(&run.document["matrices"]).iter().filter(|matrix| !matrix["protocol"].is_null());
    match sentence.template {
        "{what}{hint}" => {
            let said = fmt::sentence(sentence);
            let asked = |protocol: &Value| match protocol.as_str().unwrap_or_default() {
                "cas" => "another core gets my cache line: half round trip in ns, CAS",
                "store" => "another core sees my store: half round trip in ns, load and store",
                "msg" => "a message arrives: half round trip in ns, one mailbox line each way",
                "xfer" => "to read a line that another core wrote: ns, no spinning",
                _ => "a one-way time stamp lags behind the fastest: ns",
            };
            let hint = |matrix: &Value| match matrix["kernel"].as_str().unwrap_or_default() {
                kernel if kernel.ends_with("+pause") => " with 1 pause",
                _ if ["cas", "store", "msg"].iter().any(|of| matrix["protocol"] == *of) => " without pause",
                _ => "",
            };
            let is_of =
                |matrix: &Value| said.ends_with(&(asked(&matrix["protocol"]).to_owned() + hint(matrix)));
            (!matrices().any(is_of)).then(|| "no matrix was measured with this code".to_owned())
        }
        "SIMULATED {scenario}" => {
            let scenario = run.document["environment"]["simulated"].as_str();
            let is_it = scenario.is_some_and(|scenario| fmt::sentence(sentence).ends_with(scenario));
            (!is_it).then(|| format!("it is {scenario:?}"))
        }
        "one pair at a time" => {
            (!matrices().any(|of| of["regime"] == "serial")).then(|| "pairs ran in parallel".to_owned())
        }
        "up to {pairs} at the same time" => {
            (!matrices().any(|of| of["regime"] == "parallel")).then(|| "pairs ran alone".to_owned())
        }
        "taskset -c {near} COMMAND" => {
            let groups = run.true_groups(&run.measured());
            let is_group = groups.iter().any(|groups| groups.contains(&cpus("near")));
            (!is_group).then(|| format!("truly there are {groups:?}"))
        }
        "the {kind} cores, taskset -c {cpus} COMMAND" => {
            let named = cpus("cpus");
            let kind = named.first().map_or("", |cpu| run.class(cpu));
            let of_kind: CpuSet = run.measured().iter().filter(|cpu| run.class(*cpu) == kind).collect();
            let is_said = !kind.is_empty() && fmt::sentence(sentence).starts_with(&format!("the {kind} "));
            if of_kind != named || !is_said {
                return Some(format!("CPUs {of_kind} are of the kind of CPU {named}"));
            }
            let [inside, outside] = true_values(run, &named).map(|values| spread(&values));
            (inside[1] >= outside[0]).then(|| format!("truly {inside:?} inside and {outside:?} outside"))
        }
        "any cores (all are about equally close)" => {
            let [low, high] = spread(&true_values(run, &run.measured())[0]);
            (high >= 1.3 * low).then(|| format!("truly {low} to {high}"))
        }
        "most of the time" => {
            let share = run.document["watch"]["states"][0]["share"].as_f64();
            share.is_none_or(|share| share <= 0.5).then(|| format!("its share is {share:?}"))
        }
        "{none}±{precision} at 95 %{scale}{wider}" => imprecise(run),
        said if said.starts_with("The budget of ") => {
            let ended = run.document["run"]["budget_ended"] == true;
            let is_placed = !list(&run.document["comparisons"]).is_empty();
            (!ended && !is_placed).then(|| "no budget ended".to_owned())
        }
        // A pair that is named because of its change of level.
        "CPUs {a} and {b}: " | ", CPU {a} ↔ CPU {b}" | "between CPUs {a} and {b} " => {
            let cpu = |hole| match arg(sentence, hole) {
                Some(Arg::Cpus(cpus)) => cpus.first().copied().unwrap_or(CpuId(0)),
                _ => CpuId(0),
            };
            (!run.moves(cpu("a"), cpu("b"))).then(|| "this pair has one level in truth".to_owned())
        }
        _ => None,
    }
}

/// Quotations that differ from the document.
fn misquoted(run: &Run) -> Vec<String> {
    let args = run.sentences.iter().flat_map(|said| &said.args);
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

/// Errors in sentences.
pub fn untrue(run: &Run) -> Vec<String> {
    let untrue = |sentence: &Sentence| {
        let why = untrue_sentence(run, sentence)?;
        Some(format!("`{}`: {why}", fmt::sentence(sentence)))
    };
    run.sentences.iter().filter_map(untrue).chain(unknown_sets(run)).chain(misquoted(run)).collect()
}

/// The first sentence of a template, and one of its arguments.
fn argument<'a>(run: &'a mut Run, template: &str, hole: &'static str) -> &'a mut Arg {
    let said = run.sentences.iter_mut().find(|said| said.template == template).unwrap();
    let at = said.args.iter().position(|(name, _)| *name == hole).unwrap_or_else(|| {
        said.args.push((hole, Arg::Parts(Vec::new(), "")));
        said.args.len() - 1
    });
    &mut said.args[at].1
}

#[test]
fn sets_of_cpus_and_words_that_are_changed_are_found() {
    let words = "--cpus 0,1,8,16,24 --budget 3s --seed 1";
    let run = Run::of(&Tool::new(), "chiplet-16-smt", words, "planted-words");
    fn sets(run: &mut Run) -> Vec<&mut Arg> {
        let args = run.sentences.iter_mut().flat_map(|said| &mut said.args).map(|(_, arg)| arg);
        args.filter(|arg| matches!(arg, Arg::CpuSet(_))).collect()
    }
    fn other() -> Arg {
        Arg::CpuSet("1-3,24".parse().unwrap())
    }
    plant(
        &[run],
        untrue,
        &[
            ("first CPU set", |run| *sets(run)[0] = other(), "no field has the CPUs"),
            ("last CPU set", |run| *sets(run).pop().unwrap() = other(), "no field has the CPUs"),
            (
                "hint",
                |run| *argument(run, "{what}{hint}", "hint") = " without pause".into(),
                "with this code",
            ),
            (
                "regime",
                |run| {
                    *argument(run, "one pair at a time", "pairs") = "2 pairs".into();
                    let said = run.sentences.iter_mut().find(|said| said.template == "one pair at a time");
                    said.unwrap().template = "up to {pairs} at the same time";
                },
                "pairs ran alone",
            ),
            (
                "group",
                |run| {
                    *argument(run, "taskset -c {near} COMMAND", "near") = Arg::CpuSet("0,8".parse().unwrap())
                },
                "truly there are",
            ),
            (
                "place",
                |run| {
                    let place = Arg::Place(Scope::of(Relation::Machine, &run.reported));
                    let words = Sentence::new("{pairs}").with("pairs", place);
                    *argument(run, "{value} ns {words}", "words") = words.into();
                },
                "the pairs are of",
            ),
        ],
    );
}

#[test]
fn another_finding_of_doctor_is_found() {
    let run = Run::of(&Tool::new(), "noisy-vm", "--cpus 0,1 --budget 2s --seed 1", "planted-finding");
    let change = |run: &mut Run| run.set("/environment/doctor/1/text", "no hypervisor");
    plant(&[run], misquoted, &[("finding", change, "/environment/doctor/1/text is `no hypervisor`")]);
}
