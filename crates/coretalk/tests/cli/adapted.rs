//! Trials by an adapter and native trials on this machine. The adapter is the test double of coretalk-measure, so no
//! runtime is needed. No test depends on measured times.

use super::kill::{Running, two_cpus};
use super::signals::{assert_no_leftover_process, end, send, wait_for_file};
use super::tool::{Said, Tool, flat, said, words};
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// Path of the newest build of coretalk-measure's adapter tests, which also act as an adapter.
fn double() -> PathBuf {
    let folder = cargo_bin("coretalk").parent().unwrap().join("deps");
    let is_double = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("adapters-") && !name.contains('.')
    };
    let built =
        |path: &PathBuf| path.metadata().and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let found = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).filter(is_double);
    found
        .max_by_key(built)
        .expect("the double is built with the tests of the workspace: `cargo test --workspace --no-run`")
}

/// The `--adapter` value for the double with a kind of misbehaviour.
fn adapter(fault: &str) -> String {
    format!("double={} double {fault}", double().display())
}

/// A call by a user with a list of adapters.
pub fn command(tool: &Tool, words: &[&str]) -> Command {
    let mut command = tool.command(words);
    for (name, folder) in [("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache")] {
        command.env(name, tool.path().join(folder));
    }
    command
}

/// Writes the user's list of adapters; returns its folder.
pub fn write_list(tool: &Tool, list: &str) -> PathBuf {
    let folder = tool.path().join("config/coretalk");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("adapters.toml"), list).unwrap();
    folder
}

/// An entry of the list: an adapter that is a script next to the list.
pub fn listed(name: &str, script: &str) -> String {
    format!("[[adapter]]\nname = \"{name}\"\nrun = [\"/bin/sh\", \"{{source}}/{script}\"]\n")
}

fn run(tool: &Tool, line: &str) -> Said {
    said(command(tool, &words(line)).output().unwrap())
}

fn call(tool: &Tool, line: &str, fault: &str) -> Said {
    let adapter = adapter(fault);
    let words = [&words(line)[..], &["--adapter", &adapter]].concat();
    said(command(tool, &words).output().unwrap())
}

fn done(tool: &Tool, line: &str, fault: &str) -> Said {
    let output = call(tool, line, fault);
    assert_eq!(output.code, 0, "{line}, {fault}: {}", output.err);
    output
}

/// Repeats a run with more time until `is_enough` accepts its document, because other tests may keep both CPUs busy.
fn with_time(tool: &Tool, line: &str, fault: &str, is_enough: impl Fn(&Value) -> bool) -> Said {
    for budget in ["3s", "12s", "80s"] {
        let output = call(tool, &format!("{line} --format json --budget {budget}"), fault);
        // Exit code 3: a run without any number.
        assert!([0, 3].contains(&output.code), "{line}, {fault}: {output:?}");
        if output.code == 0 && is_enough(&json(&output)) {
            return output;
        }
        println!("not enough in {budget}: {output:?}");
    }
    panic!("{line}, {fault}: not enough time")
}

fn cells(document: &Value, queue: &str) -> Vec<Value> {
    let matrices = document["matrices"].as_array().unwrap().iter();
    let of_queue = matrices.filter(|matrix| matrix["parameters"]["queue"] == queue);
    of_queue.flat_map(|matrix| matrix["cells"].as_array().unwrap().clone()).collect()
}

fn processes(cell: &Value) -> usize {
    cell["runtime"]["processes"].as_array().map_or(0, Vec::len)
}

fn json(output: &Said) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.out))
}

