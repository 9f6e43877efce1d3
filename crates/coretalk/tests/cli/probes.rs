//! `contend`, `spawn` and `jitter` on simulated machines: screens and documents.

use super::tool::{Tool, flat, words};
use serde_json::Value;

fn contend<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = "contend --machine sim:chiplet-16 --seed 1 --method fetch-add,mcs,racy --threads 1,16,32";
    [&words(run)[..], more].concat()
}

#[test]
fn threads_beyond_the_cpus_share_them_and_reads_leave_the_count() {
    let tool = Tool::new();
    let run = |more: &[&str]| -> Value {
        let words =
            ["contend", "--machine", "sim:chiplet-16", "--cpus", "0,1", "--seed", "1", "-q", "--no-save"];
        let words = [&words[..], &["--format", "json", "--budget", "5s"], more].concat();
        tool.json(&words)
    };
    let measured = run(&["--method", "per-thread,fetch-add", "--threads", "2,3", "--critical", "50ns"]);
    let ns_per_op = |method: &str, threads: f64| -> f64 {
        let series = measured["series"].as_array().unwrap();
        let is_meant = |one: &&Value| {
            let parameters = &one["parameters"];
            parameters["method"] == method
                && parameters["threads"] == threads
                && parameters["critical_ns"] == 50.0
        };
        series.iter().find(is_meant).unwrap()["values"]["ns_per_op_thread"].as_f64().unwrap()
    };
    for method in ["per-thread", "fetch-add"] {
        let ratio = ns_per_op(method, 3.0) / ns_per_op(method, 2.0);
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
fn a_contention_run_reads_back_unchanged_with_both_times_per_operation() {
    let tool = Tool::new();
    let live = tool.done(&contend(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    // Two loads (work inside and outside), three methods, three numbers of threads.
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
fn the_screen_names_exact_counts_and_lost_updates() {
    let tool = Tool::new();
    let screen = tool.done(&contend(&["-q", "--no-save"])).out;
    let words = flat(&screen);
    for part in [
        "50 ns inside, 500 ns outside; compact-core",
        "No work inside or outside",
        "With 16 threads: operations of all threads",
        "racy with 16 threads (50 ns inside, 500 ns outside) lost",
        "Every other count was exact",
        "mcs: first come, first served",
    ] {
        assert!(words.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn without_a_command_one_cpu_gets_the_probes_that_need_one() {
    let words = ["--machine", "sim:chiplet-16", "--cpus", "3", "--seed", "1", "--no-save"];
    let output = Tool::new().done(&words);
    assert!(
        output.out.contains("There is only CPU 3") && output.out.contains("CPU 3 is quiet: it lost"),
        "{}",
        output.out
    );
    assert!(output.err.contains("measuring 1 trial of"), "{}", output.err);
}

#[test]
fn one_cpu_is_enough() {
    let words =
        ["contend", "--machine", "sim:chiplet-16", "--cpus", "3", "--method", "ttas", "-q", "--no-save"];
    let screen = Tool::new().done(&words).out;
    assert!(screen.contains("threads on CPUs 3 3") && screen.contains("With 1 thread:"), "{screen}");
}

fn spawn<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = "spawn --machine sim:chiplet-16 --seed 1 --kind thread,pool --samples 100";
    [&words(run)[..], more].concat()
}

#[test]
fn a_run_of_creations_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&spawn(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    // For each of two paces, five trials of four histograms: a thread on its creator's CPU and on any CPU; a pool
    // on its creator's CPU and on one pair of each of two relations.
    assert_eq!(series.len(), 2 * (2 + 3) * 4);
    let has_after_return = |one: &&Value| one["values"]["after_return_ns"].is_number();
    assert_eq!(series.iter().filter(has_after_return).count(), 10, "once for each trial");
}

#[test]
fn the_screen_names_places_and_kinds_and_fits() {
    let tool = Tool::new();
    let screen = tool.done(&spawn(&["-q", "--no-save"])).out;
    for part in ["0 → any", "joined", "none", "pool: no creation"] {
        assert!(screen.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

fn jitter<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&words("jitter --machine sim:noisy-vm --seed 1")[..], more].concat()
}

#[test]
fn every_cpu_is_a_series_with_its_causes_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&jitter(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let series = document["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    for (cpu, one) in series.iter().enumerate() {
        assert_eq!(
            (&one["placement"], &one["parameters"]["view"]),
            (&serde_json::json!([cpu]), &"gaps".into())
        );
        assert!(
            one["values"]["lost_share"].as_f64().unwrap() > 0.0 && one["count"].as_u64() > Some(0),
            "{one}"
        );
        assert!(one["counts"]["watched_ms"].as_u64() >= Some(5_000), "five seconds are watched: {one}");
    }
}

#[test]
fn the_screen_has_a_row_for_each_cpu_and_fits() {
    let tool = Tool::new();
    let screen = tool.done(&jitter(&["-q", "--no-save", "--for", "2s"])).out;
    assert!(screen.contains("unexplained") && screen.contains("longest"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let large = ["jitter", "--machine", "sim:epyc-2s-192", "--seed", "1", "--for", "1s", "-q", "--no-save"];
    let screen = tool.done(&large).out;
    assert!(screen.contains("160 CPUs in between: see the data"), "{screen}");
}

#[test]
fn the_page_has_the_table_of_the_screen() {
    let tool = Tool::new();
    let screen = tool.done(&jitter(&["-q", "--name", "seen", "--for", "1s"])).out;
    tool.done(&["report", "seen", "-o", "page.html", "-q"]);
    let page = tool.read("page.html");
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
    let samples = |span: &str| {
        let output = tool.done(&jitter(&["--for", span, "--format", "json", "-q", "--no-save"])).out;
        let document: Value = serde_json::from_str(&output).unwrap();
        document["series"][0]["counts"]["samples"].as_u64().unwrap()
    };
    let [short, long] = ["1s", "3s"].map(samples);
    assert!((1_000..1_700).contains(&short) && (3_000..3_400).contains(&long), "{short} and {long}");
}
