//! Queues, waits and wake-ups of other runtimes next to native ones, on simulated machines.

use super::tool::{Tool, flat, words};
use serde_json::Value;

const MIXED: &str = "queue --machine sim:chiplet-16 --pairs 0-1,0-0 --seed 1 --capacity 1,100 \
                     --queue dotnet:semaphoreslim,java:array-blocking-queue,spsc,semaphore-slim";

fn mixed(more: &str) -> Vec<String> {
    format!("{MIXED} {more}").split_whitespace().map(str::to_owned).collect()
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn runtimes_and_native_queues_share_a_run_a_table_and_a_page() {
    let tool = Tool::new();
    let live = tool.done(&strs(&mixed("--format json -q --name mixed"))).out;
    assert_eq!(tool.done(&words("export mixed --format json")).out, live, "it reads back as it was");
    let document: Value = serde_json::from_str(&live).unwrap();
    let matrices = document["matrices"].as_array().unwrap();
    assert_eq!(matrices.len(), 8);
    for matrix in matrices {
        let is_external = matrix["parameters"]["queue"].as_str().unwrap().contains(':');
        for cell in matrix["cells"].as_array().unwrap() {
            let runtime = &cell["runtime"];
            assert_eq!(runtime.is_object(), is_external, "{cell}");
            if is_external {
                assert_eq!(runtime["processes"].as_array().unwrap().len(), 5, "{cell}");
                let per_s = 1e9 / runtime["overall_ns"].as_f64().unwrap();
                let median = cell["median"].as_f64().unwrap();
                assert!((0.9..=1.1).contains(&(per_s / median)), "{per_s} overall, {median} in the median");
                assert!(runtime["outside_share"].as_f64().unwrap() > 0.0 && cell["ci"].is_array(), "{cell}");
            }
        }
    }
    let flags = |queue: &str| -> Vec<String> {
        let is_of_queue = |matrix: &&Value| matrix["parameters"]["queue"] == queue;
        let cells =
            matrices.iter().filter(is_of_queue).flat_map(|matrix| matrix["cells"].as_array().unwrap());
        let flags = cells.flat_map(|cell| cell["flags"].as_array().unwrap());
        flags.map(|flag| flag.as_str().unwrap().to_owned()).collect()
    };
    assert!(flags("java:array-blocking-queue").contains(&"unclaimed".to_owned()));
    assert!(
        !flags("dotnet:semaphoreslim").iter().any(|flag| flag == "unclaimed" || flag == "worked-elsewhere")
    );

    let screen = flat(&tool.done(&words("runs show mixed")).out);
    for part in [
        "dotnet:semaphoreslim, u64",
        "java:array-blocking-queue u64 same L3 1 u u",
        "u: unclaimed; other threads of the runtime",
        "(messages per second), overall the same from all operations and all their time",
        "dotnet:semaphoreslim: simulated as semaphore-slim, 1.30 × as slow",
        "Fastest for u64, same L3: spsc at 1, 100.",
    ] {
        assert!(screen.contains(part), "`{part}` is not in {screen}");
    }
    tool.done(&words("report mixed -o mixed.html"));
    let page = tool.read("mixed.html");
    assert!(page.contains("dotnet:semaphoreslim") && page.contains("simulated as semaphore-slim"));
    tool.done(&words("report mixed -o mixed.png"));

    let rows = tool.done(&words("export mixed --format csv --probe queue")).out;
    let heading = rows.lines().find(|line| line.starts_with("probe,")).unwrap();
    for name in ["outside_share", "collections", "total_ns"] {
        assert!(heading.split(',').any(|column| column == name), "{heading}");
    }
    assert_eq!(rows.lines().filter(|line| line.contains(",dotnet:semaphoreslim,")).count(), 4, "{rows}");
    assert!(
        tool.done(&words("export mixed --format markdown"))
            .out
            .contains("dotnet:semaphoreslim, u64, capacity 1")
    );
}

#[test]
fn waits_wake_ups_and_spawns_of_runtimes_are_listed_with_native_ones() {
    let tool = Tool::new();
    let options = "--machine sim:chiplet-16 --pairs 0-1 --seed 3 --budget 10s -q --no-save";
    for (command, parameter, view, ratio) in [
        ("wait --strategy java:onspinwait,pause", "strategy", "trip", 1.05),
        ("wake --primitive cpp:atomic-wait,atomic-wait-set --gap 20us", "primitive", "slept", 1.05),
        ("spawn --kind cpp:jthread,thread", "kind", "latency", 1.0),
    ] {
        let document = tool.json(&words(&format!("{command} {options} --format json")));
        let all = document["series"].as_array().unwrap();
        let p50 = |external: bool| {
            let matches = |one: &&Value| {
                let name = one["parameters"][parameter].as_str().unwrap_or_default();
                one["parameters"]["view"] == view && name.contains(':') == external
            };
            let one = all.iter().find(matches).unwrap_or_else(|| panic!("{command}: {document}"));
            assert_eq!(one["runtime"].is_object(), external, "{one}");
            let order = &one["values"]["after_return_ns"];
            assert!(!external || order.is_null(), "absent, and no zero: {one}");
            one["percentiles"]["50"].as_f64().unwrap()
        };
        let found = p50(true) / p50(false);
        assert!((found / ratio - 1.0).abs() < 0.06, "{command}: {found}");
        let screen = flat(&tool.done(&words(&format!("{command} {options}"))).out);
        assert!(
            screen.contains("Runtimes: how many processes") && screen.contains("simulated as"),
            "{screen}"
        );
    }
}

#[test]
fn runtimes_support_alternate_cost_and_clock() {
    let tool = Tool::new();
    let options = "--machine sim:chiplet-16 --cpus 0,1 --seed 3 --budget 10s -q";
    let json =
        |arguments: &str| tool.json(&words(&format!("wait {arguments} {options} --no-save --format json")));
    let all = |document: &Value| document["series"].as_array().unwrap().clone();

    // A trial has both phases, as with native strategies.
    let phases = |name: &str| -> Vec<f64> {
        let document = json(&format!("--strategy {name} --alternate"));
        let series = all(&document);
        let phases: Vec<&Value> = series.iter().map(|one| &one["parameters"]["phase"]).collect();
        assert_eq!(phases, ["hint", "plain"], "{document}");
        assert_eq!(series[0]["runtime"].is_object(), name.contains(':'), "{document}");
        assert!(series[0]["runtime"]["overall_ns"].is_null(), "of both ways together: {document}");
        series.iter().map(|one| one["percentiles"]["50"].as_f64().unwrap()).collect()
    };
    for (of_runtime, of_native) in phases("java:onspinwait").into_iter().zip(phases("pause")) {
        assert!((of_runtime / of_native / 1.05 - 1.0).abs() < 0.06, "{of_runtime} and {of_native}");
    }

    let document = json("--strategy dotnet:spinwait,java:yield,pause,yield --cost");
    let call_ns: Vec<f64> =
        all(&document).iter().map(|one| one["values"]["call_ns"].as_f64().unwrap()).collect();
    let [spinwait, java_yield, pause, native_yield] = call_ns[..] else { panic!("{document}") };
    assert!((spinwait / pause / 1.15 - 1.0).abs() < 0.06, "{call_ns:?}");
    assert!((java_yield / native_yield / 1.05 - 1.0).abs() < 0.06, "{call_ns:?}");
    assert!(all(&document).iter().all(|one| one["placement"] == serde_json::json!([0])), "{document}");

    tool.done(&words(&format!("wait --strategy dotnet:clock,java:clock,clock {options} --name clocks")));
    tool.done(&words("export clocks --format hgrm -o clocks"));
    let screen = flat(&tool.done(&words("runs show clocks")).out);
    for name in ["dotnet:clock", "java:clock", "clock"] {
        assert!(screen.contains(&format!(" {name} ")), "{name}: {screen}");
    }
    tool.done(&words("report clocks -o clocks.svg"));
    assert!(tool.read("clocks.svg").contains(">clock<"), "each curve has a name");
    let files: Vec<String> = std::fs::read_dir(tool.path().join("clocks"))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for mode in ["--alternate", "--cost"] {
        let name = mode.trim_start_matches('-');
        tool.done(&words(&format!("wait --strategy java:onspinwait {mode} {options} --name {name}")));
        let screen = flat(&tool.done(&words(&format!("runs show {name}"))).out);
        assert!(screen.contains("java:onspinwait") && screen.contains("simulated as pause"), "{screen}");
        tool.done(&words(&format!("report {name} -o {name}.html")));
    }
}

#[test]
fn forks_sets_the_number_of_processes_and_has_no_effect_without_runtimes() {
    let tool = Tool::new();
    let options = "--machine sim:chiplet-16 --pairs 0-1 --seed 3 --capacity 10 --no-save --format json";
    let with = tool.json(&words(&format!("queue --queue go:channel --forks 3 {options}")));
    let cell = &with["matrices"][0]["cells"][0];
    assert_eq!(cell["runtime"]["processes"].as_array().unwrap().len(), 3, "{cell}");
    for command in ["queue --queue spsc", "wait --strategy busy", "wake --primitive park"] {
        let options = options.replace("--capacity 10", "");
        let call = tool.done(&words(&format!("{command} --forks 3 --budget 300ms {options}")));
        assert!(
            call.err.contains("--forks has no effect where no runtime is measured"),
            "{command}: {}",
            call.err
        );
    }
    let options = options.replace(" --format json", " --budget 1s");
    let screen = flat(&tool.done(&words(&format!("queue --queue go:channel --forks 40 {options}"))).out);
    assert!(screen.contains(" of 40 ") && screen.contains("than the 40 that were asked for"), "{screen}");
    let screen = flat(&tool.done(&words(&format!("queue --queue go:channel --forks 3 {options}"))).out);
    assert!(!screen.contains("asked for: each pass"), "{screen}");
    let other = tool.call(&words("jitter --forks 3 --machine sim:chiplet-16"));
    assert!(other.code == 2 && other.err.contains("--forks"), "{}", other.err);
}

#[test]
fn unsupported_requests_are_refused_with_a_reason() {
    let tool = Tool::new();
    let options = "--machine sim:chiplet-16 --cpus 0,1 --no-save";
    for (command, code, part) in [
        ("queue --queue go:chan", 3, "`go:chan` cannot be simulated: it has no simulated stand-in"),
        ("wait --strategy java:spin", 3, "`java:spin` cannot be simulated"),
        ("wake --primitive rust:park", 3, "`rust:park` cannot be simulated"),
        ("queue --queue go:channel --payload bytes:64", 3, "messages of a runtime are u64 or string"),
        ("queue --queue c:spsc --payload string", 3, "`c:spsc` with string: its messages are u64"),
        (
            "queue --queue java:synchronous-queue --capacity 10",
            3,
            "`java:synchronous-queue` with capacity 10: it is always 1",
        ),
        ("queue --queue go:channel --rate 10k/s", 2, "sends at no fixed rate"),
        ("queue --queue go:channel --producers 2", 2, "one producer and one consumer"),
        ("wait --strategy go:busy --cost", 3, "`go:busy` cannot be called alone in the simulated adapter"),
        ("wait --strategy java:park --cost", 3, "`java:park` cannot be called alone"),
        ("wait --strategy node:atomics-wait --alternate", 3, "cannot alternate with `busy` in the simulated"),
        ("wait --strategy java:busy --alternate", 2, "name another one"),
        ("wait --strategy java:clock --no-clock", 2, "`java:clock` is the cost of timing a trip"),
        ("wait --strategy go:clock", 3, "`go:clock` cannot be simulated"),
        ("wait --asym busy:java:busy", 2, "`java:busy` belongs to the runtime `java`"),
        ("wait --asym java:busy:java:onspinwait", 2, "a runtime waits in one way on both sides"),
        ("queue --queue go:channel,go:channel", 2, "listed twice"),
        ("wait --strategy java:busy,java:busy", 2, "lists java:busy twice"),
        ("wake --primitive java:park,java:park", 2, "lists java:park twice"),
        ("queue --queue Go:channel", 2, "unknown queue `Go:channel`"),
        ("contend --method java:lock --critical 50ns", 2, "has no sections"),
        ("queue --queue go:channel --forks 0", 2, "--forks"),
    ] {
        tool.refused(&words(&format!("{command} {options}")), code, part);
    }
    let call =
        tool.done(&words(&format!("queue --queue go:chan,spsc --capacity 1 --budget 500ms {options}")));
    assert!(
        call.err.contains("it has no simulated stand-in") && call.err.contains("; skipped"),
        "{}",
        call.err
    );
}

#[test]
fn contention_of_runtimes_is_shown_by_cpu_set() {
    let line = "contend --method cpp:mutex --threads 2,5 --critical 0ns --parallel-section 0ns --arrange compact-core \
                --cpus 0-4 --machine sim:chiplet-16 --seed 3 --budget 10s -q --no-save";
    let screen = flat(&Tool::new().done(&words(line)).out);
    assert!(screen.contains("Runtimes: how many processes"), "{screen}");
    assert!(screen.contains(" 0,1 ") && screen.contains(" 0-4 "), "{screen}");
    for text in ["first pair", "two measured", "0 → 1"] {
        assert!(!screen.contains(text), "{text}: {screen}");
    }
}

#[test]
fn a_run_with_runtimes_is_resumed_and_compared() {
    let tool = Tool::new();
    tool.write("stops.toml", "based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 900\n");
    let args = "--queue dotnet:semaphoreslim,spsc --capacity 1,10 --pairs 0-1 --forks 2";
    let half = tool.call(&words(&format!("queue {args} --seed 1 --machine sim:stops.toml -q --name half")));
    assert_eq!(half.code, 5, "{}", half.err);
    let whole = tool.json(&words("--resume half --machine sim:chiplet-16 -q --format json"));
    assert_eq!((&whole["run"]["complete"], &whole["run"]["processes_asked"]), (&true.into(), &2.into()));
    let cell = &whole["matrices"][0]["cells"][0];
    let processes = cell["runtime"]["processes"].as_array().unwrap().len();
    assert!((3..=4).contains(&processes), "each segment starts its own processes: {cell}");
    for (seed, name) in [("5", "a"), ("6", "b")] {
        tool.done(&words(&format!("queue {args} --seed {seed} --machine sim:chiplet-16 -q --name {name}")));
    }
    let compared = tool.done(&words("compare a b")).out;
    assert!(compared.contains("dotnet:semaphoreslim"), "{compared}");
}
