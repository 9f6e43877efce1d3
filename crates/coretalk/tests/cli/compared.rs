//! `place` with commands on CPUs of this machine. Checks that commands end, are bound and are saved, not their speed.

use super::tool::{Said, Tool, flat, said, words};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub fn allowed_cpus() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().to_owned()
}

/// Two placements with different names on the first allowed CPU, so that tests work on any number of CPUs.
pub fn places() -> [String; 2] {
    let cpus = allowed_cpus();
    let first = cpus.split([',', '-']).next().unwrap();
    ["here", "there"].map(|name| format!("--placement={name}={first}"))
}

/// Compares both placements; `command` begins with `--`, or is empty if the options name a workload.
fn place(tool: &Tool, options: &str, command: &[&str]) -> Said {
    let [here, there] = places();
    tool.call(&[&["place", &here, &there, "--seed", "1"], &words(options)[..], command].concat())
}

fn done(tool: &Tool, options: &str, command: &[&str]) -> Said {
    let output = place(tool, options, command);
    assert_eq!(output.code, 0, "{options} {command:?}: {}", output.err);
    output
}

fn document(tool: &Tool, options: &str, command: &[&str]) -> Value {
    let options = format!("{options} -q --format json");
    serde_json::from_str(&done(tool, &options, command).out).unwrap()
}

fn sh(script: &str) -> [&str; 4] {
    ["--", "/bin/sh", "-c", script]
}

/// Returns the placements of a metric.
fn arms<'a>(document: &'a Value, metric: &str) -> &'a Vec<Value> {
    let comparisons = document["comparisons"].as_array().unwrap();
    let found = comparisons.iter().find(|it| it["metric"] == metric).unwrap();
    found["placements"].as_array().unwrap()
}

