//! `place` on simulated machines, where the best placement of each workload is known.

use super::tool::{Tool, assert_contains, between, flat, list, number, words};
use serde_json::{Value, json};

fn simulated(tool: &Tool, machine: &str, more: &str) -> Value {
    tool.document(&format!("place --machine sim:{machine} --seed 1 -q --format json --no-save {more}"))
}

/// Returns the screen without line breaks.
fn screen(tool: &Tool, machine: &str, more: &str) -> String {
    flat(&tool.out(&format!("place --machine sim:{machine} --seed 1 -q --no-save {more}")))
}

fn field<'a>(arms: &'a Value, name: &str) -> Vec<&'a Value> {
    list(arms).iter().map(|arm| &arm[name]).collect()
}

#[test]
fn messages_prefer_one_cache_and_independent_work_has_no_preference() {
    let tool = Tool::new();
    let options = "--placement one-l3 --placement across-l3 --threads 8 --workload all-to-all,ring,integer";
    let document = simulated(&tool, "chiplet-16", options);
    let [all_to_all, ring, integer] = [0, 1, 2].map(|at| &document["comparisons"][at]);
    // Seven reads of 18 ns against three of 18 and four of 85; eight hops of 18 ns against six of 18 and two of 85.
    for (comparison, expected) in
        [(all_to_all, 7.0 * 18.0 / (3.0 * 18.0 + 4.0 * 85.0)), (ring, 8.0 * 18.0 / (6.0 * 18.0 + 2.0 * 85.0))]
    {
        assert_eq!(comparison["winner"], "one-l3", "{comparison}");
        assert!(number(&comparison["p_value"]) <= 0.01);
        let ratio = 1.0 + number(&comparison["delta_percent"]) / 100.0;
        assert!((ratio / expected - 1.0).abs() < 0.05, "{ratio} for {expected}");
    }
    assert_eq!((&integer["verdict"], &integer["winner"]), (&"same".into(), &Value::Null));
    assert_eq!(document["comparisons"], simulated(&tool, "chiplet-16", options)["comparisons"]);
}

#[test]
fn independent_work_wins_on_six_cores_and_messages_on_three_smt_cores() {
    let options = "--placement across-l3 --placement smt-packed --threads 6 --workload n-queens,ring";
    let document = simulated(&Tool::new(), "chiplet-16-smt", options);
    let [queens, ring] = [0, 1].map(|at| &document["comparisons"][at]);
    assert_eq!(queens["placements"][1]["taskset"], "taskset -c 0-2,16-18");
    assert_eq!([&queens["winner"], &ring["winner"]], ["across-l3", "smt-packed"]);
    let delta = number(&queens["delta_percent"]);
    assert!((delta + 30.0).abs() < 2.0, "{delta}");
}

#[test]
fn a_picture_has_every_row_of_the_tables_with_its_difference() {
    let tool = Tool::new();
    let line = "place --machine sim:chiplet-16-smt --seed 1 -q --placement across-l3 --placement smt-packed --threads 6 \
                --workload n-queens,mutex-array:10000";
    let table = tool.out(line);
    let picture = tool.report(&["latest"], "place.svg");
    for metric in ["solutions_per_s", "time_s", "events_per_s", "event_ms_p95", "event_ms_max"] {
        assert_contains(&picture, &[&format!("{metric}, ")]);
    }
    let differences = |text: &str| text.matches("-30 % ±").count();
    assert!(differences(&table) > 0 && differences(&picture) == differences(&table), "{table}");
    assert!(!picture.contains('…'), "nothing is cut: {picture}");
    // Five runs give the difference of the medians, without an interval.
    let table = flat(&tool.out(&format!("{line} --repeat 5")));
    assert!(table.contains(" · -30 % 0.0625 ") && !table.contains('±'), "{table}");
    assert!(tool.report(&["latest"], "place.svg").contains(">-30 %, "), "{table}");
}