#[test]
fn adapter_and_native_queues_are_measured_in_one_run() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let line = format!("queue --queue double:ring,spsc --capacity 10,100 --cpus {cpus} --forks 2 --seed 1");
    let live = with_time(&tool, &line, "none", |document| {
        cells(document, "double:ring").iter().all(|cell| processes(cell) == 2)
    });
    assert!(live.err.contains("double:ring settles first: 2 processes start"), "{}", live.err);
    let document = json(&live);
    assert_eq!(document["environment"]["runtimes"]["double"], "Double 1.0");
    let of_adapter = cells(&document, "double:ring");
    assert_eq!(of_adapter.len(), 8, "two capacities, and one CPU with itself too: {of_adapter:?}");
    for cell in &of_adapter {
        assert!(cell["median"].as_f64().unwrap() > 0.0 && cell["flags"].is_array(), "{cell}");
        assert!(cell["runtime"]["overall_ns"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let native = cells(&document, "spsc");
    assert!(native.iter().all(|cell| cell["runtime"].is_null()), "{native:?}");
    assert_no_leftover_process(&tool);

    assert_eq!(tool.done(&words("export latest --format json")).out, live.out, "it reads back as it was");
    let rows = tool.done(&words("export latest --format csv --probe queue")).out;
    let heading = rows.lines().find(|line| line.starts_with("probe,")).unwrap();
    assert!(heading.split(',').any(|column| column == "total_ns"), "{heading}");
    assert_eq!(rows.lines().filter(|line| line.contains(",double:ring,")).count(), 8, "{rows}");
    let screen = flat(&tool.done(&words("runs show latest")).out);
    for part in ["from all operations and all their time", "double:ring"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    tool.done(&words("report latest -o mixed.html"));
    assert!(tool.read("mixed.html").contains("Double 1.0"));

    let plan = done(&tool, &format!("plan queue --queue double:ring --cpus {cpus} --forks 3"), "none").out;
    assert!(plan.contains("processes of runtimes start, and settle for at most 15 s"), "{plan}");
    done(&tool, &format!("{line} --budget 2s"), "none");
    let compared = tool.done(&words("compare latest~1 latest")).out;
    assert!(compared.contains("double:ring"), "{compared}");
}

#[test]
fn waits_wake_ups_and_creations_of_an_adapter_are_timed_one_by_one() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let options = format!("--cpus {cpus} --forks 1 --no-save");
    for (command, view) in [
        ("wait --strategy double:spin,busy", "trip"),
        ("wake --primitive double:park,park --gap 20us", "slept"),
        ("spawn --kind double:thread,thread", "latency"),
        ("wait --strategy double:spin --no-clock", "trips_per_s"),
    ] {
        with_time(&tool, &format!("{command} {options}"), "none", |document| {
            let text = document.to_string();
            text.contains(view) && text.contains("\"runtime\":{")
        });
    }
}

#[test]
fn cells_of_a_failing_adapter_give_the_reason_and_the_run_continues() {
    let Some(_) = two_cpus() else { return };
    let assert_reason = |fault: &str, reason: &str| {
        let tool = Tool::new();
        let options = "--capacity 10 --pairs 0-1 --forks 1 --seed 1 --precision 30% --no-save";
        let line = format!("queue --queue double:ring,spsc {options}");
        let is_measured = |cell: &Value| cell["median"].is_number();
        with_time(&tool, &line, fault, |document| {
            let bad = cells(document, "double:ring");
            assert!(!bad.iter().any(is_measured), "{fault}: {bad:?}");
            cells(document, "spsc").iter().all(is_measured) && format!("{bad:?}").contains(reason)
        });
        assert_no_leftover_process(&tool);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| assert_reason("hangs", "no answer within"));
        for (fault, reason) in [
            ("crashes", "exit status 7"),
            ("wrong-sum", "messages were lost, doubled or damaged"),
            ("wrong-count", "operations where"),
        ] {
            assert_reason(fault, reason);
        }
    });
}

