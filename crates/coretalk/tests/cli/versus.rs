//! `versus` on this machine: ends, runs the given commands, and reports its results. Rates of verdicts are tested on
//! recorded noise (`crates/model/tests/integration/versus.rs`).

use super::tool::{Tool, assert_contains, list, words};
use serde_json::Value;

/// Compares commands that print a number from their environment: 1 in the baseline, 2 in the other arm.
const NUMBERED: [&str; 10] = [
    "versus",
    "old=sh -c 'echo X=$X'",
    "new=sh -c 'echo X=$X'",
    "--env=old:X=1",
    "--env=new:X=2",
    "--metric",
    "x=X=([0-9]+)",
    "--cpus=0",
    "--budget=20s",
    "-q",
];

#[test]
fn each_arm_runs_its_command_with_its_environment() {
    let tool = Tool::new();
    let document = tool.json(&[&NUMBERED[..], &["--format", "json"]].concat());
    let arms = list(&document["versus"]["arms"]);
    let names: Vec<&Value> = arms.iter().map(|arm| &arm["name"]).collect();
    assert_eq!(names, ["old", "control", "new"]);
    assert_eq!((&arms[0]["environment"][0], &arms[0]["cpus"][0]), (&"X".into(), &0.into()));
    assert_eq!(arms[0]["command_hash"], arms[1]["command_hash"]);
    assert_ne!(arms[0]["command_hash"], arms[2]["command_hash"], "another environment");
    assert_eq!(arms[0]["command_hash"].as_str().unwrap().len(), 64);
    let of_x = &document["comparisons"][0];
    assert_eq!((&of_x["metric"], &of_x["verdict"]), (&"x".into(), &"per-arm".into()));
    let [control, new] = [0, 1].map(|pair| &of_x["pairs"][pair]);
    assert_eq!((&control["b"], &control["delta_percent"]), (&"control".into(), &0.0.into()));
    assert_eq!((&new["b"], &new["delta_percent"]), (&"new".into(), &100.0.into()));
    // Whether enough rounds were undisturbed depends on the machine.
    let is_undecided = new["verdict"] == "cannot-tell";
    let kept = document["versus"]["rounds"]["kept"].as_u64().unwrap();
    assert!(is_undecided || new["verdict"] == "worse" && kept >= 14, "{new}");
    assert_eq!(is_undecided, new["reason"].is_string(), "{new}");
    for placement in list(&of_x["placements"]) {
        assert_eq!(list(&placement["runs"]).len() as u64, kept);
    }
    // The commands and the values of their variables may be private.
    let lines = tool.out("export latest --format jsonl");
    assert!(lines.contains("\"environment\":\"X\"") && !lines.contains("X=1"), "{lines}");
    assert!(!document["run"]["command"].to_string().contains("echo"), "{}", document["run"]["command"]);
    assert_contains(&tool.out("runs show latest"), &["baseline", "control", "round"]);
    let csv = tool.out("export latest --format csv");
    assert!(csv.starts_with("workload,round,arm,metric,unit,value\ncommand,"), "{csv}");
    let wanted = |line: &&str| line.ends_with(",new,x,,2");
    assert_eq!(csv.lines().filter(wanted).count() as u64, kept, "{csv}");
    assert_contains(&tool.out("export latest --format markdown"), &["| baseline |"]);
    let page = tool.report(&["latest"], "page.html");
    assert!(page.contains("control") && page.contains("<svg") && !page.contains("echo X"), "{}", page.len());
}

#[test]
fn a_worse_or_undecided_arm_fails_if_requested() {
    let tool = Tool::new();
    let numbered = |line: &str| tool.call(&[&NUMBERED[..], &words(line)].concat());
    let call = numbered("--fail-on slower --format json --no-save");
    let document: Value = serde_json::from_str(&call.out).unwrap();
    let is_undecided = document["comparisons"][0]["pairs"][1]["verdict"] == "cannot-tell";
    assert_eq!(call.code, if is_undecided { 7 } else { 1 }, "{}", call.err);
    let call = numbered("--fail-on faster --no-save");
    assert!(call.code == 0 || call.code == 7, "{}", call.err);
    let call = numbered("--fail-on slower");
    assert_eq!(tool.call(&["--resume", "latest"]).code, call.code, "{}", call.err);
}

