//! Contents of an output file: the whole result, or the previous contents.

use super::kill::Running;
use super::tool::{Tool, said};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit: enough for a loaded computer, exceeded only by a hang.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn tool_with_a_run() -> Tool {
    let tool = Tool::new();
    tool.done(&["latency", "--machine", "sim:chiplet-16", "--seed", "1", "-q"]);
    tool
}

fn files(tool: &Tool) -> Vec<String> {
    let entries = fs::read_dir(tool.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "runs");
    names.sort();
    names
}

#[test]
fn a_failed_output_leaves_the_file_unchanged() {
    let tool = tool_with_a_run();
    // 8 blocks of 512 or 1,024 bytes are less than the document, so writing fails part-way.
    let call = tool.command(&["export", "latest", "-o", "out.json"]);
    let limited = || {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f 8 && exec \"$0\" \"$@\""])
            .arg(call.get_program())
            .args(call.get_args());
        command.current_dir(tool.path()).env_clear().env("CORETALK_STORE", tool.path().join("runs"));
        said(command.output().unwrap())
    };
    let failed = limited();
    assert_eq!(failed.code, 6, "{}", failed.err);
    assert!(
        failed.err.starts_with("coretalk: failed to write") && failed.err.contains("out.json"),
        "{}",
        failed.err
    );
    assert_eq!(files(&tool), Vec::<String>::new());
    fs::write(tool.path().join("out.json"), "old").unwrap();
    assert_eq!(limited().code, 6);
    assert_eq!(fs::read_to_string(tool.path().join("out.json")).unwrap(), "old");
    assert_eq!(files(&tool), ["out.json"]);
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_a_link_remains_a_link() {
    let tool = tool_with_a_run();
    let path_of = |name: &str| tool.path().join(name);
    fs::write(path_of("out.json"), "old").unwrap();
    fs::set_permissions(path_of("out.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("out.json", path_of("link.json")).unwrap();
    tool.done(&["export", "latest", "-o", "link.json"]);
    assert!(fs::symlink_metadata(path_of("link.json")).unwrap().is_symlink());
    let text = fs::read_to_string(path_of("out.json")).unwrap();
    assert!(text.starts_with('{') && text.ends_with("}\n"), "{text:.80}");
    assert_eq!(fs::metadata(path_of("out.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(files(&tool), ["link.json", "out.json"]);
}

/// Starts a run with output to a named pipe; returns once it handles SIGTERM.
fn start_run_into_pipe(tool: &Tool) -> Running {
    assert!(Command::new("mkfifo").arg(tool.path().join("pipe")).status().unwrap().success());
    let words = ["latency", "--machine", "sim:laptop-smt", "--seed", "1", "--no-save", "-q", "-o", "pipe"];
    let mut command = tool.command(&words);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let began = Instant::now();
    let handles_sigterm = |status: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        // SIGTERM is signal 15; bit 0 is signal 1.
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & 1 << 14 != 0)
    };
    while !handles_sigterm(&fs::read_to_string(&status).unwrap()) {
        assert!(began.elapsed() < TIME_LIMIT, "no handler");
        thread::sleep(Duration::from_millis(2));
    }
    Running::unread(child)
}

#[test]
fn opening_a_pipe_without_a_reader_waits_until_a_signal() {
    let tool = Tool::new();
    let mut running = start_run_into_pipe(&tool);
    let kill = format!("kill -TERM {}", running.child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let began = Instant::now();
    while running.child.try_wait().unwrap().is_none() {
        if began.elapsed() > TIME_LIMIT {
            running.child.kill().unwrap();
            panic!("it still waits for a reader");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = said(running.child.wait_with_output().unwrap());
    assert_eq!(output.code, 5, "{}", output.err);
    assert_eq!(
        output.err,
        "coretalk: interrupted; nothing was measured, because no program reads from pipe\n"
    );
}

#[test]
fn a_pipe_that_is_read_gets_the_whole_result() {
    let tool = Tool::new();
    let running = start_run_into_pipe(&tool);
    let text = fs::read_to_string(tool.path().join("pipe")).unwrap();
    assert!(text.contains("SIMULATED laptop-smt"), "{text}");
    assert_eq!(said(running.child.wait_with_output().unwrap()).code, 0);
}
