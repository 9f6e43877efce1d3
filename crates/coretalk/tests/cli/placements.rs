//! `place` on simulated machines, where the best placement of each workload is known.

use super::tool::{Tool, flat};
use serde_json::Value;

fn simulated(tool: &Tool, machine: &str, more: &str) -> Value {
    let line = format!("place --machine sim:{machine} --seed 1 -q --format json --no-save {more}");
    tool.json(&line.split(' ').collect::<Vec<_>>())
}

#[test]
fn messages_prefer_one_cache_and_independent_work_has_no_preference() {
    let tool = Tool::new();
    let words = "--placement one-l3 --placement across-l3 --threads 8 --workload all-to-all,ring,integer";
    let document = simulated(&tool, "chiplet-16", words);
    let comparison = |number: usize| &document["comparisons"][number];
    for number in [0, 1] {
        assert_eq!(comparison(number)["winner"], "one-l3", "{}", comparison(number));
        assert!(comparison(number)["p_value"].as_f64().unwrap() <= 0.01);
    }
    assert_eq!((&comparison(2)["verdict"], &comparison(2)["winner"]), (&"same".into(), &Value::Null));
    // Seven reads of 18 ns against three of 18 and four of 85; eight hops of 18 ns against six of 18 and two of 85.
    for (number, expected) in
        [(0, 7.0 * 18.0 / (3.0 * 18.0 + 4.0 * 85.0)), (1, 8.0 * 18.0 / (6.0 * 18.0 + 2.0 * 85.0))]
    {
        let ratio = 1.0 + comparison(number)["delta_percent"].as_f64().unwrap() / 100.0;
        assert!((ratio / expected - 1.0).abs() < 0.05, "{ratio} for {expected}");
    }
    assert_eq!(document["comparisons"], simulated(&tool, "chiplet-16", words)["comparisons"]);
}

#[test]
fn independent_work_wins_on_six_cores_and_messages_on_three_smt_cores() {
    let tool = Tool::new();
    let words = "--placement across-l3 --placement smt-packed --threads 6 --workload n-queens,ring";
    let document = simulated(&tool, "chiplet-16-smt", words);
    let [queens, ring] = [0, 1].map(|number| &document["comparisons"][number]);
    assert_eq!(queens["placements"][1]["taskset"], "taskset -c 0-2,16-18");
    assert_eq!((&queens["winner"], &ring["winner"]), (&"across-l3".into(), &"smt-packed".into()));
    let delta = queens["delta_percent"].as_f64().unwrap();
    assert!((delta + 30.0).abs() < 2.0, "{delta}");
}

#[test]
fn a_picture_has_every_row_of_the_tables_with_its_difference() {
    let tool = Tool::new();
    let words = "place --machine sim:chiplet-16-smt --seed 1 -q --placement across-l3 --placement smt-packed --threads 6 --workload n-queens,mutex-array:10000";
    let table = tool.done(&words.split(' ').collect::<Vec<_>>()).out;
    tool.done(&["report", "latest", "-o", "place.svg"]);
    let picture = tool.read("place.svg");
    for metric in ["solutions_per_s", "time_s", "events_per_s", "event_ms_p95", "event_ms_max"] {
        assert!(picture.contains(&format!("{metric}, ")), "{metric}: {picture}");
    }
    let differences = |text: &str| text.matches("-30 % ±").count();
    assert!(differences(&table) > 0 && differences(&picture) == differences(&table), "{table}");
    assert!(!picture.contains('…'), "nothing is cut: {picture}");
    // Five runs give the difference of the medians, without an interval.
    let five = format!("{words} --repeat 5");
    let table = flat(&tool.done(&five.split(' ').collect::<Vec<_>>()).out);
    tool.done(&["report", "latest", "-o", "place.svg"]);
    assert!(table.contains(" · -30 % 0.0625 ") && !table.contains('±'), "{table}");
    assert!(tool.read("place.svg").contains(">-30 %, "), "{table}");
}

#[test]
fn names_and_values_do_not_overlap_on_a_phone() {
    let tool = Tool::new();
    let words = ["place", "--machine", "sim:chiplet-16-smt", "--seed", "1", "-q", "--workload", "n-queens"];
    let places =
        ["--placement", "two CCX=0-2,8-10", "--placement", "threads of the cores of one CCX=0-2,16-18"];
    tool.done(&[&words[..], &places].concat());
    tool.done(&["report", "latest", "-o", "place.html"]);
    let page = tool.read("place.html");
    let is_of_phone = |figure: &&str| figure.contains("x=\"336\"") && figure.contains(">-30 % ±");
    let phone = page.split("<svg").find(is_of_phone).unwrap();
    let y_of = |words: &str| {
        let text = phone.split("<text").find(|text| text.contains(words)).unwrap();
        text.split_once(" y=\"").unwrap().1.split('"').next().unwrap()
    };
    assert_ne!(y_of(">threads of the cores of one CCX<"), y_of(">-30 % ±"));
}