#[test]
fn names_and_values_do_not_overlap_on_a_phone() {
    let tool = Tool::new();
    let places =
        ["--placement", "two CCX=0-2,8-10", "--placement", "threads of the cores of one CCX=0-2,16-18"];
    let queens = words("place --machine sim:chiplet-16-smt --seed 1 -q --workload n-queens");
    tool.done(&[&queens[..], &places].concat());
    let page = tool.report(&["latest"], "place.html");
    let is_of_phone = |figure: &&str| figure.contains("x=\"336\"") && figure.contains(">-30 % ±");
    let phone = page.split("<svg").find(is_of_phone).unwrap();
    let y_of =
        |words: &str| between(phone.split("<text").find(|text| text.contains(words)).unwrap(), " y=\"", "\"");
    assert_ne!(y_of(">threads of the cores of one CCX<"), y_of(">-30 % ±"));
}

#[test]
fn derived_placements_with_the_same_cpus_run_once_with_a_notice() {
    let tool = Tool::new();
    let line = "place --machine sim:chiplet-16 --seed 1 --threads 8 --placement one-l3 --placement compact \
                --workload ring -q";
    assert_contains(
        &tool.out(&format!("{line} --placement across-l3")),
        &["`one-l3` and `compact` use the same CPUs here and are run as one", "one-l3+compact wins"],
    );
    let refused = tool.call(&words(line));
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert_contains(&refused.err, &["one-l3 and compact use the same CPUs here (0-7)"]);
    // Listed CPUs may equal those of a preset.
    tool.out(&format!("{line} --placement listed=0-7"));
}

#[test]
fn one_run_per_placement_gives_neither_interval_nor_verdict() {
    let tool = Tool::new();
    let options = "--placement one-l3 --placement across-l3 --threads 4 --workload ring --budget 1200ms";
    let ring = &simulated(&tool, "chiplet-16", options)["comparisons"][0];
    for arm in list(&ring["placements"]) {
        assert_eq!((&arm["repetitions"], &arm["ci"]), (&json!([0]), &Value::Null), "{ring}");
        assert!(number(&arm["median"]) > 0.0);
    }
    assert_eq!((&ring["verdict"], &ring["pairs"][0]["ci"]), (&"cannot-tell".into(), &Value::Null));
    let screen = screen(&tool, "chiplet-16", options);
    assert_contains(&screen, &["1 of the 10 runs per placement that a verdict needs"]);
    assert!(!screen.contains("±0"), "{screen}");
}

#[test]
fn differences_below_the_minimum_effect_have_no_winner() {
    // Six cores do 1 / 0.7 of the work of three cores with two threads each: 42.9 % more. At 43 %, neither a
    // difference nor its absence is proven.
    for (effect, parts, absent) in [
        ("40%", &["`across-l3` wins in solutions/s: `smt-packed` has 30 % ±"][..], &[][..]),
        ("46%", &["none differs by more than 46 %"], &[]),
        ("43%", &["`smt-packed` has 30 % less than `across-l3`", "-30 %"], &["beats", "43 %,"]),
    ] {
        let options = "--placement across-l3 --placement smt-packed --threads 6 --workload n-queens";
        let screen = screen(&Tool::new(), "chiplet-16-smt", &format!("{options} --min-effect {effect}"));
        assert_contains(&screen, parts);
        assert!(!absent.iter().any(|part| screen.contains(part)), "{effect}: {screen}");
    }
}

#[test]
fn default_placements_are_the_usual_pair_or_refused() {
    let tool = Tool::new();
    for (machine, pair) in [
        ("chiplet-16-smt", ["across-l3", "smt-packed"]),
        ("chiplet-16", ["across-l3", "one-l3"]),
        ("laptop-smt", ["one-per-core", "smt-packed"]),
        ("hybrid", ["one-per-core", "smt-packed"]),
    ] {
        let document = simulated(&tool, machine, "--workload ring");
        assert_eq!(field(&document["comparisons"][0]["placements"], "name"), pair, "{machine}");
    }
    for (options, parts) in [
        (
            "--machine sim:mesh-64 --workload ring",
            ["none of the usual pairs", "no smt-packed (no core has two usable threads"],
        ),
        (
            "--machine sim:chiplet-16 --workload integer --threads 1",
            ["pairs for 1 thread:", "change --threads"],
        ),
    ] {
        let output = tool.call(&words(&format!("place {options}")));
        assert_eq!(output.code, 2, "{}", output.err);
        assert_contains(&output.err, &parts);
    }
}

