//! CPUs of a simulated machine that go offline at seeded times in every phase of every probe: measurements are kept,
//! the CPU is named, and a resumed run measures it once it is back.

use super::tool::{Said, Tool, flat};
use serde_json::Value;

/// Every measuring command, with options for a few seconds of machine time on eight CPUs.
const COMMANDS: [&[&str]; 13] = [
    &["latency", "--budget", "4s"],
    &["latency", "--as", "core-to-core-latency"],
    &["latency", "--gap", "1us,100us", "--pairs", "2-3,0-1", "--budget", "4s"],
    &["latency", "--protocol", "one-way", "--budget", "4s"],
    &["wait", "--pairs", "all", "--strategy", "busy,futex", "--budget", "4s"],
    &["wake", "--pairs", "all", "--primitive", "semaphore,park", "--budget", "4s"],
    &["queue", "--queue", "spsc,mutex", "--capacity", "1,100", "--budget", "4s"],
    &["spawn", "--kind", "thread", "--cpus", "2,3", "--budget", "4s"],
    &["contend", "--method", "fetch-add,std-mutex", "--threads", "1,2,8", "--budget", "4s"],
    &["sharing", "--pairs", "2-3,0-1", "--budget", "4s"],
    &["broadcast", "--budget", "4s"],
    &["jitter", "--for", "3s"],
    &[
        "place",
        "--threads",
        "2",
        "--placement",
        "a=0,1",
        "--placement",
        "b=2,3",
        "--placement",
        "c=4,5",
        "--workload",
        "ring",
    ],
];

fn scenario(tool: &Tool, failures: &str) {
    let text = format!("based_on = 'laptop-smt'\n[failures]\n{failures}\n");
    tool.write("machine.toml", text);
}

fn measured(tool: &Tool, words: &[&str], more: &[&str]) -> (Said, Value) {
    let machine = ["--machine", "sim:machine.toml", "--seed", "3", "-q", "--format", "json"];
    let output = tool.call(&[words, &machine, more].concat());
    let document = serde_json::from_str(&output.out).unwrap_or(Value::Null);
    (output, document)
}

fn resumed(tool: &Tool) -> Value {
    scenario(tool, "");
    tool.json(&["--resume", "latest", "--machine", "sim:machine.toml", "-q", "--format", "json"])
}

/// Runs a command during which CPU 3 goes offline, checks the results, and returns whether the run noticed.
fn notices_departure(words: &[&str], at_ms: u32, why: &str) -> bool {
    let tool = Tool::new();
    let context = format!("{words:?}, {why} at {at_ms} ms");
    scenario(&tool, &format!("departures = [{{ cpu = 3, at_ms = {at_ms}, why = '{why}' }}]"));
    let (output, document) = measured(&tool, words, &[]);
    assert_eq!(output.code, 0, "{context}: {}", output.err);
    let run = &document["run"];
    if run["departed"].as_array().is_none_or(Vec::is_empty) {
        assert_eq!(run["complete"], true, "{context}");
        return false;
    }
    assert_eq!(
        (run["complete"].as_bool(), &run["departed"][0]["cpu"]),
        (Some(false), &Value::from(3)),
        "{context}"
    );
    assert_eq!(
        (run["departed"].as_array().unwrap().len(), &run["departed"][0]["why"]),
        (1, &Value::from(why)),
        "{context}"
    );
    let at_s = run["departed"][0]["at_s"].as_f64().unwrap();
    assert!(at_s <= f64::from(at_ms) / 1e3 + 0.8, "{context}: missed after {at_s} s");
    let screen = tool.done(&["runs", "show", "latest"]).out;
    let flat = flat(&screen);
    assert!(
        flat.contains("! CPU 3 ")
            && (words.contains(&"--as") || flat.contains("once it is back: coretalk --resume")),
        "{context}: {screen}"
    );
    assert!(!flat.contains("Interrupted"), "{context}: {screen}");
    let page = tool.done(&["report", "latest", "-o", "page.html"]);
    assert_eq!(page.code, 0);
    let page = tool.read("page.html");
    assert!(page.contains("CPU 3 "), "{context}");
    // Cells and trials without the CPU have values, unless the budget ended.
    let budget_ended = run["budget_ended"] == true;
    for cell in cells(&document) {
        let uses_cpu = cell["from"] == 3 || cell["to"] == 3;
        assert!(
            uses_cpu || budget_ended || cell["reason"].is_null() || !cell["median"].is_null(),
            "{context}: {cell}"
        );
        let is_named = cell["reason"].as_str().is_some_and(|reason| reason.contains("CPU 3"));
        let has_value = !cell["median"].is_null();
        assert!(!uses_cpu || budget_ended || has_value || is_named, "{context}: {cell}");
    }
    for trial in document["series"].as_array().unwrap() {
        let uses_cpu = trial["placement"].as_array().is_some_and(|cpus| cpus.contains(&Value::from(3)));
        let has_passes = trial["passes"].as_u64().is_some_and(|passes| passes > 0);
        assert!(uses_cpu || has_passes || budget_ended, "{context}: {trial}");
        assert!(has_passes || !trial["reason"].is_null(), "{context}: {trial}");
    }
    let document = resumed(&tool);
    assert_eq!(document["run"]["complete"], true, "{context}, resumed");
    assert_eq!(document["run"]["departed"], Value::Array(Vec::new()), "{context}, resumed");
    let missing = |entry: &&Value| entry["reason"].as_str().is_some_and(|reason| reason.contains("CPU 3"));
    let still_missing: Vec<&Value> = entries(&document).filter(missing).collect();
    assert!(still_missing.is_empty(), "{context}, resumed: {still_missing:?}");
    true
}

