//! Queues, waits and wake-ups of other runtimes next to native ones, on simulated machines.

use super::tool::{Tool, assert_contains, flat, list, number, words};
use serde_json::{Value, json};

#[test]
fn runtimes_and_native_queues_share_a_run_a_table_and_a_page() {
    let tool = Tool::new();
    let live = tool.out(
        "queue --machine sim:chiplet-16 --pairs 0-1,0-0 --seed 1 --capacity 1,100 --format json -q --name mixed \
         --queue dotnet:semaphoreslim,java:array-blocking-queue,spsc,semaphore-slim",
    );
    assert_eq!(tool.out("export mixed --format json"), live, "it reads back as it was");
    let document: Value = serde_json::from_str(&live).unwrap();
    let matrices = list(&document["matrices"]);
    assert_eq!(matrices.len(), 8);
    for matrix in matrices {
        let is_external = matrix["parameters"]["queue"].as_str().unwrap().contains(':');
        for cell in list(&matrix["cells"]) {
            let runtime = &cell["runtime"];
            assert_eq!(runtime.is_object(), is_external, "{cell}");
            if is_external {
                assert_eq!(list(&runtime["processes"]).len(), 5, "{cell}");
                let ratio = 1e9 / number(&runtime["overall_ns"]) / number(&cell["median"]);
                assert!((0.9..=1.1).contains(&ratio), "overall, of the median: {ratio}");
                assert!(number(&runtime["outside_share"]) > 0.0 && cell["ci"].is_array(), "{cell}");
            }
        }
    }
    let flags = |queue: &str| -> Vec<&Value> {
        let is_of_queue = |matrix: &&Value| matrix["parameters"]["queue"] == queue;
        let cells = matrices.iter().filter(is_of_queue).flat_map(|matrix| list(&matrix["cells"]));
        cells.flat_map(|cell| list(&cell["flags"])).collect()
    };
    assert!(flags("java:array-blocking-queue").iter().any(|flag| **flag == "unclaimed"));
    let is_doubt = |flag: &&Value| **flag == "unclaimed" || **flag == "worked-elsewhere";
    assert!(!flags("dotnet:semaphoreslim").iter().any(is_doubt));

    assert_contains(
        &flat(&tool.out("runs show mixed")),
        &[
            "dotnet:semaphoreslim, u64",
            "java:array-blocking-queue u64 same L3 1 u u",
            "u: unclaimed; other threads of the runtime",
            "(messages per second), overall the same from all operations and all their time",
            "dotnet:semaphoreslim: simulated as semaphore-slim, 1.30 × as slow",
            "Fastest for u64, same L3: spsc at 1, 100.",
        ],
    );
    let page = tool.report(&["mixed"], "mixed.html");
    assert!(page.contains("dotnet:semaphoreslim") && page.contains("simulated as semaphore-slim"));
    tool.out("report mixed -o mixed.png");

    let rows = tool.out("export mixed --format csv --probe queue");
    let heading = rows.lines().find(|line| line.starts_with("probe,")).unwrap();
    for name in ["outside_share", "collections", "total_ns"] {
        assert!(heading.split(',').any(|column| column == name), "{heading}");
    }
    assert_eq!(rows.lines().filter(|line| line.contains(",dotnet:semaphoreslim,")).count(), 4, "{rows}");
    assert_contains(&tool.out("export mixed --format markdown"), &["dotnet:semaphoreslim, u64, capacity 1"]);
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
        let document = tool.document(&format!("{command} {options} --format json"));
        let p50 = |external: bool| {
            let matches = |one: &&Value| {
                let name = one["parameters"][parameter].as_str().unwrap_or_default();
                one["parameters"]["view"] == view && name.contains(':') == external
            };
            let one = list(&document["series"]).iter().find(matches).unwrap();
            assert_eq!(one["runtime"].is_object(), external, "{one}");
            let order = &one["values"]["after_return_ns"];
            assert!(!external || order.is_null(), "absent, and no zero: {one}");
            number(&one["percentiles"]["50"])
        };
        let found = p50(true) / p50(false);
        assert!((found / ratio - 1.0).abs() < 0.06, "{command}: {found}");
        let screen = flat(&tool.out(&format!("{command} {options}")));
        assert_contains(&screen, &["Runtimes: how many processes", "simulated as"]);
    }
}

/// Options of waits between two CPUs.
const WAIT: &str = "--machine sim:chiplet-16 --cpus 0,1 --seed 3 --budget 10s -q";

#[track_caller]
fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.06, "{value}, expected {expected}");
}

