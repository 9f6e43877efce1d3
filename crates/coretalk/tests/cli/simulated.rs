//! Whole runs on simulated machines: deterministic, saved, shown again, resumed.

use super::kill::run_file;
use super::tool::{Tool, flat, words};
use serde_json::{Value, json};

const SIM: [&str; 4] = ["--machine", "sim:chiplet-16", "--cpus", "0-3"];

fn sim_words<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [words, &SIM, more].concat()
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_matrices_and_another_seed_others() {
    let tool = Tool::new();
    let matrices = |seed: &str| {
        let output =
            tool.done(&sim_words(&["latency"], &["--seed", seed, "--format", "json", "-q", "--no-save"]));
        let document = document(&output.out);
        assert_eq!(document["run"]["simulated"], true);
        document["matrices"].to_string()
    };
    let first = matrices("1");
    assert_eq!(first, matrices("1"));
    assert_ne!(first, matrices("2"));
}

#[test]
fn a_run_is_saved_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live =
        tool.done(&sim_words(&["latency"], &["--seed", "1", "--format", "json", "--name", "first", "-q"]));
    assert_eq!(live.err, "");
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    assert_eq!(tool.done(&["runs", "show", "latest", "--format", "json"]).out, live.out);
    let listed = tool.done(&["runs", "list"]).out;
    assert!(listed.contains("#first") && listed.contains("complete"), "{listed}");
    let path = tool.done(&["runs", "path", "first"]).out;
    assert!(std::path::Path::new(path.trim()).is_file());
    tool.done(&["runs", "tag", "first", "second"]);
    let shown = tool.done(&["runs", "show", "second"]).out;
    assert!(shown.contains("half round trip"), "{shown}");
    tool.done(&["runs", "rm", "second"]);
    assert!(tool.done(&["runs", "list"]).out.contains("No runs here yet"));
}

#[test]
fn resuming_a_complete_run_measures_nothing_and_refuses_settings() {
    let tool = Tool::new();
    tool.done(&sim_words(
        &["latency"],
        &["--seed", "1", "-q", "--name", "whole", "--samples", "20", "--iterations", "50"],
    ));
    let again = tool.done(&["--resume", "whole", "--export-csv", "x.csv"]);
    assert!(tool.path().join("x.csv").exists());
    assert!(again.err.contains("is complete"), "{}", again.err);
    for (words, option) in [
        (&["latency", "--resume", "whole", "--seed", "2"][..], "--seed"),
        (&["latency", "--resume", "whole", "--cpus", "0-5"], "--cpus"),
        (&["latency", "--resume", "whole", "--protocol", "msg"], "--protocol"),
    ] {
        let output = tool.call(words);
        assert_eq!(output.code, 2, "{words:?}: {}", output.err);
        assert!(
            output.err.contains(&format!("{option} cannot be combined with --resume")),
            "{words:?}: {}",
            output.err
        );
    }
    let elsewhere = tool.call(&["--resume", "whole", "--machine", "sim:mesh-64", "--budget", "9s"]);
    assert_eq!(elsewhere.code, 0, "a complete run needs no machine: {}", elsewhere.err);
}

#[test]
fn measurements_without_time_are_named_on_screen_and_in_json() {
    let tool = Tool::new();
    let words =
        sim_words(&["latency", "--tails"], &["--seed", "1", "-q", "--name", "short", "--budget", "300ms"]);
    let screen = flat(&tool.done(&words).out);
    assert!(screen.contains("Left out for lack of time: single round trips of 6 pairs."), "{screen}");
    let run = document(&tool.done(&["export", "short", "--format", "json"]).out)["run"].clone();
    assert_eq!(run["budget_ended"], true);
    assert_eq!(run["left_out"], json!([{ "what": "single-round-trips", "count": 6 }]));

    let words = sim_words(&["queue"], &["--seed", "1", "-q", "--name", "trials", "--budget", "100ms"]);
    let screen = flat(&tool.done(&words).out);
    let run = document(&tool.done(&["export", "trials", "--format", "json"]).out)["run"].clone();
    let left_out = &run["left_out"][0];
    assert_eq!(left_out["what"], "trials", "{run}");
    assert!(
        screen.contains(&format!("Left out for lack of time: {} trials.", left_out["count"])),
        "{screen}"
    );
}