#[test]
fn derived_placements_with_the_same_cpus_run_once_with_a_notice() {
    let tool = Tool::new();
    let words = "place --machine sim:chiplet-16 --seed 1 --threads 8 --placement one-l3 --placement compact --workload ring -q";
    let with =
        |more: &str| words.split(' ').chain(more.split_whitespace()).map(str::to_owned).collect::<Vec<_>>();
    let call = |words: Vec<String>| tool.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let output = call(with("--placement across-l3"));
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(
        output.out.contains("`one-l3` and `compact` use the same CPUs here and are run as one"),
        "{}",
        output.out
    );
    assert!(output.out.contains("one-l3+compact wins"), "{}", output.out);
    let refused = call(with(""));
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("one-l3 and compact use the same CPUs here (0-7)"), "{}", refused.err);
    // Listed CPUs may equal those of a preset.
    assert_eq!(call(with("--placement listed=0-7")).code, 0);
}

#[test]
fn one_run_per_placement_gives_neither_interval_nor_verdict() {
    let words = "--placement one-l3 --placement across-l3 --threads 4 --workload ring --budget 1200ms";
    let tool = Tool::new();
    let document = simulated(&tool, "chiplet-16", words);
    let ring = &document["comparisons"][0];
    for arm in ring["placements"].as_array().unwrap() {
        assert_eq!((&arm["repetitions"], &arm["ci"]), (&serde_json::json!([0]), &Value::Null), "{ring}");
        assert!(arm["median"].as_f64().unwrap() > 0.0);
    }
    assert_eq!((&ring["verdict"], &ring["pairs"][0]["ci"]), (&"cannot-tell".into(), &Value::Null));
    let line = format!("place --machine sim:chiplet-16 --seed 1 -q --no-save {words}");
    let out = tool.done(&line.split(' ').collect::<Vec<_>>()).out;
    let flat = flat(&out);
    assert!(
        flat.contains("1 of the 10 runs per placement that a verdict needs") && !flat.contains("±0"),
        "{out}"
    );
}

#[test]
fn differences_below_the_minimum_effect_have_no_winner() {
    // Six cores do 1 / 0.7 of the work of three cores with two threads each: 42.9 % more.
    let words = "place --machine sim:chiplet-16-smt --seed 1 -q --no-save --placement across-l3 --placement smt-packed                  --threads 6 --workload n-queens --min-effect";
    let tool = Tool::new();
    let out = |effect: &str| {
        let out = tool.done(&words.split_whitespace().chain([effect]).collect::<Vec<_>>()).out;
        flat(&out)
    };
    assert!(
        out("40%").contains("`across-l3` wins in solutions/s: `smt-packed` has 30 % ±"),
        "{}",
        out("40%")
    );
    assert!(out("46%").contains("none differs by more than 46 %"), "{}", out("46%"));
    // At 43 %, neither a difference nor its absence is proven.
    let undecided = out("43%");
    assert!(
        undecided.contains("`smt-packed` has 30 % less than `across-l3`") && !undecided.contains("beats"),
        "{undecided}"
    );
    assert!(undecided.contains("-30 %") && !undecided.contains("43 %,"), "{undecided}");
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
        let arms = document["comparisons"][0]["placements"].as_array().unwrap();
        let names: Vec<&str> = arms.iter().map(|arm| arm["name"].as_str().unwrap()).collect();
        assert_eq!(names, pair, "{machine}");
    }
    let output = tool.call(&["place", "--machine", "sim:mesh-64", "--workload", "ring"]);
    assert!(output.code == 2 && output.err.contains("none of the usual pairs"), "{}", output.err);
    assert!(output.err.contains("no smt-packed (no core has two usable threads"), "{}", output.err);
    let output =
        tool.call(&["place", "--machine", "sim:chiplet-16", "--workload", "integer", "--threads", "1"]);
    assert!(output.code == 2 && output.err.contains("pairs for 1 thread:"), "{}", output.err);
    assert!(output.err.contains("change --threads"), "{}", output.err);
}

