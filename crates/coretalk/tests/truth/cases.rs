//! Command lines whose screens are checked.

use super::judge;
use super::run::Run;
use super::words::TEMPLATES;
use crate::cli::tool::Tool;
use coretalk_model::stats::Key;
use std::collections::BTreeSet;

/// `chiplet-16` with CPU numbers that alternate between its two caches.
const RENUMBERED: &str = "based_on = \"chiplet-16\"\n[structure]\nkind = \"tree\"\nnumbering = \"round-robin\"\n\
    levels = [{ level = \"package\", count = 1 }, { level = \"l3\", count = 2 }, { level = \"core\", count = 8 }]\n";
/// `chiplet-16` with a higher latency between its caches.
const FARTHER: &str = "based_on = \"chiplet-16\"\n[latency_ns]\nl3 = 18.0\npackage = 102.0\n";

fn random_cpus(seed: u64, count: usize, end: u32) -> String {
    let mut draws = (0..).map(|draw| Key::from_words(&[seed, draw]).bits(0) % u64::from(end));
    let mut chosen = BTreeSet::new();
    while chosen.len() < count {
        chosen.extend(draws.next());
    }
    chosen.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

fn runs<M: AsRef<str>, W: AsRef<str>>(tool: &Tool, all: &[(M, W)]) -> Vec<Run> {
    let run = |(index, (machine, words)): (usize, &(M, W))| {
        let (machine, words) = (machine.as_ref(), words.as_ref());
        let seed = if words.contains("--seed") { "" } else { " --seed 1" };
        Run::perform(tool, machine, &format!("{words}{seed}"), &format!("run-{index}"))
    };
    all.iter().enumerate().map(run).collect()
}

fn first_screens(seed: u64, draws: u64) -> Vec<Run> {
    let mut all = Vec::new();
    for (machine, cpus, choices) in [
        ("chiplet-16", 16, "0-15 0-3,8 0-3 0,8 0,1,8 0,8-10 0-2,8,9"),
        ("chiplet-16-smt", 32, "0,16 0-3,16-19 0,1,8,16 0-2,8 0-2,8,9 0,8"),
        ("hybrid", 20, "0-19 0-3,12 12-19 0-2,12,13"),
        ("arm-coarse-clock", 16, "0-5 0,4,8,12"),
        ("laptop-smt", 8, "0-7 0-3"),
        ("noisy-vm", 4, "0-3 0,1 0,2"),
        ("mesh-64", 64, "0-9"),
        ("epyc-2s-192", 192, "0-3,8-11,96-99 0,96"),
    ] {
        let drawn = (0..draws).map(|draw| random_cpus(seed + draw, 5.min(cpus as usize - 1), cpus));
        let choices = choices.split(' ').map(str::to_owned).chain(drawn);
        all.extend(choices.zip(seed..).map(|(chosen, seed)| {
            let chosen =
                if chosen == format!("0-{}", cpus - 1) { String::new() } else { format!("--cpus {chosen} ") };
            (machine, format!("{chosen}--budget 2s --seed {seed}"))
        }));
    }
    runs(&Tool::new(), &all)
}

#[test]
fn first_screens_are_true() {
    let mut all = first_screens(1, 1);
    // The first of these runs measures the code of other tools in another state of the machine.
    let parallel = ("epyc-2s-192", "latency --cpus 0-11 --parallel 4 --budget 2s");
    all.extend(runs(&Tool::new(), &[("noisy-vm", "--cpus 0,1"), ("noisy-vm", "--budget 3s"), parallel]));
    for template in TEMPLATES {
        let mut sentences = all.iter().flat_map(|run| &run.sentences);
        assert!(sentences.any(|sentence| sentence.template == template), "no screen says `{template}`");
    }
    judge(&all, 42);
}

#[test]
#[ignore = "takes minutes: every scenario as a whole, and many choices of CPUs; .ci/run includes it"]
fn truth_of_many_first_screens() {
    judge(&first_screens(11, 6), 35);
    for machine in ["chiplet-16-smt", "epyc-2s-192", "mesh-64", "arm-coarse-clock", "noisy-vm"] {
        judge(&runs(&Tool::new(), &[(machine, "--seed 3"), (machine, "suite --budget 20s --seed 3")]), 20);
    }
}

#[test]
fn maps_are_true() {
    let all = [
        ("chiplet-16-smt", "latency --protocol cas,store,msg,xfer,one-way --cpus 0-2,8,16 --budget 5s"),
        ("chiplet-16-smt", "latency --pairs 0-1,0-8,0-16 --tails --budget 2s"),
        ("chiplet-16-smt", "latency --cpus 0-3,8-10 --precision 5%"),
        ("chiplet-16-smt", "latency --cpus 0,1,8,16 --by thread"),
        ("chiplet-16-smt", "latency --cpus 0,1,8,16,17 --budget 3s"),
        ("chiplet-16-smt", "wake --cpus 0,1,8,16 --pairs all --budget 4s"),
        ("chiplet-16", "latency --cpus 0,1,8 --tails --budget 3s"),
        ("chiplet-16", "latency --gap 1us,1ms --pairs 0-1,0-8 --budget 4s"),
        ("chiplet-16", "latency --budget 5s"),
        ("arm-coarse-clock", "latency --protocol one-way,msg --cpus 0-2,4 --budget 5s"),
        ("noisy-vm", "latency --protocol msg --budget 5s --seed 2"),
        ("noisy-vm", "latency --budget 5s"),
        ("noisy-vm", "latency --cpus 0,1 --budget 5s"),
        ("hybrid", "latency --budget 8s"),
        ("mesh-64", "latency --cpus 0-11 --budget 4s"),
        ("laptop-smt", "latency --budget 3s"),
    ];
    judge(&runs(&Tool::new(), &all), 50);
}

#[test]
fn queues_are_true() {
    let all = [
        ("chiplet-16-smt", "queue --cpus 0,1,8,16 --budget 4s"),
        ("chiplet-16", "queue --cpus 0-5 --queue mutex --producers 1,2 --consumers 1,2 --budget 4s"),
        ("chiplet-16", "queue --cpus 0,1 --queue spsc --batch 1,8 --rate 1000000 --budget 4s"),
        ("laptop-smt", "queue --cpus 0,4 --budget 2s --seed 2"),
        ("noisy-vm", "queue --cpus 0,1 --budget 2s"),
    ];
    judge(&runs(&Tool::new(), &all), 42);
}

#[test]
fn trials_are_true() {
    let all = [
        ("chiplet-16-smt", "wait --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16-smt", "wait --cpus 0,16 --budget 4s"),
        ("chiplet-16-smt", "wake --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16-smt", "spawn --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16-smt", "contend --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16-smt", "sharing --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16-smt", "broadcast --cpus 0,1,8,16 --budget 3s"),
        ("chiplet-16", "wait --cpus 0,1 --strategy pause --alternate --budget 4s"),
        ("chiplet-16", "broadcast --readers 1,15 --budget 4s"),
        ("chiplet-16", "spawn --budget 4s"),
        ("hybrid", "contend --cpus 0,1,12 --budget 2s"),
        ("noisy-vm", "jitter"),
        ("noisy-vm", "wake --unpinned --primitive semaphore,ttas --gap 20us --budget 2s"),
    ];
    judge(&runs(&Tool::new(), &all), 32);
}

/// One run for each kind of finding of a trial.
#[test]
fn findings_are_true() {
    let all = [
        ("sharing --cpus 0,1,8 --budget 4s", ["padding", "to"]),
        ("broadcast --budget 4s", ["ranking", "single"]),
        ("latency --gap 1us,100us,1ms --pairs 0-1,0-8 --budget 4s", ["idle-gaps", "alike"]),
        ("jitter --cpus 0-4", ["noise", "quiet"]),
        ("queue --cpus 0,1 --queue spsc --batch 1,8,64 --budget 4s", ["batches", "gain"]),
        ("queue --cpus 0,1 --queue spsc --rate-sweep --budget 6s", ["rate-limit", "not-reached"]),
    ];
    let runs = runs(&Tool::new(), &all.map(|(words, _)| ("chiplet-16", words)));
    for (run, (words, finding)) in runs.iter().zip(all) {
        let found = &run.document["findings"][0];
        assert_eq!(["kind", "verdict"].map(|key| &found[key]), finding, "{words}");
    }
    judge(&runs, 22);
}

#[test]
fn suites_are_true() {
    // The second run has trials with several states.
    let all = [
        ("chiplet-16-smt", "suite --cpus 0,1,8,16 --budget 6s"),
        ("noisy-vm", "suite --budget 6s --seed 3"),
        ("laptop-smt", "suite --cpus 0,4 --budget 4s"),
    ];
    judge(&runs(&Tool::new(), &all), 50);
}

#[test]
fn placements_are_true() {
    const PLACED: &str = "--placement compact --placement spread --placement one-per-core";
    let all = [
        ("chiplet-16", "ring,integer --threads 4 --budget 300s"),
        ("chiplet-16-smt", "ring,integer,pipeline --threads 4 --budget 300s"),
        ("chiplet-16-smt", "all-to-all,barrier --threads 4 --budget 300s"),
        ("chiplet-16-smt", "shared-counter,n-queens:9 --threads 4 --budget 300s"),
        ("chiplet-16-smt", "ring --budget 5s"),
        ("epyc-2s-192", &format!("ring --threads 2 {PLACED} --budget 300s")),
        ("hybrid", "integer,ring --threads 4 --placement p-cores --placement e-cores --budget 300s"),
    ];
    let all = all.map(|(machine, words)| (machine, format!("place --workload {words}")));
    judge(&runs(&Tool::new(), &all), 17);
}

#[test]
fn plans_are_true() {
    let all = ["latency --cpus 0-3,8,16 --machine sim:chiplet-16-smt", "--machine sim:hybrid"];
    judge(&all.map(|words| Run::asked(&Tool::new(), &format!("plan {words} --seed 1"), Vec::new())), 4);
}

pub fn comparisons(tool: &Tool) -> Vec<Run> {
    let sides = [("chiplet-16", "a"), ("chiplet-16", "b"), (FARTHER, "farther"), (RENUMBERED, "renumbered")];
    let perform = |((machine, name), seed): ((&str, &str), u64)| {
        let words = format!("latency --cpus 0-3,8-9 --budget 4s --seed {seed}");
        Run::perform(tool, machine, &words, name).document
    };
    let sides: Vec<_> = sides.into_iter().zip(1..).map(perform).collect();
    // Selects runs by age, because the screen repeats a tag that is typed.
    let all = ["latest~2", "latest~1 --force", "latest --force", "latest~2 latest~1 latest"];
    all.map(|others| Run::asked(tool, &format!("compare latest~3 {others}"), sides.clone())).into()
}

#[test]
fn comparisons_are_true() {
    judge(&comparisons(&Tool::new()), 11);
}

pub fn advice(tool: &Tool) -> Vec<Run> {
    let mut all = Vec::new();
    for (machine, cpus, threads) in [
        ("chiplet-16", "0-15", 4),
        ("chiplet-16-smt", "0-3,8-11,16-19", 6),
        ("hybrid", "0-19", 3),
        ("noisy-vm", "0-3", 2),
    ] {
        let words = format!("latency --cpus {cpus} --seed 1 --budget 4s");
        let source = Run::perform(tool, machine, &words, machine).document;
        let patterns = ["all-to-all", "pairs", "ring", "pipeline", "independent"].into_iter();
        all.extend(patterns.filter(|pattern| threads % 2 == 0 || *pattern != "pairs").map(|pattern| {
            let words = format!("advise --from {machine} --threads {threads} --pattern {pattern}");
            Run::asked(tool, &words, vec![source.clone()])
        }));
    }
    all
}

#[test]
fn advice_is_true() {
    judge(&advice(&Tool::new()), 13);
}

/// The structure of runs, and of their matrices as CSV files.
#[test]
fn structures_are_true() {
    let tool = &Tool::new();
    let mut all = Vec::new();
    for (machine, cpus) in [
        ("chiplet-16", "0-15"),
        ("chiplet-16-smt", "0-3,8-11,16-19"),
        ("chiplet-16", "0-3,8"),
        ("hybrid", "0-19"),
        ("noisy-vm", "0-3"),
        ("arm-coarse-clock", "0-7"),
        ("mesh-64", "0-11"),
        ("epyc-2s-192", "0-3,8-11,96-99"),
    ] {
        let name = format!("{machine}-{}", all.len());
        let words = format!("latency --cpus {cpus} --seed 1 --budget 4s");
        let source = vec![Run::perform(tool, machine, &words, &name).document];
        all.push(Run::asked(tool, &format!("topology --from {name}"), source.clone()));
        let file = tool.path().join(format!("{name}.csv"));
        let file = file.to_str().unwrap();
        tool.done(&["export", &name, "--format", "csv", "-o", file]);
        all.push(Run::asked(tool, &format!("topology --from {file}"), source.clone()));
        // `lint` has no document, so this uses that of `topology`.
        let document = all.last().unwrap().document.clone();
        all.push(Run::of_blocks(tool, &format!("lint {file}"), document, source));
    }
    judge(&all, 16);
}
