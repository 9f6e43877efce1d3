//! Runs of several probes on simulated machines: the quick look with the trials next to its map, and `suite`.

use super::tool::{Tool, assert_contains, assert_fits, between, list, number, words};
use coretalk::store::RunFile;
use coretalk_measure::probes::REGISTRY;
use coretalk_model::run::RunReport;
use coretalk_report::style::Style;
use coretalk_report::{Saved, Screen, screen};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const MACHINE: &str = "--machine sim:laptop-smt --seed 1";

fn probes(document: &Value) -> BTreeSet<&str> {
    list(&document["series"]).iter().map(|one| one["probe"].as_str().unwrap()).collect()
}

fn steps(document: &Value) -> BTreeSet<&str> {
    list(&document["ladder"]).iter().map(|row| row["step"].as_str().unwrap()).collect()
}

fn saved(tool: &Tool, name: &str) -> RunReport {
    let path = tool.out(&format!("runs path {name}"));
    RunFile::open(Path::new(path.trim())).unwrap().report().unwrap()
}

fn shown(report: &RunReport) -> String {
    screen::render(report, Screen::Shown(Saved::As("it")), &Style::default())
}

#[test]
fn a_quick_look_includes_sleeping_waits_and_names_quiet_cpus() {
    let tool = Tool::new();
    let live = tool.out(&format!("{MACHINE} --format json -q --name first"));
    assert_eq!(tool.out("export first --format json"), live);
    let document: Value = serde_json::from_str(&live).unwrap();
    assert_eq!(probes(&document), ["jitter", "wake"].into());
    assert!(steps(&document).is_superset(&["cas", "futex", "pipe"].into()), "{:?}", steps(&document));
    assert_eq!(document["run"]["complete"], true);
    let futex = list(&document["ladder"]).iter().find(|row| row["step"] == "futex").unwrap();
    assert!(number(&futex["median"]) > 1_000.0 && futex["ci"].is_array(), "{futex}");
    let screen = tool.out("runs show first");
    assert_contains(&screen, &["waking a sleeping thread (futex)", " noise     "]);
    assert_fits(&screen);
    // All steps are shown only with `--ladder`.
    assert!(!screen.contains("ladder, ns per hop") && screen.contains("--ladder"), "{screen}");
    let whole = tool.out("runs show first --ladder");
    assert!(whole.contains("ladder, ns per hop") && !whole.contains("--ladder"), "{whole}");
    tool.refused(&words("runs show first --ladder --format json"), 2, "--ladder has no effect");
    // Tables contain only the map by default.
    let map = tool.out("export first --format csv");
    assert!(map.starts_with("# coretalk matrix: symmetric, ns\n") && !map.contains("semaphore"), "{map}");
    let trials = tool.out("export first --format csv --probe wake");
    assert!(trials.contains("semaphore") && !trials.contains("jitter"), "{trials}");
    tool.refused(&words("export first --format csv --probe queue"), 2, "wake, jitter");
    // Trials may run out of time even if the map did not.
    let mut report = saved(&tool, "first");
    assert!(!shown(&report).contains("Left out"));
    let result = &mut report.series.as_mut().unwrap().result;
    result.budget_ended = true;
    result.trials[0].reason = Some(coretalk_model::Reason::NotReached);
    assert_contains(&shown(&report), &["Left out for lack of time: 1 trial."]);
}

#[test]
fn a_suite_runs_every_probe_and_has_a_table_for_each() {
    let tool = Tool::new();
    tool.out(&format!("suite {MACHINE} -q --budget 10s --name all"));
    let document = tool.document("export all");
    let asked: BTreeSet<&str> = REGISTRY.iter().map(|probe| probe.declaration().id).collect();
    let mut reported = probes(&document);
    reported.extend(list(&document["matrices"]).iter().map(|matrix| matrix["probe"].as_str().unwrap()));
    assert!(reported.is_superset(&asked) && reported.contains("latency"), "{reported:?}");
    assert!(steps(&document).is_superset(&["futex", "pipe"].into()));
    let screen = tool.out("runs show all");
    // Each probe states its result under one condition, as on its own screen.
    assert_contains(
        &screen,
        &[
            "half a round trip, minus half a clock read",
            "round trip, including one clock read, median",
            "time until a sleeping thread runs again, median",
            "time until the first statement runs, median",
            "time per operation and thread",
            "time of an addition while both threads add",
            "\n thread, 1 ms apart ",
            " on 0-7 ",
            "Time until a sleeping thread runs again, median (gap 20 µs, same L3): ",
        ],
    );
    for probe in REGISTRY {
        assert_contains(&screen, &[&probe.declaration().question[1..20]]);
    }
    assert!(!screen.contains("The budget of") || screen.contains("The budget of 10 s ended"), "{screen}");
    assert_fits(&screen);
    let page = tool.report(&["all"], "all.html");
    let header = page.split("</header>").next().unwrap();
    for probe in probes(&document) {
        let answer = between(header, &format!("<a href=\"#found-{probe}\">"), "</dd>");
        assert!(answer.contains("<strong>") && page.contains(&format!(" id=\"found-{probe}\"")), "{answer}");
    }
    let mut report = saved(&tool, "all");
    report.series.as_mut().unwrap().result.complete = false;
    let interrupted = shown(&report);
    assert_eq!(interrupted.matches("Interrupted").count(), 1, "{interrupted}");
}

