//! `contend`, `spawn` and `jitter` on simulated machines: screens and documents.

use super::tool::{Tool, assert_contains, assert_fits, flat, list, number, words};
use serde_json::{Value, json};

const CONTEND: &str =
    "contend --machine sim:chiplet-16 --seed 1 --method fetch-add,mcs,racy --threads 1,16,32 -q";
const SPAWN: &str = "spawn --machine sim:chiplet-16 --seed 1 --kind thread,pool --samples 100 -q";
const JITTER: &str = "jitter --machine sim:noisy-vm --seed 1 -q";

/// Saves a run; its export must equal the document that it printed.
fn saved(tool: &Tool, line: &str) -> Value {
    let live = tool.out(&format!("{line} --format json --name first"));
    assert_eq!(tool.out("export first --format json"), live);
    serde_json::from_str(&live).unwrap()
}

#[test]
fn threads_beyond_the_cpus_share_them_and_reads_leave_the_count() {
    let tool = Tool::new();
    let run = |options: &str| {
        let common = "--machine sim:chiplet-16 --cpus 0,1 --seed 1 -q --no-save --format json --budget 5s";
        tool.document(&format!("contend {common} {options}"))
    };
    let measured = run("--method per-thread,fetch-add --threads 2,3 --critical 50ns");
    for method in ["per-thread", "fetch-add"] {
        let [two, three] = [2.0, 3.0].map(|threads| {
            let is_match = |one: &&Value| {
                let named = ["threads", "critical_ns"].map(|name| &one["parameters"][name]);
                one["parameters"]["method"] == method && named == [threads, 50.0]
            };
            let one = list(&measured["series"]).iter().find(is_match).unwrap();
            number(&one["values"]["ns_per_op_thread"])
        });
        assert!((1.4..1.7).contains(&(three / two)), "{method}, threads on two CPUs: {two} and {three} ns");
    }
    let reads = run("--method rwlock --threads 2 --read-ratio 100%");
    let counts = &reads["series"][0]["counts"];
    assert_eq!((&counts["expected_count"], &counts["final_count"]), (&0.into(), &0.into()), "{counts}");
    assert!(number(&counts["operations"]) > 0.0);
}

#[test]
fn a_contention_run_reads_back_unchanged_with_both_times_per_operation() {
    let document = saved(&Tool::new(), CONTEND);
    // Two loads (work inside and outside), three methods, three numbers of threads.
    assert_eq!(list(&document["series"]).len(), 18);
    for one in list(&document["series"]) {
        let value = |name: &str| number(&one["values"][name]);
        let threads = number(&one["parameters"]["threads"]);
        let ratio = value("ns_per_op_thread") / value("ns_per_op_wall");
        assert!((ratio / threads - 1.0).abs() < 1e-4, "{one}");
        let racy = one["parameters"]["method"] == "racy" && threads > 1.0;
        assert_eq!(value("final_count") < value("expected_count"), racy, "{one}");
        assert_eq!(list(&one["flags"]).contains(&"lost-updates".into()), racy, "{one}");
        assert!(value("ops_per_s") > 0.0 && value("jain") <= 1.0);
    }
}

#[test]
fn the_screen_names_exact_counts_and_lost_updates() {
    let screen = Tool::new().out(&format!("{CONTEND} --no-save"));
    assert_contains(
        &flat(&screen),
        &[
            "50 ns inside, 500 ns outside; compact-core",
            "No work inside or outside",
            "With 16 threads: operations of all threads",
            "racy with 16 threads (50 ns inside, 500 ns outside) lost",
            "Every other count was exact",
            "mcs: first come, first served",
        ],
    );
    assert_fits(&screen);
}

#[test]
fn without_a_command_one_cpu_gets_the_probes_that_need_one() {
    let output = Tool::new().done(&words("--machine sim:chiplet-16 --cpus 3 --seed 1 --no-save"));
    assert_contains(&output.out, &["There is only CPU 3", "CPU 3 is quiet: it lost"]);
    assert_contains(&output.err, &["measuring 1 trial of"]);
}

#[test]
fn one_cpu_is_enough() {
    let line = "contend --machine sim:chiplet-16 --cpus 3 --method ttas -q --no-save";
    assert_contains(&Tool::new().out(line), &["threads on CPUs 3 3", "With 1 thread:"]);
}

#[test]
fn a_run_of_creations_reads_back_as_it_was() {
    let document = saved(&Tool::new(), SPAWN);
    let series = list(&document["series"]);
    // For each of two paces, five trials of four histograms: a thread on its creator's CPU and on any CPU; a pool
    // on its creator's CPU and on one pair of each of two relations.
    assert_eq!(series.len(), 2 * (2 + 3) * 4);
    let has_after_return = |one: &&Value| one["values"]["after_return_ns"].is_number();
    assert_eq!(series.iter().filter(has_after_return).count(), 10, "once for each trial");
}

#[test]
fn the_screen_names_places_and_kinds_and_fits() {
    let screen = Tool::new().out(&format!("{SPAWN} --no-save"));
    assert_contains(&screen, &["0 → any", "joined", "none", "pool: no creation"]);
    assert_fits(&screen);
}

#[test]
fn every_cpu_is_a_series_with_its_causes_and_reads_back_as_it_was() {
    let document = saved(&Tool::new(), JITTER);
    let series = list(&document["series"]);
    assert_eq!(series.len(), 4);
    for (cpu, one) in series.iter().enumerate() {
        assert_eq!((&one["placement"], &one["parameters"]["view"]), (&json!([cpu]), &"gaps".into()));
        assert!(number(&one["values"]["lost_share"]) > 0.0 && number(&one["count"]) > 0.0, "{one}");
        assert!(number(&one["counts"]["watched_ms"]) >= 5_000.0, "five seconds are watched: {one}");
    }
}

#[test]
fn the_screen_has_a_row_for_each_cpu_and_fits() {
    let tool = Tool::new();
    let screen = tool.out(&format!("{JITTER} --no-save --for 2s"));
    assert_contains(&screen, &["unexplained", "longest"]);
    assert_fits(&screen);
    let large = tool.out("jitter --machine sim:epyc-2s-192 --seed 1 --for 1s -q --no-save");
    assert_contains(&large, &["160 CPUs in between: see the data"]);
}

#[test]
fn the_page_has_the_table_of_the_screen() {
    let tool = Tool::new();
    let screen = tool.out(&format!("{JITTER} --name seen --for 1s"));
    let page = tool.report(&["seen", "-q"], "page.html");
    let rows = screen.lines().filter(|line| line.trim_start().starts_with(['0', '1', '2', '3']));
    let rows: Vec<&str> = rows.filter(|line| line.contains('%')).collect();
    assert_eq!(rows.len(), 4, "{screen}");
    for row in rows {
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let row = format!("<th scope=\"row\" class=\"number\">{}", cells.join("</td><td>"));
        let row = row.replacen("</td>", "</th>", 1).replace("<0", "&lt;0");
        assert!(page.contains(&row), "the page lacks `{row}`");
    }
}

#[test]
fn a_longer_measurement_has_more_samples() {
    let tool = Tool::new();
    for (span, samples) in [("1s", 1_000.0..1_700.0), ("3s", 3_000.0..3_400.0)] {
        let document = tool.document(&format!("{JITTER} --for {span} --format json --no-save"));
        let found = number(&document["series"][0]["counts"]["samples"]);
        assert!(samples.contains(&found), "{span}: {found}");
    }
}
