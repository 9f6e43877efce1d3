//! What is unknown is said to be unknown: no zero, no invented interval, no run without a value that ends as if it had one.

use super::tool::Tool;
use serde_json::Value;

fn cells(said: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(said).unwrap();
    document["matrices"][0]["cells"].as_array().unwrap().clone()
}

fn write(tool: &Tool, name: &str, text: &str) {
    std::fs::write(tool.path().join(name), text).unwrap();
}

#[test]
fn a_batch_that_outlasts_its_counter_has_no_value() {
    let tool = Tool::new();
    // 1 µs each way: a million round trips take two seconds, and 2³² ticks are 1.65.
    write(&tool, "slow.csv", ",1000\n1000,\n");
    let words = [
        "latency",
        "--machine",
        "sim:slow.csv",
        "--samples",
        "16",
        "--budget",
        "1h",
        "--seed",
        "1",
        "-q",
        "--no-save",
    ];
    let json = ["--format", "json", "--iterations"];
    let good = tool.done(&[&words[..], &json, &["100000"]].concat());
    let median = cells(&good.out)[0]["median"].as_f64().unwrap();
    assert!((median / 1000.0 - 1.0).abs() < 0.06, "{median}");
    let long = tool.call(&[&words[..], &json, &["1000000"]].concat());
    assert_eq!(long.code, 3, "{}", long.err);
    assert!(
        long.err.contains("no pair could be measured: the threads did not finish within 1.6"),
        "{}",
        long.err
    );
    assert!(cells(&long.out)[0]["median"].is_null(), "{}", long.out);
}

#[test]
fn a_clock_that_stands_still_gives_no_zero() {
    let tool = Tool::new();
    write(&tool, "coarse.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e6");
    let words =
        ["latency", "--machine", "sim:coarse.toml", "--seed", "1", "--samples", "20", "--iterations", "10"];
    let said = tool.call(&[&words[..], &["-q", "--no-save", "--format", "json"]].concat());
    let medians: Vec<Option<f64>> = cells(&said.out).iter().map(|cell| cell["median"].as_f64()).collect();
    assert!(medians.iter().flatten().all(|&ns| ns > 0.0), "{medians:?}");
    // 20 ns, ten times there and back, are less than a step of the clock.
    assert_eq!(medians[0], None);
    let reasons: Vec<String> = cells(&said.out).iter().map(|cell| cell["reason"].to_string()).collect();
    assert!(reasons.iter().all(|reason| reason.contains("too coarse")), "{reasons:?}");
    let screen = tool.call(&[&words[..], &["-q", "--no-save"]].concat()).out;
    assert!(screen.contains("most pairs are in doubt") && !screen.contains("taskset"), "{screen}");
    assert!(!screen.replace("inferred", "").contains("inf") && !screen.contains("0.00"), "{screen}");
    // A step of 10 µs times nothing at all.
    write(&tool, "coarser.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e5");
    let refused = tool.call(&["latency", "--machine", "sim:coarser.toml", "-q"]);
    assert!(refused.code == 3 && refused.err.contains("steps of 10000 ns"), "{}", refused.err);
}

#[test]
fn few_passes_have_no_interval() {
    let tool = Tool::new();
    let words = ["latency", "--machine", "sim:laptop-smt", "--cpus", "0,1", "-q", "--no-save"];
    let one = ["--samples", "1", "--iterations", "1"];
    let said = tool.done(&[&words[..], &one, &["--format", "json"]].concat());
    let cell = &cells(&said.out)[0];
    assert!(cell["median"].is_f64() && cell["ci"].is_null(), "{cell}");
    let screen = tool.done(&[&words[..], &one].concat()).out;
    assert!(screen.contains("interval  none: 1 batch in one pass") && !screen.contains('±'), "{screen}");
}

#[test]
fn finer_intervals_take_more_passes_on_few_cpus_too() {
    let tool = Tool::new();
    let passes = |precision: &str| {
        let words =
            "latency --machine sim:laptop-smt --cpus 0,1 --seed 1 -q --no-save --budget 60s --format json";
        let words: Vec<&str> = words.split(' ').chain(["--precision", precision]).collect();
        cells(&tool.done(&words).out)[0]["passes"].as_u64().unwrap()
    };
    assert_eq!((passes("5%"), passes("1%"), passes("0.3%")), (24, 24, 96));
}

#[test]
fn a_run_in_which_nothing_answered_fails() {
    let tool = Tool::new();
    write(&tool, "dead.toml", "based_on = 'laptop-smt'\n[failures]\ndie = '0-7'");
    let said = tool.call(&["latency", "--machine", "sim:dead.toml", "-q"]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("no pair could be measured: the thread on CPU"), "{}", said.err);
}

#[test]
fn values_that_a_file_lacks_are_not_invented_in_silence() {
    let tool = Tool::new();
    write(&tool, "few.csv", "cpu,0,1,2\n0,,20.5,\n1,20.5,,\n2,,,\n");
    let said = tool.done(&["latency", "--machine", "sim:few.csv", "--no-save", "--seed", "1"]);
    assert!(said.err.contains("2 of 3 latencies are missing"), "{}", said.err);
    // By content and not by name.
    std::fs::copy(tool.path().join("few.csv"), tool.path().join("few.data")).unwrap();
    tool.done(&["latency", "--machine", "sim:few.data", "--no-save", "--seed", "1", "-q"]);
}

#[test]
fn what_cannot_be_kept_or_written_is_refused_before_anything_is_measured() {
    let tool = Tool::new();
    for (words, part) in [
        (&["--name", "latest"][..], "`latest` is always the newest run"),
        (&["--format", "hyperfine-json"], "is for comparisons of a command"),
    ] {
        let said = tool.call(&[&["latency", "--machine", "sim:laptop-smt"], words].concat());
        assert!(said.code == 2 && said.err.contains(part), "{words:?}: {} {}", said.code, said.err);
        assert!(!said.err.contains("saved"), "{words:?}: {}", said.err);
    }
}
