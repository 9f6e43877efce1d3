//! Real signals: the run is saved, the exit code is 5, the message says how to resume, and no process remains.

use super::kill::{Running, run_file, two_cpus};
use super::tool::{Tool, assert_contains, words};
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

/// Is there a process with the store of this tool?
fn has_process(tool: &Tool) -> bool {
    let store = tool.path().join("runs").to_string_lossy().into_owned();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&store)
    })
}

pub fn assert_no_leftover_process(tool: &Tool) {
    assert!(!has_process(tool), "a process is still there");
}

/// Waits for the end of an interrupted process, which must exit with code 5; returns its one message.
fn message_of_interruption(running: &mut Running) -> String {
    let (code, message) = end(running);
    assert_eq!((code, message.lines().count()), (Some(5), 1), "{message}");
    message
}

fn assert_no_journal(tool: &Tool) {
    assert_eq!(std::fs::read_dir(tool.path().join("runs")).unwrap().count(), 1, "a journal is left");
}

fn assert_interrupted_run_is_saved(options: &[&str], signal: &str) {
    let tool = Tool::new();
    let mut running = Running::start(&tool, options);
    wait_for_file(&tool);
    thread::sleep(Duration::from_millis(100));
    send(signal, &running);
    assert_contains(&message_of_interruption(&mut running), &["saved as", "`coretalk --resume "]);
    let lines = running.lines();
    assert_no_leftover_process(&tool);
    let exported = tool.out("export latest --format jsonl");
    assert_eq!(exported.lines().collect::<Vec<_>>(), lines, "{signal}");
    assert_eq!(tool.document("export latest")["run"]["complete"], false, "{signal}");
    assert_no_journal(&tool);
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
    tool.out("runs show latest");
}

#[test]
fn an_interrupted_unsaved_run_reports_that_nothing_was_saved() {
    let tool = Tool::new();
    let mut running = Running::start(&tool, &[&LONG[..], &["--no-save"]].concat());
    thread::sleep(Duration::from_millis(300));
    send("INT", &running);
    assert_contains(&message_of_interruption(&mut running), &["nothing was saved"]);
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let tool = Tool::new();
    let run = tool.command(&words("latency --machine sim:epyc-2s-192 --cpus 0-15 --seed 1 -q"));
    let script = "trap '' HUP; \"$@\" >/dev/null & kill -HUP $!; sleep 0.1; kill -HUP $!; wait $!";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(run.get_program()).args(run.get_args());
    let output = command.env("CORETALK_STORE", tool.path().join("runs")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_contains(&tool.out("runs list"), &["complete"]);
}

/// Starts a comparison that runs this script.
fn start_comparison(tool: &Tool, script: &str) -> Running {
    let place = words("place --placement=a=0 --placement=b=0 -q --format jsonl -- /bin/sh -c");
    Running::spawn(tool, &[&place[..], &[script]].concat())
}

#[test]
fn an_interrupted_comparison_keeps_its_runs_and_ends_its_processes() {
    let tool = Tool::new();
    let mut running = start_comparison(&tool, "sleep 300 & sleep 0.2");
    let export = words("export latest --format jsonl");
    // Waits for two exported lines. The warm-up runs before them are not recorded.
    let began = Instant::now();
    while tool.call(&export).out.lines().count() < 2 {
        assert!(began.elapsed() < TIME_LIMIT, "no run was kept");
        thread::sleep(Duration::from_millis(50));
    }
    send("INT", &running);
    let message = message_of_interruption(&mut running);
    assert_contains(&message, &["measurements so far are saved as", "`coretalk --resume "]);
    let lines = running.lines();
    assert_no_leftover_process(&tool);
    let exported = tool.done(&export).out;
    assert!(lines.len() >= 2 && exported.lines().collect::<Vec<_>>() == lines, "{exported}");
    assert_contains(&tool.out("runs show latest"), &["Ended early"]);
    let resumed = tool.done(&words("--resume latest -q --budget 2s --format jsonl"));
    assert_eq!(resumed.err, "");
    let whole = tool.done(&export).out;
    assert!(whole.starts_with(&exported) && whole.lines().count() > lines.len(), "{whole}");
}

#[test]
fn a_command_does_not_outlive_a_killed_comparison() {
    // A single program; and children, one in its own session and one orphaned.
    for script in ["exec sleep 300", "setsid sleep 300 & (sleep 300 &) ; sleep 300 & wait"] {
        let tool = Tool::new();
        let mut running = start_comparison(&tool, script);
        wait_for_file(&tool);
        thread::sleep(Duration::from_millis(200));
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        let began = Instant::now();
        while has_process(&tool) {
            assert!(began.elapsed() < TIME_LIMIT, "the command is still there: {script}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn an_interruption_does_not_wait_for_drawing() {
    let tool = Tool::new();
    // The document exceeds the pipe buffer and has no reader, so writing it blocks.
    let mut command = tool.command(&words("latency --machine sim:epyc-2s-192 --seed 1 --format json -q"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = child.stdout.take();
    let began = Instant::now();
    while !tool.out("runs list").contains("complete") {
        assert!(began.elapsed() < 6 * TIME_LIMIT, "the run does not end");
        thread::sleep(Duration::from_millis(50));
    }
    let mut running = Running::unread(child);
    send("INT", &running);
    let message = message_of_interruption(&mut running);
    drop(out);
    assert_contains(&message, &["the run is complete and saved as"]);
    assert_no_journal(&tool);
    tool.out("runs show latest");
}
