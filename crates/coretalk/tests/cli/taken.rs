//! CPUs that are missing, or go offline during a run.

use super::kill::{run_file, two_cpus};
use super::tool::{Said, Tool, assert_contains, said, words};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// A cpuset (control groups, version 1), if the tests may create one.
struct Cpuset(PathBuf);

impl Cpuset {
    fn new(name: &str, cpus: &str) -> Option<Cpuset> {
        two_cpus()?;
        let parent = PathBuf::from("/sys/fs/cgroup/cpuset");
        let path = parent.join(format!("coretalk-test-{name}-{}", std::process::id()));
        let memory = std::fs::read_to_string(parent.join("cpuset.mems"));
        if memory.is_err() || std::fs::create_dir(&path).is_err() {
            println!("skipped: this test may not make a cpuset (control groups, version 1)");
            return None;
        }
        let cpuset = Cpuset(path);
        let memory_set = std::fs::write(cpuset.0.join("cpuset.mems"), memory.unwrap_or_default().trim());
        if memory_set.is_err() || !cpuset.set_cpus(cpus) {
            println!("skipped: this test may not choose the CPUs of a cpuset");
            return None;
        }
        Some(cpuset)
    }

    fn set_cpus(&self, cpus: &str) -> bool {
        std::fs::write(self.0.join("cpuset.cpus"), cpus).is_ok()
    }

    fn command(&self, tool: &Tool, words: &[&str]) -> Command {
        let inner = tool.command(words);
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(tool.path());
        for (name, value) in inner.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    fn call(&self, tool: &Tool, line: &str) -> Said {
        said(self.command(tool, &words(line)).output().unwrap())
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        // The system refuses this while the cpuset has a process; the last process has just ended.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_lost_cpu_causes_a_message_and_no_hang() {
    let Some(cpuset) = Cpuset::new("shrinks", "0-1") else { return };
    let tool = Tool::new();
    let latency = words("latency --cpus 0,1 --budget 4s --format json -q");
    let child =
        cpuset.command(&tool, &latency).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while run_file(&tool.path().join("runs")).is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(300));
    assert!(cpuset.set_cpus("0"));
    let output = said(child.wait_with_output().unwrap());
    let assert_resumes = || {
        assert!(cpuset.set_cpus("0-1"));
        let resumed = cpuset.call(&tool, "--resume latest --format json -q");
        assert_eq!(resumed.code, 0, "{}", resumed.err);
        let document: Value = serde_json::from_str(&resumed.out).unwrap();
        assert_eq!(document["run"]["complete"], true, "{}", resumed.out);
        assert_eq!(document["run"]["departed"], json!([]), "{}", resumed.out);
        assert!(!document["matrices"][0]["cells"][0].to_string().contains("CPU 1"), "{}", resumed.out);
    };
    if output.code == 3 {
        assert!(output.err.contains("CPU 1") && output.err.lines().count() == 1, "{}", output.err);
        return assert_resumes();
    }
    assert_eq!(output.code, 0, "{}", output.err);
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let cell = &document["matrices"][0]["cells"][0];
    // Earlier measurements are shown with a low grade.
    let doubted = cell["grade"] == "D" && cell["flags"].to_string().contains("few-passes");
    assert!(doubted || cell.to_string().contains("CPU 1 was taken away"), "{cell}");
    assert_contains(&tool.out("export latest --format jsonl"), &["CPU 1 was taken away"]);
    assert_resumes();
}

#[track_caller]
fn assert_refused(output: &Said, parts: &[&str]) {
    assert_eq!((output.code, output.err.lines().count(), output.out.as_str()), (3, 1, ""), "{}", output.err);
    assert_contains(&output.err, parts);
}

#[test]
fn one_cpu_in_the_cpuset_is_too_few() {
    let Some(cpuset) = Cpuset::new("one", "0") else { return };
    let tool = Tool::new();
    assert_refused(&cpuset.call(&tool, "latency"), &["only CPU 0", "two CPUs"]);
    let named = cpuset.call(&tool, "latency --cpus 0,1");
    assert_refused(&named, &["CPU 1 exists but is not allowed", "--cpus"]);
    assert_eq!(cpuset.call(&tool, "doctor").code, 0);
}

#[test]
fn one_cpu_in_the_mask_is_too_few_unless_others_are_named() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let call = |line: &str| {
        let inner = tool.command(&words(line));
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(inner.get_program()).args(inner.get_args());
        command.env("CORETALK_STORE", tool.path().join("runs")).output()
    };
    let Ok(bare) = call("latency") else {
        println!("skipped: there is no taskset here");
        return;
    };
    assert_refused(&said(bare), &["only CPU 0", "two CPUs"]);
    let line = format!("latency --cpus {cpus} --samples 2 --iterations 50 -q");
    let named = said(call(&line).unwrap());
    assert_eq!(named.code, 0, "the mask is only inherited: {}", named.err);
}

#[test]
fn a_placement_outside_the_cpuset_is_refused() {
    let Some(cpuset) = Cpuset::new("placed", "0") else { return };
    let tool = Tool::new();
    let output = cpuset.call(&tool, "place --placement=a=0 --placement=b=0,1 -- /bin/true");
    assert_refused(&output, &["placement b lists CPU 1, which exists but is not allowed"]);
}