#[test]
fn the_default_number_of_threads_fits_the_named_placements() {
    let tool = Tool::new();
    let words = "--workload ring --placement p-cores --placement e-cores";
    let document = simulated(&tool, "hybrid", words);
    let arms = document["comparisons"][0]["placements"].as_array().unwrap();
    let threads: Vec<usize> = arms.iter().map(|arm| arm["cpus"].as_array().unwrap().len()).collect();
    assert_eq!(threads, [8, 8]);
}

#[test]
fn placements_on_a_large_machine_are_compared() {
    let words =
        "--placement one-l3 --placement spread --threads 8 --workload barrier,shared-counter,pipeline";
    let document = simulated(&Tool::new(), "epyc-2s-192", words);
    for comparison in document["comparisons"].as_array().unwrap() {
        assert_eq!(comparison["winner"], "one-l3", "{comparison}");
    }
}

#[test]
fn every_workload_but_those_of_processes_and_files_has_a_cost_on_a_simulated_machine() {
    let tool = Tool::new();
    let words = "--placement across-l3 --placement smt-packed --threads 6 --workload \
                 pipe,threads-yield,mutex-array,memory-read,memory-write,stream-copy,stream-scale,stream-add,stream-triad";
    let words = flat(words);
    let document = simulated(&tool, "chiplet-16-smt", &words);
    for comparison in document["comparisons"].as_array().unwrap() {
        for arm in comparison["placements"].as_array().unwrap() {
            assert!(arm["median"].as_f64().is_some_and(|median| median > 0.0), "{comparison}");
        }
    }
    let medians_of = |workload: &str, metric: &str| -> Vec<f64> {
        let all = document["comparisons"].as_array().unwrap();
        let found = all.iter().find(|it| it["workload"] == workload && it["metric"] == metric).unwrap();
        let medians =
            found["placements"].as_array().unwrap().iter().map(|arm| arm["median"].as_f64().unwrap());
        medians.collect()
    };
    // `time_s` is the time of 64 events, as benchmarks like sysbench print it.
    for (time_s, rate) in
        medians_of("mutex-array", "time_s").into_iter().zip(medians_of("mutex-array", "events_per_s"))
    {
        assert!((time_s * rate / 64.0 - 1.0).abs() < 0.01, "{time_s} s, {rate} events/s");
    }
    // Cores of two caches have twice the memory bandwidth of cores of one cache.
    let read = medians_of("memory-read", "mb_per_s");
    assert!((read[0] / read[1] - 2.0).abs() < 0.05, "{read:?}");
    // Each pair of processes shares one CPU: a whole core, or one of the two SMT threads of a core.
    let echoes = medians_of("pipe", "loops_per_s");
    assert!((echoes[1] / echoes[0] - 0.7).abs() < 0.02, "{echoes:?}");
}

#[test]
fn five_runs_on_placements_with_blanks_in_their_names_give_neither_interval_nor_verdict() {
    let tool = Tool::new();
    let places = ["--placement", "6-core 2 CCX=0-5", "--placement", "6-thread 1 CCX=0-2,16-18"];
    let words =
        ["place", "--machine", "sim:chiplet-16-smt", "--seed", "1", "--workload", "integer", "--repeat", "5"];
    let words = [&words[..], &places, &["--no-save"]].concat();
    let document = tool.json(&[&words[..], &["-q", "--format", "json"]].concat());
    let comparison = &document["comparisons"][0];
    assert_eq!(
        (&comparison["verdict"], &comparison["reason"]),
        (&"cannot-tell".into(), &"too few runs for a test".into())
    );
    for (arm, name) in comparison["placements"].as_array().unwrap().iter().zip([&places[1], &places[3]]) {
        assert!(name.starts_with(arm["name"].as_str().unwrap()), "{arm}");
        assert_eq!((arm["runs"].as_array().unwrap().len(), &arm["ci"]), (5, &Value::Null), "{arm}");
    }
    let screen = flat(&tool.done(&words).out);
    assert!(
        screen.contains("5 of the 9 runs per placement that a verdict needs, too few for an interval"),
        "{screen}"
    );
}

