//! Single faults in documents and on screens, each of which a check must find.

use super::run::Run;
use super::sources::{entries, recomputed, trial_of};
use super::{cases, untrue};
use crate::cli::tool::Tool;
use coretalk_model::{Relation, Scope};
use coretalk_report::blocks::value::{Arg, Operation, Sentence, Source};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A fault of a run: its name, the change, and words of the error that must report it.
type Fault = (&'static str, fn(&mut Run), &'static str);

/// Plants each fault in every run that it changes. Each run must have an error, and one run the expected error.
fn plant(runs: &[Run], faults: &[Fault]) {
    assert_eq!(runs.iter().flat_map(untrue).collect::<Vec<_>>(), Vec::<String>::new());
    for (kind, change, expected) in faults {
        let mut reasons = Vec::new();
        for run in runs {
            let mut changed = run.clone();
            change(&mut changed);
            changed.trials = entries(&changed.document).map(trial_of).collect();
            if changed.said() != run.said() {
                let found = untrue(&changed);
                assert!(!found.is_empty(), "{kind}: {:?}: {}", run.words, changed.document);
                reasons.extend(found);
            }
        }
        assert!(reasons.iter().any(|why| why.contains(expected)), "{kind}: {reasons:#?}");
    }
}

fn measure(tool: &Tool, machine: &str, words: &str, name: &str) -> Run {
    Run::perform(tool, machine, &format!("{words} --seed 1"), name)
}

fn set_arg(cpus: &str) -> Arg {
    Arg::CpuSet(cpus.parse().unwrap())
}

fn name_machine(run: &mut Run) {
    let place = Arg::Place(Scope::from_relation(Relation::Machine, &run.reported));
    set_argument(run, "{value} ns {words}", "words", Sentence::new("{pairs}").with("pairs", place));
}

fn replace_first(run: &mut Run, from: &str, to: &str) {
    assert!(run.first_line.contains(from), "{}", run.first_line);
    run.first_line = run.first_line.replace(from, to);
}

fn replace_printed(run: &mut Run, from: &str, to: &str) {
    assert!(run.printed.contains(from), "{}", run.printed);
    run.printed = run.printed.replace(from, to);
}

fn add_cpu_sentence(run: &mut Run, cpus: &str) {
    run.sentences.push(Sentence::new("{cpus}").with("cpus", set_arg(cpus)));
}

fn sets(run: &mut Run) -> Vec<&mut Arg> {
    let args = run.sentences.iter_mut().flat_map(|sentence| &mut sentence.args).map(|(_, arg)| arg);
    args.filter(|arg| matches!(arg, Arg::CpuSet(_))).collect()
}

/// Replaces an argument of the first sentence of a template.
fn set_argument(run: &mut Run, template: &str, placeholder: &'static str, arg: impl Into<Arg>) {
    let sentence = run.sentences.iter_mut().find(|sentence| sentence.template == template).unwrap();
    sentence.args.retain(|(name, _)| *name != placeholder);
    sentence.args.push((placeholder, arg.into()));
}

#[test]
fn changed_words_are_found() {
    let faults: [Fault; 6] = [
        ("first CPU set", |run| *sets(run)[0] = set_arg("1-3,24"), "no field has the CPUs"),
        ("last CPU set", |run| *sets(run).pop().unwrap() = set_arg("1-3,24"), "no field has the CPUs"),
        ("hint", |run| set_argument(run, "{what}{hint}", "hint", " without pause"), "with this code"),
        ("regime", |run| run.set("/matrices/0/regime", "parallel"), "pairs ran in parallel"),
        ("group", |run| set_argument(run, "taskset -c {near} COMMAND", "near", set_arg("0,8")), " inside, "),
        ("place", name_machine, "the pairs are of"),
    ];
    plant(&[measure(&Tool::new(), "chiplet-16-smt", "--cpus 0,1,8,16,24 --budget 3s", "words")], &faults);
}

