//! `latency --gap`, `latency --load`, `sharing` and `broadcast` on simulated machines: documents, screens, refusals.

use super::tool::{Tool, words};
use serde_json::{Value, json};

const MACHINE: &str = "--machine sim:chiplet-16-smt --seed 1 -q --budget 10s";

fn screen(tool: &Tool, line: &str) -> String {
    tool.done(&words(&format!("{line} {MACHINE}"))).out
}

/// Measures without saving; returns the series of the document.
fn series(line: &str) -> Vec<Value> {
    let document = Tool::new().json(&words(&format!("{line} --format json --no-save")));
    document["series"].as_array().unwrap().clone()
}

/// Returns the series with these parameters.
fn with<'a>(series: &'a [Value], parameters: &Value) -> Vec<&'a Value> {
    let parameters = parameters.as_object().unwrap();
    let has_all = |one: &&Value| parameters.iter().all(|(name, value)| one["parameters"][name] == *value);
    series.iter().filter(has_all).collect()
}

#[test]
fn idle_gaps_and_loads_are_series_of_latency() {
    let idle = series(&format!("latency --gap 1us..100us --pairs 0-1 {MACHINE}"));
    assert!(idle.iter().all(|one| one["probe"] == "latency"));
    let looks = with(&idle, &json!({ "receiver": "looks" }));
    let gaps: Vec<f64> = looks.iter().map(|one| one["parameters"]["gap_ns"].as_f64().unwrap()).collect();
    assert_eq!(gaps, [1e3, 1e4, 1e5]);
    // Both threads stay awake, so a gap costs nothing; only a sleeping thread pays for idle states.
    let half = |one: &Value| one["values"]["half_net_ns"].as_f64();
    assert!(idle.iter().filter_map(half).all(|ns| (15.0..21.0).contains(&ns)), "{idle:?}");
    let loaded = series(&format!("latency --load none,compute --pairs 0-1 {MACHINE}"));
    let ratio = |neighbours: Value| {
        with(&loaded, &json!({ "neighbours": neighbours }))[0]["values"]["ratio"].as_f64().unwrap()
    };
    assert!((ratio(Value::Null) - 1.0).abs() < 0.05 && ratio("siblings".into()) > 1.3);
}

#[test]
fn without_idle_states_wake_ups_take_equally_long_after_any_gap() {
    let series = series(&format!("latency --gap 1us,1ms,10ms --keep-awake --pairs 0-1 {MACHINE}"));
    let (kept, free): (Vec<_>, Vec<_>) = with(&series, &json!({ "view": "slept" }))
        .into_iter()
        .partition(|one| one["parameters"]["idle_states"] == "kept-out");
    assert_eq!((free.len(), kept.len()), (3, 3), "{series:?}");
    // The difference is the exit latency of the idle states in the scenario.
    for ((free, kept), exit) in free.iter().zip(&kept).zip([300.0, 18_000.0, 60_000.0]) {
        let [free, kept] = [free, kept].map(|one| one["percentiles"]["50"].as_f64().unwrap());
        assert!((free - kept - exit).abs() < 0.03 * free, "{free} and {kept}");
    }
    Tool::new().refused(&["latency", "--keep-awake"], 2, "--gap");
}

#[test]
fn a_coarse_clock_widens_intervals() {
    let series = series("latency --gap 1us --pairs 0-1,0-4 --machine sim:arm-coarse-clock --seed 1 -q");
    let looks = with(&series, &json!({ "receiver": "looks" }));
    // Values from the map of the same machine, whose batches are long enough for its clock.
    let truth = [36.0, 81.0];
    assert_eq!(looks.len(), truth.len());
    for (one, truth) in looks.into_iter().zip(truth) {
        let [low, high] = [0, 1].map(|end| one["intervals"]["half_net_ns"][end].as_f64().unwrap());
        assert!(low < truth && truth < high, "{truth} is not in {low} to {high}");
        assert!(one["flags"].to_string().contains("wide-ci"), "{one}");
        assert!(one["reason"].to_string().contains("the clock advances in steps"), "{one}");
    }
}

#[test]
fn long_gaps_leave_time_for_others_and_percentiles_need_enough_events() {
    let series = series("latency --gap 1us..1s --machine sim:chiplet-16 --seed 1 -q");
    assert!(series.len() >= 28, "{series:?}");
    for one in series {
        assert!(one["passes"].as_u64() >= Some(8), "{one}");
        let [p90, p999] = ["90", "99.9"].map(|name| one["percentiles"][name].as_f64());
        let count = one["count"].as_u64().unwrap();
        assert_eq!((p90.is_some(), p999.is_some()), (count >= 10, count >= 1_000), "{count} events");
    }
}

#[test]
fn padding_pays_inside_a_line_and_the_last_reader_comes_last() {
    let sharing = series(&format!("sharing --pairs 0-1 {MACHINE}"));
    let slowdown = |bytes: f64| {
        let entries = with(&sharing, &json!({ "distance_bytes": bytes }));
        entries[0]["values"]["slowdown"].as_f64().unwrap()
    };
    assert!(slowdown(8.0) > 3.0 && (slowdown(64.0) - 1.0).abs() < 0.1);
    let screen = screen(&Tool::new(), "sharing --pairs 0-1 --no-save");
    assert!(screen.contains("Pad to 64 bytes: closer writers take "), "{screen}");
    let broadcast = series(&format!("broadcast --readers 1,31 {MACHINE}"));
    let p50 = |readers: f64, view: &str| {
        let entries = with(&broadcast, &json!({ "readers": readers, "view": view }));
        entries[0]["percentiles"]["50"].as_f64().unwrap()
    };
    assert!(p50(31.0, "last") > 2.0 * p50(31.0, "first") && p50(31.0, "last") > p50(1.0, "last"));
}

#[test]
fn screens_fit_and_runs_can_be_resumed() {
    let tool = Tool::new();
    for line in ["latency --gap 1us,1ms", "latency --load compute,pingpong", "sharing", "broadcast"] {
        let screen = screen(&tool, line);
        assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
        assert!(tool.done(&["--resume", "latest"]).err.contains("complete"), "{line}");
        let plan = tool.done(&words(&format!("plan {line} --machine sim:chiplet-16-smt"))).out;
        assert!(plan.contains("trials"), "{plan}");
    }
}

#[test]
fn hand_overs_and_wake_ups_have_their_own_units() {
    let screen = screen(&Tool::new(), "latency --gap 1us,1ms --pairs 0-1");
    let titles: Vec<&str> = screen.lines().filter(|line| line.trim_start().starts_with("after ")).collect();
    let [first, second] = titles[..] else { panic!("{screen}") };
    assert!(first.contains(" ns ") && second.contains(" µs "), "{screen}");
    let row = screen.lines().find(|line| line.starts_with(" ") && line.contains("round trip")).unwrap();
    let mean: f64 = row.split_whitespace().rev().find_map(|word| word.parse().ok()).unwrap();
    assert!(mean > 10.0, "{row}");
}

#[test]
fn a_pair_and_a_writer_have_one_table_each() {
    for (line, parts) in [
        ("latency --load none,compute --pairs 0-1", &["siblings, 2 CPUs", "all-cpus, 30 CPUs"][..]),
        ("broadcast", &["CPU 0 writes; readers are the first of CPUs 16 1"]),
    ] {
        let screen = screen(&Tool::new(), line);
        assert_eq!(screen.lines().filter(|line| line.starts_with(" CPU")).count(), 1, "{screen}");
        assert!(parts.iter().all(|part| screen.contains(part)), "{screen}");
    }
}