#[test]
fn runtimes_alternate_and_cost_as_much_as_native_strategies() {
    let tool = Tool::new();
    let series = |arguments: &str| {
        let line = format!("wait {arguments} {WAIT} --no-save --format json");
        tool.document(&line)["series"].take()
    };
    // A trial has both phases, as with native strategies.
    let [of_runtime, of_native] = ["java:onspinwait", "pause"].map(|name| {
        let series = series(&format!("--strategy {name} --alternate"));
        assert_eq!(list(&series).len(), 2, "{series}");
        assert_eq!(series[0]["runtime"].is_object(), name.contains(':'), "{series}");
        assert!(series[0]["runtime"]["overall_ns"].is_null(), "of both ways together: {series}");
        [(0, "hint"), (1, "plain")].map(|(at, phase)| {
            assert_eq!(series[at]["parameters"]["phase"], phase);
            number(&series[at]["percentiles"]["50"])
        })
    });
    assert_near(of_runtime[0] / of_native[0], 1.05);
    assert_near(of_runtime[1] / of_native[1], 1.05);

    let series = series("--strategy dotnet:spinwait,java:yield,pause,yield --cost");
    assert!(list(&series).iter().all(|one| one["placement"] == json!([0])), "{series}");
    let call_ns: Vec<f64> = list(&series).iter().map(|one| number(&one["values"]["call_ns"])).collect();
    let [spinwait, java_yield, pause, native_yield] = call_ns[..] else { panic!("{call_ns:?}") };
    assert_near(spinwait / pause, 1.15);
    assert_near(java_yield / native_yield, 1.05);

    for mode in ["alternate", "cost"] {
        tool.out(&format!("wait --strategy java:onspinwait --{mode} {WAIT} --name {mode}"));
        let screen = flat(&tool.out(&format!("runs show {mode}")));
        assert_contains(&screen, &["java:onspinwait", "simulated as pause"]);
        tool.out(&format!("report {mode} -o {mode}.html"));
    }
}

#[test]
fn clocks_of_runtimes_are_on_the_screen_in_files_and_in_a_picture() {
    let tool = Tool::new();
    tool.out(&format!("wait --strategy dotnet:clock,java:clock,clock {WAIT} --name clocks"));
    let screen = flat(&tool.out("runs show clocks"));
    assert_contains(&screen, &[" dotnet:clock ", " java:clock ", " clock "]);
    tool.out("export clocks --format hgrm -o clocks");
    assert_eq!(std::fs::read_dir(tool.path().join("clocks")).unwrap().count(), 3);
    assert!(tool.report(&["clocks"], "clocks.svg").contains(">clock<"), "each curve has a name");
}

#[test]
fn forks_sets_the_number_of_processes_and_has_no_effect_without_runtimes() {
    let tool = Tool::new();
    let options = "--machine sim:chiplet-16 --pairs 0-1 --seed 3 --no-save";
    let go = format!("queue --queue go:channel --capacity 10 {options}");
    let cell = &tool.document(&format!("{go} --forks 3 --format json"))["matrices"][0]["cells"][0];
    assert_eq!(list(&cell["runtime"]["processes"]).len(), 3, "{cell}");
    for command in ["queue --queue spsc", "wait --strategy busy", "wake --primitive park"] {
        let call = tool.done(&words(&format!("{command} --forks 3 --budget 300ms {options}")));
        assert_contains(&call.err, &["--forks has no effect where no runtime is measured"]);
    }
    let screen = flat(&tool.out(&format!("{go} --forks 40 --budget 1s")));
    assert_contains(&screen, &[" of 40 ", "than the 40 that were asked for"]);
    let screen = flat(&tool.out(&format!("{go} --forks 3 --budget 1s")));
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
        ("queue --queue java:synchronous-queue --capacity 10", 3, "with capacity 10: it is always 1"),
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
    assert_contains(&call.err, &["it has no simulated stand-in", "; skipped"]);
}

#[test]
fn contention_of_runtimes_is_shown_by_cpu_set() {
    let screen = flat(&Tool::new().out(
        "contend --method cpp:mutex --threads 2,5 --critical 0ns --parallel-section 0ns --arrange compact-core \
         --cpus 0-4 --machine sim:chiplet-16 --seed 3 --budget 10s -q --no-save",
    ));
    assert_contains(&screen, &["Runtimes: how many processes", " 0,1 ", " 0-4 "]);
    for text in ["first pair", "two measured", "0 → 1"] {
        assert!(!screen.contains(text), "{text}: {screen}");
    }
}

#[test]
fn a_run_with_runtimes_is_resumed_and_compared() {
    let tool = Tool::new();
    tool.write("stops.toml", "based_on = 'chiplet-16'\n[failures]\nstop_at_ms = 900\n");
    let queue = "queue --queue dotnet:semaphoreslim,spsc --capacity 1,10 --pairs 0-1 --forks 2 -q";
    let half = tool.call(&words(&format!("{queue} --seed 1 --machine sim:stops.toml --name half")));
    assert_eq!(half.code, 5, "{}", half.err);
    let whole = tool.document("--resume half --machine sim:chiplet-16 -q --format json");
    assert_eq!((&whole["run"]["complete"], &whole["run"]["processes_asked"]), (&true.into(), &2.into()));
    let cell = &whole["matrices"][0]["cells"][0];
    let processes = list(&cell["runtime"]["processes"]).len();
    assert!((3..=4).contains(&processes), "each segment starts its own processes: {cell}");
    for (seed, name) in [(5, "a"), (6, "b")] {
        tool.out(&format!("{queue} --seed {seed} --machine sim:chiplet-16 --name {name}"));
    }
    assert_contains(&tool.out("compare a b"), &["dotnet:semaphoreslim"]);
}
