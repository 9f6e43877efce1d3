//! `contend` on simulated machines: screen, document, refusals.

use super::tool::Tool;
use clap::CommandFactory;
use coretalk::args::parse::{Typed, parse};
use coretalk::args::series::SeriesArgs;
use coretalk::args::{Cli, Command};
use coretalk::resolve::machine;
use coretalk::resolve::trials::{SeriesRequested, request};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;

const CONTEND: [&str; 9] = [
    "contend",
    "--machine",
    "sim:chiplet-16",
    "--seed",
    "1",
    "--method",
    "fetch-add,mcs,racy",
    "--threads",
    "1,16,32",
];

fn contend<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CONTEND[..], more].concat()
}

#[test]
fn threads_beyond_the_cpus_share_them_and_readers_add_nothing() {
    let tool = Tool::new();
    let run = |more: &[&str]| -> Value {
        let words =
            ["contend", "--machine", "sim:chiplet-16", "--cpus", "0,1", "--seed", "1", "-q", "--no-save"];
        let words = [&words[..], &["--format", "json", "--budget", "5s"], more].concat();
        serde_json::from_str(&tool.done(&words).out).unwrap()
    };
    let apart = run(&["--method", "per-thread,fetch-add", "--threads", "2,3", "--critical", "50ns"]);
    let of = |method: &str, threads: f64| -> f64 {
        let series = apart["series"].as_array().unwrap();
        let meant = |one: &&Value| {
            let parameters = &one["parameters"];
            parameters["method"] == method
                && parameters["threads"] == threads
                && parameters["critical_ns"] == 50.0
        };
        series.iter().find(meant).unwrap()["values"]["ns_per_op_thread"].as_f64().unwrap()
    };
    for method in ["per-thread", "fetch-add"] {
        let ratio = of(method, 3.0) / of(method, 2.0);
        assert!(
            (1.4..1.7).contains(&ratio),
            "{method}: three threads on two CPUs take {ratio} times as long"
        );
    }
    let reads = run(&["--method", "rwlock", "--threads", "2", "--read-ratio", "100%"]);
    let counts = &reads["series"][0]["counts"];
    assert_eq!((&counts["expected_count"], &counts["final_count"]), (&0.into(), &0.into()), "{counts}");
    assert!(counts["operations"].as_u64().unwrap() > 0);
}

#[test]
fn a_run_of_contention_reads_back_as_it_was_with_both_definitions() {
    let tool = Tool::new();
    let live = tool.done(&contend(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    // Two pairs of sections, three methods, three numbers of threads.
    assert_eq!(series.len(), 18);
    for one in series {
        let values = &one["values"];
        let threads = one["parameters"]["threads"].as_f64().unwrap();
        let [wall, thread] =
            ["ns_per_op_wall", "ns_per_op_thread"].map(|name| values[name].as_f64().unwrap());
        assert!((thread / wall / threads - 1.0).abs() < 1e-4, "{one}");
        let [found, made] = ["final_count", "expected_count"].map(|name| values[name].as_f64().unwrap());
        let racy = one["parameters"]["method"] == "racy" && threads > 1.0;
        assert_eq!(found < made, racy, "{one}");
        assert_eq!(one["flags"].as_array().unwrap().contains(&"lost-updates".into()), racy, "{one}");
        assert!(values["ops_per_s"].as_f64().unwrap() > 0.0 && values["jain"].as_f64().unwrap() <= 1.0);
    }
}

#[test]
fn the_screen_says_what_is_exact_and_what_is_lost() {
    let tool = Tool::new();
    let screen = tool.done(&contend(&["-q", "--no-save"])).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "50 ns inside, 500 ns outside; compact-core",
        "No work inside or outside",
        "With 16 threads: all operations",
        "racy with 16 threads (50 ns inside, 500 ns outside) lost",
        "Every other count was exact",
        "mcs: first come, first served",
    ] {
        assert!(words.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let tool = Tool::new();
    for (words, code, part) in [
        (&["--method", "fetchadd"][..], 2, "a similar name exists: `fetch-add`"),
        (&["--method", "mcs,mcs"], 2, "lists mcs twice"),
        (&["--threads", "0"], 2, "1 to 4096 threads"),
        (&["--threads", "1000000"], 2, "1 to 4096 threads"),
        (&["--arrange", "compact"], 2, "unknown arrangement `compact`"),
        (&["--read-ratio", "90%"], 2, "`rwlock` only"),
        (&["--critical", "2s"], 2, "at most `1ms`"),
        (&["--cpus", "99"], 2, "CPU 99 does not exist"),
        (&["--format", "c2c-csv"], 2, "`c2c-csv` is for latency maps"),
    ] {
        let said = tool.call(&[&["contend", "--machine", "sim:chiplet-16", "-q"], words].concat());
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
        assert!(said.err.contains(part) && said.err.lines().count() == 1, "{words:?}: {}", said.err);
    }
}

#[test]
fn the_first_screen_of_one_cpu_measures_what_needs_no_second() {
    let words = ["--machine", "sim:chiplet-16", "--cpus", "3", "--seed", "1", "--no-save"];
    let said = Tool::new().done(&words);
    assert!(said.out.contains("CPU 3 alone has no pair") && said.out.contains("CPU 3 lost"), "{}", said.out);
    assert!(said.err.contains("measuring 1 trial of"), "{}", said.err);
}

#[test]
fn one_cpu_is_enough() {
    let words =
        ["contend", "--machine", "sim:chiplet-16", "--cpus", "3", "--method", "ttas", "-q", "--no-save"];
    let screen = Tool::new().done(&words).out;
    assert!(screen.contains("threads take CPUs 3 3") && screen.contains("With 1 thread:"), "{screen}");
}

fn resolved(words: &str) -> SeriesRequested {
    let line = format!("coretalk contend {words} --machine sim:chiplet-16-smt --seed 7");
    let Ok(Typed::Command(invocation)) = parse(line.split_whitespace().map(OsString::from)) else {
        panic!("`{line}` was refused")
    };
    let Some(Command::Contend(args)) = &invocation.cli.command else { panic!("`{line}`") };
    let global = &invocation.cli.global;
    let machine = machine::open(global.machine.as_ref(), 7).unwrap();
    let args: &dyn SeriesArgs = &**args;
    request(&*machine, global, args, 7).unwrap()
}

#[test]
fn every_option_of_contend_changes_what_is_meant() {
    let cases = [
        ("method", "--method tas", ""),
        ("threads", "--threads 3", ""),
        ("critical", "--critical 90ns", ""),
        ("parallel_section", "--parallel-section 0", ""),
        ("read_ratio", "--method rwlock --read-ratio 90%", "--method rwlock"),
        ("arrange", "--arrange compact-smt", ""),
        ("arrange", "--arrange scatter-l3", "--arrange compact-core"),
    ];
    for (id, with, without) in cases {
        assert_ne!(resolved(with), resolved(without), "{id}");
    }
    let cli = Cli::command();
    let contend = cli.get_subcommands().find(|sub| sub.get_name() == "contend").unwrap();
    let defined: BTreeSet<&str> = contend
        .get_arguments()
        .filter(|argument| !argument.is_global_set())
        .map(|argument| argument.get_id().as_str())
        .collect();
    assert_eq!(defined, cases.iter().map(|(id, ..)| *id).collect());
}
