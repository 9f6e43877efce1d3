//! Every option has an effect. The cases follow the option definitions, so a new option without a case fails.

use super::tool::{Tool, words};
use clap::CommandFactory;
use coretalk::args::parse::{Typed, parse};
use coretalk::args::{Cli, Command};
use coretalk::resolve::machine;
use coretalk::resolve::measure::Measure;
use coretalk_measure::Stop;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Option ids with the words of two `latency` calls that differ only in that option.
const CASES: &[(&str, &str, &str)] = &[
    ("cpus", "--cpus 0-3", ""),
    ("smt", "--smt one-per-core", ""),
    ("smt", "--smt siblings", "--smt one-per-core"),
    ("machine", "--machine sim:chiplet-16", ""),
    ("seed", "--seed 8", ""),
    ("precision", "--precision 5%", ""),
    ("budget", "--budget 3s", ""),
    ("nice", "--nice -5", ""),
    ("rt", "--rt 10", ""),
    ("strict", "--strict", ""),
    ("store", "--store elsewhere", ""),
    ("no_save", "--no-save", ""),
    ("name", "--name before", ""),
    ("keep_raw", "--keep-raw", ""),
    ("label", "--label desk", ""),
    ("note", "--note fabric=1800MHz", ""),
    ("format", "--format json", ""),
    ("output", "-o file", ""),
    ("export_csv", "--export-csv file", ""),
    ("export_c2c_csv", "--export-c2c-csv file", ""),
    ("export_markdown", "--export-markdown file", ""),
    ("export_json", "--export-json file", ""),
    ("export_jsonl", "--export-jsonl file", ""),
    ("order", "--order id", ""),
    ("order", "--order measured", ""),
    ("by", "--by thread", ""),
    ("with_identity", "--with-identity", ""),
    ("color", "--color always", ""),
    ("color", "--color never", "--color always"),
    ("quiet", "-q", ""),
    ("verbose", "-v", ""),
    ("protocol", "--protocol msg", ""),
    ("protocol", "--protocol store", "--protocol msg"),
    ("protocol", "--protocol xfer", "--protocol one-way"),
    ("hint", "--hint none", ""),
    ("hint", "--hint pause", "--hint none"),
    ("imitate", "--as c2clat", ""),
    ("imitate", "--as multichase", "--as c2clat"),
    ("tool_counts", "--as core-to-core-latency 500 30", "--as core-to-core-latency"),
    ("home", "--home 0", ""),
    ("pairs", "--pairs 0-1,2-3", ""),
    ("pairs", "--pairs representatives", ""),
    ("lines", "--lines 4", ""),
    ("tails", "--tails", ""),
    ("rate", "--tails --rate 1M/s", "--tails"),
    ("parallel", "--parallel 1", ""),
    ("parallel", "--parallel 2", "--parallel 1"),
    ("samples", "--samples 10 --iterations 100", "--samples 20 --iterations 100"),
    ("iterations", "--samples 10 --iterations 100", "--samples 10 --iterations 200"),
];

/// Cases for commands that measure trials: the command, an option, words that set it, and words with another effect.
const TRIAL_CASES: &[(&str, &str, &str, &str)] = &[
    ("wake", "primitive", "--primitive pipe", ""),
    ("wake", "gap", "--gap 5us", ""),
    ("wake", "pairs", "--pairs 1-0", ""),
    ("wake", "unpinned", "--unpinned", ""),
    ("wake", "samples", "--samples 9", ""),
    ("wake", "forks", "--primitive java:park --forks 2", "--primitive java:park"),
    ("wake", "helpers", "--primitive java:park --helpers same", "--primitive java:park"),
    ("wake", "adapter", "--primitive java:park --adapter java=x", "--primitive java:park"),
    ("wait", "strategy", "--strategy pause", ""),
    ("wait", "asym", "--asym pause:busy", ""),
    ("wait", "alternate", "--alternate", ""),
    ("wait", "no_clock", "--no-clock", ""),
    ("wait", "cost", "--cost", ""),
    ("wait", "trips", "--trips 9", ""),
    ("wait", "pairs", "--pairs 1-0", ""),
    ("wait", "forks", "--strategy java:busy --forks 2", "--strategy java:busy"),
    ("wait", "helpers", "--strategy java:busy --helpers 3", "--strategy java:busy"),
    ("wait", "adapter", "--strategy java:busy --adapter java=x", "--strategy java:busy"),
    ("contend", "method", "--method tas", ""),
    ("contend", "threads", "--threads 3", ""),
    ("contend", "critical", "--critical 90ns", ""),
    ("contend", "parallel_section", "--parallel-section 0", ""),
    ("contend", "read_ratio", "--method rwlock --read-ratio 90%", "--method rwlock"),
    ("contend", "arrange", "--arrange compact-smt", ""),
    ("contend", "arrange", "--arrange scatter-l3", "--arrange compact-core"),
    ("contend", "forks", "--method cpp:mutex --forks 2", "--method cpp:mutex"),
    ("contend", "helpers", "--method cpp:mutex --helpers 3", "--method cpp:mutex"),
    ("contend", "adapter", "--method cpp:mutex --adapter cpp=x", "--method cpp:mutex"),
    ("spawn", "kind", "--kind pool", ""),
    ("spawn", "pairs", "--pairs 1-0", ""),
    ("spawn", "samples", "--samples 9", ""),
    ("spawn", "forks", "--kind cpp:jthread --forks 2", "--kind cpp:jthread"),
    ("spawn", "helpers", "--kind cpp:jthread --helpers 3", "--kind cpp:jthread"),
    ("spawn", "adapter", "--kind cpp:jthread --adapter cpp=x", "--kind cpp:jthread"),
    ("sharing", "distance", "--distance 8", ""),
    ("sharing", "pairs", "--pairs 1-2", ""),
    ("broadcast", "readers", "--readers 3", ""),
    ("jitter", "watched", "--for 2s", ""),
];

