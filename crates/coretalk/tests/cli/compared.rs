//! `place` with commands on CPUs of this machine. Checks that commands end, are bound and are saved, not their speed.

use super::tool::{Tool, flat};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Two placements with different names on the first allowed CPU, so that tests work on any number of CPUs.
pub fn places() -> [String; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = list.trim().split([',', '-']).next().unwrap();
    ["here", "there"].map(|name| format!("--placement={name}={first}"))
}

fn place<'a>(places: &'a [String; 2], more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["place", &places[0], &places[1], "--seed", "1", "--repeat", "6", "-q"];
    words.extend(more);
    words
}

#[test]
fn a_saved_comparison_is_shown_and_exported_unchanged() {
    let (tool, places) = (Tool::new(), places());
    let command = ["--format", "json", "--name", "first", "--budget", "2s"];
    let tail = [
        "--metric",
        "answer=is ([0-9]+)",
        "--higher-is-better",
        "answer",
        "--",
        "/bin/sh",
        "-c",
        "echo it is 42",
    ];
    let live = tool.done(&place(&places, &[&command[..], &tail[..]].concat()));
    assert_eq!(live.err, "");
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let comparisons = document["comparisons"].as_array().unwrap();
    let names: Vec<&str> = comparisons.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["answer", "wall_s"]);
    assert!(document["series"].as_array().unwrap().is_empty());
    // Equal results have no winner. On a busy machine, doubts may leave the verdict open.
    let verdict = comparisons[0]["verdict"].as_str().unwrap();
    assert!(["same", "cannot-tell"].contains(&verdict) && comparisons[0]["winner"].is_null(), "{verdict}");
    assert_eq!(comparisons[0]["better"], "higher");
    let runs = comparisons[1]["placements"][0]["runs"].as_array().unwrap();
    assert!(runs.len() >= 6 && runs.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{runs:?}");
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    // The command line is private.
    assert!(!live.out.contains("it is 42") && live.out.contains("\"--\",\"…\""));
    let shown = tool.done(&["runs", "show", "first"]).out;
    let of_answer = if verdict == "same" { "same within ±1" } else { "cannot tell" };
    assert!(shown.contains("taskset -c") && shown.contains(of_answer), "{shown}");
    let markdown = tool.done(&["export", "first", "--format", "markdown"]).out;
    assert!(markdown.starts_with("| workload | metric | placement |"), "{markdown}");
    assert!(tool.done(&["export", "first", "--format", "csv"]).out.starts_with("workload,round,placement,"));
    let refused = tool.call(&["export", "first", "--format", "c2c-csv"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

#[test]
fn the_error_of_a_failed_command_contains_its_last_output() {
    let (tool, places) = (Tool::new(), places());
    for (more, part) in [
        (
            &["--", "/bin/sh", "-c", "echo no such table >&2; exit 3"][..],
            "exited with status 3 (its last error: no such table)",
        ),
        (&["--", "/bin/sh", "-c", "kill -9 $$"], "was killed by signal 9"),
        // Kills the small launcher process, which is the parent of the command.
        (
            &["--", "/bin/sh", "-c", "kill -9 $PPID; sleep 30"],
            "the process that had started it ended first (signal: 9 (SIGKILL))",
        ),
        (
            &["--metric", "x=(y)", "--", "/bin/sh", "-c", "echo y"],
            "the pattern of metric x found no number in its output (its last output: y)",
        ),
        // Output of a command cannot control the terminal.
        (
            &["--", "/bin/sh", "-c", "printf 'red: \\033[31m' >&2; exit 3"],
            "(its last error: red: \u{fffd}[31m)",
        ),
        (&["--timeout", "200ms", "--", "/bin/sh", "-c", "sleep 30"], "for more than 200 ms and was killed"),
    ] {
        let begun = Instant::now();
        let output = tool.call(&place(&places, more));
        assert_eq!(output.code, 1, "{}", output.err);
        assert!(output.err.contains(part) && output.err.contains("on placement"), "{part}: {}", output.err);
        assert!(begun.elapsed() < Duration::from_secs(20));
        // The output is saved in the run file, but not in documents.
        let document = tool.done(&["export", "latest", "--format", "json"]).out;
        assert!(!document.contains("no such table"), "{document}");
    }
}

#[test]
fn output_of_a_failed_command_is_shown_with_its_run_but_not_in_reports() {
    let (tool, places) = (Tool::new(), places());
    let script = "seq 1000 1099; echo one >&2; printf 'two \\033[2J\\n' >&2; exit 3";
    tool.refused(&place(&places, &["--", "/bin/sh", "-c", script]), 1, "(its last error: two \u{fffd}[2J)");
    let shown = tool.done(&["runs", "show", "latest"]).out;
    for part in [
        "it wrote to standard error:\n     one\n     two \u{fffd}[2J\n",
        "standard output, its last 20 lines:\n     1080\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("1079"), "{shown}");
    tool.done(&["report", "latest", "-o", "page.html"]);
    let page = tool.read("page.html");
    assert!(page.contains("exited with status 3") && !page.contains("1099"));
}

#[test]
fn a_budget_too_short_for_one_run_is_reported_but_is_not_a_failure() {
    let (tool, places) = (Tool::new(), places());
    for command in [&["--", "/bin/sleep", "30"][..], &["--timeout", "20s", "--", "/bin/sleep", "30"]] {
        let words = [&["place", &places[0], &places[1], "--budget", "500ms"], command].concat();
        let output = tool.done(&words);
        assert!(
            output.out.contains("ended before everything had been run on every placement"),
            "{}",
            output.out
        );
        assert!(output.err.contains("set --budget to") && output.err.contains("or more"), "{}", output.err);
        assert!(output.err.contains("the command was still running on placement"), "{}", output.err);
        assert!(output.err.contains("check that the work ends by itself"), "{}", output.err);
        assert!(
            !output.out.contains("failed") && !output.err.contains("failed"),
            "{}{}",
            output.out,
            output.err
        );
    }
    let words = ["place", &places[0], &places[1], "--budget", "1s", "--repeat", "200", "--", "/bin/true"];
    let out = tool.done(&words).out;
    assert!(out.contains("ended before every repetition was made"), "{out}");
    let output =
        tool.call(&place(&places, &["--budget", "5s", "--timeout", "300ms", "--", "/bin/sleep", "30"]));
    assert!(output.code == 1 && output.err.contains("for more than 300 ms"), "{}", output.err);
}

#[test]
fn a_program_with_a_relative_path_is_resumed_only_in_its_directory() {
    let (tool, places) = (Tool::new(), places());
    std::os::unix::fs::symlink("/bin/true", tool.path().join("mine")).unwrap();
    // Stops at its budget, because two hundred runs on each placement do not fit.
    let words = ["place", &places[0], &places[1], "--repeat", "200", "--budget", "1s", "-q", "--", "./mine"];
    tool.done(&words);
    std::fs::create_dir(tool.path().join("elsewhere")).unwrap();
    let words = ["--resume", "latest", "--budget", "2s", "-q"];
    let there = tool.command(&words).current_dir(tool.path().join("elsewhere")).output().unwrap();
    let output = String::from_utf8(there.stderr).unwrap();
    assert_eq!(there.status.code(), Some(3), "{output}");
    assert!(output.contains("`./mine`, which is not in this directory"), "{output}");
    tool.done(&words);
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let (tool, places) = (Tool::new(), places());
    let output = tool.call(&place(&places, &["--", "no-such-\u{1b}[31mprogram"]));
    assert!(output.code == 2 && output.err.contains("`no-such-\u{fffd}[31mprogram`"), "{:?}", output.err);
}

#[test]
#[ignore = "takes 45 s, and needs an idle machine"]
fn a_command_against_itself_has_no_winner_in_twenty_comparisons() {
    let (tool, places) = (Tool::new(), places());
    for _ in 0..20 {
        let words = [
            "place",
            &places[0],
            &places[1],
            "-q",
            "--no-save",
            "--budget",
            "2s",
            "--format",
            "json",
            "--",
            "/bin/true",
        ];
        let document = tool.json(&words);
        for comparison in document["comparisons"].as_array().unwrap() {
            assert_eq!(comparison["winner"], Value::Null, "{comparison}");
        }
    }
}

#[test]
fn processes_that_outlive_their_command_are_killed() {
    let (tool, places) = (Tool::new(), places());
    // A daemon in a session of its own, which the kill of the process group does not reach.
    let script = "setsid sleep 4321 >/dev/null 2>&1 & exit 0";
    let output = tool.done(&place(&places, &["--budget", "2s", "--", "/bin/sh", "-c", script]));
    assert!(output.out.contains("left processes behind, which were killed"), "{}", output.out);
    // They are also killed if the launcher is killed, so that no process can report the end.
    let script = "setsid env -u CORETALK_GUARDED sleep 4321 >/dev/null 2>&1 & kill -9 $PPID";
    assert_eq!(tool.call(&place(&places, &["--", "/bin/sh", "-c", script])).code, 1);
    let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == b"sleep\x004321\0"
    });
    assert!(!alive);
}

#[test]
fn a_command_that_changes_its_affinity_is_noticed() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    let taskset = std::path::Path::new("/usr/bin/taskset").exists();
    if !list.contains([',', '-']) || !taskset {
        println!("skipped: this needs two CPUs and taskset");
        return;
    }
    let (tool, places) = (Tool::new(), places());
    let output =
        tool.done(&place(&places, &["--budget", "2s", "--", "taskset", "-c", &list, "sleep", "0.01"]));
    let out = flat(&output.out);
    assert!(out.contains("one of its processes or threads was allowed on other CPUs"), "{}", output.out);
}

#[test]
fn refusals_are_one_sentence_with_the_right_code() {
    let (tool, places) = (Tool::new(), places());
    let two = [places[0].as_str(), places[1].as_str()];
    let true_ = ["--", "/bin/true"];
    let pipe = ["--workload", "pipe"];
    tool.write("old", "precious");
    for (words, code, part) in [
        ([&["place", two[0]][..], &true_].concat(), 2, "needs two placements"),
        ([&["place", two[0], two[0]][..], &true_].concat(), 2, "lists here twice"),
        ([&["place", two[0], "--placement=a=0,0"][..], &true_].concat(), 2, "CPU 0 is listed twice"),
        ([&["place", two[0], "--placement=a="][..], &true_].concat(), 2, "lists no CPU"),
        ([&["place"], &true_[..]].concat(), 2, "needs two placements"),
        ([&["place"], &two[..]].concat(), 2, "there is nothing to run"),
        ([&["place"], &two[..], &["--repeat", "1"], &true_].concat(), 2, "2..=200"),
        ([&["place"], &two[..], &["--timeout", "0s"], &true_].concat(), 2, "timeout"),
        ([&["place"], &two[..], &["--", "/"]].concat(), 2, "is a directory"),
        ([&["place", two[0], "--placement=a=99999"][..], &true_].concat(), 2, "does not exist"),
        ([&["place", two[0], "--placement=dense"][..], &true_].concat(), 2, "unknown placement `dense`"),
        ([&["place"], &two[..], &["--", "no-such-program-at-all"]].concat(), 2, "is not in PATH"),
        (
            [&["place"], &two[..], &["--format", "hgrm", "--export-json", "old"], &true_].concat(),
            2,
            "cannot show",
        ),
        ([&["place", "--machine", "sim:chiplet-16"], &two[..], &true_].concat(), 2, "cannot run a command"),
        (
            [&["place"], &two[..], &["--higher-is-better", "x", "--metric", "y=1"], &true_].concat(),
            2,
            "no --metric defines",
        ),
        ([&["place"], &two[..], &["--metric", "core_ghz=x"], &true_].concat(), 2, "is built in"),
        ([&["place"], &two[..], &pipe, &["--metric", "y=1"]].concat(), 2, "--metric"),
        ([&["place"], &two[..], &pipe, &["--timeout", "1s"]].concat(), 2, "--timeout"),
    ] {
        let output = tool.call(&words);
        assert_eq!((output.code, output.out.as_str()), (code, ""), "{words:?}: {}", output.err);
        assert!(output.err.contains(part) && output.err.lines().count() == 1, "{words:?}: {}", output.err);
    }
    assert_eq!(tool.read("old"), "precious");
}

#[test]
fn workloads_check_their_answers_and_print_their_numbers() {
    let tool = Tool::new();
    for (words, name) in [
        ("n-queens:8 2 20", "solutions_per_s"),
        ("n-queens:14 2 20", "solutions_per_s"),
        ("mutex-array 1 20", "time_s"),
        ("integer 2 20", "loops_per_s"),
        ("process 1 200", "loops_per_s"),
        // Long enough for at least one start of a program on a busy machine.
        ("execl 1 1000", "loops_per_s"),
        ("pipe 2 20", "loops_per_s"),
        ("shell:2 1 500", "loops_per_min"),
        ("threads-yield 2 20", "events_per_s"),
        ("memory-read 1 20", "mb_per_s"),
        ("memory-write 1 20", "mb_per_s"),
        // One stream kernel only, because arrays of stream kernels exceed all caches (a gigabyte on some machines). The
        // other stream kernels have their own test.
        ("stream-triad 2 20", "mb_per_s"),
        ("barrier 3 20", "phases_per_s"),
        ("ring 3 20", "hops_per_s"),
        ("all-to-all 3 20", "messages_per_s"),
        ("pipeline 3 20", "items_per_s"),
        ("shared-counter 3 20", "ops_per_s"),
    ] {
        let typed: Vec<&str> = std::iter::once("work").chain(words.split(' ')).collect();
        let output = tool.command(&typed).env("PATH", "/usr/bin:/bin").output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let line =
            out.lines().next().unwrap_or_else(|| panic!("{words}: {:?}", String::from_utf8(output.stderr)));
        let (found, value) = line.split_once(' ').unwrap();
        assert_eq!(found, name, "{words}");
        assert!(value.parse::<f64>().unwrap() > 0.0, "{words}: {line}");
    }
}

#[test]
fn a_workload_is_compared_on_this_machine() {
    let (tool, places) = (Tool::new(), places());
    let words = ["--workload", "n-queens:8,ring", "--threads", "2", "--budget", "2s", "--format", "json"];
    let document = tool.json(&place(&places, &words));
    let names: Vec<&str> = document["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["workload"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["n-queens:8", "ring"]);
    // On a busy machine, the budget may end before every placement has enough runs for a median.
    let median = document["comparisons"][1]["placements"][1]["median"].as_f64();
    let cut_short = document["run"]["budget_ended"] == true;
    assert!(median.map_or(cut_short, |median| median > 0.0), "{document}");
}

#[test]
fn a_program_on_one_cpu_has_no_migrations() {
    let (tool, places) = (Tool::new(), places());
    let work = ["/bin/sh", "-c", "for i in 1 2 3 4; do /bin/true; done"];
    let script = [&["--budget", "2s", "--format", "json", "--"][..], &work].concat();
    let document = tool.json(&place(&places, &script));
    let all = document["comparisons"].as_array().unwrap();
    let counted = all.iter().find(|it| it["metric"] == "migrations").unwrap();
    let arms = counted["placements"].as_array().unwrap();
    if arms[0]["median"].is_null() {
        return println!("skipped: the system does not count migrations for us");
    }
    assert!(
        arms.iter().all(|arm| arm["runs"].as_array().unwrap().iter().all(|run| *run == 0.0)),
        "{counted}"
    );
}

#[test]
fn peak_memory_is_of_the_program_and_not_of_its_parent() {
    let (tool, places) = (Tool::new(), places());
    let peak_mb = |script: &str| -> Option<f64> {
        let words = ["--budget", "2s", "--format", "json", "--no-save", "--", "/bin/sh", "-c", script];
        let document = tool.json(&place(&places, &words));
        let all = document["comparisons"].as_array().unwrap();
        let peak = all.iter().find(|it| it["metric"] == "peak_memory_mb").unwrap();
        peak["placements"][0]["median"].as_f64()
    };
    // `tail` buffers the end of a pipe in memory. This process itself uses more than the first size.
    for megabytes in [5.0, 40.0] {
        let bytes = megabytes * 1e6;
        let found = peak_mb(&format!("head -c {bytes} /dev/zero | tail -c {bytes} >/dev/null"));
        let Some(found) = found else { panic!("unknown for {megabytes} MB") };
        assert!((megabytes..megabytes + 4.0).contains(&found), "{found} for {megabytes}");
    }
}

#[test]
fn a_busy_loop_on_the_same_cpu_flags_the_placement_as_preempted() {
    if !std::path::Path::new("/usr/bin/taskset").exists() {
        return println!("skipped: this needs taskset");
    }
    let (tool, places) = (Tool::new(), places());
    let first = places[0].rsplit('=').next().unwrap();
    // The loop also ends if this process is killed.
    let hog = ["-c", first, "/bin/sh", "-c", "while kill -0 $PPID; do :; done"];
    let mut hog = std::process::Command::new("taskset").args(hog).spawn().unwrap();
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let words = ["--budget", "6s", "--name", "beside", "--", "/bin/sh", "-c", script];
    let output = tool.call(&place(&places, &words));
    hog.kill().unwrap();
    hog.wait().unwrap();
    assert_eq!(output.code, 0, "{}", output.err);
    let document = tool.json(&["export", "beside", "--format", "json"]);
    let arm = &document["comparisons"][0]["placements"][0];
    if arm["waited_percent"].is_null() || arm["others_percent"].is_null() {
        return println!("skipped: the system does not say how long threads wait");
    }
    assert!(arm["flags"].as_array().unwrap().contains(&"preempted".into()), "{arm}");
    assert!(arm["waited_percent"].as_f64().unwrap() > 20.0, "{arm}");
    assert!(flat(&output.out).contains("other programs took"), "{}", output.out);
    tool.done(&["report", "beside", "-o", "beside.svg"]);
    assert!(tool.read("beside.svg").contains("disturbed, "), "{}", output.out);
}

#[test]
fn the_document_of_a_failed_command_has_its_exit_status_or_signal() {
    let (tool, places) = (Tool::new(), places());
    for (script, status, signal) in
        [("echo gone >&2; exit 3", Value::from(3), Value::Null), ("kill -9 $$", Value::Null, Value::from(9))]
    {
        let output = tool.call(&place(&places, &["--format", "json", "--", "/bin/sh", "-c", script]));
        assert_eq!(output.code, 1, "{}", output.err);
        let failed = |text: &str| -> Value {
            let document: Value = serde_json::from_str(text).unwrap();
            let arms = document["comparisons"][0]["placements"].as_array().unwrap().clone();
            arms.into_iter().map(|arm| arm["failed"].clone()).find(|failed| !failed.is_null()).unwrap()
        };
        let found = failed(&output.out);
        assert_eq!((&found["exit_status"], &found["signal"], &found["runs"]), (&status, &signal, &1.into()));
        assert_eq!(failed(&tool.done(&["export", "latest", "--format", "json"]).out), found);
        assert!(!output.out.contains("gone"), "{}", output.out);
    }
}