#[test]
fn changed_conditions_are_found() {
    let tool = Tool::new();
    let faults: [Fault; 3] = [
        ("missing field", |run| run.edit_list("/watch/states", |all| all.push(json!({}))), "None, not "),
        ("more findings", |run| run.set("/environment/doctor", json!([])), "more findings"),
        ("finding", |run| run.set("/environment/doctor/1/text", "none"), "doctor/1/text is `none`"),
    ];
    let doubted = measure(&tool, "noisy-vm", "--cpus 0,1", "doubted");
    plant(std::slice::from_ref(&doubted), &faults);
    let doctors = ["noisy-vm", "chiplet-16", "arm-coarse-clock"].map(|machine| {
        let words = ["doctor", &format!("--machine=sim:{machine}")];
        let printed = tool.done(&words).out;
        let document = tool.json(&[&words[..], &["--format", "json"]].concat());
        let words = words.map(str::to_owned).into();
        let (values, cells, sentences, rows) = Default::default();
        Run { words, printed, document, values, cells, sentences, rows, ..doubted.clone() }
    });
    plant(&doctors, &[("counts", faults[1].1, "other counts")]);
    let change = |run: &mut Run| run.edit_list("/ladder", |all| all[0]["classes"] = json!(["P", "none"]));
    let kinds = measure(&tool, "hybrid", "latency --cpus 0-3,12-14 --budget 3s", "kinds");
    plant(&[kinds], &[("kinds of cores", change, "the level in")]);
}

const SUBJECTS: &str = "/findings/0/subjects";

#[test]
fn changed_findings_are_found() {
    let tool = Tool::new();
    let run = |machine, words| measure(&tool, machine, &format!("{words} --budget 4s"), "ranked");
    let ranked = ["wait --cpus 0,8", "spawn", "contend --cpus 0-3", "queue --cpus 0,1,8"];
    let ranked = ranked.map(|words| run("chiplet-16", words));
    let faults: [Fault; 7] = [
        ("order", |run| run.edit_list(SUBJECTS, |all| all.swap(0, 1)), "the order"),
        ("missing result", |run| run.edit_list(SUBJECTS, |all| drop(all.remove(1))), "is missing"),
        ("value", |run| run.set("/findings/0/subjects/0/value", 1e-9), "a number is not"),
        ("name", |run| run.edit_list(SUBJECTS, |all| all[0]["name"] = all[1]["name"].clone()), "is missing"),
        ("standing", |run| run.set("/findings/0/subjects/1/standing", "best"), "a standing"),
        ("verdict", |run| run.set("/findings/0/verdict", "alike"), "a standing or the verdict"),
        ("condition", |run| run.set("/findings/0/condition", json!({ "none": 0 })), "a number is not"),
    ];
    plant(&ranked, &faults);
    let swap = |run: &mut Run| {
        replace_first(run, "spsc is fastest", "semaphore-slim is fastest");
        replace_first(run, "semaphore-slim is slowest", "spsc is slowest");
    };
    plant(&ranked[3..], &[("first line", swap, "names other subjects")]);
    // A subject with several pairs has the interval of the typical pair, which no check recomputes.
    let interval = |run: &mut Run| run.set("/findings/0/subjects/0/ci/1", 1e12);
    plant(&ranked[..3], &[("interval", interval, "a number is not")]);
    let more = |run: &mut Run| {
        run.edit_list("/series", |all| all.push(all[0].clone()));
        run.edit_list("/series", |all| all[0]["placement"] = json!([98, 99]));
    };
    plant(&ranked[2..3], &[("missing trial", more, "None, not ")]);
    let value = |expected| -> Fault { ("value", faults[2].1, expected) };
    plant(&[run("chiplet-16", "sharing --cpus 0,1,8")], &[value("that of no trial")]);
    plant(&[run("hybrid", "latency --cpus 0-3,12")], &[value("that of its pairs")]);
}

#[test]
fn changed_comparisons_are_found() {
    let faults: [Fault; 6] = [
        ("interval", |run| run.set("/differences/0/ci", json!([8.0, 9.0])), "the interval is"),
        ("verdict", |run| run.set("/differences/0/verdict", "cannot-tell"), "the verdict in"),
        ("level", |run| run.set("/differences/0/level", "package"), "the level in"),
        ("answer", claim_another_verdict, "another verdict"),
        ("together", |run| run.set("/compared/together", json!([{"verdict": "faster"}])), "another verdict"),
        ("CPUs of the screen", |run| add_cpu_sentence(run, "0,9"), "no field has the CPUs"),
    ];
    fn claim_another_verdict(run: &mut Run) {
        let is_slower = run.first_line.contains("is slower than");
        run.first_line = if is_slower { "B is faster than A." } else { "B is slower than A." }.to_owned();
    }
    plant(&cases::comparisons(&Tool::new())[..3], &faults);
}

#[test]
fn changed_advice_is_found() {
    let faults: [Fault; 3] = [
        ("advised CPUs", |run| run.edit_list("/advice/0/cpus", |all| all[0] = 99.into()), "no field has"),
        ("candidates", |run| run.set("/advice/0/candidates", "15"), "no field has the CPUs"),
        ("CPUs of the screen", |run| add_cpu_sentence(run, "0,9,10"), "no field has the CPUs"),
    ];
    plant(&cases::advice(&Tool::new()), &faults);
}