#[test]
fn the_default_number_of_threads_fits_the_named_placements() {
    let options = "--workload ring --placement p-cores --placement e-cores";
    let document = simulated(&Tool::new(), "hybrid", options);
    let cpus = field(&document["comparisons"][0]["placements"], "cpus");
    assert_eq!(cpus.into_iter().map(|cpus| list(cpus).len()).collect::<Vec<_>>(), [8, 8]);
}

#[test]
fn placements_on_a_large_machine_are_compared() {
    let options =
        "--placement one-l3 --placement spread --threads 8 --workload barrier,shared-counter,pipeline";
    let document = simulated(&Tool::new(), "epyc-2s-192", options);
    assert_eq!(field(&document["comparisons"], "winner"), ["one-l3"; 3]);
}

#[test]
fn every_workload_but_those_of_processes_and_files_has_a_cost_on_a_simulated_machine() {
    let options = "--placement across-l3 --placement smt-packed --threads 6 --workload pipe,threads-yield,mutex-array,\
                   memory-read,memory-write,stream-copy,stream-scale,stream-add,stream-triad";
    let document = simulated(&Tool::new(), "chiplet-16-smt", options);
    let comparisons = list(&document["comparisons"]);
    for arm in comparisons.iter().flat_map(|comparison| list(&comparison["placements"])) {
        assert!(number(&arm["median"]) > 0.0, "{arm}");
    }
    let medians = |workload: &str, metric: &str| -> [f64; 2] {
        let is_match = |it: &&Value| it["workload"] == workload && it["metric"] == metric;
        let found = comparisons.iter().find(is_match).unwrap();
        [0, 1].map(|arm| number(&found["placements"][arm]["median"]))
    };
    // `time_s` is the time of 64 events, as benchmarks like sysbench print it.
    let rates = medians("mutex-array", "events_per_s");
    for (time_s, rate) in medians("mutex-array", "time_s").into_iter().zip(rates) {
        assert!((time_s * rate / 64.0 - 1.0).abs() < 0.01, "{time_s} s, {rate} events/s");
    }
    // Cores of two caches have twice the memory bandwidth of cores of one cache.
    let read = medians("memory-read", "mb_per_s");
    assert!((read[0] / read[1] - 2.0).abs() < 0.05, "{read:?}");
    // Each pair of processes shares one CPU: a whole core, or one of the two SMT threads of a core.
    let echoes = medians("pipe", "loops_per_s");
    assert!((echoes[1] / echoes[0] - 0.7).abs() < 0.02, "{echoes:?}");
}

#[test]
fn five_runs_on_placements_with_blanks_in_their_names_give_neither_interval_nor_verdict() {
    let tool = Tool::new();
    let places = ["--placement", "6-core 2 CCX=0-5", "--placement", "6-thread 1 CCX=0-2,16-18"];
    let integer =
        words("place --machine sim:chiplet-16-smt --seed 1 --workload integer --repeat 5 --no-save");
    let line = [&integer[..], &places].concat();
    let comparison = &tool.json(&[&line[..], &["-q", "--format", "json"]].concat())["comparisons"][0];
    assert_eq!(["verdict", "reason"].map(|key| &comparison[key]), ["cannot-tell", "too few runs for a test"]);
    assert_eq!(field(&comparison["placements"], "name"), ["6-core 2 CCX", "6-thread 1 CCX"]);
    for arm in list(&comparison["placements"]) {
        assert_eq!((list(&arm["runs"]).len(), &arm["ci"]), (5, &Value::Null), "{arm}");
    }
    assert_contains(
        &flat(&tool.done(&line).out),
        &["5 of the 9 runs per placement that a verdict needs, too few for an interval"],
    );
}