#[test]
fn commands_around_the_runs_run_as_often_as_documented() {
    let tool = Tool::new();
    let versus = words("versus true true --no-control --cpus=0 --budget=20s -q --format=json");
    let hooks = ["--prepare=echo p >> log", "--between=echo b >> log", "--cleanup=echo c >> log"];
    let document = tool.json(&[&versus[..], &hooks].concat());
    // A warm-up is a round, too.
    let between = "b\n".repeat(2 * (rounds_made(&document) as usize + 1));
    assert_eq!(tool.read("log"), format!("p\n{between}c\n"));
    let hooks = ["--between=echo gone >&2; exit 4", "--cleanup=echo c >> log"];
    let refused = tool.call(&[&versus[..], &hooks].concat());
    assert_eq!(refused.code, 3);
    assert_contains(&refused.err, &["--between failed", "status 4", "gone"]);
    assert!(tool.read("log").ends_with("c\nc\n"), "cleaned up after the failure");
    let call = tool.call(&[&versus[..], &["--cleanup=exit 4"]].concat());
    assert!(call.code == 0 && call.out.contains("\"versus\""), "{}", call.err);
}

#[test]
fn a_short_run_is_continued() {
    let tool = Tool::new();
    tool.done(&["versus", "sleep 0.02", "sleep 0.02", "--cpus=0", "--budget=500ms", "-q"]);
    let few = rounds_made(&tool.document("export latest"));
    let more = rounds_made(&tool.document("--resume latest --budget 3s -q --format json"));
    assert!(few < 14 && more > few, "{few} {more}");
}

/// The number of kept and dropped rounds: other tests may disturb most of them.
fn rounds_made(document: &Value) -> u64 {
    let rounds = &document["versus"]["rounds"];
    rounds["kept"].as_u64().unwrap() + list(&rounds["dropped"]).len() as u64
}

#[test]
fn saved_values_are_exact() {
    let tool = Tool::new();
    tool.out("versus true true --cpus=0 --budget=300ms -q");
    let lines = tool.out("export latest --format jsonl");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let walls: Vec<f64> = lines.filter_map(|line| line["values"]["wall_s"].as_f64()).collect();
    assert!(!walls.is_empty() && walls.iter().any(|wall| (wall * 1e4).fract() != 0.0), "{walls:?}");
}

#[test]
fn an_arm_that_fails_is_named_with_its_last_output() {
    let tool = Tool::new();
    for (arms, metric, parts) in [
        (
            ["good=echo x=1", "bad=sh -c 'echo first; echo lost >&2; exit 3'"],
            "x=x=([0-9])",
            &["arm bad (`sh`) failed", "status 3", "its last error: lost"][..],
        ),
        (["echo 2e18", "echo 2e18"], "x=[0-9e]+", &["metric x is 2e18"]),
        (["echo x=1", "silent=true"], "x=x=([0-9])", &["arm silent (`true`) failed"]),
    ] {
        let call = tool.call(&["versus", arms[0], arms[1], "--metric", metric, "--cpus=0"]);
        assert_eq!(call.code, 1, "{arms:?}: {}", call.err);
        assert_contains(&call.err, parts);
    }
    let call = tool.call(&["versus", "echo a | cat", "echo b", "--cpus=0", "--budget=100ms", "--no-save"]);
    assert_contains(&call.err, &["arm a: `|` is passed to the program"]);
}

#[test]
fn invalid_comparisons_are_refused_with_a_reason() {
    let tool = Tool::new();
    for (words, part) in [
        (&["a=true"][..], "2 values required"),
        (&["true", "# nothing"], "arm b: the command `# nothing` is empty"),
        (&["true", "x=1 ls"], "--env ARM:x=VALUE"),
        (&["true", "true", "--env", "a:X=1", "--env", "a:X=2"], "--env sets X of the arm a twice"),
        (&["true", "true", "--between", "true"], "--between needs --cpus"),
        (&["true", "true", "--machine", "sim:chiplet-16"], "cannot run a command"),
        (&["a=true", "a=false"], "two arms have the name a"),
        (&["true", "control=true"], "the name control is taken"),
        (&["true", "no-such-program"], "arm b: `no-such-program` is not in PATH"),
        (&["true", "x=no-such-program --bench"], "or install it\n"),
        (&["true", "echo 'x"], "unclosed quote"),
        (&["true", "LC_ALL=C true"], "--env ARM:LC_ALL=VALUE"),
        (&["true", "true", "--env", "c:A=1"], "--env names the arm c"),
        (&["true", "true", "--env", "A=1"], "expected ARM:KEY=VALUE"),
        (&["true", "true", "--on", "a:0", "--on", "a:0"], "--on lists CPUs for the arm a twice"),
        (&["true", "true", "--on", "b:4000"], "arm b lists CPU 4000"),
        (&["true", "true", "--higher-is-better", "x"], "which no --metric defines"),
    ] {
        let call = tool.call(&[&["versus"], words].concat());
        assert_eq!((call.code, call.out.as_str()), (2, ""), "{words:?}: {}", call.err);
        assert_contains(&call.err, &[part]);
    }
}
