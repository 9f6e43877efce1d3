//! Low limits of file descriptors, threads, memory and permissions, and concurrent runs: a message or a result, no
//! crash.

use super::tool::{Tool, limited, said};
use std::path::Path;
use std::process::{Command, Stdio};

const SIM: [&str; 8] = ["latency", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--seed", "1", "-q"];

#[test]
fn sixteen_file_descriptors_are_enough() {
    let tool = Tool::new();
    let output = limited(&tool, "-n 16", &SIM);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("saved as"), "{}", output.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_descriptors_is_not_blamed_on_the_command() {
    let tool = Tool::new();
    let words = ["place", "--placement", "a=0", "--placement", "none", "--budget", "2s", "--", "true"];
    let output = limited(&tool, "-n 12", &words);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("another open file (errno 24): raise `ulimit -n`"), "{}", output.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_descriptors_is_not_reported_as_a_refused_pin() {
    let Some(cpus) = super::kill::two_cpus() else { return };
    let tool = Tool::new();
    let words = ["wake", "--cpus", cpus, "--pairs", "all", "--primitive", "pipe", "--budget", "300ms"];
    let words = [&words[..], &["--no-save", "-q"]].concat();
    // Which limit causes the error depends on the files that the process inherits, so all are tried.
    let output: Vec<String> = (4..14)
        .map(|limit| limited(&tool, &format!("-n {limit}"), &words))
        .map(|it| it.out + &it.err)
        .collect();
    assert!(output.iter().all(|text| !text.contains("could not be pinned")), "{output:?}");
    assert!(
        output.iter().any(|text| super::tool::flat(text).contains("open file (errno 24): raise `ulimit -n`")),
        "{output:?}"
    );
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
    assert_eq!((output.code, output.err.lines().count()), (3, 1), "{}", output.err);
    assert!(
        output.err.contains("523776 pairs need about") && output.err.contains("ulimit -v"),
        "{}",
        output.err
    );
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_file_beyond_its_size_limit_is_a_store_failure() {
    let tool = Tool::new();
    let output = limited(&tool, "-f 100", &["latency", "--machine", "sim:mesh-64", "--seed", "1", "-q"]);
    assert_eq!(output.code, 6, "{}", output.err);
    assert!(output.err.contains("failed to"), "{}", output.err);
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_created_are_an_environment_failure() {
    // Root has no limit of processes, so the test switches the user.
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups", "prlimit", "--nproc=1"]).arg(program);
        command
    };
    if !as_nobody(Path::new("true")).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: user and limit cannot be changed here");
        return;
    }
    let copy = std::env::temp_dir().join(format!("coretalk-limits-{}", std::process::id()));
    std::fs::copy(assert_cmd::cargo::cargo_bin("coretalk"), &copy).unwrap();
    let words = ["latency", "--no-save", "--budget", "1s", "-q"];
    let result = as_nobody(&copy).args(words).current_dir(std::env::temp_dir()).output();
    std::fs::remove_file(&copy).unwrap();
    let output = said(result.unwrap());
    assert_eq!((output.code, output.err.lines().count()), (3, 1), "{}", output.err);
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
    std::fs::copy(assert_cmd::cargo::cargo_bin("coretalk"), &tool).unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).arg(&tool).args(words);
        // The folder is read-only, and there is no home.
        command.current_dir(&closed).env_clear().env("HOME", "/nonexistent");
        command.output().map(said)
    };
    if !as_nobody(&["--version"]).is_ok_and(|output| output.code == 0) {
        println!("skipped: the user cannot be changed here");
        return;
    }
    let store = open.to_string_lossy().into_owned();
    let saved = as_nobody(&[&SIM[..], &["--store", &store]].concat()).unwrap();
    assert_eq!((saved.code, saved.err.as_str()), (0, ""), "{}", saved.out);
    let without_home = as_nobody(&SIM).unwrap();
    assert_eq!((without_home.code, without_home.err.lines().count()), (6, 1), "{}", without_home.err);
    assert!(
        without_home.err.contains("--store DIR") && without_home.err.contains("--no-save"),
        "{}",
        without_home.err
    );
    let unwritable = as_nobody(&[&SIM[..], &["--no-save", "-o", "result"]].concat()).unwrap();
    assert_eq!((unwritable.code, unwritable.err.lines().count()), (6, 1), "{}", unwritable.err);
    assert!(unwritable.err.contains("result") && unwritable.out.is_empty(), "{}", unwritable.err);
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
        format!(
            "based_on = \"mesh-64\"\n[structure]\nkind = \"mesh\"\nwidth = {width}\nheight = 1000\nnear_ns = 1\nfar_ns = 2"
        )
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
        let shown: String = content.chars().take(120).collect();
        assert_eq!((output.code, output.err.lines().count()), (4, 1), "{shown}: {}", output.err);
        assert!(output.err.contains("hostile.toml") && output.err.len() < 600, "{shown}: {}", output.err);
    }
}