#[test]
fn a_saved_comparison_is_shown_and_exported_unchanged() {
    let tool = Tool::new();
    let metric = ["--metric", "answer=is ([0-9]+)", "--higher-is-better", "answer"];
    let command = [&metric[..], &sh("echo it is 42")].concat();
    let live = done(&tool, "--repeat 6 -q --format json --name first --budget 2s", &command);
    assert_eq!(live.err, "");
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let [answer, wall] = [0, 1].map(|number| &document["comparisons"][number]);
    assert_eq!((&answer["metric"], &wall["metric"]), (&"answer".into(), &"wall_s".into()));
    assert!(document["series"].as_array().unwrap().is_empty());
    // Equal results have no winner. On a busy machine, doubts may leave the verdict open.
    let verdict = answer["verdict"].as_str().unwrap();
    assert!(["same", "cannot-tell"].contains(&verdict) && answer["winner"].is_null(), "{verdict}");
    assert_eq!(answer["better"], "higher");
    let runs = wall["placements"][0]["runs"].as_array().unwrap();
    assert!(runs.len() >= 6 && runs.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{runs:?}");
    let export = |format: &str| tool.call(&["export", "first", "--format", format]);
    assert_eq!(export("json").out, live.out);
    // The command line is private.
    assert!(!live.out.contains("it is 42") && live.out.contains("\"--\",\"…\""));
    let shown = tool.done(&["runs", "show", "first"]).out;
    let of_answer = if verdict == "same" { "same within ±1" } else { "cannot tell" };
    assert!(shown.contains("taskset -c") && shown.contains(of_answer), "{shown}");
    assert!(export("markdown").out.starts_with("| workload | metric | placement |"));
    assert!(export("csv").out.starts_with("workload,round,placement,"));
    assert_eq!(export("c2c-csv").code, 2);
}

#[test]
fn the_error_of_a_failed_command_contains_its_last_output() {
    let tool = Tool::new();
    for (options, script, part) in [
        ("", "echo no such table >&2; exit 3", "exited with status 3 (its last error: no such table)"),
        ("", "kill -9 $$", "was killed by signal 9"),
        // Kills the small launcher process, which is the parent of the command.
        ("", "kill -9 $PPID; sleep 30", "the process that had started it ended first (signal: 9 (SIGKILL))"),
        (
            "--metric x=(y)",
            "echo y",
            "the pattern of metric x found no number in its output (its last output: y)",
        ),
        ("--budget 5s --timeout 200ms", "sleep 30", "for more than 200 ms and was killed"),
    ] {
        let begun = Instant::now();
        let output = place(&tool, &format!("{options} -q"), &sh(script));
        assert_eq!(output.code, 1, "{}", output.err);
        assert!(output.err.contains(part) && output.err.contains("on placement"), "{part}: {}", output.err);
        assert!(begun.elapsed() < Duration::from_secs(20), "{part}");
        // The output is saved in the run file, but not in documents.
        let document = tool.done(&["export", "latest", "--format", "json"]).out;
        assert!(!document.contains("no such table"), "{document}");
    }
}

#[test]
fn output_of_a_failed_command_is_shown_with_its_run_but_not_in_reports() {
    let tool = Tool::new();
    let script = "seq 1000 1099; echo one >&2; printf 'two \\033[2J\\n' >&2; exit 3";
    let failed = place(&tool, "-q", &sh(script));
    assert_eq!((failed.code, failed.out.as_str(), failed.err.lines().count()), (1, "", 1), "{}", failed.err);
    // Output of a command cannot control the terminal.
    assert!(failed.err.contains("(its last error: two \u{fffd}[2J)"), "{}", failed.err);
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
    let tool = Tool::new();
    for options in ["--budget 500ms", "--budget 500ms --timeout 20s"] {
        let output = done(&tool, options, &["--", "/bin/sleep", "30"]);
        assert!(output.out.contains("ended before everything had been run on every placement"), "{output:?}");
        for part in [
            "set --budget to",
            "or more",
            "the command was still running on placement",
            "check that the work ends by itself",
        ] {
            assert!(output.err.contains(part), "{part}: {}", output.err);
        }
        assert!(!output.out.contains("failed") && !output.err.contains("failed"), "{output:?}");
    }
    let out = done(&tool, "--budget 1s --repeat 200", &["--", "/bin/true"]).out;
    assert!(out.contains("ended before every repetition was made"), "{out}");
}

#[test]
fn a_program_with_a_relative_path_is_resumed_only_in_its_directory() {
    let tool = Tool::new();
    std::os::unix::fs::symlink("/bin/true", tool.path().join("mine")).unwrap();
    // Stops at its budget, because two hundred runs on each placement do not fit.
    done(&tool, "--repeat 200 --budget 1s -q", &["--", "./mine"]);
    std::fs::create_dir(tool.path().join("elsewhere")).unwrap();
    let words = words("--resume latest --budget 2s -q");
    let there = said(tool.command(&words).current_dir(tool.path().join("elsewhere")).output().unwrap());
    assert_eq!(there.code, 3, "{}", there.err);
    assert!(there.err.contains("`./mine`, which is not in this directory"), "{}", there.err);
    tool.done(&words);
}

#[test]
#[ignore = "takes 45 s, and needs an idle machine"]
fn a_command_against_itself_has_no_winner_in_twenty_comparisons() {
    let (tool, [here, there]) = (Tool::new(), places());
    let line = format!("place {here} {there} -q --no-save --budget 2s --format json -- /bin/true");
    for _ in 0..20 {
        let document = tool.json(&words(&line));
        for comparison in document["comparisons"].as_array().unwrap() {
            assert_eq!(comparison["winner"], Value::Null, "{comparison}");
        }
    }
}

#[test]
fn processes_that_outlive_their_command_are_killed() {
    let tool = Tool::new();
    // A daemon in a session of its own, which the kill of the process group does not reach.
    let script = "setsid sleep 4321 >/dev/null 2>&1 & exit 0";
    let output = done(&tool, "--repeat 6 -q --budget 2s", &sh(script));
    assert!(output.out.contains("left processes behind, which were killed"), "{}", output.out);
    // They are also killed if the launcher is killed, so that no process can report the end.
    let script = "setsid env -u CORETALK_GUARDED sleep 4321 >/dev/null 2>&1 & kill -9 $PPID";
    assert_eq!(place(&tool, "-q", &sh(script)).code, 1);
    let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == b"sleep\x004321\0"
    });
    assert!(!alive);
}

#[test]
fn a_command_that_changes_its_affinity_is_noticed() {
    let list = allowed_cpus();
    let taskset = std::path::Path::new("/usr/bin/taskset").exists();
    if !list.contains([',', '-']) || !taskset {
        println!("skipped: this needs two CPUs and taskset");
        return;
    }
    let command = ["--", "taskset", "-c", &list, "sleep", "0.01"];
    let output = done(&Tool::new(), "--repeat 6 -q --budget 2s", &command);
    let out = flat(&output.out);
    assert!(out.contains("one of its processes or threads was allowed on other CPUs"), "{out}");
}

