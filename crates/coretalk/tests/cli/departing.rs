//! CPUs of a simulated machine that go offline at seeded times in every phase of every probe: measurements are kept,
//! the CPU is named, and the run resumes when it is back.

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
    let said = tool.call(&[words, &machine, more].concat());
    let document = serde_json::from_str(&said.out).unwrap_or(Value::Null);
    (said, document)
}

fn resumed(tool: &Tool) -> Value {
    scenario(tool, "");
    tool.json(&["--resume", "latest", "--machine", "sim:machine.toml", "-q", "--format", "json"])
}

/// Takes CPU 3 offline at a time; returns whether the run noticed.
fn leaves(words: &[&str], at_ms: u32, why: &str) -> bool {
    let tool = Tool::new();
    let told = format!("{words:?}, {why} at {at_ms} ms");
    scenario(&tool, &format!("departures = [{{ cpu = 3, at_ms = {at_ms}, why = '{why}' }}]"));
    let (said, document) = measured(&tool, words, &[]);
    assert_eq!(said.code, 0, "{told}: {}", said.err);
    let run = &document["run"];
    if run["departed"].as_array().is_none_or(Vec::is_empty) {
        assert_eq!(run["complete"], true, "{told}");
        return false;
    }
    assert_eq!(
        (run["complete"].as_bool(), &run["departed"][0]["cpu"]),
        (Some(false), &Value::from(3)),
        "{told}"
    );
    assert_eq!(
        (run["departed"].as_array().unwrap().len(), &run["departed"][0]["why"]),
        (1, &Value::from(why)),
        "{told}"
    );
    let at_s = run["departed"][0]["at_s"].as_f64().unwrap();
    assert!(at_s <= f64::from(at_ms) / 1e3 + 0.8, "{told}: missed after {at_s} s");
    let screen = tool.done(&["runs", "show", "latest"]).out;
    let flat = flat(&screen);
    assert!(
        flat.contains("! CPU 3 ")
            && (words.contains(&"--as") || flat.contains("once it is back: coretalk --resume")),
        "{told}: {screen}"
    );
    assert!(!flat.contains("Interrupted"), "{told}: {screen}");
    let page = tool.done(&["report", "latest", "-o", "page.html"]);
    assert_eq!(page.code, 0);
    let page = tool.read("page.html");
    assert!(page.contains("CPU 3 "), "{told}");
    // Cells and trials without the CPU have values, unless the budget ended.
    let budget_ended = run["budget_ended"] == true;
    for cell in cells(&document) {
        let with_it = cell["from"] == 3 || cell["to"] == 3;
        assert!(
            with_it || budget_ended || cell["reason"].is_null() || !cell["median"].is_null(),
            "{told}: {cell}"
        );
        let is_told = cell["reason"].as_str().is_some_and(|reason| reason.contains("CPU 3"));
        let has_value = !cell["median"].is_null();
        assert!(!with_it || budget_ended || has_value || is_told, "{told}: {cell}");
    }
    for trial in document["series"].as_array().unwrap() {
        let with_it = trial["placement"].as_array().is_some_and(|cpus| cpus.contains(&Value::from(3)));
        let has_passes = trial["passes"].as_u64().is_some_and(|passes| passes > 0);
        assert!(with_it || has_passes || budget_ended, "{told}: {trial}");
        assert!(has_passes || !trial["reason"].is_null(), "{told}: {trial}");
    }
    let document = resumed(&tool);
    assert_eq!(document["run"]["complete"], true, "{told}, resumed");
    assert_eq!(document["run"]["departed"], Value::Array(Vec::new()), "{told}, resumed");
    let missing = |entry: &&Value| entry["reason"].as_str().is_some_and(|reason| reason.contains("CPU 3"));
    let left: Vec<&Value> = entries(&document).filter(missing).collect();
    assert!(left.is_empty(), "{told}, resumed: {left:?}");
    true
}

/// Reasons for going offline. `cpuset` comes first, for time 0: the others would refuse a requested CPU in advance.
const REASONS: [&str; 3] = ["cpuset", "offline", "pin-refused"];

#[test]
fn every_probe_goes_on_without_a_cpu_that_leaves_and_with_it_once_it_is_back() {
    let missed = COMMANDS.iter().enumerate().filter(|(number, words)| {
        // In the first passes or in the middle, with a different time and reason for each probe.
        leaves(words, [40, 350, 600][number % 3], REASONS[number / 3 % 3])
    });
    let missed = missed.count();
    assert!(missed >= 11, "only {missed} of {} runs lasted until the CPU left", COMMANDS.len());
}

#[test]
#[ignore = "a hundred runs; .ci/run makes them"]
fn every_probe_goes_on_without_a_cpu_whenever_it_leaves() {
    // Before the first pass, in the first, in the middle and late.
    for words in COMMANDS {
        let times = [0, 20, 150, 350, 900, 1_700, 2_600];
        let all = times.into_iter().zip(REASONS.into_iter().cycle());
        let missed = all.filter(|(at_ms, why)| leaves(words, *at_ms, why)).count();
        assert!(missed >= 2, "{words:?} ended before any CPU left");
    }
}

