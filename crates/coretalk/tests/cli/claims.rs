//! Claims on screens follow from the measurement: unknown values are not shown as zero, no interval is invented, and a
//! run without a value fails.

use super::tool::{Tool, flat, words};
use serde_json::Value;

/// Writes a machine on which other programs take this share of the CPUs.
fn share(tool: &Tool, others: f64) {
    let text = format!("based_on = \"laptop-smt\"\n[failures]\nothers = {others}\n");
    tool.write("shared.toml", text);
}

fn screen(tool: &Tool, line: &str) -> String {
    tool.done(&words(line)).out
}

#[test]
fn a_disturbed_run_is_marked_at_the_top_and_on_every_number() {
    let tool = Tool::new();
    share(&tool, 0.98);
    for (name, options) in [("latency", "--cpus 0-2"), ("wake", "--cpus 0,1 --primitive semaphore")] {
        let line = format!("{name} {options} --machine sim:shared.toml --seed 1 -q --name {name}");
        for line in [line, format!("runs show {name}")] {
            let screen = screen(&tool, &line);
            assert!(screen.starts_with("disturbed: other programs took 98 % of the CPUs"), "{screen}");
        }
        let document = tool.json(&["export", name, "--format", "json"]);
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
fn a_disturbed_run_predicts_no_other_tool_and_a_small_load_is_no_disturbance() {
    let tool = Tool::new();
    let screen_of = |others: f64| {
        share(&tool, others);
        flat(&screen(&tool, "latency --cpus 0-2 --machine sim:shared.toml --seed 1 --no-save"))
    };
    let small = screen_of(0.02);
    assert!(small.starts_with("SIMULATED") && !small.contains("disturbed"), "{small}");
    assert!(small.contains("core-to-core-latency would print"), "{small}");
    let disturbed = screen_of(0.98);
    let doubt = "cannot tell what other tools would print: other programs took 98 % of the CPUs";
    assert!(disturbed.contains(doubt) && !disturbed.contains("-latency would print"), "{disturbed}");
}

#[test]
fn padding_is_not_judged_from_one_pass_or_next_to_other_programs() {
    let tool = Tool::new();
    share(&tool, 0.98);
    for options in ["--machine sim:laptop-smt --budget 100ms", "--machine sim:shared.toml"] {
        let screen = flat(&screen(&tool, &format!("sharing --pairs 0-1 --seed 1 --no-save {options}")));
        assert!(screen.contains("Cannot tell whether padding pays"), "{options}: {screen}");
    }
}

#[test]
fn doctor_does_not_call_numbers_valid_while_other_programs_have_the_cpus() {
    let tool = Tool::new();
    for (others, finding, is_valid) in [(0.98, "fail load", false), (0.06, "warn load", true)] {
        share(&tool, others);
        let screen = flat(&screen(&tool, "doctor --machine sim:shared.toml"));
        assert!(screen.contains(finding), "{others}: {screen}");
        assert_eq!(screen.contains("numbers are valid"), is_valid, "{others}: {screen}");
    }
}

#[test]
fn the_watched_time_of_a_pair_ends_with_its_last_pass() {
    let line = "latency --tails --cpus 0,8 --machine sim:chiplet-16 --seed 1 --no-save --format json";
    let watch = &Tool::new().json(&words(line))["watch"];
    let last = watch["line"].as_array().unwrap().last().unwrap();
    assert_eq!(watch["watched_s"], last[0], "single round trips were timed afterwards");
}

#[test]
fn a_variation_is_not_described_as_speed() {
    let tool = Tool::new();
    let line = "latency --protocol one-way --machine sim:chiplet-16 --seed 1 --no-save";
    let all = flat(&screen(&tool, line));
    for part in ["time stamps from the same group vary less", "±50 % at 95 %"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!all.contains("faster") && !all.contains("240 of 240 pairs doubtful"), "{all}");
    // Two CPUs are two directed pairs, whose smallest variation is 0 by definition.
    let two = screen(&tool, &format!("{line} --cpus 0,8"));
    assert!(two.contains("2 pairs") && !two.contains("fastest batch"), "{two}");
    assert!(two.contains("each CPU has its own L3") && !two.contains("one group"), "{two}");
}

fn cells(output: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(output).unwrap();
    document["matrices"][0]["cells"].as_array().unwrap().clone()
}

#[test]
fn a_run_without_any_value_fails_with_the_reason() {
    let tool = Tool::new();
    for (file, content, options, reason) in [
        // 1 µs each way: a million round trips take two seconds, and 2³² ticks take 1.65 s.
        (
            "slow.csv",
            ",1000\n1000,\n",
            "--samples 16 --budget 1h --iterations 1000000",
            "the threads did not finish within 1.6",
        ),
        // One visit takes longer than the budget.
        (
            "slower.csv",
            ",100000\n100000,\n",
            "--budget 100ms",
            "the budget of 100 ms ended first; try a longer --budget\n",
        ),
        ("dead.toml", "based_on = 'laptop-smt'\n[failures]\ndie = '0-7'", "", "the thread on CPU"),
    ] {
        tool.write(file, content);
        let line = format!("latency --machine sim:{file} --seed 1 -q --no-save --format json {options}");
        let output = tool.call(&words(&line));
        assert_eq!((output.code, output.err.lines().count()), (3, 1), "{file}: {}", output.err);
        let sentence = format!("coretalk: no pair could be measured: {reason}");
        assert!(output.err.starts_with(&sentence), "{file}: {}", output.err);
        let cells = cells(&output.out);
        assert!(!cells.is_empty() && cells.iter().all(|cell| cell["median"].is_null()), "{file}: {cells:?}");
    }
    let line = "latency --machine sim:slow.csv --seed 1 -q --no-save --format json --samples 16 --budget 1h";
    let shorter = screen(&tool, &format!("{line} --iterations 100000"));
    let median = cells(&shorter)[0]["median"].as_f64().unwrap();
    assert!((median / 1000.0 - 1.0).abs() < 0.06, "{median}");
}

#[test]
fn a_clock_without_progress_gives_no_zero() {
    let tool = Tool::new();
    tool.write("coarse.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e6");
    let line = "latency --machine sim:coarse.toml --seed 1 --samples 20 --iterations 10 -q --no-save";
    let cells = cells(&tool.call(&words(&format!("{line} --format json"))).out);
    let medians: Vec<Option<f64>> = cells.iter().map(|cell| cell["median"].as_f64()).collect();
    assert!(medians.iter().flatten().all(|&ns| ns > 0.0), "{medians:?}");
    // Ten round trips of 20 ns each way are shorter than one clock step.
    assert_eq!(medians[0], None);
    for cell in cells {
        assert!(cell["reason"].to_string().contains("too coarse"), "{cell}");
    }
    let screen = tool.call(&words(line)).out;
    assert!(screen.contains("most pairs are doubtful") && !screen.contains("taskset"), "{screen}");
    assert!(!screen.replace("inferred", "").contains("inf") && !screen.contains("0.00"), "{screen}");
    // With steps of 10 µs, nothing can be timed.
    tool.write("coarser.toml", "based_on = 'chiplet-16'\n[counter]\nhz = 1e5");
    tool.refused(&["latency", "--machine", "sim:coarser.toml", "-q"], 3, "steps of 10000 ns");
}

#[test]
fn few_passes_have_no_interval() {
    let tool = Tool::new();
    let line = "latency --machine sim:laptop-smt --cpus 0,1 -q --no-save --samples 1 --iterations 1";
    let cell = &cells(&screen(&tool, &format!("{line} --format json")))[0];
    assert!(cell["median"].is_f64() && cell["ci"].is_null(), "{cell}");
    let screen = screen(&tool, line);
    assert!(screen.contains("interval  none: 1 batch in one pass") && !screen.contains('±'), "{screen}");
}

#[test]
fn finer_intervals_take_more_passes_on_few_cpus_too() {
    let tool = Tool::new();
    let options = "--cpus 0,1 --seed 1 -q --no-save --budget 60s --format json";
    for (precision, passes) in [("5%", 24), ("1%", 24), ("0.3%", 96)] {
        let line = format!("latency --machine sim:laptop-smt {options} --precision {precision}");
        assert_eq!(cells(&screen(&tool, &line))[0]["passes"], passes, "{precision}");
    }
}

#[test]
fn missing_values_of_a_file_are_mentioned() {
    let tool = Tool::new();
    // The content decides, not the name.
    for file in ["few.csv", "few.data"] {
        tool.write(file, "cpu,0,1,2\n0,,20.5,\n1,20.5,,\n2,,,\n");
        let output = tool.done(&words(&format!("latency --machine sim:{file} --no-save --seed 1")));
        assert!(output.err.contains("2 of 3 latencies are missing"), "{file}: {}", output.err);
    }
}

#[test]
fn invalid_tags_and_formats_are_refused_before_the_measurement() {
    for (option, value, part) in [
        ("--name", "latest", "`latest` is always the newest run"),
        ("--format", "hgrm", "is for distributions"),
    ] {
        Tool::new().refused(&["latency", "--machine", "sim:laptop-smt", option, value], 2, part);
    }
}