#[test]
fn refusals_are_one_sentence_with_the_right_code() {
    let (tool, places) = (Tool::new(), places());
    tool.write("old", "precious");
    for (line, part) in [
        ("-- /bin/true", "needs two placements"),
        ("ONE -- /bin/true", "needs two placements"),
        ("ONE ONE -- /bin/true", "lists here twice"),
        ("ONE --placement=a=0,0 -- /bin/true", "CPU 0 is listed twice"),
        ("ONE --placement=a= -- /bin/true", "lists no CPU"),
        ("ONE --placement=a=99999 -- /bin/true", "does not exist"),
        ("ONE --placement=dense -- /bin/true", "unknown placement `dense`"),
        ("BOTH", "there is nothing to run"),
        ("BOTH --repeat 1 -- /bin/true", "2..=200"),
        ("BOTH --timeout 0s -- /bin/true", "timeout"),
        ("BOTH -- /", "is a directory"),
        ("BOTH -- no-such-program-at-all", "is not in PATH"),
        // Control characters of a name do not reach the terminal.
        ("BOTH -- no-such-\u{1b}[31mprogram", "`no-such-\u{fffd}[31mprogram`"),
        ("BOTH --format hgrm --export-json old -- /bin/true", "cannot show"),
        ("BOTH --machine sim:chiplet-16 -- /bin/true", "cannot run a command"),
        ("BOTH --higher-is-better x --metric y=1 -- /bin/true", "no --metric defines"),
        ("BOTH --metric core_ghz=x -- /bin/true", "is built in"),
        ("BOTH --workload pipe --metric y=1", "--metric"),
        ("BOTH --workload pipe --timeout 1s", "--timeout"),
    ] {
        let line = line.replace("BOTH", &places.join(" ")).replace("ONE", &places[0]);
        tool.refused(&[&["place"], &words(&line)[..]].concat(), 2, part);
    }
    assert_eq!(tool.read("old"), "precious");
}

#[test]
fn workloads_check_their_answers_and_print_their_numbers() {
    let tool = Tool::new();
    for (line, name) in [
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
        let typed = [&["work"], &words(line)[..]].concat();
        let output = said(tool.command(&typed).env("PATH", "/usr/bin:/bin").output().unwrap());
        let first = output.out.lines().next().unwrap_or_else(|| panic!("{line}: {}", output.err));
        let (found, value) = first.split_once(' ').unwrap();
        assert_eq!(found, name, "{line}");
        assert!(value.parse::<f64>().unwrap() > 0.0, "{line}: {first}");
    }
}

#[test]
fn a_workload_is_compared_on_this_machine() {
    let options = "--repeat 6 --workload n-queens:8,ring --threads 2 --budget 2s";
    let document = document(&Tool::new(), options, &[]);
    let comparisons = document["comparisons"].as_array().unwrap();
    let names: Vec<&str> = comparisons.iter().map(|it| it["workload"].as_str().unwrap()).collect();
    assert_eq!(names, ["n-queens:8", "ring"]);
    // On a busy machine, the budget may end before every placement has enough runs for a median.
    let median = comparisons[1]["placements"][1]["median"].as_f64();
    let cut_short = document["run"]["budget_ended"] == true;
    assert!(median.map_or(cut_short, |median| median > 0.0), "{document}");
}

#[test]
fn a_program_on_one_cpu_has_no_migrations() {
    let script = "for i in 1 2 3 4; do /bin/true; done";
    let document = document(&Tool::new(), "--repeat 6 --budget 2s", &sh(script));
    let arms = arms(&document, "migrations");
    if arms[0]["median"].is_null() {
        return println!("skipped: the system does not count migrations for us");
    }
    for run in arms.iter().flat_map(|arm| arm["runs"].as_array().unwrap()) {
        assert_eq!(*run, 0.0, "{arms:?}");
    }
}

#[test]
fn peak_memory_is_of_the_program_and_not_of_its_parent() {
    let tool = Tool::new();
    // `tail` buffers the end of a pipe in memory. This process itself uses more than the first size.
    for megabytes in [5.0, 40.0] {
        let bytes = megabytes * 1e6;
        let script = format!("head -c {bytes} /dev/zero | tail -c {bytes} >/dev/null");
        let document = document(&tool, "--repeat 6 --budget 2s --no-save", &sh(&script));
        let found = arms(&document, "peak_memory_mb")[0]["median"].as_f64();
        let found = found.unwrap_or_else(|| panic!("unknown for {megabytes} MB"));
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
    let output = place(&tool, "--repeat 6 -q --budget 6s --name beside", &sh(script));
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
    let tool = Tool::new();
    for (script, status, signal) in
        [("echo gone >&2; exit 3", json!(3), Value::Null), ("kill -9 $$", Value::Null, json!(9))]
    {
        let output = place(&tool, "-q --format json", &sh(script));
        assert_eq!(output.code, 1, "{}", output.err);
        let failed = |text: &str| -> Value {
            let document: Value = serde_json::from_str(text).unwrap();
            let arms = document["comparisons"][0]["placements"].as_array().unwrap();
            arms.iter().map(|arm| arm["failed"].clone()).find(|failed| !failed.is_null()).unwrap()
        };
        let found = failed(&output.out);
        assert_eq!((&found["exit_status"], &found["signal"], &found["runs"]), (&status, &signal, &1.into()));
        assert_eq!(failed(&tool.done(&["export", "latest", "--format", "json"]).out), found);
        assert!(!output.out.contains("gone"), "{}", output.out);
    }
}
