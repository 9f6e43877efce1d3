//! Whole runs on simulated machines: deterministic, saved, shown again, resumed.

use super::kill::run_file;
use super::tool::{Tool, assert_contains, flat, list, number, words};
use serde_json::{Value, json};

const LATENCY: &str = "latency --machine sim:chiplet-16 --cpus 0-3 --seed 1 -q";

#[test]
fn the_same_seed_gives_the_same_matrices_and_another_seed_others() {
    let tool = Tool::new();
    let matrices = |seed: u32| {
        let options = "--machine sim:chiplet-16 --cpus 0-3 --format json -q --no-save";
        let mut document = tool.document(&format!("latency {options} --seed {seed}"));
        assert_eq!(document["run"]["simulated"], true);
        document["matrices"].take()
    };
    let first = matrices(1);
    assert_eq!(first, matrices(1));
    assert_ne!(first, matrices(2));
}

#[test]
fn a_run_is_saved_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&words(&format!("{LATENCY} --format json --name first")));
    assert_eq!(live.err, "");
    assert_eq!(tool.out("export first --format json"), live.out);
    assert_eq!(tool.out("runs show latest --format json"), live.out);
    let listed = tool.out("runs list");
    assert_contains(&listed, &["#first", "complete"]);
    assert_eq!(tool.out("runs"), listed);
    assert!(std::path::Path::new(tool.out("runs path first").trim()).is_file());
    tool.out("runs tag first second");
    assert_contains(&tool.out("runs show second"), &["half round trip"]);
    tool.out("runs rm second");
    assert_contains(&tool.out("runs list"), &["No runs here yet"]);
}

#[test]
fn resuming_a_complete_run_measures_nothing_and_refuses_settings() {
    let tool = Tool::new();
    tool.out(&format!("{LATENCY} --name whole --samples 20 --iterations 50"));
    let again = tool.done(&words("--resume whole --export-csv x.csv"));
    assert!(tool.path().join("x.csv").exists());
    assert_contains(&again.err, &["is complete"]);
    for (option, value) in [("--seed", "2"), ("--cpus", "0-5"), ("--protocol", "msg")] {
        let part = format!("{option} cannot be combined with --resume");
        tool.refused(&["latency", "--resume", "whole", option, value], 2, &part);
    }
    // A complete run needs no machine.
    tool.out("--resume whole --machine sim:mesh-64 --budget 9s");
}

#[test]
fn measurements_without_time_are_named_on_screen_and_in_json() {
    let tool = Tool::new();
    let screen = flat(&tool.out(&format!("{LATENCY} --tails --name short --budget 300ms")));
    assert_contains(&screen, &["Left out for lack of time: single round trips of 6 pairs."]);
    let run = &tool.document("export short")["run"];
    assert_eq!(run["budget_ended"], true);
    assert_eq!(run["left_out"], json!([{ "what": "single-round-trips", "count": 6 }]));

    let queue = "queue --machine sim:chiplet-16 --cpus 0-3 --seed 1 -q --name trials --budget 100ms";
    let screen = flat(&tool.out(queue));
    let left_out = &tool.document("export trials")["run"]["left_out"][0];
    assert_eq!(left_out["what"], "trials");
    assert_contains(&screen, &[&format!("Left out for lack of time: {} trials.", left_out["count"])]);
}

#[test]
fn json_lines_are_one_object_for_each_trial() {
    let tool = Tool::new();
    let output = tool.out(&format!("{LATENCY} --format jsonl --name lines"));
    assert!(output.lines().count() >= 6, "six pairs: {output}");
    for line in output.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["schema"], "coretalk.trial/1");
    }
    assert_eq!(tool.out("export lines --format jsonl"), output);
}

#[test]
fn additional_output_files_have_the_matrix_in_their_formats() {
    let tool = Tool::new();
    let files = "--export-csv a.csv --export-c2c-csv b.csv --export-markdown c.md --export-json d.json";
    assert_eq!(tool.out(&format!("{LATENCY} {files} -o screen.txt")), "");
    assert_eq!(tool.read("b.csv").lines().count(), 4);
    assert!(tool.read("a.csv").starts_with('#') && tool.read("c.md").contains('|'));
    let document: Value = serde_json::from_str(&tool.read("d.json")).unwrap();
    assert_eq!(list(&document["matrices"][0]["cells"]).len(), 6);
    assert_contains(&tool.read("screen.txt"), &["half round trip"]);
    // Exported files can be imported, and bare matrices convert to themselves.
    assert_eq!(tool.out("import b.csv --format c2c-csv -q"), tool.read("b.csv"));
    assert_contains(&tool.out("import a.csv"), &["4 CPUs"]);
}

