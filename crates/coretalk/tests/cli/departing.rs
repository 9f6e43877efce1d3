//! CPUs of a simulated machine that go offline at seeded times in every phase of every probe: measurements are kept,
//! the CPU is named, and a resumed run measures it once it is back.

use super::tool::{Tool, flat, words};
use serde_json::Value;

/// Every measuring command, with options for a few seconds of machine time on eight CPUs.
const COMMANDS: [&str; 13] = [
    "latency --budget 4s",
    "latency --as core-to-core-latency",
    "latency --gap 1us,100us --pairs 2-3,0-1 --budget 4s",
    "latency --protocol one-way --budget 4s",
    "wait --pairs all --strategy busy,futex --budget 4s",
    "wake --pairs all --primitive semaphore,park --budget 4s",
    "queue --queue spsc,mutex --capacity 1,100 --budget 4s",
    "spawn --kind thread --cpus 2,3 --budget 4s",
    "contend --method fetch-add,std-mutex --threads 1,2,8 --budget 4s",
    "sharing --pairs 2-3,0-1 --budget 4s",
    "broadcast --budget 4s",
    "jitter --for 3s",
    "place --threads 2 --placement a=0,1 --placement b=2,3 --placement c=4,5 --workload ring",
];

fn scenario(tool: &Tool, failures: &str) {
    tool.write("machine.toml", format!("based_on = 'laptop-smt'\n[failures]\n{failures}\n"));
}

fn measured(tool: &Tool, line: &str) -> Value {
    tool.json(&words(&format!("{line} --machine sim:machine.toml --seed 3 -q --format json")))
}

fn saved_screen(tool: &Tool) -> String {
    flat(&tool.done(&["runs", "show", "latest"]).out)
}

/// Resumes the newest run on the machine without failures.
fn resumed(tool: &Tool) -> Value {
    scenario(tool, "");
    tool.json(&words("--resume latest --machine sim:machine.toml -q --format json"))
}

fn cells(document: &Value) -> impl Iterator<Item = &Value> {
    let matrices = document["matrices"].as_array().unwrap().iter();
    matrices.flat_map(|matrix| matrix["cells"].as_array().unwrap())
}

fn entries(document: &Value) -> impl Iterator<Item = &Value> {
    cells(document).chain(document["series"].as_array().unwrap())
}

fn reasons(document: &Value) -> Vec<&str> {
    entries(document).filter_map(|entry| entry["reason"].as_str()).collect()
}

/// Runs a command during which CPU 3 goes offline, checks the results, and returns whether the run noticed.
fn notices_departure(line: &str, at_ms: u32, why: &str) -> bool {
    let tool = Tool::new();
    let context = format!("{line}, {why} at {at_ms} ms");
    scenario(&tool, &format!("departures = [{{ cpu = 3, at_ms = {at_ms}, why = '{why}' }}]"));
    let document = measured(&tool, line);
    let run = &document["run"];
    if run["departed"].as_array().is_none_or(Vec::is_empty) {
        assert_eq!(run["complete"], true, "{context}");
        return false;
    }
    assert_eq!(run["complete"], false, "{context}");
    let [departed] = &run["departed"].as_array().unwrap()[..] else { panic!("{context}: {run}") };
    assert_eq!((&departed["cpu"], &departed["why"]), (&3.into(), &why.into()), "{context}");
    let at_s = departed["at_s"].as_f64().unwrap();
    assert!(at_s <= f64::from(at_ms) / 1e3 + 0.8, "{context}: missed after {at_s} s");
    let screen = saved_screen(&tool);
    assert!(screen.contains("! CPU 3 ") && !screen.contains("Interrupted"), "{context}: {screen}");
    let says_how_to_resume = screen.contains("once it is back: coretalk --resume");
    assert!(says_how_to_resume || line.contains("--as "), "{context}: {screen}");
    tool.done(&["report", "latest", "-o", "page.html"]);
    assert!(tool.read("page.html").contains("CPU 3 "), "{context}");
    // Cells and trials without the CPU have values, unless the budget ended.
    let budget_ended = run["budget_ended"] == true;
    for cell in cells(&document) {
        let uses_cpu = cell["from"] == 3 || cell["to"] == 3;
        let has_value = !cell["median"].is_null();
        let is_named = cell["reason"].as_str().is_some_and(|reason| reason.contains("CPU 3"));
        let is_explained = if uses_cpu { is_named } else { cell["reason"].is_null() };
        assert!(has_value || budget_ended || is_explained, "{context}: {cell}");
    }
    for trial in document["series"].as_array().unwrap() {
        let uses_cpu = trial["placement"].as_array().is_some_and(|cpus| cpus.contains(&3.into()));
        let has_passes = trial["passes"].as_u64().is_some_and(|passes| passes > 0);
        assert!(uses_cpu || has_passes || budget_ended, "{context}: {trial}");
        assert!(has_passes || !trial["reason"].is_null(), "{context}: {trial}");
    }
    let document = resumed(&tool);
    assert_eq!(document["run"]["complete"], true, "{context}, resumed");
    assert_eq!(document["run"]["departed"], Value::Array(Vec::new()), "{context}, resumed");
    let reasons = reasons(&document);
    assert!(!reasons.iter().any(|reason| reason.contains("CPU 3")), "{context}, resumed: {reasons:?}");
    true
}