/// Options with effects outside the request; `simulated`, `series`, `latency_under_load` or `compared` test them.
const TESTED_ELSEWHERE: &[&str] = &["resume", "export_hgrm", "gap", "keep_awake", "load"];

/// Resolves a command line. Returns text, because settings of different tasks cannot be compared.
fn request_of(line: &str) -> String {
    let Ok(Typed::Command(invocation)) = parse(line.split_whitespace().map(OsString::from)) else {
        panic!("`{line}` was refused")
    };
    let Some(Command::Measure(command)) = &invocation.cli.command else { panic!("`{line}`") };
    let global = &invocation.cli.global;
    let seed = global.seed.unwrap();
    let mut machine = machine::open(global.machine.as_ref(), seed).unwrap();
    let measure = Measure::resolve(&mut *machine, global, command.subject(), seed, &Stop::new());
    format!("{:?}", measure.unwrap())
}

fn resolved(words: &str) -> String {
    let machine = if words.contains("--machine") { "" } else { " --machine sim:laptop-smt" };
    let seed = if words.contains("--seed") { "" } else { " --seed 7" };
    request_of(&format!("coretalk latency {words}{machine}{seed}"))
}

#[test]
fn every_option_changes_what_is_meant() {
    for (id, with, without) in CASES {
        assert_ne!(resolved(with), resolved(without), "{id}: `{with}` and `{without}` mean the same");
    }
}

#[test]
fn every_option_has_a_case() {
    let cli = Cli::command();
    let latency = cli.get_subcommands().find(|sub| sub.get_name() == "latency").unwrap();
    let defined: BTreeSet<&str> = cli
        .get_arguments()
        .chain(latency.get_arguments())
        .map(|argument| argument.get_id().as_str())
        .filter(|id| !matches!(*id, "help" | "version"))
        .collect();
    let cases: BTreeSet<&str> =
        CASES.iter().map(|(id, ..)| *id).chain(TESTED_ELSEWHERE.iter().copied()).collect();
    assert_eq!(defined, cases);
}

#[test]
fn every_option_of_trials_has_a_case_and_changes_the_request() {
    for (command, id, with, without) in TRIAL_CASES {
        let request = |words: &str| {
            request_of(&format!("coretalk {command} {words} --machine sim:chiplet-16-smt --seed 7"))
        };
        assert_ne!(request(with), request(without), "{command}, {id}");
    }
    let cli = Cli::command();
    for name in TRIAL_CASES.iter().map(|(command, ..)| *command).collect::<BTreeSet<_>>() {
        let command = cli.get_subcommands().find(|sub| sub.get_name() == name).unwrap();
        let specific = command.get_arguments().filter(|argument| !argument.is_global_set());
        let defined: BTreeSet<&str> = specific.map(|argument| argument.get_id().as_str()).collect();
        let cases = TRIAL_CASES.iter().filter(|(command, ..)| *command == name);
        assert_eq!(defined, cases.map(|(_, id, ..)| *id).collect(), "{name}");
    }
}

#[test]
fn every_choice_of_an_option_changes_the_request() {
    let cli = Cli::command();
    let latency = cli.get_subcommands().find(|sub| sub.get_name() == "latency").unwrap();
    for argument in latency.get_arguments() {
        let names: Vec<String> =
            argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let Some(long) = argument.get_long() else { continue };
        if names.len() < 2 || !argument.get_action().takes_values() {
            continue;
        }
        let requests: Vec<String> = names.iter().map(|name| resolved(&format!("--{long} {name}"))).collect();
        for (index, measure) in requests.iter().enumerate() {
            assert!(!requests[..index].contains(measure), "--{long} {} means nothing new", names[index]);
        }
    }
}

#[test]
fn verbose_settings_are_sentences() {
    let tool = Tool::new();
    for (asked, part) in [
        (&["latency"][..], "settings: CPUs 0-3; all pairs; protocol cas; wait hint chosen by a pilot"),
        (&["queue", "--queue", "spsc"], "settings: CPUs 0-3; trials of queue; queue spsc;"),
        (&["place", "--workload", "ring", "--placement", "one=0", "--placement", "two=0-1"], "comparing"),
        (&[], "settings: CPUs 0-3; all pairs"),
    ] {
        let here = words("--machine sim:chiplet-16 --seed 3 --cpus 0-3 --budget 1s --no-save -v");
        let output = tool.done(&[asked, &here[..]].concat());
        assert!(output.err.contains(part), "{asked:?}: {}", output.err);
        for noise in ["Some(", "None", " { ", "CpuId(", "Picos(", "::"] {
            assert!(!output.err.contains(noise), "{asked:?} prints `{noise}`: {}", output.err);
        }
    }
}
