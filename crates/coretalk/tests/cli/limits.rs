//! Low limits of file descriptors, threads, memory and permissions, and concurrent runs: a message or a result, no
//! crash.

use super::tool::{Said, Tool, flat, limited, said, words};
use assert_cmd::cargo::cargo_bin;
use std::path::Path;
use std::process::{Command, Stdio};

const SIM: [&str; 8] = ["latency", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--seed", "1", "-q"];

/// Checks for a failure with one message, which contains all `parts`.
fn assert_fails(output: &Said, code: i32, parts: &[&str]) {
    assert_eq!((output.code, output.err.lines().count()), (code, 1), "{}", output.err);
    assert!(parts.iter().all(|part| output.err.contains(part)), "{parts:?}: {}", output.err);
}

#[test]
fn sixteen_file_descriptors_are_enough() {
    let output = limited(&Tool::new(), "-n 16", &SIM);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("saved as"), "{}", output.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_descriptors_is_not_blamed_on_the_command() {
    let words = words("place --placement a=0 --placement none --budget 2s -- true");
    let output = limited(&Tool::new(), "-n 12", &words);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("another open file (errno 24): raise `ulimit -n`"), "{}", output.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_descriptors_is_not_reported_as_a_refused_pin() {
    let Some(cpus) = super::kill::two_cpus() else { return };
    let tool = Tool::new();
    let line = format!("wake --cpus {cpus} --pairs all --primitive pipe --budget 300ms --no-save -q");
    // Which limit causes the error depends on the files that the process inherits, so all are tried.
    let output: Vec<String> = (4..14)
        .map(|limit| limited(&tool, &format!("-n {limit}"), &words(&line)))
        .map(|it| flat(&(it.out + &it.err)))
        .collect();
    assert!(output.iter().all(|text| !text.contains("could not be pinned")), "{output:?}");
    let reason = "open file (errno 24): raise `ulimit -n`";
    assert!(output.iter().any(|text| text.contains(reason)), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_result_is_a_failure() {
    let tool = Tool::new();
    for words in [&["probes"][..], &["--version"], &["runs"], &SIM] {
        let plain = tool.command(words);
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(plain.get_program()).args(words);
        let output = said(command.current_dir(tool.path()).output().unwrap());
        assert_eq!(output.code, 6, "{words:?}: {}", output.err);
        assert_eq!(output.err, "coretalk: failed to write the result: Bad file descriptor (os error 9)\n");
    }
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn little_memory_is_enough_or_refused_in_a_sentence() {
    let tool = Tool::new();
    let unsaved = [&SIM[..], &["--no-save"]].concat();
    assert_eq!(limited(&tool, "-v 200000", &unsaved).code, 0);
    let output = limited(&tool, "-v 600000", &["latency", "--machine", "sim:huge-1024", "-q"]);
    assert_fails(&output, 3, &["523776 pairs need about", "ulimit -v"]);
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_file_beyond_its_size_limit_is_a_store_failure() {
    let words = ["latency", "--machine", "sim:mesh-64", "--seed", "1", "-q"];
    let output = limited(&Tool::new(), "-f 100", &words);
    assert_eq!(output.code, 6, "{}", output.err);
    assert!(output.err.contains("failed to"), "{}", output.err);
}

/// Root has no limits of processes and permissions, so tests switch the user; `None` where that is impossible.
#[cfg(target_os = "linux")]
fn as_nobody(program: &Path, more: &[&str]) -> Option<Command> {
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).args(more).arg(program);
        command
    };
    let mut attempt = as_nobody(Path::new("true"));
    if attempt.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Some(as_nobody(program));
    }
    println!("skipped: user and limits cannot be changed here");
    None
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_created_are_an_environment_failure() {
    let copy = std::env::temp_dir().join(format!("coretalk-limits-{}", std::process::id()));
    let Some(mut command) = as_nobody(&copy, &["prlimit", "--nproc=1"]) else { return };
    std::fs::copy(cargo_bin("coretalk"), &copy).unwrap();
    command.args(["latency", "--no-save", "--budget", "1s", "-q"]).current_dir(std::env::temp_dir());
    let result = command.output();
    std::fs::remove_file(&copy).unwrap();
    let output = said(result.unwrap());
    assert_fails(&output, 3, &[]);
    assert!(!output.err.contains("internal error"), "{}", output.err);
}

#[cfg(target_os = "linux")]
#[test]
fn an_unprivileged_user_can_measure_and_unwritable_paths_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (open, closed) = (folder.path().join("open"), folder.path().join("closed"));
    for (path, mode) in [(folder.path(), 0o755), (&open, 0o777), (&closed, 0o555)] {
        std::fs::create_dir_all(path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let tool = folder.path().join("coretalk");
    std::fs::copy(cargo_bin("coretalk"), &tool).unwrap();
    let call = |more: &[&str]| {
        let mut command = as_nobody(&tool, &[])?;
        // The folder is read-only, and there is no home.
        command.args(SIM).args(more).current_dir(&closed).env_clear().env("HOME", "/nonexistent");
        Some(said(command.output().unwrap()))
    };
    let Some(saved) = call(&["--store", open.to_str().unwrap()]) else { return };
    assert_eq!((saved.code, saved.err.as_str()), (0, ""), "{}", saved.out);
    assert_fails(&call(&[]).unwrap(), 6, &["--store DIR", "--no-save"]);
    let unwritable = call(&["--no-save", "-o", "result"]).unwrap();
    assert_fails(&unwritable, 6, &["result"]);
    assert!(unwritable.out.is_empty(), "{}", unwritable.out);
}

#[test]
fn concurrent_runs_share_a_store() {
    let tool = Tool::new();
    let begun: Vec<_> = ["1", "2", "3"]
        .map(|name| {
            let words = [&SIM[..], &["--name", name]].concat();
            tool.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .into();
    for running in begun {
        let output = said(running.wait_with_output().unwrap());
        assert_eq!((output.code, output.err.as_str()), (0, ""));
    }
    let listed = tool.done(&["runs"]).out;
    assert_eq!(listed.matches("complete").count(), 3, "{listed}");
}

#[test]
fn hostile_scenarios_are_refused_in_a_sentence() {
    let tool = Tool::new();
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let dotted = format!("[{}a]\nx = 1", "a.".repeat(50_000));
    let wide = |width: &str| {
        let mesh = "kind = \"mesh\"\nheight = 1000\nnear_ns = 1\nfar_ns = 2";
        format!("based_on = \"mesh-64\"\n[structure]\n{mesh}\nwidth = {width}")
    };
    let noisy = |value: &str| format!("based_on = \"chiplet-16\"\n[noise]\nbatch_sd = {value}");
    let many = "[[structure.groups]]\nlevel = \"node\"\ncpus = \"0-1048575\"\n".repeat(10_000);
    for content in [
        format!("based_on = \"mesh-64\"\n[structure]\nkind = \"groups\"\ncpus = \"0-3\"\n{many}"),
        deep,
        dotted,
        wide("1000"),
        wide("4294967295"),
        wide("99999999999999999999"),
        wide("-4"),
        noisy("nan"),
        noisy("inf"),
        noisy("-1.0"),
        noisy("1e400"),
        "based_on = \"hostile.toml\"".to_owned(),
        "\0\x07".to_owned(),
        String::new(),
    ] {
        tool.write("hostile.toml", &content);
        let output = tool.call(&["latency", "--machine", "sim:hostile.toml", "--no-save", "-q"]);
        println!("{content:.120}");
        assert_fails(&output, 4, &["hostile.toml"]);
        assert!(output.err.len() < 600, "{}", output.err);
    }
}