#[test]
fn the_command_and_the_output_of_an_adapter_are_private() {
    let Some(_) = two_cpus() else { return };
    let tool = Tool::new();
    let line = "queue --queue double:ring,spsc --capacity 10 --pairs 0-1 --forks 1 --seed 1 -q";
    with_time(&tool, line, "crashes", |document| document.to_string().contains("exit status 7"));
    let adapter = adapter("crashes");
    let (_, command) = adapter.split_once('=').unwrap();
    let shows_output_and_command = |line: &str| {
        let output = tool.done(&words(line));
        let page = if line.starts_with("report") { tool.read("page.html") } else { String::new() };
        let text = output.out + &page;
        assert!(!text.is_empty(), "{line}");
        [text.contains("out of ideas"), text.contains(command)]
    };
    for format in ["json", "jsonl", "csv", "markdown"] {
        assert_eq!(
            shows_output_and_command(&format!("export latest --format {format}")),
            [false; 2],
            "{format}"
        );
    }
    for line in ["runs list", "runs show latest", "report latest -o page.html"] {
        assert_eq!(shows_output_and_command(line), [false; 2], "{line}");
    }
    assert_eq!(shows_output_and_command("export latest --format json --with-identity"), [true; 2]);
}

#[test]
fn unknown_names_are_refused_and_failed_starts_are_reported() {
    let tool = Tool::new();
    for (line, code, part) in [
        ("queue --queue double:rung", 2, "`double:rung` is no queue of Double 1.0: known are double:ring"),
        ("wait --strategy double:ring", 2, "known are double:spin"),
        ("queue --queue nobody:ring", 2, "there is no adapter `nobody` (known: "),
        ("queue --queue double:ring --payload string", 3, "`double:ring` with string: its messages are u64"),
        ("queue --queue double:ring --payload bytes:64", 3, "messages of a runtime are u64 or string"),
        ("queue --queue double:ring --rate 10k/s", 2, "sends at no fixed rate"),
        ("queue --queue double:ring --helpers 4095", 3, "--helpers: CPU 4095 cannot be used"),
        ("queue --queue double:ring --adapter double=x", 2, "--adapter: `double` is listed twice"),
        ("queue --queue double:ring --adapter no", 2, "expected NAME=COMMAND"),
        ("queue --queue double:ring --adapter pause=x", 2, "`pause` cannot be a name"),
    ] {
        let output = call(&tool, line, "none");
        assert_eq!((output.code, output.out.as_str()), (code, ""), "{line}: {}", output.err);
        assert!(output.err.contains(part), "{line}: {}", output.err);
    }
    let options = "--capacity 10 --pairs 0-0 --no-save --adapter absent=./not-there";
    let line =
        format!("queue --queue absent:ring,spsc {options} --budget 2s --format json --adapter other=x");
    let output = run(&tool, &line);
    assert_eq!(output.code, 0, "{}", output.err);
    for part in [
        "`absent` cannot be measured: `./not-there` could not be started",
        "--adapter other has no effect where nothing of it is measured",
    ] {
        assert!(output.err.contains(part), "{part}: {}", output.err);
    }
    let bad = format!("{:?}", cells(&json(&output), "absent:ring"));
    assert!(bad.contains("could not be started") && !bad.contains("not-there"), "{bad}");
    let output = run(&tool, &format!("queue --queue absent:ring {options} --budget 500ms"));
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("`coretalk adapters` lists the runtimes here"), "{}", output.err);
}

#[test]
fn a_run_with_an_adapter_ends_on_a_signal_and_can_be_resumed() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let adapter = adapter("none");
    let options = "--forks 2 --budget 60s --precision 0.1% --format jsonl -q";
    let line = format!("queue --queue double:ring,spsc --capacity 10 --cpus {cpus} {options}");
    let typed = [&words(&line)[..], &["--adapter", &adapter]].concat();
    let mut running = Running::spawn(&tool, &typed);
    wait_for_file(&tool);
    // The file is created before the warm-up ends, so this also waits for measured passes.
    let began = Instant::now();
    let passes = || tool.call(&words("export latest --format jsonl")).out.lines().count();
    while passes() < 10 && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    send("INT", &running);
    let (code, text) = end(&mut running);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("`coretalk --resume "), "{text}");
    running.lines();
    assert_no_leftover_process(&tool);

    let before = passes();
    // The run keeps its arguments, so the adapter is not given again. A busy machine needs several segments.
    let resuming_starts_processes = || {
        let output = run(&tool, "--resume latest --budget 3s --format json -q");
        assert_eq!(output.code, 0, "{}", output.err);
        cells(&json(&output), "double:ring").iter().any(|cell| processes(cell) > 2)
    };
    assert!((0..10).any(|_| resuming_starts_processes()));
    let after = passes();
    assert!(after >= before, "{before}, {after}");
    assert_no_leftover_process(&tool);
}