#[test]
fn the_same_cpus_in_another_order_are_shown_with_their_order() {
    let tool = Tool::new();
    let options = "--threads 6 --placement across-l3 --placement spread --workload";
    let document = simulated(&tool, "chiplet-16-smt", &format!("{options} ring"));
    let arms = &document["comparisons"][0]["placements"];
    assert_eq!(arms[0]["taskset"], arms[1]["taskset"]);
    assert_eq!(arms[0]["roles"], json!([0, 1, 2, 8, 9, 10]));
    assert_eq!(arms[1]["roles"], json!([0, 8, 1, 9, 2, 10]));
    assert_contains(
        &screen(&tool, "chiplet-16-smt", &format!("{options} ring")),
        &[
            "0, 1, 2, 8, 9, 10",
            "0, 8, 1, 9, 2, 10",
            "so `across-l3` and `spread` become the same",
            "OMP_PLACES='{0},{8},{1},{9},{2},{10}' COMMAND",
            "2 of its 6 hops cross from one L3 to another, against all for `spread`",
        ],
    );
    // No order is advised if the set of CPUs is sufficient.
    let screen = screen(&tool, "chiplet-16-smt", &format!("{options} integer"));
    assert!(!screen.contains("OMP_PLACES") && !screen.contains("threads on CPUs"), "{screen}");
}

#[test]
fn work_that_cannot_be_simulated_is_refused() {
    let tool = Tool::new();
    for (workload, part) in
        [("shell", "does not model"), ("ring,ring", "twice"), ("dance", "unknown workload")]
    {
        let line = format!(
            "place --placement=a=0-1 --placement=b=2-3 --machine sim:chiplet-16 --workload {workload}"
        );
        tool.refused(&words(&line), 2, part);
    }
}

#[test]
fn a_plan_says_where_and_how_often_without_running_anything() {
    let tool = Tool::new();
    assert_contains(
        &tool.out(
            "plan place --machine sim:chiplet-16-smt --placement across-l3 --placement smt-packed --placement none \
             --threads 6 --workload ring,n-queens:12 --repeat 7 --budget 90s",
        ),
        &["taskset -c 0-2,16-18", "unbound", "n-queens:12, judged by solutions_per_s", "90 s", "11 to 200 runs"],
    );
    assert!(!tool.path().join("runs").exists());
}

#[test]
fn a_comparison_ended_by_its_budget_resumes_with_a_longer_one() {
    let tool = Tool::new();
    let counts = |document: &Value| -> Vec<usize> {
        let runs = field(&document["comparisons"][0]["placements"], "runs");
        runs.into_iter().map(|runs| list(runs).len()).collect()
    };
    let short = tool.document(
        "place --machine sim:chiplet-16 --seed 1 --placement one-l3 --placement across-l3 --workload ring --repeat 30 \
         -q --budget 5s --format json",
    );
    assert!(counts(&short).iter().all(|count| (5..30).contains(count)), "{:?}", counts(&short));
    let again = tool.done(&words("place --resume latest --format json"));
    assert_contains(&again.err, &["resume it with a longer --budget"]);
    for (line, part) in [
        ("--seed 2 --resume latest --budget 60s", "--seed cannot be combined with --resume"),
        ("wake --resume latest --budget 60s", "leave out the command"),
        ("latency --resume latest --budget 60s", "leave out the command"),
        ("place --repeat 31 --resume latest --budget 60s", "--repeat cannot"),
        ("place --placement=one-l3 --placement=spread --resume latest --budget 60s", "--placement cannot"),
        ("place --resume latest --budget 60s -- true", "the command cannot"),
    ] {
        tool.refused(&words(line), 2, part);
    }
    let text = tool.out("--resume latest --budget 60s -q --format json");
    let whole: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((counts(&whole), &whole["run"]["segments"]), (vec![30, 30], &2.into()));
    assert_eq!(tool.out("export latest --format json"), text);
    let first = |document: &Value| document["comparisons"][0]["placements"][0]["runs"][0].clone();
    assert_eq!(first(&short), first(&whole));
}
