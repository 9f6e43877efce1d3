//! Low limits of file descriptors, threads, memory and permissions, and concurrent runs: refused with a message, no
//! crash.

use super::tool::{Tool, limited, said};
use std::path::Path;
use std::process::{Command, Stdio};

const SIM: [&str; 8] = ["latency", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--seed", "1", "-q"];

#[test]
fn sixteen_file_descriptors_are_enough() {
    let tool = Tool::new();
    let said = limited(&tool, "-n 16", &SIM);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("saved as"), "{}", said.out);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_could_not_be_started_for_want_of_descriptors_is_not_blamed() {
    let tool = Tool::new();
    let words = ["place", "--placement", "a=0", "--placement", "none", "--budget", "2s", "--", "true"];
    let said = limited(&tool, "-n 12", &words);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("another open file (errno 24): raise `ulimit -n`"), "{}", said.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_could_not_be_made_for_want_of_descriptors_is_no_refused_pin() {
    let Some(cpus) = super::kill::two_cpus() else { return };
    let tool = Tool::new();
    let words = ["wake", "--cpus", cpus, "--pairs", "all", "--primitive", "pipe", "--budget", "300ms"];
    let words = [&words[..], &["--no-save", "-q"]].concat();
    // The number of open files depends on what the process inherits.
    let said: Vec<String> = (4..14)
        .map(|most| limited(&tool, &format!("-n {most}"), &words))
        .map(|it| it.out + &it.err)
        .collect();
    assert!(said.iter().all(|text| !text.contains("could not be pinned")), "{said:?}");
    assert!(
        said.iter().any(|text| super::tool::flat(text).contains("open file (errno 24): raise `ulimit -n`")),
        "{said:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_goes_nowhere_is_a_failure() {
    let tool = Tool::new();
    for words in [&["probes"][..], &["--version"], &["runs"], &SIM] {
        let plain = tool.command(words);
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(plain.get_program()).args(words);
        let said = said(command.current_dir(tool.path()).output().unwrap());
        assert_eq!(said.code, 6, "{words:?}: {}", said.err);
        assert_eq!(said.err, "coretalk: failed to write the result: Bad file descriptor (os error 9)\n");
    }
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn little_memory_is_enough_or_refused_in_a_sentence() {
    let tool = Tool::new();
    let unsaved = [&SIM[..], &["--no-save"]].concat();
    assert_eq!(limited(&tool, "-v 200000", &unsaved).code, 0);
    let said = limited(&tool, "-v 600000", &["latency", "--machine", "sim:huge-1024", "-q"]);
    assert_eq!((said.code, said.err.lines().count()), (3, 1), "{}", said.err);
    assert!(said.err.contains("523776 pairs need about") && said.err.contains("ulimit -v"), "{}", said.err);
    assert!(!tool.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_file_that_outgrows_its_limit_is_the_stores_failure() {
    let tool = Tool::new();
    let said = limited(&tool, "-f 100", &["latency", "--machine", "sim:mesh-64", "--seed", "1", "-q"]);
    assert_eq!(said.code, 6, "{}", said.err);
    assert!(said.err.contains("failed to"), "{}", said.err);
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_had_are_the_environments_refusal() {
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
    let output = as_nobody(&copy).args(words).current_dir(std::env::temp_dir()).output();
    std::fs::remove_file(&copy).unwrap();
    let said = said(output.unwrap());
    assert_eq!((said.code, said.err.lines().count()), (3, 1), "{}", said.err);
    assert!(!said.err.contains("internal error"), "{}", said.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_user_without_rights_measures_and_is_told_what_cannot_be_written() {
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
        // A read-only folder, and no home.
        command.current_dir(&closed).env_clear().env("HOME", "/nonexistent");
        command.output().map(said)
    };
    if !as_nobody(&["--version"]).is_ok_and(|said| said.code == 0) {
        println!("skipped: the user cannot be changed here");
        return;
    }
    let store = open.to_string_lossy().into_owned();
    let saved = as_nobody(&[&SIM[..], &["--store", &store]].concat()).unwrap();
    assert_eq!((saved.code, saved.err.as_str()), (0, ""), "{}", saved.out);
    let homeless = as_nobody(&SIM).unwrap();
    assert_eq!((homeless.code, homeless.err.lines().count()), (6, 1), "{}", homeless.err);
    assert!(homeless.err.contains("--store DIR") && homeless.err.contains("--no-save"), "{}", homeless.err);
    let unwritable = as_nobody(&[&SIM[..], &["--no-save", "-o", "result"]].concat()).unwrap();
    assert_eq!((unwritable.code, unwritable.err.lines().count()), (6, 1), "{}", unwritable.err);
    assert!(unwritable.err.contains("result") && unwritable.out.is_empty(), "{}", unwritable.err);
}

#[test]
fn two_runs_at_once_share_a_store() {
    let tool = Tool::new();
    let begun: Vec<_> = ["1", "2", "3"]
        .map(|name| {
            let words = [&SIM[..], &["--name", name]].concat();
            tool.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .into();
    for running in begun {
        let said = said(running.wait_with_output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""));
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
        let said = tool.call(&["latency", "--machine", "sim:hostile.toml", "--no-save", "-q"]);
        let shown: String = content.chars().take(120).collect();
        assert_eq!((said.code, said.err.lines().count()), (4, 1), "{shown}: {}", said.err);
        assert!(said.err.contains("hostile.toml") && said.err.len() < 600, "{shown}: {}", said.err);
    }
}
