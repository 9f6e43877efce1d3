//! Real signals: the run is saved, the exit code is 5, the message says how to resume, and no process remains.

use super::kill::{Running, run_file, two_cpus};
use super::tool::Tool;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit: enough for a loaded computer, exceeded only by a hang.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Options of a run that is long enough to receive the signal.
const LONG: [&str; 4] = ["--machine", "sim:epyc-2s-192", "--seed", "1"];

pub fn send(signal: &str, running: &Running) {
    // Uses the shell builtin, because a `kill` program is not installed everywhere.
    let command = format!("kill -{signal} {}", running.child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success(), "{command}");
}

/// Waits until the run has a file: it measures, or is about to.
pub fn wait_for_file(tool: &Tool) {
    let began = Instant::now();
    while run_file(&tool.path().join("runs")).is_none() {
        assert!(began.elapsed() < TIME_LIMIT, "no run file");
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn end(running: &mut Running) -> (Option<i32>, String) {
    let began = Instant::now();
    let status = loop {
        if let Some(status) = running.child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > TIME_LIMIT {
            running.child.kill().unwrap();
            panic!("still there after {TIME_LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let mut output = String::new();
    running.child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
    (status.code(), output)
}

/// Checks that no process with the store of this tool is left.
pub fn assert_no_leftover_process(tool: &Tool) {
    let store = tool.path().join("runs").to_string_lossy().into_owned();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        assert!(!environment.contains(&store), "process {:?} is still there", entry.file_name());
    }
}

fn assert_interrupted_run_is_saved(words: &[&str], signal: &str) {
    let tool = Tool::new();
    let mut running = Running::start(&tool, words);
    wait_for_file(&tool);
    thread::sleep(Duration::from_millis(100));
    send(signal, &running);
    let (code, output) = end(&mut running);
    assert_eq!((code, output.lines().count()), (Some(5), 1), "{signal}: {output}");
    assert!(output.contains("saved as") && output.contains("`coretalk --resume "), "{signal}: {output}");
    let lines = running.lines();
    assert_no_leftover_process(&tool);
    let exported = tool.done(&["export", "latest", "--format", "jsonl"]).out;
    assert_eq!(exported.lines().collect::<Vec<_>>(), lines, "{signal}");
    let document = tool.json(&["export", "latest"]);
    assert_eq!(document["run"]["complete"], false, "{signal}");
    assert_eq!(std::fs::read_dir(tool.path().join("runs")).unwrap().count(), 1, "no journal is left");
}

#[test]
fn each_signal_saves_the_run_and_prints_how_to_resume() {
    for signal in ["INT", "TERM", "HUP"] {
        assert_interrupted_run_is_saved(&LONG, signal);
    }
}

#[test]
fn measuring_threads_end_with_the_run() {
    let Some(cpus) = two_cpus() else { return };
    assert_interrupted_run_is_saved(&["--cpus", cpus], "INT");
}

#[test]
fn a_second_signal_ends_at_once_and_the_file_opens() {
    let tool = Tool::new();
    let mut running = Running::start(&tool, &LONG);
    wait_for_file(&tool);
    send("INT", &running);
    // The first signal may already have ended the process.
    let second = format!("kill -TERM {} 2>/dev/null", running.child.id());
    let _ = Command::new("sh").args(["-c", &second]).status();
    let (code, output) = end(&mut running);
    assert_eq!(code, Some(5), "{output}");
    tool.done(&["runs", "show", "latest"]);
}

#[test]
fn an_interrupted_unsaved_run_reports_that_nothing_was_saved() {
    let tool = Tool::new();
    let mut running = Running::start(&tool, &[&LONG[..], &["--no-save"]].concat());
    thread::sleep(Duration::from_millis(300));
    send("INT", &running);
    let (code, output) = end(&mut running);
    assert_eq!(code, Some(5), "{output}");
    assert!(output.contains("nothing was saved"), "{output}");
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let tool = Tool::new();
    let run =
        tool.command(&["latency", "--machine", "sim:epyc-2s-192", "--cpus", "0-15", "--seed", "1", "-q"]);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "trap '' HUP; \"$@\" >/dev/null & kill -HUP $!; sleep 0.1; kill -HUP $!; wait $!",
        "sh",
    ]);
    command.arg(run.get_program()).args(run.get_args());
    command.env("CORETALK_STORE", tool.path().join("runs"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(tool.done(&["runs", "list"]).out.contains("complete"));
}

/// A comparison of a shell script, which is to be appended.
const COMPARED: [&str; 9] =
    ["place", "--placement=a=0", "--placement=b=0", "-q", "--format", "jsonl", "--", "/bin/sh", "-c"];

#[test]
fn an_interrupted_comparison_keeps_its_runs_and_ends_its_processes() {
    let tool = Tool::new();
    let mut running = Running::spawn(&tool, &[&COMPARED[..], &["sleep 300 & sleep 0.2"]].concat());
    // Two warm-up runs, and some that count.
    let began = Instant::now();
    while tool.call(&["export", "latest", "--format", "jsonl"]).out.lines().count() < 2 {
        assert!(began.elapsed() < TIME_LIMIT, "no run was kept");
        thread::sleep(Duration::from_millis(50));
    }
    send("INT", &running);
    let (code, output) = end(&mut running);
    assert_eq!((code, output.lines().count()), (Some(5), 1), "{output}");
    assert!(
        output.contains("measurements so far are saved as") && output.contains("`coretalk --resume "),
        "{output}"
    );
    let lines = running.lines();
    assert_no_leftover_process(&tool);
    let exported = tool.done(&["export", "latest", "--format", "jsonl"]).out;
    assert!(lines.len() >= 2 && exported.lines().collect::<Vec<_>>() == lines, "{exported}");
    assert!(tool.done(&["runs", "show", "latest"]).out.contains("Ended early"));
    let resumed = tool.call(&["--resume", "latest", "-q", "--budget", "2s", "--format", "jsonl"]);
    assert_eq!((resumed.code, resumed.err.as_str()), (0, ""));
    let whole = tool.done(&["export", "latest", "--format", "jsonl"]).out;
    assert!(whole.starts_with(&exported) && whole.lines().count() > lines.len(), "{whole}");
}

#[test]
fn a_command_does_not_outlive_a_killed_comparison() {
    // A single program; and children, one in its own session and one orphaned.
    for script in ["exec sleep 300", "setsid sleep 300 & (sleep 300 &) ; sleep 300 & wait"] {
        assert_ends_with_a_killed_comparison(script);
    }
}

fn assert_ends_with_a_killed_comparison(script: &str) {
    let tool = Tool::new();
    let mut running = Running::spawn(&tool, &[&COMPARED[..], &[script]].concat());
    wait_for_file(&tool);
    thread::sleep(Duration::from_millis(200));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let began = Instant::now();
    let store = tool.path().join("runs").to_string_lossy().into_owned();
    let process_remains = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let mut environments = entries.map(|entry| std::fs::read(entry.path().join("environ")));
        environments
            .any(|environment| String::from_utf8_lossy(&environment.unwrap_or_default()).contains(&store))
    };
    while process_remains() {
        assert!(began.elapsed() < TIME_LIMIT, "the command is still there: {script}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interruption_does_not_wait_for_drawing() {
    let tool = Tool::new();
    // The document exceeds the pipe buffer and has no reader, so writing it blocks.
    let words = ["latency", "--machine", "sim:epyc-2s-192", "--seed", "1", "--format", "json", "-q"];
    let mut command = tool.command(&words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = child.stdout.take();
    let began = Instant::now();
    while !tool.done(&["runs", "list"]).out.contains("complete") {
        assert!(began.elapsed() < 6 * TIME_LIMIT, "the run does not end");
        thread::sleep(Duration::from_millis(50));
    }
    let mut running = Running::unread(child);
    send("INT", &running);
    let (code, output) = end(&mut running);
    drop(out);
    assert_eq!((code, output.lines().count()), (Some(5), 1), "{output}");
    assert!(output.contains("the run is complete and saved as"), "{output}");
    assert_eq!(std::fs::read_dir(tool.path().join("runs")).unwrap().count(), 1, "no journal is left");
    tool.done(&["runs", "show", "latest"]);
}