#[test]
fn json_lines_are_one_object_for_each_trial() {
    let tool = Tool::new();
    let output =
        tool.done(&sim_words(&["latency"], &["--seed", "1", "--format", "jsonl", "-q", "--name", "lines"]));
    let lines: Vec<Value> = output.out.lines().map(document).collect();
    assert!(lines.len() >= 6, "six pairs gave {} lines", lines.len());
    assert!(lines.iter().all(|line| line["schema"] == "coretalk.trial/1"));
    assert_eq!(tool.done(&["export", "lines", "--format", "jsonl"]).out, output.out);
}

#[test]
fn additional_output_files_have_the_matrix_in_their_formats() {
    let tool = Tool::new();
    let more = words(
        "--seed 1 -q --export-csv a.csv --export-c2c-csv b.csv --export-markdown c.md \
            --export-json d.json -o screen.txt",
    );
    assert_eq!(tool.done(&sim_words(&["latency"], &more)).out, "");
    let read = |name: &str| tool.read(name);
    assert_eq!(read("b.csv").lines().count(), 4);
    assert!(read("a.csv").starts_with('#') && read("c.md").contains('|'));
    assert_eq!(document(&read("d.json"))["matrices"][0]["cells"].as_array().unwrap().len(), 6);
    assert!(read("screen.txt").contains("half round trip"));
    // Exported files can be imported, and bare matrices convert to themselves.
    let converted = tool.done(&["import", "b.csv", "--format", "c2c-csv", "-q"]).out;
    assert_eq!(converted, read("b.csv"));
    assert!(tool.done(&["import", "a.csv"]).out.contains("4 CPUs"));
}

#[test]
fn other_commands_work_on_a_simulated_machine() {
    let tool = Tool::new();
    for (words, part) in [
        (&["clock", "--machine", "sim:arm-coarse-clock"][..], "clock"),
        (&["doctor", "--machine", "sim:noisy-vm"], "Nothing was changed"),
        (&["plan", "latency", "--machine", "sim:chiplet-16"], "120"),
        (&["plan", "--machine", "sim:chiplet-16"], "120"),
        (&["probes"], "cas+pause"),
        (&["probes"], " ring+pause               a message each way"),
        (&["probes"], "\n spin-futex:N  up to N polls"),
        (&["probes"], "\n see coretalk jitter --help"),
    ] {
        let output = tool.done(words);
        assert!(output.out.contains(part), "{words:?}: {}", output.out);
        assert_eq!(output.err, "", "{words:?}");
    }
}

#[test]
fn plan_predicts_the_size_of_the_run_file() {
    for machine in ["sim:laptop-smt", "sim:chiplet-16"] {
        let tool = Tool::new();
        let seeded = ["--machine", machine, "--seed", "1"];
        let planned =
            document(&tool.done(&[&["plan", "latency", "--format", "json"], &seeded[..]].concat()).out);
        let planned = planned["plan"]["file_bytes"].as_f64().unwrap();
        tool.done(&[&["latency", "-q"], &seeded[..]].concat());
        let file = run_file(&tool.path().join("runs")).unwrap();
        let ratio = planned / std::fs::metadata(file).unwrap().len() as f64;
        assert!((0.75..1.25).contains(&ratio), "{machine}: planned / made {ratio:.2}");
    }
}

