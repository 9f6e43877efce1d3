//! sysbench and stress-ng on placements, if they are installed. Checks that every run succeeds and that the numbers
//! are read, not how fast the programs are.

use super::compared::places;
use super::tool::{Tool, list, number, said, words};
use serde_json::Value;

/// Program folders, because the tests run the tool in an empty environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Compares two placements on one CPU with a program, if it is installed; every run must have every metric.
fn check_comparison(metrics: &[(&str, &str)], line: &str) {
    let program = words(line)[0];
    if !std::env::split_paths(PATH).any(|folder| folder.join(program).exists()) {
        println!("skipped: {program} is not installed");
        return;
    }
    let (tool, places) = (Tool::new(), places());
    let asked: Vec<String> =
        metrics.iter().map(|(name, pattern)| format!("--metric={name}={pattern}")).collect();
    let mut command = tool.command(&words("place -q --format json --repeat 6 --precision 50% --budget 5min"));
    command.args(places).args(asked).arg("--").args(words(line)).env("PATH", PATH);
    let output = said(command.output().unwrap());
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{line}");
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let comparisons = list(&document["comparisons"]);
    for (comparison, (name, _)) in comparisons.iter().zip(metrics) {
        assert_eq!(comparison["metric"], *name, "{line}");
    }
    for comparison in &comparisons[..=metrics.len()] {
        for placement in list(&comparison["placements"]) {
            let runs = list(&placement["runs"]);
            assert!(!runs.is_empty() && runs.iter().all(|run| number(run) > 0.0), "{line}: {comparison}");
        }
    }
    assert!(tool.path().join("runs").is_dir());
}

#[test]
fn sysbench_threads_reports_events_and_latencies() {
    let metrics =
        [("events", r"total number of events: *([0-9]+)"), ("p95_ms", r"95th percentile: *([0-9.]+)")];
    check_comparison(&metrics, "sysbench threads --threads=2 --events=20 --time=0 run");
}

#[test]
fn sysbench_mutex_reports_its_time() {
    let line = "sysbench mutex --threads=4 --mutex-num=64 --mutex-locks=5000 --mutex-loops=100 run";
    check_comparison(&[("avg_ms", r"avg: *([0-9.]+)")], line);
}

#[test]
fn sysbench_memory_reports_its_rate() {
    let metrics = [("mib_per_s", r"\(([0-9.]+) MiB/sec\)")];
    check_comparison(&metrics, "sysbench memory --threads=2 --memory-total-size=64M run");
}

#[test]
fn stress_ng_reports_its_operations() {
    // Its report goes to standard error or standard output; both are read.
    let metrics = [("ops_per_s", r"cpu +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+)")];
    check_comparison(&metrics, "stress-ng --cpu 1 --cpu-ops 20 --metrics-brief");
}