#[test]
fn other_commands_work_on_a_simulated_machine() {
    let tool = Tool::new();
    let ring = " ring+pause               a message each way";
    let probes = ["cas+pause", ring, "\n spin-futex:N  up to N polls", "\n see coretalk jitter --help"];
    for (line, parts) in [
        ("clock --machine sim:arm-coarse-clock", &["clock"][..]),
        ("doctor --machine sim:noisy-vm", &["Nothing was changed"]),
        ("plan latency --machine sim:chiplet-16", &["120"]),
        ("plan --machine sim:chiplet-16", &["120"]),
        ("probes", &probes),
    ] {
        let output = tool.done(&words(line));
        assert_contains(&output.out, parts);
        assert_eq!(output.err, "", "{line}");
    }
}

#[test]
fn plan_predicts_the_size_of_the_run_file() {
    for machine in ["laptop-smt", "chiplet-16"] {
        let tool = Tool::new();
        let seeded = format!("--machine sim:{machine} --seed 1");
        let plan = tool.document(&format!("plan latency --format json {seeded}"));
        tool.out(&format!("latency -q {seeded}"));
        let file = run_file(&tool.path().join("runs")).unwrap();
        let ratio = number(&plan["plan"]["file_bytes"]) / std::fs::metadata(file).unwrap().len() as f64;
        assert!((0.75..1.25).contains(&ratio), "{machine}: planned / made {ratio:.2}");
    }
}

#[test]
fn imitated_output_of_a_simulated_machine_is_marked() {
    let output = Tool::new().out(&format!("{LATENCY} --as c2clat --no-save"));
    let mark = "# SIMULATED chiplet-16: these numbers say nothing about this computer\n CPU";
    assert!(output.starts_with(mark), "{output}");
}

#[test]
fn a_machine_from_a_matrix_is_named_by_its_content() {
    let tool = Tool::new();
    let content = "cpu,0,1\n0,,22.5\n1,22.5,\n";
    let name_of = |file: &str, content: &str| {
        tool.write(file, content);
        let line = format!("latency --machine sim:{file} --format json -q --no-save --seed 1");
        let document = tool.document(&line);
        assert!(!document.to_string().contains("customer"), "{document}");
        document["environment"]["simulated"].as_str().unwrap().to_owned()
    };
    let one = name_of("customer.csv", content);
    assert!(one.starts_with("matrix-"), "{one}");
    assert_eq!(one, name_of("customer-again.csv", content));
    assert_ne!(one, name_of("customer-else.csv", &content.replace("22.5", "23.5")));
}

#[test]
fn strict_fails_if_a_requested_cell_cannot_be_trusted() {
    let tool = Tool::new();
    tool.write("miscounting.toml", "based_on = \"chiplet-16\"\n[failures]\nmiscount = \"3\"\n");
    // Pairs outside the request do not count.
    for (options, code) in [("", 0), ("--strict", 1), ("--pairs 0-1,1-2 --strict", 0)] {
        let line = "latency --machine sim:miscounting.toml --seed 1 -q --no-save --precision 5% --cpus 0-3";
        let call = tool.call(&words(&format!("{line} {options}")));
        assert_eq!(call.code, code, "{options}: {}", call.err);
        assert!(code == 0 || call.err.contains("3 cells cannot be trusted"), "{}", call.err);
    }
}

#[test]
fn an_interrupted_run_is_saved_and_can_be_completed() {
    let tool = Tool::new();
    tool.write("m.toml", "based_on = \"chiplet-16\"\n[failures]\nstop_at_ms = 300\n");
    let output = tool.call(&words("latency --machine sim:m.toml --cpus 0-3 --seed 1 --name cut -q"));
    assert_eq!((output.code, output.err.lines().count()), (5, 1), "{}", output.err);
    assert_contains(&output.out, &["SIMULATED chiplet-16", "nterrupted after"]);
    assert_contains(&output.err, &["resume with `coretalk --resume "]);
    assert_contains(&tool.out("runs list"), &["partial"]);
    assert_eq!(tool.document("export cut")["run"]["complete"], false);
    tool.write("m.toml", "based_on = \"chiplet-16\"\n");
    let nameless = tool.call(&["--resume", "cut"]);
    if nameless.code != 0 {
        assert_contains(&nameless.err, &["--machine sim:FILE"]);
        tool.out("--resume cut --machine sim:m.toml -q");
    }
    let run = &tool.document("export cut")["run"];
    assert_eq!((&run["complete"], &run["segments"]), (&true.into(), &2.into()));
}

#[test]
fn the_title_of_a_pair_has_the_duration_of_its_passes() {
    let screen = Tool::new().out("latency --machine sim:noisy-vm --cpus 0,1 --seed 1 --no-save -q --tails");
    let after = |part: &str| words(screen.split(part).nth(1).unwrap())[0];
    assert_eq!(after("watched for "), after("stable for "), "{screen}");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::Stdio;
    let tool = Tool::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for line in ["man", "doctor --machine sim:hybrid", &format!("{LATENCY} --no-save")] {
        let stdout = writer.try_clone().unwrap();
        let child = tool.command(&words(line)).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let output = super::tool::said(child.wait_with_output().unwrap());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{line}");
    }
}
