//! Claims on screens follow from the measurement: unknown values are not shown as zero, no interval is invented, and a
//! run without a value fails.

use super::tool::{Tool, flat, words};
use serde_json::Value;

fn shared_with(tool: &Tool, others: f64) -> String {
    let path = tool.path().join("shared.toml");
    std::fs::write(&path, format!("based_on = \"laptop-smt\"\n[failures]\nothers = {others}\n")).unwrap();
    format!("sim:{}", path.display())
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_disturbed_run_is_marked_at_the_top_and_on_every_number() {
    let tool = Tool::new();
    let machine = shared_with(&tool, 0.98);
    for words in [&["latency", "--cpus", "0-2"][..], &["wake", "--cpus", "0,1", "--primitive", "semaphore"]] {
        let words = [words, &["--machine", &machine, "--seed", "1", "-q", "--name", words[0]]].concat();
        let live = tool.done(&words).out;
        let first = live.lines().next().unwrap_or_default();
        assert!(first.starts_with("disturbed: other programs took 98 % of the CPUs"), "{live}");
        let shown = tool.done(&["runs", "show", words[0]]).out;
        assert!(shown.starts_with("disturbed: other programs took 98 %"), "{shown}");
        let document = document(&tool.done(&["export", words[0], "--format", "json"]).out);
        assert_eq!(document["environment"]["others_share"], 0.98);
        let cells = document["matrices"].as_array().into_iter().flatten();
        let cells = cells.flat_map(|matrix| matrix["cells"].as_array().unwrap());
        let judged: Vec<&Value> = cells.chain(document["series"].as_array().unwrap()).collect();
        assert!(!judged.is_empty());
        for one in judged {
            assert!(one["flags"].to_string().contains("\"load\""), "{one}");
            assert!(["C", "D"].contains(&one["grade"].as_str().unwrap()), "{one}");
        }
    }
}

#[test]
fn a_disturbed_run_predicts_no_other_tool() {
    let tool = Tool::new();
    let screen_of = |others: f64| {
        let machine = shared_with(&tool, others);
        flat(&tool.done(&["latency", "--cpus", "0-2", "--machine", &machine, "--seed", "1", "--no-save"]).out)
    };
    assert!(screen_of(0.02).contains("core-to-core-latency would print"));
    let disturbed = screen_of(0.98);
    assert!(
        disturbed.contains("cannot tell what other tools would print: other programs took 98 % of the CPUs"),
        "{disturbed}"
    );
    assert!(!disturbed.contains("-latency would print"), "{disturbed}");
}

#[test]
fn padding_is_not_judged_from_one_pass_or_next_to_other_programs() {
    let tool = Tool::new();
    let words = ["sharing", "--pairs", "0-1", "--seed", "1", "--no-save"];
    let busy = shared_with(&tool, 0.98);
    for more in [&["--machine", "sim:laptop-smt", "--budget", "100ms"][..], &["--machine", &busy]] {
        let output = flat(&tool.done(&[&words, more].concat()).out);
        assert!(output.contains("Cannot tell whether padding pays"), "{output}");
    }
}

#[test]
fn doctor_does_not_call_numbers_valid_while_other_programs_have_the_cpus() {
    let tool = Tool::new();
    let output = flat(&tool.done(&["doctor", "--machine", &shared_with(&tool, 0.98)]).out);
    assert!(output.contains("fail load") && !output.contains("numbers are valid"), "{output}");
    let output = flat(&tool.done(&["doctor", "--machine", &shared_with(&tool, 0.06)]).out);
    assert!(output.contains("warn load") && output.contains("numbers are valid"), "{output}");
}

#[test]
fn the_watched_time_of_a_pair_ends_with_its_last_pass() {
    let tool = Tool::new();
    let words =
        ["latency", "--tails", "--cpus", "0,8", "--machine", "sim:chiplet-16", "--seed", "1", "--no-save"];
    let document = document(&tool.done(&[&words[..], &["--format", "json"]].concat()).out);
    let watch = &document["watch"];
    let last = watch["line"].as_array().unwrap().last().unwrap();
    assert_eq!(watch["watched_s"], last[0], "single round trips were timed afterwards");
}

#[test]
fn a_small_load_of_other_programs_is_no_disturbance() {
    let tool = Tool::new();
    let machine = shared_with(&tool, 0.02);
    let output =
        tool.done(&["latency", "--cpus", "0-2", "--machine", &machine, "--seed", "1", "--no-save"]).out;
    assert!(output.starts_with("SIMULATED") && !output.contains("disturbed"), "{output}");
}

#[test]
fn a_variation_is_not_described_as_speed() {
    let tool = Tool::new();
    let run = ["latency", "--protocol", "one-way", "--machine", "sim:chiplet-16", "--seed", "1", "--no-save"];
    let output = tool.done(&run).out;
    let flat = flat(&output);
    assert!(flat.contains("time stamps from the same group vary less"), "{output}");
    assert!(!output.contains("faster") && !output.contains("240 of 240 pairs doubtful"), "{output}");
    assert!(flat.contains("±50 % at 95 %"), "{output}");
    // Two CPUs are two directed pairs, whose smallest variation is 0 by definition.
    let two = tool.done(&[&run[..], &["--cpus", "0,8"]].concat()).out;
    assert!(two.contains("2 pairs") && !two.contains("fastest batch"), "{two}");
    assert!(two.contains("each CPU has its own L3") && !two.contains("one group"), "{two}");
}

fn cells(output: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(output).unwrap();
    document["matrices"][0]["cells"].as_array().unwrap().clone()
}

fn write(tool: &Tool, name: &str, text: &str) {
    tool.write(name, text);
}

#[test]
fn a_batch_that_outlasts_its_counter_has_no_value() {
    let tool = Tool::new();
    // 1 µs each way: a million round trips take two seconds, and 2³² ticks take 1.65 s.
    write(&tool, "slow.csv", ",1000\n1000,\n");
    let words = words("latency --machine sim:slow.csv --samples 16 --budget 1h --seed 1 -q --no-save");
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
fn a_clock_without_progress_gives_no_zero() {
    let tool = Tool::new();
    write(&tool, "coarse.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e6");
    let words =
        ["latency", "--machine", "sim:coarse.toml", "--seed", "1", "--samples", "20", "--iterations", "10"];
    let output = tool.call(&[&words[..], &["-q", "--no-save", "--format", "json"]].concat());
    let medians: Vec<Option<f64>> = cells(&output.out).iter().map(|cell| cell["median"].as_f64()).collect();
    assert!(medians.iter().flatten().all(|&ns| ns > 0.0), "{medians:?}");
    // Ten round trips of 20 ns each way are shorter than one clock step.
    assert_eq!(medians[0], None);
    let reasons: Vec<String> = cells(&output.out).iter().map(|cell| cell["reason"].to_string()).collect();
    assert!(reasons.iter().all(|reason| reason.contains("too coarse")), "{reasons:?}");
    let screen = tool.call(&[&words[..], &["-q", "--no-save"]].concat()).out;
    assert!(screen.contains("most pairs are doubtful") && !screen.contains("taskset"), "{screen}");
    assert!(!screen.replace("inferred", "").contains("inf") && !screen.contains("0.00"), "{screen}");
    // With steps of 10 µs, nothing can be timed.
    write(&tool, "coarser.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e5");
    tool.refused(&["latency", "--machine", "sim:coarser.toml", "-q"], 3, "steps of 10000 ns");
}

#[test]
fn few_passes_have_no_interval() {
    let tool = Tool::new();
    let words = ["latency", "--machine", "sim:laptop-smt", "--cpus", "0,1", "-q", "--no-save"];
    let one = ["--samples", "1", "--iterations", "1"];
    let output = tool.done(&[&words[..], &one, &["--format", "json"]].concat());
    let cell = &cells(&output.out)[0];
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
fn a_run_without_a_response_fails() {
    let tool = Tool::new();
    write(&tool, "dead.toml", "based_on = 'laptop-smt'\n[failures]\ndie = '0-7'");
    let output = tool.call(&["latency", "--machine", "sim:dead.toml", "-q"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("no pair could be measured: the thread on CPU"), "{}", output.err);
}

#[test]
fn a_run_whose_budget_ended_before_any_value_fails() {
    let tool = Tool::new();
    // One visit takes longer than the budget.
    write(&tool, "slow.csv", ",100000\n100000,\n");
    let words = words("latency --machine sim:slow.csv --budget 100ms --seed 1 -q --no-save --format json");
    let output = tool.call(&words);
    assert!(cells(&output.out).iter().all(|cell| cell["median"].is_null()), "{}", output.out);
    let sentence = "no pair could be measured: the budget of 100 ms ended first; try a longer --budget";
    assert_eq!((output.code, output.err.trim_end()), (3, &*format!("coretalk: {sentence}")));
}

#[test]
fn missing_values_of_a_file_are_mentioned() {
    let tool = Tool::new();
    write(&tool, "few.csv", "cpu,0,1,2\n0,,20.5,\n1,20.5,,\n2,,,\n");
    let output = tool.done(&["latency", "--machine", "sim:few.csv", "--no-save", "--seed", "1"]);
    assert!(output.err.contains("2 of 3 latencies are missing"), "{}", output.err);
    // The content decides, not the name.
    std::fs::copy(tool.path().join("few.csv"), tool.path().join("few.data")).unwrap();
    tool.done(&["latency", "--machine", "sim:few.data", "--no-save", "--seed", "1", "-q"]);
}

#[test]
fn invalid_tags_and_formats_are_refused_before_the_measurement() {
    let tool = Tool::new();
    for (words, part) in [
        (&["--name", "latest"][..], "`latest` is always the newest run"),
        (&["--format", "hgrm"], "is for distributions"),
    ] {
        let output = tool.call(&[&["latency", "--machine", "sim:laptop-smt"], words].concat());
        assert!(output.code == 2 && output.err.contains(part), "{words:?}: {} {}", output.code, output.err);
        assert!(!output.err.contains("saved"), "{words:?}: {}", output.err);
    }
}