#[test]
fn changed_placements_are_found() {
    let words = "place --workload ring,integer --threads 4 --budget 300s";
    let run = measure(&Tool::new(), "chiplet-16-smt", words, "placed");
    const PLACED: &str = "/comparisons/0/placements";
    let faults: [Fault; 11] = [
        ("winner", |run| run.set("/comparisons/0/winner", "across-l3"), "is not on the screen"),
        ("verdict", |run| run.set("/comparisons/0/verdict", "cannot-tell"), "is not on the screen"),
        ("median", |run| run.set("/comparisons/0/placements/0/median", 19e6), ", not "),
        ("interval", |run| run.set("/comparisons/0/placements/0/ci/0", 1.0), "the interval is"),
        ("CPUs", |run| run.set("/comparisons/0/placements/0/cpus/3", 10), "row of"),
        ("threads", |run| run.edit_list(PLACED, |all| all[1]["roles"][0] = 9.into()), "is not on the screen"),
        ("order", |run| run.edit_list(PLACED, |all| all.reverse()), "row of"),
        ("winner of work", |run| replace_printed(run, "ring: `smt-packed`", "ring: `across-l3`"), "screen"),
        ("winner of a row", |run| replace_printed(run, "020  smt-packed", "020  across-l3"), "winners in"),
        ("CPUs to type", |run| replace_printed(run, "-c 0,1,16,17", "-c 0,1,2,3"), "row of smt-packed"),
        ("places to type", |run| replace_printed(run, "{16},{1},{17}", "{1},{16},{17}"), "OMP_PLACES"),
    ];
    plant(&[run], &faults);
}

#[test]
fn changed_structures_are_found() {
    const LEVELS: &str = "/topology/inferred/levels";
    let tool = Tool::new();
    let faults: [Fault; 11] = [
        ("CPU set", |run| run.set("/topology/inferred/levels/1/groups/0", "0-3,8,16-19"), "no field has"),
        ("single CPU", |run| run.set("/topology/inferred/levels/0/groups/0", "8-10"), "no field has"),
        ("missing level", |run| run.edit_list(LEVELS, |all| drop(all.pop())), "names the levels"),
        ("median", |run| run.set("/topology/inferred/levels/1/median", 40.0), ", not "),
        ("interval", |run| run.set("/topology/inferred/levels/1/ci/1", 40.0), "the interval is"),
        ("verdict", |run| run.set("/topology/agreement/0/verdict", "conflict"), "the verdict in"),
        ("level", |run| run.set("/topology/agreement/0/level", "die"), "the level in"),
        ("report", |run| run.set("/topology/reported/levels/0/groups", json!(["0,16"])), ", not "),
        ("refusal", |run| run.set("/topology/inferred", Value::Null), "None, not "),
        ("CPUs of a box", |run| replace_printed(run, "· 0-7,16-23", "· 0-7,16-22"), "the boxes"),
        ("no box", |run| run.set("/topology/reported/levels/1/groups/0", "0-6"), "the boxes"),
    ];
    let words = "latency --cpus 0-3,8-11,16-19 --budget 4s";
    let source = measure(&tool, "chiplet-16-smt", words, "threads").document;
    plant(&[Run::asked(&tool, "topology --from threads", vec![source])], &faults);
}

#[test]
fn sums_over_trials_have_all_trials_of_a_gap() {
    let words = "wake --cpus 0,1,8 --gap 20us,1ms --budget 2s";
    let mut run = measure(&Tool::new(), "chiplet-16", words, "gaps");
    run.edit_list("/series", |all| all.iter_mut().for_each(|one| one["counts"]["idle_c1"] = 3.into()));
    let of_gap = |[series, _]: &[&Value; 2]| series["parameters"]["gap_ns"] == 20_000.0;
    let trials: BTreeSet<_> = entries(&run.document).filter(of_gap).map(trial_of).collect();
    let mut parts: Vec<_> = trials.iter().map(|trial| Source::of_any(*trial, "/counts/idle_c1")).collect();
    let sum = |parts: &[Source]| recomputed(&run, &Source::Computed(Operation::Sum, parts.to_vec()));
    assert_eq!(sum(&parts), Some(3.0 * parts.len() as f64));
    parts.pop();
    assert_eq!(sum(&parts), None);
}