/// Reasons for going offline. `cpuset` comes first, for time 0: with the others, requested CPUs are refused in advance.
const REASONS: [&str; 3] = ["cpuset", "offline", "pin-refused"];

#[test]
fn every_probe_continues_without_a_lost_cpu_and_resumes_with_it() {
    let noticed = COMMANDS.iter().enumerate().filter(|(number, words)| {
        // The CPU leaves in the first passes or in the middle; time and reason differ between probes.
        notices_departure(words, [40, 350, 600][number % 3], REASONS[number / 3 % 3])
    });
    let noticed = noticed.count();
    assert!(noticed >= 11, "only {noticed} of {} runs lasted until the CPU left", COMMANDS.len());
}

#[test]
#[ignore = "a hundred runs; .ci/run makes them"]
fn every_probe_continues_whenever_a_cpu_is_lost() {
    // The CPU leaves before the first pass, in the first, in the middle, or late.
    for words in COMMANDS {
        let times = [0, 20, 150, 350, 900, 1_700, 2_600];
        let all = times.into_iter().zip(REASONS.into_iter().cycle());
        let noticed = all.filter(|(at_ms, why)| notices_departure(words, *at_ms, why)).count();
        assert!(noticed >= 2, "{words:?} ended before any CPU left");
    }
}

#[test]
fn the_first_screen_names_a_lost_cpu_once() {
    let words = ["--budget", "6s"];
    for failures in [
        "departures = [{ cpu = 3, at_ms = 900 }]",
        // The CPU is back before the trials after the map begin, but cells of the map are still missing.
        "departures = [{ cpu = 3, at_ms = 900, back_ms = 1200 }]",
    ] {
        let tool = Tool::new();
        scenario(&tool, failures);
        let (output, live) = measured(&tool, &words, &[]);
        assert_eq!(output.code, 0, "{failures}: {}", output.err);
        let saved = tool.json(&["runs", "show", "latest", "--format", "json"]);
        for document in [&live, &saved] {
            let run = &document["run"];
            assert_eq!(run["complete"], false, "{failures}");
            let departed = run["departed"].as_array().unwrap();
            assert_eq!(departed.len(), 1, "{failures}: {departed:?}");
            let at_s = departed[0]["at_s"].as_f64().unwrap();
            assert!((0.9..1.7).contains(&at_s), "{failures}: {at_s}");
        }
        let screen = tool.done(&["runs", "show", "latest"]).out;
        assert_eq!(screen.matches("CPU 3 went offline after").count(), 1, "{failures}: {screen}");
        assert!(!screen.contains("CPU 3 is offline") && !screen.contains("Interrupted"), "{screen}");
        let document = resumed(&tool);
        assert_eq!(document["run"]["complete"], true, "{failures}");
    }
}