#[test]
fn a_budget_that_is_too_short_is_refused_before_adapters_are_built() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let built = tool.path().join("built");
    let version = format!("version = [\"touch\", \"{}\"]\n", built.display());
    write_list(&tool, &(listed("slow", "slow.sh") + &version));
    for (budget, code) in [("100ms", 2), ("4s", 3)] {
        let line = format!("wake --primitive slow:park --gap 1s --cpus {cpus} --budget {budget} --no-save");
        let output = run(&tool, &line);
        assert_eq!((output.code, built.exists()), (code, code == 3), "{budget}: {}", output.err);
        assert_eq!(output.err.contains("is too short"), code == 2, "{budget}: {}", output.err);
    }
}

/// An adapter that describes itself and then never answers.
const SILENT: &str = "[ \"$1\" = describe ] || exec sleep 1000\n\
                      printf 'coretalk-adapter 1\\nruntime Shell 1\\nqueue queue payload=u64 capacity=any\\n'\n";

/// Bash retries for half a minute if it cannot fork. A script imitates this, because root has no limit of processes.
#[test]
fn an_adapter_that_cannot_fork_stays_within_the_budget() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let folder = write_list(&tool, &listed("forkless", "forkless.sh"));
    let retry = "while :; do echo 'fork: retry: Resource temporarily unavailable' >&2; done";
    tool.write(folder.join("forkless.sh"), SILENT.replace("exec sleep 1000", retry));
    let line = format!("queue --queue forkless:queue --capacity 100 --cpus {cpus} --budget 1s --no-save");
    let began = Instant::now();
    let output = run(&tool, &line);
    // Takes 1.6 s on an idle machine, and longer while other tests keep the CPUs busy.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(flat(&output.out).contains("Left out for lack of time:"), "{output:?}");
}

#[test]
fn adapters_that_never_answer_stay_within_the_budget() {
    let Some(cpus) = two_cpus() else { return };
    let tool = Tool::new();
    let versionless = listed("versionless", "silent.sh") + "version = [\"sleep\", \"1000\"]\n";
    let folder = write_list(&tool, &(listed("silent", "silent.sh") + &versionless));
    tool.write(folder.join("silent.sh"), SILENT);
    let assert_others_are_measured = |name: &str, reason: &str| {
        let options = "--capacity 100 --budget 8s --no-save --format json --with-identity";
        let began = Instant::now();
        let output = run(&tool, &format!("queue --queue spsc,{name}:queue --cpus {cpus} {options}"));
        // Without the limit, waiting for the adapter would take 30 s or 60 s.
        assert!(began.elapsed() < Duration::from_secs(25), "{name}: {:?}", began.elapsed());
        assert_eq!(output.code, 0, "{name}: {}", output.err);
        let document = json(&output);
        let native = cells(&document, "spsc");
        assert!(native.iter().any(|cell| cell["median"].is_number()), "{name} took it all: {native:?}");
        let silent = cells(&document, &format!("{name}:queue"));
        let reasons: Vec<&str> = silent.iter().map(|cell| cell["reason"].as_str().unwrap()).collect();
        assert!(reasons.iter().any(|text| text.contains(reason)), "{reasons:?}");
        // On a loaded machine, the budget ends before some trials.
        let is_known =
            |text: &&str| text.contains(reason) || *text == "the run ended before this trial was measured";
        assert!(reasons.iter().all(is_known), "{reasons:?}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| assert_others_are_measured("silent", "while its first pass was awaited"));
        assert_others_are_measured("versionless", "`sleep 1000` took longer than 2 s");
    });
}