/// Reasons for going offline. `cpuset` comes first, for time 0: with the others, requested CPUs are refused in advance.
const REASONS: [&str; 3] = ["cpuset", "offline", "pin-refused"];

#[test]
fn every_probe_continues_without_a_lost_cpu_and_resumes_with_it() {
    let noticed = COMMANDS.iter().enumerate().filter(|(number, line)| {
        // The CPU leaves in the first passes or in the middle; time and reason differ between probes.
        notices_departure(line, [40, 350, 600][number % 3], REASONS[number / 3 % 3])
    });
    let noticed = noticed.count();
    assert!(noticed >= 11, "only {noticed} of {} runs lasted until the CPU left", COMMANDS.len());
}

#[test]
#[ignore = "a hundred runs; .ci/run makes them"]
fn every_probe_continues_whenever_a_cpu_is_lost() {
    // The CPU leaves before the first pass, in the first, in the middle, or late.
    for line in COMMANDS {
        let times = [0, 20, 150, 350, 900, 1_700, 2_600];
        let all = times.into_iter().zip(REASONS.into_iter().cycle());
        let noticed = all.filter(|(at_ms, why)| notices_departure(line, *at_ms, why)).count();
        assert!(noticed >= 2, "{line} ended before any CPU left");
    }
}

#[test]
fn the_first_screen_names_a_lost_cpu_once() {
    for failures in [
        "departures = [{ cpu = 3, at_ms = 900 }]",
        // The CPU is back before the trials after the map begin, but cells of the map are still missing.
        "departures = [{ cpu = 3, at_ms = 900, back_ms = 1200 }]",
    ] {
        let tool = Tool::new();
        scenario(&tool, failures);
        let live = measured(&tool, "--budget 6s");
        let saved = tool.json(&["runs", "show", "latest", "--format", "json"]);
        for run in [&live["run"], &saved["run"]] {
            assert_eq!(run["complete"], false, "{failures}");
            let [departed] = &run["departed"].as_array().unwrap()[..] else { panic!("{failures}: {run}") };
            assert!((0.9..1.7).contains(&departed["at_s"].as_f64().unwrap()), "{failures}: {departed}");
        }
        let screen = saved_screen(&tool);
        assert_eq!(screen.matches("CPU 3 went offline after").count(), 1, "{failures}: {screen}");
        assert!(!screen.contains("CPU 3 is offline") && !screen.contains("Interrupted"), "{screen}");
        assert_eq!(resumed(&tool)["run"]["complete"], true, "{failures}");
    }
}

#[test]
fn unsaved_measurements_name_a_lost_cpu_and_place_nothing_on_it() {
    let tool = Tool::new();
    scenario(&tool, "departures = [{ cpu = 3, at_ms = 300 }]");
    for (line, candidates) in [
        ("topology", None),
        ("advise -n 4 --sharing allowed", Some("0-2,4-7")),
        ("advise -n 4 --sharing allowed --cpus 0-5 --avoid 3 --prove", Some("0-2,4,5")),
        ("advise -n 4 --sharing allowed --cpus 0-5 --prove", Some("0-2,4,5")),
    ] {
        let document = measured(&tool, line);
        let [departed] = &document["departed"].as_array().unwrap()[..] else { panic!("{line}: {document}") };
        assert_eq!((&departed["cpu"], &departed["why"]), (&3.into(), &"offline".into()), "{line}");
        let advice = &document["advice"][0];
        assert_eq!(advice["candidates"].as_str(), candidates, "{line}");
        assert!(!advice["cpus"].to_string().contains('3'), "{line}: {advice}");
        let against = advice["proof"]["against"].as_array().into_iter().flatten();
        let mut placed = against.flat_map(|it| it["cpus"].as_array().unwrap());
        assert!(placed.all(|cpu| *cpu != 3), "{line}: {advice}");
        let screen = tool.done(&words(&format!("{line} --machine sim:machine.toml --seed 3 -q"))).out;
        assert!(flat(&screen).contains("! CPU 3 went offline after 0."), "{line}: {screen}");
    }
    let line = "advise -n 2 --cpus 2,3 --machine sim:machine.toml --seed 3 -q";
    tool.refused(&words(line), 3, "CPU 3 went offline after 0.");
}

