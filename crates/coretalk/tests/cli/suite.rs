//! Runs of several probes on simulated machines: the quick look with the trials next to its map, and `suite`.

use super::tool::Tool;
use coretalk::store::RunFile;
use coretalk_measure::probes::REGISTRY;
use coretalk_model::run::RunReport;
use coretalk_report::style::Style;
use coretalk_report::{Saved, Screen, screen};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const MACHINE: [&str; 4] = ["--machine", "sim:laptop-smt", "--seed", "1"];

fn words<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, &MACHINE, more].concat()
}

fn document(tool: &Tool, run: &str) -> Value {
    tool.json(&["export", run, "--format", "json"])
}

fn probes(document: &Value) -> BTreeSet<&str> {
    document["series"].as_array().unwrap().iter().map(|one| one["probe"].as_str().unwrap()).collect()
}

fn steps(document: &Value) -> BTreeSet<&str> {
    document["ladder"].as_array().unwrap().iter().map(|row| row["step"].as_str().unwrap()).collect()
}

#[test]
fn a_quick_look_includes_sleeping_waits_and_names_quiet_cpus() {
    let tool = Tool::new();
    let live = tool.done(&words(&[], &["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document = document(&tool, "first");
    assert_eq!(probes(&document), ["jitter", "wake"].into());
    assert!(steps(&document).is_superset(&["cas", "futex", "pipe"].into()), "{:?}", steps(&document));
    assert_eq!(document["run"]["complete"], true);
    let futex = document["ladder"].as_array().unwrap().iter().find(|row| row["step"] == "futex").unwrap();
    assert!(futex["median"].as_f64() > Some(1_000.0) && futex["ci"].is_array(), "{futex}");
    let screen = tool.done(&["runs", "show", "first"]).out;
    assert!(
        screen.contains("waking a sleeping thread (futex)") && screen.contains(" noise     "),
        "{screen}"
    );
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    // All steps are shown only with `--ladder`.
    assert!(!screen.contains("ladder, ns per hop") && screen.contains("--ladder"), "{screen}");
    let whole = tool.done(&["runs", "show", "first", "--ladder"]).out;
    assert!(whole.contains("ladder, ns per hop") && !whole.contains("--ladder"), "{whole}");
    let in_json = tool.call(&["runs", "show", "first", "--ladder", "--format", "json"]);
    assert_eq!((in_json.code, in_json.err.contains("--ladder has no effect")), (2, true), "{}", in_json.err);
    // Tables contain only the map by default.
    let map = tool.done(&["export", "first", "--format", "csv"]).out;
    assert!(map.starts_with("# coretalk matrix: symmetric, ns\n") && !map.contains("semaphore"), "{map}");
    let trials = tool.done(&["export", "first", "--format", "csv", "--probe", "wake"]).out;
    assert!(trials.contains("semaphore") && !trials.contains("jitter"), "{trials}");
    let other = tool.call(&["export", "first", "--format", "csv", "--probe", "queue"]);
    assert_eq!((other.code, other.err.contains("wake, jitter")), (2, true), "{}", other.err);
    // Trials may run out of time even if the map did not.
    let path = tool.done(&["runs", "path", "first"]).out;
    let mut report = RunFile::open(Path::new(path.trim())).unwrap().report().unwrap();
    let shown =
        |report: &RunReport| screen::render(report, Screen::Shown(Saved::As("first")), &Style::default());
    assert!(!shown(&report).contains("Left out"));
    let result = &mut report.series.as_mut().unwrap().result;
    result.budget_ended = true;
    result.trials[0].reason = Some(coretalk_model::Reason::NotReached);
    assert!(shown(&report).contains("Left out for lack of time: 1 trial."), "{}", shown(&report));
}

#[test]
fn a_suite_runs_every_probe_and_has_a_table_for_each() {
    let tool = Tool::new();
    tool.done(&words(&["suite"], &["-q", "--budget", "10s", "--name", "all"]));
    let document = document(&tool, "all");
    let asked: BTreeSet<&str> = REGISTRY.iter().map(|probe| probe.declaration().id).collect();
    let mut reported = probes(&document);
    let matrices = document["matrices"].as_array().unwrap();
    reported.extend(matrices.iter().map(|matrix| matrix["probe"].as_str().unwrap()));
    assert!(reported.is_superset(&asked) && reported.contains("latency"), "{reported:?}");
    assert!(steps(&document).is_superset(&["futex", "pipe"].into()));
    let screen = tool.done(&["runs", "show", "all"]).out;
    for part in [
        "half a round trip, minus half a clock read",
        "round trip, including one clock read, median",
        "time until a sleeping thread runs again, median",
        "time until the first statement runs, median",
        "time per operation and thread",
        "time of an addition while both threads add",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(screen.contains("\n thread, 1 ms apart ") && screen.contains(" on 0-7 "), "{screen}");
    // Each probe states its result under one condition, as on its own screen.
    assert!(
        screen.contains("Time until a sleeping thread runs again, median (gap 20 µs, same L3): "),
        "{screen}"
    );
    assert!(!screen.contains("The budget of") || screen.contains("The budget of 10 s ended"), "{screen}");
    tool.done(&["report", "all", "-o", "all.html"]);
    let page = std::fs::read_to_string(tool.path().join("all.html")).unwrap();
    let header = page.split("</header>").next().unwrap();
    for probe in probes(&document) {
        let answer = header.split(&format!("<a href=\"#found-{probe}\">")).nth(1);
        let answer = answer.unwrap_or_else(|| panic!("{probe}: {header}")).split("</dd>").next().unwrap();
        assert!(answer.contains("<strong>") && page.contains(&format!(" id=\"found-{probe}\"")), "{answer}");
    }
    let map = tool.done(&["export", "all", "--format", "csv", "--protocol", "cas"]).out;
    assert!(map.starts_with("# coretalk matrix: symmetric, ns\n") && !map.contains("semaphore"), "{map}");
    let tables = tool.done(&["export", "all", "--format", "csv"]).out;
    let rows = tables.strip_prefix(&format!("{map}\n# run=")).unwrap_or_else(|| panic!("{tables}"));
    for probe in asked.iter().filter(|probe| **probe != "jitter") {
        assert!(rows.contains(&format!("\n{probe},")), "{probe}: {rows}");
    }
    let heading = rows.lines().find(|line| line.starts_with("probe,")).unwrap();
    let columns: BTreeSet<&str> = heading.split(',').collect();
    assert_eq!(columns.len(), heading.split(',').count(), "a column appears twice: {heading}");
    assert!(columns.is_superset(&["mean_ns", "mean_ns_point", "mean_ns_low"].into()), "{heading}");
    tool.write("both.csv", &tables);
    assert!(
        tool.done(&["import", "both.csv", "--format", "csv"])
            .out
            .ends_with(&map[map.find("\ncpu,").unwrap()..])
    );
    let table = tool.done(&["export", "all", "--format", "markdown"]).out;
    assert!(table.contains("|   ns |") && table.contains("\n\n| probe | cpus |"), "{table}");
    let path = tool.done(&["runs", "path", "all"]).out;
    let mut report = RunFile::open(Path::new(path.trim())).unwrap().report().unwrap();
    report.series.as_mut().unwrap().result.complete = false;
    let interrupted = screen::render(&report, Screen::Shown(Saved::As("all")), &Style::default());
    assert_eq!(interrupted.matches("Interrupted").count(), 1, "{interrupted}");
    for probe in REGISTRY {
        let question = &probe.declaration().question[1..20];
        assert!(screen.contains(question), "{question}: {screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn a_suite_that_ran_out_of_budget_can_be_resumed() {
    let tool = Tool::new();
    tool.done(&words(&["suite"], &["-q", "--budget", "3s", "--name", "short"]));
    let passes = |run: &str| -> u64 {
        let document = document(&tool, run);
        document["series"].as_array().unwrap().iter().filter_map(|one| one["passes"].as_u64()).sum()
    };
    let before = passes("short");
    let same = tool.done(&["--resume", "short", "--budget", "3s"]);
    assert!(same.err.contains("it used its budget of 3"), "{}", same.err);
    assert_eq!(passes("short"), before);
    tool.done(&["suite", "--resume", "short", "--budget", "9s", "-q"]);
    assert!(passes("short") > before);
    let wrong = tool.call(&["latency", "--resume", "short", "-q"]);
    assert_eq!((wrong.code, wrong.err.contains("leave out the command")), (2, true), "{}", wrong.err);
}

#[test]
fn one_cpu_has_no_map_and_the_rest_is_measured() {
    let tool = Tool::new();
    let output = tool.done(&words(&["suite"], &["--cpus", "2", "--budget", "5s", "--name", "one"]));
    assert!(output.err.contains("one CPU has no pairs"), "{}", output.err);
    let document = document(&tool, "one");
    assert!(document["ladder"].as_array().unwrap().is_empty());
    assert!(probes(&document).is_superset(&["wait", "spawn", "contend", "jitter"].into()));
    for (option, value) in [("--seed", "9"), ("--precision", "9%")] {
        let refused = tool.call(&["suite", "--resume", "one", option, value]);
        let is_named = refused.err.contains(&format!("{option} cannot be combined"));
        assert_eq!((refused.code, is_named), (2, true), "{}", refused.err);
    }
    tool.done(&words(&[], &["--cpus", "2", "--name", "glance", "-q"]));
    let shown = tool.done(&["runs", "show", "glance"]).out;
    assert!(!shown.contains("Interrupted"), "a run on one CPU is complete without a map: {shown}");
    let plan = tool.done(&words(&["plan", "suite"], &["--cpus", "2"])).out;
    assert!(plan.contains("jitter") && plan.contains("machine time"), "{plan}");
}

#[test]
fn wide_intervals_show_their_width_without_a_flag() {
    let words = ["suite", "--machine", "sim:noisy-vm", "--cpus", "0,1", "--seed", "1", "--budget", "3s"];
    let screen = Tool::new().done(&[&words[..], &["-q", "--no-save"]].concat()).out;
    let widths = screen.split('±').skip(1).filter_map(|part| part.split(' ').next()?.parse::<f64>().ok());
    let wide = widths.filter(|width| *width >= 100.0).count();
    assert!(wide > 0 && !screen.contains("! wide"), "{wide} wide intervals: {screen}");
}