#[test]
fn the_first_screen_names_a_cpu_once_whichever_part_missed_it() {
    let words = ["--budget", "6s"];
    for failures in [
        "departures = [{ cpu = 3, at_ms = 900 }]",
        // The CPU is back before the trials after the map begin, but cells of the map are still missing.
        "departures = [{ cpu = 3, at_ms = 900, back_ms = 1200 }]",
    ] {
        let tool = Tool::new();
        scenario(&tool, failures);
        let (said, live) = measured(&tool, &words, &[]);
        assert_eq!(said.code, 0, "{failures}: {}", said.err);
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
fn what_saves_nothing_names_a_cpu_that_left_and_places_nothing_on_it() {
    let tool = Tool::new();
    scenario(&tool, "departures = [{ cpu = 3, at_ms = 300 }]");
    let listed: Vec<u64> = vec![3];
    for words in [
        &["topology"][..],
        &["advise", "-n", "4", "--sharing", "allowed"],
        &["advise", "-n", "4", "--sharing", "allowed", "--cpus", "0-5", "--avoid", "3", "--prove"],
        &["advise", "-n", "4", "--sharing", "allowed", "--cpus", "0-5", "--prove"],
    ] {
        let (said, document) = measured(&tool, words, &[]);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
        let departed = document["departed"].as_array().unwrap();
        let cpus: Vec<u64> = departed.iter().map(|it| it["cpu"].as_u64().unwrap()).collect();
        assert_eq!((cpus, &departed[0]["why"]), (listed.clone(), &Value::from("offline")), "{words:?}");
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
fn a_budget_that_ends_too_is_told_beside_the_cpu_and_a_cpu_that_is_back_is_no_reason() {
    for words in [
        &["latency", "--budget", "100ms"][..],
        &["wait", "--pairs", "all", "--strategy", "busy,futex", "--budget", "100ms"],
    ] {
        let tool = Tool::new();
        scenario(&tool, "departures = [{ cpu = 3, at_ms = 0, why = 'cpuset' }]");
        let (said, live) = measured(&tool, words, &[]);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
        let saved = tool.json(&["runs", "show", "latest", "--format", "json"]);
        for document in [&live, &saved] {
            let run = &document["run"];
            assert_eq!((&run["complete"], &run["budget_ended"]), (&false.into(), &true.into()), "{words:?}");
            let told = reasons(document);
            assert!(told.contains(&"CPU 3 was taken away during the run"), "{words:?}: {told:?}");
            assert!(!told.iter().any(|reason| reason.contains("could not be pinned")), "{words:?}: {told:?}");
        }
        let screen = tool.done(&["runs", "show", "latest"]).out;
        assert!(
            screen.contains("! CPU 3 ") && screen.contains("The budget of 100 ms"),
            "{words:?}: {screen}"
        );
        // The CPU is back, but the budget ends again before its cells are measured.
        let document = resumed(&tool);
        let told = reasons(&document);
        assert!(!told.iter().any(|reason| reason.contains("CPU 3")), "{words:?}, resumed: {told:?}");
    }
}

#[test]
fn a_quota_that_begins_in_the_middle_is_flagged_and_told_from_then_on() {
    let quota = "[[stalls]]\nname = 'quota'\nper_second = 10.0\nus = [20000.0, 20000.0]\nrhythm = 'periodic'\nseen_as = 'quota'\nfrom_ms = 1200\n";
    for words in COMMANDS {
        let tool = Tool::new();
        let text = format!("based_on = 'laptop-smt'\n{quota}");
        tool.write("machine.toml", text);
        let (said, document) = measured(&tool, words, &[]);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err);
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
fn isolated_cpus_are_left_out_and_named() {
    let tool = Tool::new();
    tool.write("machine.toml", "based_on = 'laptop-smt'\n[allowance]\nisolated = '6-7'\n");
    let (said, document) = measured(&tool, &["latency", "--budget", "4s"], &[]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(document["environment"]["isolated"], "6,7");
    assert_eq!(document["matrices"][0]["cpus"].as_array().unwrap().len(), 6);
    let screen = tool.done(&["runs", "show", "latest"]).out;
    assert!(screen.contains("CPUs 6,7 are isolated and were left out"), "{screen}");
    // Isolated CPUs are used if they are listed.
    let (said, document) = measured(&tool, &["latency", "--cpus", "5-7", "--budget", "4s"], &["--no-save"]);
    assert_eq!(
        (said.code, document["matrices"][0]["cpus"].as_array().unwrap().len()),
        (0, 3),
        "{}",
        said.err
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
        let said = call(words);
        assert_eq!(
            (said.code, said.err.lines().count(), said.out.as_str()),
            (3, 1, ""),
            "{words:?}: {}",
            said.err
        );
        assert!(said.err.contains("CPU 3 is offline") && said.err.contains("cpu3/online"), "{}", said.err);
    }
    let said = call(&["latency", "--budget", "4s", "--format", "json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &document["run"]["complete"]), (0, &Value::Bool(true)), "{}", said.err);
    scenario(&tool, "refuse_pin = '3'");
    let said = call(&["latency", "--cpus", "2,3", "--budget", "4s"]);
    assert_eq!(said.code, 3, "one CPU is too few: {}", said.err);
    assert!(said.err.contains("CPU 3 refuses pinned threads"), "{}", said.err);
    let said = call(&["latency", "--budget", "4s"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("CPU 3 refuses pinned threads"), "{}", said.out);
    let said = call(&["latency", "--budget", "4s", "--strict"]);
    assert_eq!(said.code, 1, "{}", said.err);
}
