//! Contents of an output file: the whole result, or the previous contents.

use super::kill::Running;
use super::signals::{end, send};
use super::tool::{Tool, assert_contains, limited, said, words};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit: enough for a loaded computer, exceeded only by a hang.
const TIME_LIMIT: Duration = Duration::from_secs(20);

fn tool_with_a_run() -> Tool {
    let tool = Tool::new();
    tool.out("latency --machine sim:chiplet-16 --seed 1 -q");
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
    let export = || limited(&tool, "-f 8", &words("export latest -o out.json"));
    let failed = export();
    assert_eq!(failed.code, 6, "{}", failed.err);
    assert_contains(&failed.err, &["coretalk: failed to write", "out.json"]);
    assert_eq!(files(&tool), Vec::<String>::new());
    tool.write("out.json", "old");
    assert_eq!(export().code, 6);
    assert_eq!(tool.read("out.json"), "old");
    assert_eq!(files(&tool), ["out.json"]);
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_a_link_remains_a_link() {
    let tool = tool_with_a_run();
    let path_of = |name: &str| tool.path().join(name);
    tool.write("out.json", "old");
    fs::set_permissions(path_of("out.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("out.json", path_of("link.json")).unwrap();
    tool.out("export latest -o link.json");
    assert!(fs::symlink_metadata(path_of("link.json")).unwrap().is_symlink());
    let text = tool.read("out.json");
    assert!(text.starts_with('{') && text.ends_with("}\n"), "{text:.80}");
    assert_eq!(fs::metadata(path_of("out.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(files(&tool), ["link.json", "out.json"]);
}

/// Starts a run with output to a named pipe; returns once it handles SIGTERM.
fn start_run_into_pipe(tool: &Tool) -> Running {
    assert!(Command::new("mkfifo").arg(tool.path().join("pipe")).status().unwrap().success());
    let mut command = tool.command(&words("latency --machine sim:laptop-smt --seed 1 --no-save -q -o pipe"));
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
    send("TERM", &running);
    let (code, message) = end(&mut running);
    assert_eq!(code, Some(5), "{message}");
    let expected = "coretalk: interrupted; nothing was measured, because no program reads from pipe\n";
    assert_eq!(message, expected);
}

#[test]
fn a_pipe_that_is_read_gets_the_whole_result() {
    let tool = Tool::new();
    let running = start_run_into_pipe(&tool);
    assert_contains(&tool.read("pipe"), &["SIMULATED laptop-smt"]);
    assert_eq!(said(running.child.wait_with_output().unwrap()).code, 0);
}
