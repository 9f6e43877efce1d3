//! `latency --gap`, `latency --load`, `sharing` and `broadcast` on simulated machines: documents, screens, refusals.

use super::tool::Tool;
use serde_json::Value;

const MACHINE: [&str; 7] = ["--machine", "sim:chiplet-16-smt", "--seed", "1", "-q", "--budget", "10s"];

fn document(tool: &Tool, words: &[&str]) -> Value {
    let output = tool.done(&[words, &MACHINE, &["--format", "json", "--no-save"]].concat());
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn idle_gaps_and_loads_are_series_of_latency() {
    let tool = Tool::new();
    let measured = document(&tool, &["latency", "--gap", "1us..100us", "--pairs", "0-1"]);
    let series = measured["series"].as_array().unwrap();
    assert!(series.iter().all(|one| one["probe"] == "latency"));
    let gaps: Vec<f64> = series
        .iter()
        .filter(|one| one["parameters"]["receiver"] == "looks")
        .map(|one| one["parameters"]["gap_ns"].as_f64().unwrap())
        .collect();
    assert_eq!(gaps, [1e3, 1e4, 1e5]);
    // Both threads stay awake, so a gap costs nothing; only a sleeping thread pays for idle states.
    let half = |one: &Value| one["values"]["half_net_ns"].as_f64();
    assert!(series.iter().filter_map(half).all(|ns| (15.0..21.0).contains(&ns)), "{series:?}");
    let loaded = document(&tool, &["latency", "--load", "none,compute", "--pairs", "0-1"]);
    let ratio = |neighbours: Option<&str>| {
        let series = loaded["series"].as_array().unwrap();
        let entry = series.iter().find(|one| one["parameters"]["neighbours"].as_str() == neighbours).unwrap();
        entry["values"]["ratio"].as_f64().unwrap()
    };
    assert!((ratio(None) - 1.0).abs() < 0.05 && ratio(Some("siblings")) > 1.3);
}

#[test]
fn without_idle_states_wake_ups_take_equally_long_after_any_gap() {
    let tool = Tool::new();
    let measured = document(&tool, &["latency", "--gap", "1us,1ms,10ms", "--keep-awake", "--pairs", "0-1"]);
    let series = measured["series"].as_array().unwrap();
    let medians = |kept_out: bool| -> Vec<f64> {
        let slept = series.iter().filter(|one| one["parameters"]["view"] == "slept");
        let matching = slept.filter(|one| (one["parameters"]["idle_states"] == "kept-out") == kept_out);
        matching.map(|one| one["percentiles"]["50"].as_f64().unwrap()).collect()
    };
    let ([free, kept], exits) = ([medians(false), medians(true)], [300.0, 18_000.0, 60_000.0]);
    assert_eq!((free.len(), kept.len()), (3, 3), "{series:?}");
    // The difference is the exit latency of the idle states in the scenario.
    for ((free, kept), exit) in free.iter().zip(&kept).zip(exits) {
        assert!((free - kept - exit).abs() < 0.03 * free, "{free} and {kept}");
    }
    tool.refused(&["latency", "--keep-awake"], 2, "--gap");
}

#[test]
fn a_coarse_clock_widens_intervals() {
    let tool = Tool::new();
    let words =
        ["latency", "--gap", "1us", "--pairs", "0-1,0-4", "--machine", "sim:arm-coarse-clock", "--seed", "1"];
    let output = tool.done(&[&words[..], &["-q", "--no-save", "--format", "json"]].concat());
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let looks =
        document["series"].as_array().unwrap().iter().filter(|one| one["parameters"]["receiver"] == "looks");
    // Values from the map of the same machine, whose batches are long enough for its clock.
    let truth = [36.0, 81.0];
    for (one, truth) in looks.zip(truth) {
        let [low, high] = [0, 1].map(|end| one["intervals"]["half_net_ns"][end].as_f64().unwrap());
        assert!(low < truth && truth < high, "{truth} is not in {low} to {high}");
        let [flags, reason] = ["flags", "reason"].map(|name| one[name].to_string());
        assert!(
            flags.contains("wide-ci") && reason.contains("the clock advances in steps"),
            "{flags} {reason}"
        );
    }
}

#[test]
fn long_gaps_leave_time_for_others_and_percentiles_need_enough_events() {
    let tool = Tool::new();
    let words = ["latency", "--gap", "1us..1s", "--machine", "sim:chiplet-16", "--seed", "1"];
    let output = tool.done(&[&words[..], &["-q", "--no-save", "--format", "json"]].concat());
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let series = document["series"].as_array().unwrap();
    assert!(series.len() >= 28 && series.iter().all(|one| one["passes"].as_u64() >= Some(8)), "{series:?}");
    for one in series {
        let [p90, p999] = ["90", "99.9"].map(|name| one["percentiles"][name].as_f64());
        let count = one["count"].as_u64().unwrap();
        assert_eq!((p90.is_some(), p999.is_some()), (count >= 10, count >= 1_000), "{count} events");
    }
}

#[test]
fn padding_pays_inside_a_line_and_the_last_reader_comes_last() {
    let tool = Tool::new();
    let measured = document(&tool, &["sharing", "--pairs", "0-1"]);
    let slowdown = |bytes: f64| {
        let series = measured["series"].as_array().unwrap();
        let entry = series.iter().find(|one| one["parameters"]["distance_bytes"] == bytes).unwrap();
        entry["values"]["slowdown"].as_f64().unwrap()
    };
    assert!(slowdown(8.0) > 3.0 && (slowdown(64.0) - 1.0).abs() < 0.1);
    let screen = tool.done(&[&["sharing", "--pairs", "0-1"], &MACHINE[..], &["--no-save"]].concat()).out;
    assert!(screen.contains("Pad to 64 bytes: closer writers take "), "{screen}");
    let measured = document(&tool, &["broadcast", "--readers", "1,31"]);
    let p50 = |readers: f64, view: &str| {
        let series = measured["series"].as_array().unwrap();
        let is_meant = |one: &&Value| {
            (&one["parameters"]["readers"], &one["parameters"]["view"]) == (&readers.into(), &view.into())
        };
        series.iter().find(is_meant).unwrap()["percentiles"]["50"].as_f64().unwrap()
    };
    assert!(p50(31.0, "last") > 2.0 * p50(31.0, "first") && p50(31.0, "last") > p50(1.0, "last"));
}

#[test]
fn screens_fit_and_runs_can_be_resumed() {
    let tool = Tool::new();
    for words in [
        &["latency", "--gap", "1us,1ms"][..],
        &["latency", "--load", "compute,pingpong"],
        &["sharing"],
        &["broadcast"],
    ] {
        let screen = tool.done(&[words, &MACHINE].concat()).out;
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
        assert!(tool.done(&["--resume", "latest"]).err.contains("complete"), "{words:?}");
        let plan = tool.done(&[&["plan"], words, &["--machine", "sim:chiplet-16-smt"]].concat()).out;
        assert!(plan.contains("trials"), "{plan}");
    }
}

#[test]
fn hand_overs_and_wake_ups_have_their_own_units() {
    let tool = Tool::new();
    let words = ["latency", "--gap", "1us,1ms", "--pairs", "0-1"];
    let screen = tool.done(&[&words[..], &MACHINE].concat()).out;
    let titles: Vec<&str> = screen.lines().filter(|line| line.trim_start().starts_with("after ")).collect();
    assert!(
        matches!(titles[..], [first, second] if first.contains(" ns ") && second.contains(" µs ")),
        "{screen}"
    );
    let row = screen.lines().find(|line| line.starts_with(" ") && line.contains("round trip")).unwrap();
    let mean: f64 = row.split_whitespace().rev().find_map(|word| word.parse().ok()).unwrap();
    assert!(mean > 10.0, "{row}");
}

#[test]
fn a_pair_and_a_writer_have_one_table_each() {
    let tool = Tool::new();
    let shown = |words: &[&str]| tool.done(&[words, &MACHINE].concat()).out;
    let titles = |screen: &str| screen.lines().filter(|line| line.starts_with(" CPU")).count();
    let loaded = shown(&["latency", "--load", "none,compute", "--pairs", "0-1"]);
    assert_eq!(titles(&loaded), 1, "{loaded}");
    assert!(loaded.contains("siblings, 2 CPUs") && loaded.contains("all-cpus, 30 CPUs"), "{loaded}");
    let broadcast = shown(&["broadcast"]);
    assert!(
        titles(&broadcast) == 1 && broadcast.contains("CPU 0 writes; readers are the first of CPUs 16 1"),
        "{broadcast}"
    );
}