#[test]
fn unsaved_measurements_name_a_lost_cpu_and_place_nothing_on_it() {
    let tool = Tool::new();
    scenario(&tool, "departures = [{ cpu = 3, at_ms = 300 }]");
    let lost: Vec<u64> = vec![3];
    for words in [
        &["topology"][..],
        &["advise", "-n", "4", "--sharing", "allowed"],
        &["advise", "-n", "4", "--sharing", "allowed", "--cpus", "0-5", "--avoid", "3", "--prove"],
        &["advise", "-n", "4", "--sharing", "allowed", "--cpus", "0-5", "--prove"],
    ] {
        let (output, document) = measured(&tool, words, &[]);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
        let departed = document["departed"].as_array().unwrap();
        let cpus: Vec<u64> = departed.iter().map(|it| it["cpu"].as_u64().unwrap()).collect();
        assert_eq!((cpus, &departed[0]["why"]), (lost.clone(), &Value::from("offline")), "{words:?}");
        let advice = &document["advice"][0];
        if words[0] == "advise" {
            let candidates: String = if words.contains(&"--cpus") { "0-2,4,5" } else { "0-2,4-7" }.into();
            assert_eq!(advice["candidates"], candidates, "{words:?}");
            assert!(!advice["cpus"].to_string().contains('3'), "{words:?}: {advice}");
            let against = advice["proof"]["against"].as_array().into_iter().flatten();
            let placed = against.flat_map(|it| it["cpus"].as_array().unwrap());
            assert!(placed.into_iter().all(|cpu| *cpu != 3), "{words:?}: {advice}");
        }
        let machine = ["--machine", "sim:machine.toml", "--seed", "3", "-q"];
        let screen = flat(&tool.done(&[words, &machine].concat()).out);
        assert!(screen.contains("! CPU 3 went offline after 0."), "{words:?}: {screen}");
    }
    let words = ["advise", "-n", "2", "--cpus", "2,3", "--machine", "sim:machine.toml", "--seed", "3", "-q"];
    tool.refused(&words, 3, "CPU 3 went offline after 0.");
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

#[test]
fn an_exhausted_budget_is_reported_with_a_lost_cpu_and_a_returned_cpu_is_not() {
    for words in [
        &["latency", "--budget", "100ms"][..],
        &["wait", "--pairs", "all", "--strategy", "busy,futex", "--budget", "100ms"],
    ] {
        let tool = Tool::new();
        scenario(&tool, "departures = [{ cpu = 3, at_ms = 0, why = 'cpuset' }]");
        let (output, live) = measured(&tool, words, &[]);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
        let saved = tool.json(&["runs", "show", "latest", "--format", "json"]);
        for document in [&live, &saved] {
            let run = &document["run"];
            assert_eq!((&run["complete"], &run["budget_ended"]), (&false.into(), &true.into()), "{words:?}");
            let reported = reasons(document);
            assert!(reported.contains(&"CPU 3 was taken away during the run"), "{words:?}: {reported:?}");
            assert!(
                !reported.iter().any(|reason| reason.contains("could not be pinned")),
                "{words:?}: {reported:?}"
            );
        }
        let screen = tool.done(&["runs", "show", "latest"]).out;
        assert!(
            screen.contains("! CPU 3 ") && screen.contains("The budget of 100 ms"),
            "{words:?}: {screen}"
        );
        // The CPU is back, but the budget ends again before its cells are measured.
        let document = resumed(&tool);
        let reported = reasons(&document);
        assert!(!reported.iter().any(|reason| reason.contains("CPU 3")), "{words:?}, resumed: {reported:?}");
    }
}

#[test]
fn a_quota_that_begins_during_the_run_is_flagged_and_reported() {
    let quota = "[[stalls]]\nname = 'quota'\nper_second = 10.0\nus = [20000.0, 20000.0]\nrhythm = 'periodic'\nseen_as = 'quota'\nfrom_ms = 1200\n";
    for words in COMMANDS {
        let tool = Tool::new();
        let text = format!("based_on = 'laptop-smt'\n{quota}");
        tool.write("machine.toml", text);
        let (output, document) = measured(&tool, words, &[]);
        assert_eq!(output.code, 0, "{words:?}: {}", output.err);
        let throttled = &document["environment"]["throttled"];
        if throttled["times"] == 0 {
            continue;
        }
        assert!(throttled["from_s"].as_f64().is_some_and(|from_s| from_s > 0.5), "{words:?}: {throttled}");
        let screen = tool.done(&["runs", "show", "latest"]).out;
        let flat = flat(&screen);
        assert!(flat.contains("the CPU quota stopped this process"), "{words:?}: {screen}");
        assert!(!flat.contains(": stable for"), "{words:?}: {screen}");
        // Results slowed down by the quota have its flag and no flag for another cause.
        let flagged = |flag: &str| {
            let has = |entry: &&Value| {
                entry["flags"].as_array().is_some_and(|flags| flags.iter().any(|it| it == flag))
            };
            entries(&document).filter(has).count()
        };
        assert_eq!(flagged("freq"), 0, "{words:?}");
        if words[0] == "jitter" {
            assert!(screen.contains("quota"), "{screen}");
        }
    }
}

#[test]
fn isolated_cpus_are_omitted_and_named() {
    let tool = Tool::new();
    tool.write("machine.toml", "based_on = 'laptop-smt'\n[allowance]\nisolated = '6-7'\n");
    let (output, document) = measured(&tool, &["latency", "--budget", "4s"], &[]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert_eq!(document["environment"]["isolated"], "6,7");
    assert_eq!(document["matrices"][0]["cpus"].as_array().unwrap().len(), 6);
    let screen = tool.done(&["runs", "show", "latest"]).out;
    assert!(screen.contains("CPUs 6,7 are isolated and were left out"), "{screen}");
    // Isolated CPUs are used if they are listed.
    let (output, document) = measured(&tool, &["latency", "--cpus", "5-7", "--budget", "4s"], &["--no-save"]);
    assert_eq!(
        (output.code, document["matrices"][0]["cpus"].as_array().unwrap().len()),
        (0, 3),
        "{}",
        output.err
    );
}

#[test]
fn an_offline_cpu_is_offline_and_one_that_refuses_costs_itself_alone() {
    let tool = Tool::new();
    scenario(&tool, "departures = [{ cpu = 3, at_ms = 0 }]");
    let call =
        |words: &[&str]| tool.call(&[words, &["--machine", "sim:machine.toml", "--seed", "1"]].concat());
    for words in [
        &["latency", "--cpus", "2,3"][..],
        &["wait", "--cpus", "2,3"],
        &["place", "--placement", "a=2,3", "--placement", "b=0,1", "--workload", "ring"],
    ] {
        let output = call(words);
        assert_eq!(
            (output.code, output.err.lines().count(), output.out.as_str()),
            (3, 1, ""),
            "{words:?}: {}",
            output.err
        );
        assert!(
            output.err.contains("CPU 3 is offline") && output.err.contains("cpu3/online"),
            "{}",
            output.err
        );
    }
    let output = call(&["latency", "--budget", "4s", "--format", "json"]);
    let document: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!((output.code, &document["run"]["complete"]), (0, &Value::Bool(true)), "{}", output.err);
    scenario(&tool, "refuse_pin = '3'");
    let output = call(&["latency", "--cpus", "2,3", "--budget", "4s"]);
    assert_eq!(output.code, 3, "one CPU is too few: {}", output.err);
    assert!(output.err.contains("CPU 3 refuses pinned threads"), "{}", output.err);
    let output = call(&["latency", "--budget", "4s"]);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("CPU 3 refuses pinned threads"), "{}", output.out);
    let output = call(&["latency", "--budget", "4s", "--strict"]);
    assert_eq!(output.code, 1, "{}", output.err);
}
