//! After a kill at any moment, a run file opens, holds everything that `jsonl` printed, and can be resumed.

use super::tool::Tool;
use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Returns CPUs 0 and 1; `None` if they are not both allowed, so that the test is skipped.
pub fn two_cpus() -> Option<&'static str> {
    let allowed: coretalk_model::CpuSet = super::compared::allowed_cpus().parse().unwrap();
    if [0, 1].iter().all(|&cpu| allowed.contains(coretalk_model::CpuId(cpu))) {
        return Some("0,1");
    }
    println!("skipped: CPUs 0 and 1 of this machine are not both allowed");
    None
}

/// A running process whose JSON lines are read as they come.
pub struct Running {
    pub child: Child,
    lines: JoinHandle<Vec<String>>,
}

impl Running {
    pub fn start(tool: &Tool, words: &[&str]) -> Running {
        Running::spawn(tool, &[&["latency", "--format", "jsonl", "-q"], words].concat())
    }

    pub fn spawn(tool: &Tool, words: &[&str]) -> Running {
        let mut child = tool.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let read = move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            // The kill may have cut off the last line.
            text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
        };
        Running { child, lines: thread::spawn(read) }
    }

    /// Wraps a process without reading its output.
    pub fn unread(child: Child) -> Running {
        Running { child, lines: thread::spawn(Vec::new) }
    }

    pub fn lines(self) -> Vec<String> {
        self.lines.join().unwrap()
    }
}

pub fn run_file(store: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(store).ok()?;
    let is_run_file = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "coretalk");
    entries.map(|entry| entry.unwrap().path()).find(is_run_file)
}

/// Kills a run after a delay; returns the number of lines that it printed.
fn kill_after(words: &[&str], delay: Duration) -> usize {
    let tool = Tool::new();
    let mut running = Running::start(&tool, words);
    thread::sleep(delay);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    let lines = running.lines();
    let case = format!("{words:?} killed after {delay:?}, {} lines", lines.len());
    let Some(file) = run_file(&tool.path().join("runs")) else {
        assert!(lines.is_empty(), "{case}: no run file");
        return 0;
    };
    let file = file.to_str().unwrap();
    let shown = tool.call(&["runs", "show", file]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{case}");
    // Results of the last half second may be lost (documented limit), but a line is printed only after its commit
    // is durable, so all printed lines must be kept.
    let assert_printed_lines_are_kept = |when: &str| {
        let exported = tool.done(&["export", file, "--format", "jsonl"]).out;
        let kept: HashSet<&str> = exported.lines().collect();
        let lost: Vec<&String> = lines.iter().filter(|line| !kept.contains(line.as_str())).collect();
        assert!(lost.is_empty(), "{case}: {} lines are lost {when}, the first is {}", lost.len(), lost[0]);
    };
    assert_printed_lines_are_kept("by the kill");
    let resumed = tool.call(&["--resume", file, "-q"]);
    assert_eq!(resumed.code, 0, "{case}: {}", resumed.err);
    let document = tool.json(&["export", file]);
    assert_eq!(document["run"]["complete"], true, "{case}");
    assert_printed_lines_are_kept("by resuming");
    lines.len()
}

/// Kills the same run many times, at moments spread over its duration; returns how often it had printed lines.
fn kill_often(words: &[&str], times: u32, seed: u64) -> usize {
    let began = Instant::now();
    Tool::new().done(&[&["latency", "--format", "jsonl", "-q"], words].concat());
    let length = began.elapsed();
    let mut state = seed;
    let mut moment = || {
        // Linear congruential generator (Knuth, MMIX); its upper bits are good enough here.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        length.mul_f64((state >> 40) as f64 / (1u64 << 24) as f64)
    };
    (0..times).filter(|_| kill_after(words, moment()) > 0).count()
}

#[test]
fn a_killed_simulated_run_keeps_its_printed_lines_and_can_be_resumed() {
    kill_often(&["--machine", "sim:epyc-2s-192", "--cpus", "0-31", "--seed", "1"], 3, 1);
}

#[test]
fn a_killed_run_keeps_its_printed_lines_and_can_be_resumed() {
    let Some(cpus) = two_cpus() else { return };
    kill_often(&["--cpus", cpus], 1, 2);
}

#[test]
#[ignore = "takes two minutes; meaningful only if CORETALK_TEST_BINARY is a release build"]
fn a_hundred_kills_lose_nothing() {
    let host = if two_cpus().is_some() { 30 } else { 0 };
    // Both series run at once: a simulated run uses one CPU, and no kill depends on the speed of another run.
    let with_lines: usize = thread::scope(|scope| {
        let simulated = scope.spawn(|| {
            let words = ["--machine", "sim:epyc-2s-192", "--seed", "1", "--cpus", "0-63"];
            kill_often(&words[..4], 20, 4) + kill_often(&words, 80 - host, 5)
        });
        let on_host = if host > 0 { kill_often(&["--cpus", "0,1"], host, 3) } else { 0 };
        on_host + simulated.join().unwrap()
    });
    assert!(with_lines >= 30, "only {with_lines} of the killed runs had printed a line");
}