#[test]
fn the_same_cpus_in_another_order_are_shown_with_their_order() {
    let tool = Tool::new();
    let words = "--threads 6 --placement across-l3 --placement spread --workload ring";
    let document = simulated(&tool, "chiplet-16-smt", words);
    let arms = &document["comparisons"][0]["placements"];
    assert_eq!(arms[0]["taskset"], arms[1]["taskset"]);
    assert_eq!(arms[0]["roles"], serde_json::json!([0, 1, 2, 8, 9, 10]));
    assert_eq!(arms[1]["roles"], serde_json::json!([0, 8, 1, 9, 2, 10]));
    let line = format!("place --machine sim:chiplet-16-smt --seed 1 -q --no-save {words}");
    let out = tool.done(&line.split(' ').collect::<Vec<_>>()).out;
    let flat = flat(&out);
    for part in [
        "0, 1, 2, 8, 9, 10",
        "0, 8, 1, 9, 2, 10",
        "so `across-l3` and `spread` become the same",
        "OMP_PLACES='{0},{8},{1},{9},{2},{10}' COMMAND",
        "2 of its 6 hops cross from one L3 to another, against all for `spread`",
    ] {
        assert!(flat.contains(part), "{part}: {out}");
    }
    // No order is advised if the set of CPUs is sufficient.
    let words = words.replace("ring", "integer");
    let line = format!("place --machine sim:chiplet-16-smt --seed 1 -q --no-save {words}");
    let out = tool.done(&line.split(' ').collect::<Vec<_>>()).out;
    assert!(!out.contains("OMP_PLACES") && !out.contains("threads on CPUs"), "{out}");
}

#[test]
fn work_that_cannot_be_simulated_is_refused() {
    let tool = Tool::new();
    let places = ["--placement=a=0-1", "--placement=b=2-3", "--machine", "sim:chiplet-16"];
    for (more, part) in [("shell", "does not model"), ("ring,ring", "twice"), ("dance", "unknown workload")] {
        let output = tool.call(&[&["place"], &places[..], &["--workload", more]].concat());
        assert_eq!(output.code, 2, "{}", output.err);
        assert!(output.err.contains(part), "{}", output.err);
    }
}

#[test]
fn a_plan_says_where_and_how_often_without_running_anything() {
    let tool = Tool::new();
    let words = "plan place --machine sim:chiplet-16-smt --placement across-l3 --placement smt-packed --placement none \
                 --threads 6 --workload ring,n-queens:12 --repeat 7 --budget 90s";
    let plan = tool.done(&words.split_whitespace().collect::<Vec<_>>()).out;
    for part in [
        "taskset -c 0-2,16-18",
        "unbound",
        "n-queens:12, judged by solutions_per_s",
        "90 s",
        "11 to 200 runs",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert!(!tool.path().join("runs").exists());
}

#[test]
fn a_comparison_ended_by_its_budget_resumes_with_a_longer_one() {
    let tool = Tool::new();
    let words = "place --machine sim:chiplet-16 --seed 1 --placement one-l3 --placement across-l3 --workload ring \
                 --repeat 30 -q";
    let words: Vec<&str> = words.split_whitespace().collect();
    let runs = |output: &str| {
        let document: Value = serde_json::from_str(output).unwrap();
        let arms = document["comparisons"][0]["placements"].as_array().unwrap();
        let counts: Vec<usize> = arms.iter().map(|arm| arm["runs"].as_array().unwrap().len()).collect();
        (counts, document["run"]["segments"].as_u64().unwrap())
    };
    let short = tool.done(&[&words[..], &["--budget", "5s", "--format", "json"]].concat()).out;
    let (counts, _) = runs(&short);
    assert!(counts.iter().all(|count| (5..30).contains(count)), "{counts:?}");
    let again = tool.done(&["place", "--resume", "latest", "--format", "json"]);
    assert!(again.err.contains("resume it with a longer --budget"), "{}", again.err);
    for (more, part) in [
        (&["--seed", "2"][..], "--seed cannot be combined with --resume"),
        (&["wake"], "leave out the command"),
        (&["latency"], "leave out the command"),
        (&["place", "--repeat", "31"], "--repeat cannot"),
        (&["place", "--placement=one-l3", "--placement=spread"], "--placement cannot"),
        (&["place", "--", "true"], "the command cannot"),
    ] {
        let (front, back) = match more.iter().position(|word| *word == "--") {
            Some(at) => more.split_at(at),
            None => (more, &[][..]),
        };
        let refused = tool.call(&[front, &["--resume", "latest", "--budget", "60s"], back].concat());
        assert!(refused.code == 2 && refused.err.contains(part), "{part}: {}", refused.err);
    }
    let whole = tool.done(&["--resume", "latest", "--budget", "60s", "-q", "--format", "json"]).out;
    assert_eq!(runs(&whole), (vec![30, 30], 2));
    assert_eq!(tool.done(&["export", "latest", "--format", "json"]).out, whole);
    let first = |output: &str| -> f64 {
        let document: Value = serde_json::from_str(output).unwrap();
        document["comparisons"][0]["placements"][0]["runs"][0].as_f64().unwrap()
    };
    assert_eq!(first(&short), first(&whole));
}