#[test]
fn runs_without_a_subcommand_lists_them() {
    let tool = Tool::new();
    tool.done(&sim_words(&["latency"], &["--seed", "1", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["runs"]).out, tool.done(&["runs", "list"]).out);
    assert!(tool.done(&["runs"]).out.contains("#first"));
}

#[test]
fn imitated_output_of_a_simulated_machine_is_marked() {
    let tool = Tool::new();
    let output = tool.done(&sim_words(&["latency", "--as", "c2clat"], &["--seed", "1", "-q", "--no-save"]));
    let mut lines = output.out.lines();
    assert_eq!(
        lines.next(),
        Some("# SIMULATED chiplet-16: these numbers say nothing about this computer"),
        "{}",
        output.out
    );
    assert!(lines.next().unwrap().starts_with(" CPU"), "{}", output.out);
}

#[test]
fn a_machine_from_a_matrix_is_named_by_its_content() {
    let tool = Tool::new();
    let content = "cpu,0,1\n0,,22.5\n1,22.5,\n";
    let name_of = |file: &str, content: &str| {
        tool.write(file, content);
        let machine = format!("sim:{file}");
        let output = tool.done(&[
            "latency",
            "--machine",
            &machine,
            "--format",
            "json",
            "-q",
            "--no-save",
            "--seed",
            "1",
        ]);
        assert!(!output.out.contains("customer"), "{}", output.out);
        document(&output.out)["environment"]["simulated"].as_str().unwrap().to_owned()
    };
    let one = name_of("customer.csv", content);
    assert!(one.starts_with("matrix-"), "{one}");
    assert_eq!(one, name_of("customer-again.csv", content));
    assert_ne!(one, name_of("customer-else.csv", &content.replace("22.5", "23.5")));
}

#[test]
fn strict_fails_if_a_requested_cell_cannot_be_trusted() {
    let tool = Tool::new();
    let scenario = "based_on = \"chiplet-16\"\n[failures]\nmiscount = \"3\"\n";
    tool.write("miscounting.toml", scenario);
    let words = words("latency --machine sim:miscounting.toml --seed 1 -q --no-save --precision 5%");
    let call = |more: &[&str]| tool.call(&[&words[..], more].concat());
    assert_eq!(call(&["--cpus", "0-3"]).code, 0);
    let strict = call(&["--cpus", "0-3", "--strict"]);
    assert_eq!(strict.code, 1, "{}", strict.err);
    assert!(strict.err.contains("3 cells cannot be trusted"), "{}", strict.err);
    let others = call(&["--cpus", "0-3", "--pairs", "0-1,1-2", "--strict"]);
    assert_eq!(others.code, 0, "pairs that nobody asked for do not count: {}", others.err);
}

#[test]
fn an_interrupted_run_is_saved_and_can_be_completed() {
    let tool = Tool::new();
    let scenario = "based_on = \"chiplet-16\"\n[failures]\nstop_at_ms = 300\n";
    let file = tool.path().join("m.toml");
    std::fs::write(&file, scenario).unwrap();
    let run = ["latency", "--machine", "sim:m.toml", "--cpus", "0-3", "--seed", "1", "--name", "cut", "-q"];
    let output = tool.call(&run);
    assert_eq!(output.code, 5, "{}", output.err);
    assert!(
        output.out.contains("SIMULATED chiplet-16") && output.out.contains("nterrupted after"),
        "{}",
        output.out
    );
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    assert!(output.err.contains("resume with `coretalk --resume "), "{}", output.err);
    assert!(tool.done(&["runs", "list"]).out.contains("partial"));
    assert_eq!(document(&tool.done(&["export", "cut"]).out)["run"]["complete"], false);
    std::fs::write(&file, "based_on = \"chiplet-16\"\n").unwrap();
    let nameless = tool.call(&["--resume", "cut"]);
    assert!(nameless.code == 0 || nameless.err.contains("--machine sim:FILE"), "{}", nameless.err);
    if nameless.code != 0 {
        tool.done(&["--resume", "cut", "--machine", "sim:m.toml", "-q"]);
    }
    let whole = document(&tool.done(&["export", "cut"]).out);
    assert_eq!((&whole["run"]["complete"], &whole["run"]["segments"]), (&Value::from(true), &Value::from(2)));
}

#[test]
fn the_title_of_a_pair_has_the_duration_of_its_passes() {
    let words = ["latency", "--machine", "sim:noisy-vm", "--cpus", "0,1", "--seed", "1", "--no-save", "-q"];
    let screen = Tool::new().done(&[&words[..], &["--tails"]].concat()).out;
    let after =
        |words: &str| screen.split(words).nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert_eq!(after("watched for "), after("stable for "), "{screen}");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::Stdio;
    let tool = Tool::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unsaved = sim_words(&["latency"], &["--seed", "1", "-q", "--no-save"]);
    for words in [&["man"][..], &["doctor", "--machine", "sim:hybrid"], &unsaved] {
        let stdout = writer.try_clone().unwrap();
        let child = tool.command(words).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let output = super::tool::said(child.wait_with_output().unwrap());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{words:?}");
    }
}