#[test]
fn an_exhausted_budget_is_reported_with_a_lost_cpu_and_a_returned_cpu_is_not() {
    for line in ["latency --budget 100ms", "wait --pairs all --strategy busy,futex --budget 100ms"] {
        let tool = Tool::new();
        scenario(&tool, "departures = [{ cpu = 3, at_ms = 0, why = 'cpuset' }]");
        let live = measured(&tool, line);
        let saved = tool.json(&["runs", "show", "latest", "--format", "json"]);
        for document in [&live, &saved] {
            let run = &document["run"];
            assert_eq!((&run["complete"], &run["budget_ended"]), (&false.into(), &true.into()), "{line}");
            let reasons = reasons(document);
            assert!(reasons.contains(&"CPU 3 was taken away during the run"), "{line}: {reasons:?}");
            assert!(!reasons.iter().any(|it| it.contains("could not be pinned")), "{line}: {reasons:?}");
        }
        let screen = saved_screen(&tool);
        for part in ["! CPU 3 ", "The budget of 100 ms"] {
            assert!(screen.contains(part), "{line}, {part}: {screen}");
        }
        // The CPU is back, but the budget ends again before its cells are measured.
        let document = resumed(&tool);
        let reasons = reasons(&document);
        assert!(!reasons.iter().any(|it| it.contains("CPU 3")), "{line}, resumed: {reasons:?}");
    }
}

#[test]
fn a_quota_that_begins_during_the_run_is_flagged_and_reported() {
    let quota = "name = 'quota'\nper_second = 10.0\nus = [20000.0, 20000.0]\nrhythm = 'periodic'\n\
                 seen_as = 'quota'\nfrom_ms = 1200\n";
    for line in COMMANDS {
        let tool = Tool::new();
        tool.write("machine.toml", format!("based_on = 'laptop-smt'\n[[stalls]]\n{quota}"));
        let document = measured(&tool, line);
        let throttled = &document["environment"]["throttled"];
        if throttled["times"] == 0 {
            continue;
        }
        assert!(throttled["from_s"].as_f64().is_some_and(|from_s| from_s > 0.5), "{line}: {throttled}");
        let screen = saved_screen(&tool);
        assert!(screen.contains("the CPU quota stopped this process"), "{line}: {screen}");
        assert!(!screen.contains(": stable for"), "{line}: {screen}");
        // Results slowed down by the quota have no flag for another cause.
        for entry in entries(&document) {
            assert!(!entry["flags"].to_string().contains("\"freq\""), "{line}: {entry}");
        }
    }
}

#[test]
fn isolated_cpus_are_omitted_and_named() {
    let tool = Tool::new();
    tool.write("machine.toml", "based_on = 'laptop-smt'\n[allowance]\nisolated = '6-7'\n");
    let document = measured(&tool, "latency --budget 4s");
    assert_eq!(document["environment"]["isolated"], "6,7");
    assert_eq!(document["matrices"][0]["cpus"].as_array().unwrap().len(), 6);
    let screen = saved_screen(&tool);
    assert!(screen.contains("CPUs 6,7 are isolated and were left out"), "{screen}");
    // Isolated CPUs are used if they are listed.
    let document = measured(&tool, "latency --cpus 5-7 --budget 4s --no-save");
    assert_eq!(document["matrices"][0]["cpus"].as_array().unwrap().len(), 3);
}

#[test]
fn an_offline_cpu_is_offline_and_one_that_refuses_costs_itself_alone() {
    let tool = Tool::new();
    scenario(&tool, "departures = [{ cpu = 3, at_ms = 0 }]");
    for line in
        ["latency --cpus 2,3", "wait --cpus 2,3", "place --placement a=2,3 --placement b=0,1 --workload ring"]
    {
        let line = format!("{line} --machine sim:machine.toml --seed 1");
        for part in ["CPU 3 is offline", "cpu3/online"] {
            tool.refused(&words(&line), 3, part);
        }
    }
    assert_eq!(measured(&tool, "latency --budget 4s")["run"]["complete"], true);
    scenario(&tool, "refuse_pin = '3'");
    let line = "latency --budget 4s --machine sim:machine.toml --seed 1";
    let reason = "CPU 3 refuses pinned threads";
    // One CPU is too few for `--cpus 2,3`.
    for (options, code) in [("--cpus 2,3", 3), ("", 0), ("--strict", 1)] {
        let output = tool.call(&words(&format!("{line} {options}")));
        assert_eq!(output.code, code, "{options}: {}", output.err);
        assert!(code != 3 || output.err.contains(reason), "{}", output.err);
        assert!(output.out.contains(reason), "{options}: {}", output.out);
    }
}
