//! Which screens are read: scenarios, CPU choices and seeds.

use super::judge;
use super::run::Run;
use crate::cli::tool::Tool;
use coretalk_model::stats::Key;
use std::collections::BTreeSet;

/// A machine like `chiplet-16`, numbered in turns over its two caches.
pub const RENUMBERED: &str = "based_on = \"chiplet-16\"\n[structure]\nkind = \"tree\"\nnumbering = \"round-robin\"\n\
    levels = [{ level = \"package\", count = 1 }, { level = \"l3\", count = 2 }, { level = \"core\", count = 8 }]\n";
/// A machine like `chiplet-16` whose caches lie further apart.
pub const FARTHER: &str = "based_on = \"chiplet-16\"\n[latency_ns]\nl3 = 18.0\npackage = 102.0\n";

/// So many CPUs of this many, drawn by a seed.
fn drawn(seed: u64, count: usize, of: u32) -> String {
    let mut chosen = BTreeSet::new();
    for draw in 0.. {
        chosen.insert(Key::of(&[seed, draw]).bits(0) % u64::from(of));
        if chosen.len() == count {
            break;
        }
    }
    chosen.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Runs of a machine, each with its words.
pub fn runs(tool: &Tool, machine: &str, seed: u64, all: &[&[&str]]) -> Vec<Run> {
    let seed = seed.to_string();
    let run = |(index, words): (usize, &&[&str])| {
        let words: Vec<&str> = words.iter().copied().chain(["--seed", &seed]).collect();
        Run::of(tool, machine, &words, &format!("run-{index}-{seed}"))
    };
    all.iter().enumerate().map(run).collect()
}

/// First screens on CPUs of every kind of choice.
fn first_screens(seed: u64, draws: u64) -> Vec<Run> {
    let tool = Tool::new();
    let mut all = Vec::new();
    for (machine, cpus, choices) in [
        ("chiplet-16", 16, &["", "0-3,8", "0-3", "0,8", "0,1,8", "0,8-10"][..]),
        ("chiplet-16-smt", 32, &["0,16", "0-3,16-19", "0,1,8,16", "0-2,8"]),
        ("hybrid", 20, &["", "0-3,12", "12-19"]),
        ("arm-coarse-clock", 16, &["0-5", "0,4,8,12"]),
        ("laptop-smt", 8, &["", "0-3"]),
        ("noisy-vm", 4, &["", "0,1", "0,2"]),
        ("mesh-64", 64, &["0-9"]),
        ("epyc-2s-192", 192, &["0-3,8-11,96-99", "0,96"]),
    ] {
        let drawn: Vec<String> =
            (0..draws).map(|draw| drawn(seed + draw, 5.min(cpus as usize - 1), cpus)).collect();
        let choices = choices.iter().copied().chain(drawn.iter().map(String::as_str));
        for (index, cpus) in choices.enumerate() {
            let mut words = vec!["--budget", "2s"];
            if !cpus.is_empty() {
                words.extend(["--cpus", cpus]);
            }
            let seed = (seed + index as u64).to_string();
            words.extend(["--seed", &seed]);
            all.push(Run::of(&tool, machine, &words, &format!("{machine}-{index}")));
        }
    }
    all
}

#[test]
fn first_screens_are_true() {
    let mut all = first_screens(1, 1);
    // In this run other tools were imitated while the machine was in another state.
    all.extend(runs(&Tool::new(), "noisy-vm", 1, &[&["--cpus", "0,1"]]));
    judge(&all);
}

#[test]
#[ignore = "minutes: every scenario as a whole, and many choices; .ci/run asks for it"]
fn truth_of_many_first_screens() {
    judge(&first_screens(11, 6));
    let tool = Tool::new();
    for machine in ["chiplet-16-smt", "epyc-2s-192", "mesh-64", "arm-coarse-clock", "noisy-vm"] {
        judge(&runs(&tool, machine, 3, &[&[], &["suite", "--budget", "20s"]]));
    }
}

#[test]
fn maps_of_every_protocol_are_true() {
    let tool = Tool::new();
    let mut all = runs(
        &tool,
        "chiplet-16-smt",
        1,
        &[
            &["latency", "--protocol", "cas,store,msg,xfer,one-way", "--cpus", "0-2,8,16", "--budget", "5s"],
            &["latency", "--pairs", "0-1,0-8,0-16", "--budget", "2s"],
            &["latency", "--cpus", "0-3,8-10", "--precision", "5%"],
            &["latency", "--cpus", "0,1,8,16", "--by", "thread"],
        ],
    );
    let coarse = &["latency", "--protocol", "one-way,msg", "--cpus", "0-2,4", "--budget", "5s"];
    all.extend(runs(&tool, "arm-coarse-clock", 1, &[coarse]));
    all.extend(runs(&tool, "noisy-vm", 2, &[&["latency", "--protocol", "msg", "--budget", "5s"]]));
    judge(&all);
}

/// Trials of every probe on some CPUs.
pub fn trials(tool: &Tool, machine: &str, cpus: &str, seed: u64) -> Vec<Run> {
    let with = |probe| vec![probe, "--cpus", cpus, "--budget", "3s"];
    let all: Vec<Vec<&str>> =
        ["queue", "wait", "wake", "spawn", "contend", "sharing", "broadcast"].into_iter().map(with).collect();
    runs(tool, machine, seed, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn trials_are_told_truly() {
    let tool = Tool::new();
    let mut all = trials(&tool, "chiplet-16-smt", "0,1,8,16", 1);
    all.extend(runs(&tool, "laptop-smt", 2, &[&["queue", "--cpus", "0,4", "--budget", "2s"]]));
    all.extend(runs(&tool, "noisy-vm", 1, &[&["jitter"], &["queue", "--cpus", "0,1", "--budget", "2s"]]));
    let free = &["wake", "--unpinned", "--primitive", "semaphore,ttas", "--gap", "20us", "--budget", "2s"];
    all.extend(runs(&tool, "noisy-vm", 1, &[free]));
    all.extend(runs(&tool, "chiplet-16", 1, &[&["jitter", "--cpus", "0-4"]]));
    all.extend(runs(&tool, "hybrid", 1, &[&["contend", "--cpus", "0,1,12", "--budget", "2s"]]));
    judge(&all);
}

#[test]
fn a_suite_is_told_truly() {
    let tool = Tool::new();
    let mut all = runs(&tool, "chiplet-16-smt", 1, &[&["suite", "--cpus", "0,1,8,16", "--budget", "6s"]]);
    // Its trials fall onto plateaus.
    all.extend(runs(&tool, "noisy-vm", 3, &[&["suite", "--budget", "6s"]]));
    judge(&all);
}

#[test]
fn placements_are_told_truly() {
    let tool = Tool::new();
    let work = |workload| vec!["place", "--workload", workload, "--threads", "4", "--budget", "300s"];
    let all: Vec<Vec<&str>> = ["ring,integer,pipeline", "all-to-all,barrier", "shared-counter,n-queens:9"]
        .into_iter()
        .map(work)
        .collect();
    let mut judged = runs(&tool, "chiplet-16-smt", 1, &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let two = [
        "place",
        "--workload",
        "ring",
        "--threads",
        "2",
        "--placement",
        "compact",
        "--placement",
        "spread",
        "--placement",
        "one-per-core",
        "--budget",
        "300s",
    ];
    judged.extend(runs(&tool, "epyc-2s-192", 1, &[&two]));
    judged.extend(runs(
        &tool,
        "hybrid",
        1,
        &[&[
            "place",
            "--workload",
            "integer,ring",
            "--threads",
            "4",
            "--placement",
            "p-cores",
            "--placement",
            "e-cores",
            "--budget",
            "300s",
        ]],
    ));
    judged.extend(runs(&tool, "chiplet-16-smt", 1, &[&["place", "--workload", "ring", "--budget", "5s"]]));
    judge(&judged);
}

#[test]
fn plans_are_told_truly() {
    let tool = Tool::new();
    let plan = |machine: &str, words: &[&str]| {
        let named = format!("sim:{machine}");
        let words = [&["plan"], words, &["--machine", &named, "--seed", "1"]].concat();
        Run::asked(&tool, machine, &words, Vec::new())
    };
    judge(&[plan("chiplet-16-smt", &["latency", "--cpus", "0-3,8,16"]), plan("hybrid", &[])]);
}

/// A run, and what is asked of it and of others afterwards.
pub fn comparisons(tool: &Tool) -> Vec<Run> {
    let measured = |machine: &str, seed: &str, name: &str, cpus: &str| {
        Run::of(tool, machine, &["latency", "--cpus", cpus, "--seed", seed, "--budget", "4s"], name).document
    };
    let a = measured("chiplet-16", "1", "a", "0-3,8-9");
    let b = measured("chiplet-16", "2", "b", "0-3,8-9");
    let farther = measured(FARTHER, "3", "farther", "0-3,8-9");
    let renumbered = measured(RENUMBERED, "4", "renumbered", "0-3,8-9");
    let compare = |words: &[&str], sources: Vec<serde_json::Value>| {
        let words: Vec<&str> = ["compare"].into_iter().chain(words.iter().copied()).collect();
        Run::asked(tool, "chiplet-16", &words, sources)
    };
    // By age: runs that the user calls by a tag are called so on the screen, too.
    vec![
        compare(&["latest~3", "latest~2"], vec![a.clone(), b]),
        compare(&["latest~3", "latest~1", "--force"], vec![a.clone(), farther]),
        compare(&["latest~3", "latest", "--force"], vec![a.clone(), renumbered]),
        compare(&["latest~3", "latest~2", "latest~1", "latest"], vec![a]),
    ]
}

#[test]
fn comparisons_are_true() {
    judge(&comparisons(&Tool::new()));
}

/// Advice from runs and from measurements.
pub fn advice(tool: &Tool) -> Vec<Run> {
    let mut all = Vec::new();
    for (machine, cpus, threads) in [
        ("chiplet-16", "0-15", "4"),
        ("chiplet-16-smt", "0-3,8-11,16-19", "6"),
        ("hybrid", "0-19", "3"),
        ("noisy-vm", "0-3", "2"),
    ] {
        let source =
            Run::of(tool, machine, &["latency", "--cpus", cpus, "--seed", "1", "--budget", "4s"], machine)
                .document;
        for pattern in ["all-to-all", "pairs", "ring", "pipeline", "independent"] {
            if pattern == "pairs" && threads == "3" {
                continue;
            }
            let words = ["advise", "--from", machine, "--threads", threads, "--pattern", pattern];
            all.push(Run::asked(tool, machine, &words, vec![source.clone()]));
        }
    }
    all
}

#[test]
fn advice_is_true() {
    judge(&advice(&Tool::new()));
}

/// The structure of runs, and of their matrices as files of another tool.
pub fn structures(tool: &Tool) -> Vec<Run> {
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
        let source =
            Run::of(tool, machine, &["latency", "--cpus", cpus, "--seed", "1", "--budget", "4s"], &name);
        all.push(Run::asked(tool, machine, &["topology", "--from", &name], vec![source.document.clone()]));
        let file = format!("{name}.csv");
        tool.done(&["export", &name, "--format", "csv", "-o", &file]);
        let file = tool.path().join(file);
        let file = file.to_str().unwrap();
        all.push(Run::asked(tool, machine, &["topology", "--from", file], vec![source.document.clone()]));
        // `lint` has no document of its own.
        let document = all.last().unwrap().document.clone();
        all.push(Run::of_blocks(tool, machine, &["lint", file], document, vec![source.document]));
    }
    all
}

#[test]
fn structures_are_true() {
    judge(&structures(&Tool::new()));
}