#[test]
fn tables_of_a_suite_have_the_map_and_the_rows_of_all_probes() {
    let tool = Tool::new();
    tool.out(&format!("suite {MACHINE} -q --budget 10s --name all"));
    let map = tool.out("export all --format csv --protocol cas");
    assert!(map.starts_with("# coretalk matrix: symmetric, ns\n") && !map.contains("semaphore"), "{map}");
    let tables = tool.out("export all --format csv");
    let rows = tables.strip_prefix(&format!("{map}\n# run=")).unwrap_or_else(|| panic!("{tables}"));
    let asked = REGISTRY.iter().map(|probe| probe.declaration().id);
    for probe in asked.filter(|probe| *probe != "jitter") {
        assert!(rows.contains(&format!("\n{probe},")), "{probe}: {rows}");
    }
    let heading = rows.lines().find(|line| line.starts_with("probe,")).unwrap();
    let columns: BTreeSet<&str> = heading.split(',').collect();
    assert_eq!(columns.len(), heading.split(',').count(), "a column appears twice: {heading}");
    assert!(columns.is_superset(&["mean_ns", "mean_ns_point", "mean_ns_low"].into()), "{heading}");
    tool.write("both.csv", &tables);
    let imported = tool.out("import both.csv --format csv");
    assert!(imported.ends_with(&map[map.find("\ncpu,").unwrap()..]), "{imported}");
    assert_contains(&tool.out("export all --format markdown"), &["|   ns |", "\n\n| probe | cpus |"]);
}

#[test]
fn a_suite_that_ran_out_of_budget_can_be_resumed() {
    let tool = Tool::new();
    tool.out(&format!("suite {MACHINE} -q --budget 3s --name short"));
    let passes = || -> u64 {
        let document = tool.document("export short");
        list(&document["series"]).iter().filter_map(|one| one["passes"].as_u64()).sum()
    };
    let before = passes();
    let same = tool.done(&words("--resume short --budget 3s"));
    assert_contains(&same.err, &["it used its budget of 3"]);
    assert_eq!(passes(), before);
    tool.out("suite --resume short --budget 9s -q");
    assert!(passes() > before);
    tool.refused(&words("latency --resume short -q"), 2, "leave out the command");
}

#[test]
fn one_cpu_has_no_map_and_the_rest_is_measured() {
    let tool = Tool::new();
    let output = tool.done(&words(&format!("suite {MACHINE} --cpus 2 --budget 5s --name one")));
    assert_contains(&output.err, &["one CPU has no pairs"]);
    let document = tool.document("export one");
    assert!(list(&document["ladder"]).is_empty());
    assert!(probes(&document).is_superset(&["wait", "spawn", "contend", "jitter"].into()));
    for (option, value) in [("--seed", "9"), ("--precision", "9%")] {
        let part = format!("{option} cannot be combined");
        tool.refused(&["suite", "--resume", "one", option, value], 2, &part);
    }
    tool.out(&format!("{MACHINE} --cpus 2 --name glance -q"));
    let shown = tool.out("runs show glance");
    assert!(!shown.contains("Interrupted"), "a run on one CPU is complete without a map: {shown}");
    let plan = tool.out(&format!("plan suite {MACHINE} --cpus 2"));
    assert_contains(&plan, &["jitter", "machine time"]);
}

#[test]
fn wide_intervals_show_their_width_without_a_flag() {
    let screen = Tool::new().out("suite --machine sim:noisy-vm --cpus 0,1 --seed 1 --budget 3s -q --no-save");
    let widths = screen.split('±').skip(1).filter_map(|part| part.split(' ').next()?.parse::<f64>().ok());
    let wide = widths.filter(|width| *width >= 100.0).count();
    assert!(wide > 0 && !screen.contains("! wide"), "{wide} wide intervals: {screen}");
}
