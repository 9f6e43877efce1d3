//! `queue` under load on simulated machines: at rates, in batches, with several producers and consumers.

use super::queue::{document, queue};
use super::tool::Tool;
use serde_json::Value;

#[test]
fn a_map_at_a_rate_shows_delays_and_messages_are_as_many_as_asked() {
    let tool = Tool::new();
    let paced = [
        "queue",
        "--machine",
        "sim:chiplet-16",
        "--cpus",
        "0-2,8",
        "--queue",
        "semaphore",
        "--capacity",
        "1",
    ];
    let paced = [&paced[..], &["--rate", "5k/s", "--pairs", "all", "--budget", "10s", "-q"]].concat();
    let screen = tool.done(&[&paced[..], &["--name", "paced"]].concat()).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the row produces, the column consumes"), "{screen}");
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    let shown: f64 = row.split_whitespace().nth(2).unwrap().parse().unwrap();
    let document = document(&tool, &["export", "paced", "--format", "json"]);
    let all = document["series"].as_array().unwrap();
    let is_match = |one: &&Value| {
        one["placement"] == serde_json::json!([0, 1]) && one["parameters"]["view"] == "corrected"
    };
    let p50_us = all.iter().find(is_match).unwrap()["percentiles"]["50"].as_f64().unwrap() / 1e3;
    assert!((shown / p50_us - 1.0).abs() < 0.05, "{shown} shown, {p50_us} found:\n{screen}");

    let messages = |asked: &str| -> f64 {
        let words =
            queue(&["-q", "--no-save", "--format", "json", "--queue", "semaphore", "--messages", asked]);
        let cell = &self::document(&tool, &words)["matrices"][0]["cells"][1];
        cell["n"].as_f64().unwrap() / cell["passes"].as_f64().unwrap()
    };
    assert_eq!([messages("800"), messages("8000")], [100.0, 1000.0], "an eighth in each pass");
}

#[test]
fn a_rate_gives_corrected_and_uncorrected_delays_and_excessive_rates_are_saturated() {
    let tool = Tool::new();
    let words =
        ["--rate", "1M/s", "--queue", "spsc", "--format", "json", "-q", "--no-save", "--pairs", "0-8"];
    let series = document(&tool, &queue(&words))["series"].clone();
    let views: Vec<&Value> =
        series.as_array().unwrap().iter().map(|one| &one["parameters"]["view"]).collect();
    assert_eq!(views, ["corrected", "uncorrected", "corrected", "uncorrected"]);
    let words =
        ["--rate", "900M/s", "--queue", "spsc", "--format", "json", "-q", "--no-save", "--pairs", "0-8"];
    let beyond = document(&tool, &queue(&words))["series"][0].clone();
    assert_eq!((&beyond["count"], &beyond["flags"][0]), (&0.into(), &"saturated".into()), "{beyond}");
}

#[test]
fn a_sweep_of_rates_names_the_knee_on_the_screen_in_the_document_and_on_the_page() {
    let tool = Tool::new();
    let words = [
        "queue",
        "--machine",
        "sim:chiplet-16",
        "--seed",
        "1",
        "--queue",
        "spsc,semaphore",
        "--pairs",
        "0-8",
    ];
    let words =
        [&words[..], &["--rate-sweep", "1M..100M/s", "--budget", "20s", "-q", "--name", "sweep"]].concat();
    let screen = tool.done(&words).out;
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let document = document(&tool, &["export", "sweep", "--format", "json"]);
    let knees = document["knees"].as_array().unwrap();
    assert_eq!((knees.len(), document["matrices"].as_array().unwrap().len()), (2, 0));
    for knee in knees {
        let [kept, missed] = ["keeps_per_s", "fails_per_s"].map(|name| knee[name].as_f64().unwrap() / 1e6);
        assert!(1.0 < kept && kept < missed && missed < 100.0, "{knee}");
        let claim = format!("keeps up with {kept} M messages/s, not with {missed} M");
        let queue = knee["parameters"]["queue"].as_str().unwrap();
        assert!(flat.contains(&format!("{queue} {claim}")), "{claim} is not in\n{screen}");
        assert_eq!((&knee["rates"], &knee["parameters"]["capacity"]), (&21.into(), &1000.0.into()));
        assert!(knee["p99_least_ns"].as_f64().unwrap() > 85.0, "a line travels: {knee}");
    }
    assert!(
        screen.contains("░ most passes fell behind")
            && screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
    let counts = |one: &Value, name: &str| one["counts"][name].as_u64().unwrap();
    let first: Vec<&Value> = document["series"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["parameters"]["view"] == "corrected")
        .collect();
    assert!(counts(first[0], "passes_kept") >= 8 && counts(first[0], "passes_missed") == 0, "{}", first[0]);

    let page = tool.path().join("page.html");
    tool.done(&["report", "sweep", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("messages/s offered").count(), 4, "a chart for each queue, wide and narrow");
    let csv = tool.done(&["export", "sweep", "--format", "csv"]).out;
    assert_eq!(
        csv.lines().filter(|line| line.contains(",corrected,")).count(),
        document["series"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["parameters"]["view"] == "corrected" && one["count"].as_u64() > Some(0))
            .count()
    );
}

#[test]
fn a_sweep_takes_one_pair_of_each_relation_and_refuses_invalid_ranges() {
    let tool = Tool::new();
    let words =
        ["queue", "--machine", "sim:chiplet-16", "--queue", "spsc", "--rate-sweep", "-q", "--no-save"];
    let document = document(&tool, &[&words[..], &["--budget", "3s", "--format", "json"]].concat());
    let placements: Vec<&Value> =
        document["knees"].as_array().unwrap().iter().map(|knee| &knee["placement"]).collect();
    assert_eq!(placements.len(), 2, "inside an L3 and across: {placements:?}");
    for (rates, part) in
        [("9M..1M/s", "below the second"), ("9M", "FROM..TO"), ("9M..", "both of them"), ("0..1M", "1000G/s")]
    {
        let refused = tool.call(&["queue", "--machine", "sim:chiplet-16", "--rate-sweep", rates]);
        assert!(refused.code == 2 && refused.err.contains(part), "{rates}: {}", refused.err);
    }
}

#[test]
fn a_sweep_whose_ends_poll_on_one_cpu_is_marked_and_names_no_knee() {
    let words = [
        "queue",
        "--machine",
        "sim:chiplet-16",
        "--queue",
        "slots",
        "--pairs",
        "0-0",
        "--rate-sweep",
        "1k..1M",
    ];
    let screen = Tool::new().done(&[&words[..], &["--budget", "3s", "-q", "--no-save"]].concat()).out;
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("slots polls at both ends of one CPU, whose time slices its rates show"),
        "{screen}"
    );
    assert!(flat.contains("Both ends poll on one CPU") && !flat.contains("keeps up"), "{screen}");
    assert!(!flat.contains("p99 is smallest"), "{screen}");
}

#[test]
fn rates_kept_by_some_passes_have_delays_and_a_remark_in_comparisons() {
    let tool = Tool::new();
    let sweep = |name: &str, seed: &str| {
        let words = ["queue", "--machine", "sim:noisy-vm", "--queue", "slots", "--rate-sweep", "60M..100M"];
        let more = ["--pairs", "0-1", "--budget", "3s", "-q", "--seed", seed, "--name", name];
        tool.done(&[&words[..], &more].concat()).out
    };
    let [screen, _] = [sweep("first", "1"), sweep("second", "2")];
    let document = document(&tool, &["export", "first", "--format", "json"]);
    let saturated = |one: &&Value| one["flags"].as_array().unwrap().contains(&"saturated".into());
    let corrected = |one: &&Value| one["parameters"]["view"] == "corrected";
    let series = document["series"].as_array().unwrap();
    let partly: Vec<&Value> = series.iter().filter(corrected).filter(saturated).collect();
    assert!(!partly.is_empty(), "no rate was kept by some passes alone: {screen}");
    for one in &partly {
        let [kept, missed] =
            ["passes_kept", "passes_missed"].map(|name| one["counts"][name].as_u64().unwrap());
        assert_eq!(kept + missed, one["passes"].as_u64().unwrap(), "of all states: {one}");
        assert!(kept > 0 && missed > 0, "{one}");
        assert!(screen.contains(&format!("{kept} of {}", kept + missed)), "{screen}");
        // If most passes missed the rate, the row has neither delays nor a reached rate.
        let row =
            screen.lines().find(|line| line.contains(&format!(" {kept} of {} ", kept + missed))).unwrap();
        assert_eq!(row.matches('·').count() > 1, kept < missed, "{row}");
    }
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("some passes did not keep the send rate"), "{screen}");
    let compared = tool.done(&["compare", "first", "second"]).out;
    let flat = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    let remark = format!("did not keep the send rate in every pass: {} result", partly.len());
    assert!(flat.contains(&remark), "{remark} is not in\n{compared}");
}

#[test]
fn one_combination_of_producers_and_consumers_is_marked_like_a_table() {
    let words = [
        "queue",
        "--machine",
        "sim:chiplet-16",
        "--cpus",
        "0,1",
        "--queue",
        "array-queue,mutex",
        "--seed",
        "1",
    ];
    let ends =
        ["--capacity", "100", "--producers", "2", "--consumers", "2", "--budget", "3s", "-q", "--no-save"];
    let screen = Tool::new().done(&[&words[..], &ends].concat()).out;
    assert!(screen.contains("4 threads share 2 CPUs"), "{screen}");
    let row = screen.lines().find(|line| line.trim_start().starts_with("array-queue")).expect("a row");
    let messages = row.split_whitespace().nth(3).unwrap();
    assert!(messages.ends_with('s'), "two that poll share a CPU: {row}");
    assert!(
        row.matches('±').count() == 2 && !row.contains('?'),
        "both sides are fair within something: {row}"
    );
}

#[test]
fn several_producers_are_one_series_and_share_nothing_with_the_matrices() {
    // Without `--queue`, some queues for several producers and consumers are measured.
    let tool = Tool::new();
    let unnamed = self::document(
        &tool,
        &queue(&["--producers", "2", "--consumers", "2", "--format", "json", "-q", "--no-save"]),
    );
    assert_eq!(unnamed["series"].as_array().unwrap().len(), 6, "three queues at two capacities");
    let words = ["--producers", "2", "--queue", "mutex", "--format", "json", "-q", "--no-save"];
    let document = document(&tool, &queue(&words));
    assert_eq!(document["matrices"].as_array().unwrap().len(), 0);
    let series = document["series"].as_array().unwrap();
    assert_eq!((series.len(), &series[0]["placement"]), (2, &serde_json::json!([0, 1, 8])));
    assert!(series[0]["values"]["messages_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn lists_of_producers_and_consumers_give_a_table_and_a_map_with_shares() {
    let tool = Tool::new();
    let words = [
        "queue",
        "--machine",
        "sim:chiplet-16",
        "--cpus",
        "0-7",
        "--seed",
        "1",
        "--queue",
        "array-queue,mutex",
    ];
    let ends = ["--capacity", "100", "--producers", "1,2,4", "--consumers", "1,2", "--budget", "10s", "-q"];
    let words = [&words[..], &ends].concat();
    let screen = tool.done(&[&words[..], &["--name", "ends"]].concat()).out;
    let row = |producers: &str, consumers: &str| -> Vec<&str> {
        let rows = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.into_iter().find(|row| row.len() > 3 && row[..2] == [producers, consumers]).expect("a row")
    };
    assert!(!row("1", "1").contains(&"1.00"), "no share where there is one: {screen}");
    assert!(row("4", "1").iter().any(|word| ["0.99", "1.00"].contains(word)), "in turn: {screen}");
    assert!(screen.contains("producers ↓ consumers →"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let document = document(&tool, &["export", "ends", "--format", "json"]);
    let series = document["series"].as_array().unwrap();
    assert_eq!((series.len(), document["matrices"].as_array().unwrap().len()), (12, 0));
    let [most, least] = [[4, 2], [1, 1]].map(|[producers, consumers]| {
        let is =
            |one: &Value, name: &str, count: i32| one["parameters"][name].as_f64() == Some(f64::from(count));
        let is_match = |one: &&Value| is(one, "producers", producers) && is(one, "consumers", consumers);
        series.iter().find(is_match).unwrap()
    });
    assert_eq!(most["placement"], serde_json::json!([0, 1, 2, 3, 4, 5]));
    let value = |one: &Value, name: &str| one["values"][name].as_f64();
    assert!(
        value(most, "producer_fairness") > Some(0.9) && value(most, "consumer_share_max") < Some(0.6),
        "{most}"
    );
    assert_eq!(value(least, "producer_fairness"), None);
    assert!(most["intervals"]["producer_fairness"].is_array(), "{most}");
    let share = |role: &Value| role["values"]["share"].as_f64().unwrap();
    let shares: Vec<f64> = most["of_roles"].as_array().unwrap().iter().map(share).collect();
    assert!(shares.len() == 6 && (shares[..4].iter().sum::<f64>() - 1.0).abs() < 0.02, "{shares:?}");
    assert!(
        most["of_roles"][0]["intervals"]["share"].is_array() && least["of_roles"] == serde_json::json!([])
    );
    let page = tool.path().join("page.html");
    tool.done(&["report", "ends", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("array-queue, u64, capacity 100: million messages per second"),
        "no map on the page"
    );
    for (words, part) in [
        (&["--queue", "spsc", "--producers", "1,2"][..], "only one producer"),
        (&["--queue", "mutex", "--producers", "2,2"], "lists 2 twice"),
        (&["--queue", "mutex", "--consumers", "0,1"], "0"),
    ] {
        let refused = tool.call(&[&["queue", "--machine", "sim:chiplet-16"], words].concat());
        assert!(refused.code == 2 && refused.err.contains(part), "{words:?}: {}", refused.err);
    }
}

#[test]
fn batches_are_a_table_a_chart_and_series_of_their_own_and_resume() {
    let tool = Tool::new();
    let words =
        ["queue", "--machine", "sim:chiplet-16", "--seed", "1", "--queue", "spsc,mutex", "--pairs", "0-1"];
    let words = [&words[..], &["--batch", "1,8,64", "--capacity", "100", "--budget", "10s", "-q"]].concat();
    let screen = tool.done(&[&words[..], &["--name", "batches"]].concat()).out;
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for queue in ["spsc", "mutex"] {
        let rows = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows: Vec<_> = rows.filter(|row| row.first() == Some(&queue) && row.contains(&"100")).collect();
        assert!(rows.len() >= 3, "a row for each batch of {queue}: {screen}");
        assert!(
            flat.contains(&format!("{queue}, u64, capacity 100, CPUs 0 → 1, same L3: batches of 64 pass")),
            "{screen}"
        );
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let document = document(&tool, &["export", "batches", "--format", "json"]);
    let series = document["series"].as_array().unwrap();
    assert_eq!((series.len(), document["matrices"].as_array().unwrap().len()), (6, 0));
    let rate = |queue: &str, batch: f64| {
        let is_match = |one: &&Value| {
            one["parameters"]["queue"] == queue && one["parameters"]["batch"].as_f64() == Some(batch)
        };
        series.iter().find(is_match).unwrap()["values"]["messages_per_s"].as_f64().unwrap()
    };
    assert!(rate("mutex", 64.0) > 4.0 * rate("mutex", 1.0), "one lock for 64 messages: {series:?}");
    assert!(rate("spsc", 64.0) > 1.2 * rate("spsc", 1.0), "one index for 64 messages");
    for batches in document["batches"].as_array().unwrap() {
        let queue = batches["parameters"]["queue"].as_str().unwrap();
        assert_eq!((&batches["smallest"], &batches["best"]), (&1.into(), &64.into()), "{batches}");
        let of_64 = &batches["gains"][1];
        let [low, high] = [0, 1].map(|end| of_64["ci"][end].as_f64().unwrap());
        let times = rate(queue, 64.0) / rate(queue, 1.0);
        assert!(of_64["batch"] == 64 && low < times && times < high, "{times}: {batches}");
    }
    assert_eq!(document["batches"].as_array().unwrap().len(), 2);
    let csv = tool.done(&["export", "batches", "--format", "csv"]).out;
    assert!(csv.lines().any(|line| line.contains(",batch,")), "{csv}");
    let page = tool.path().join("page.html");
    tool.done(&["report", "batches", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("what passes in batches") && page.contains("messages of a batch"), "no chart");
    let again = tool.done(&["--resume", "batches", "-q"]).out;
    assert!(again.contains("batches of 64 pass"), "{again}");
    assert!(!flat.contains("slowest"), "sizes of batches are no queues that could be slower: {screen}");
}

#[test]
fn batches_at_a_rate_show_first_and_last_delays_and_unfit_batches_are_refused() {
    let tool = Tool::new();
    let words =
        ["queue", "--machine", "sim:chiplet-16", "--seed", "1", "--queue", "spsc", "--pairs", "0-1", "-q"];
    let paced =
        [&words[..], &["--batch", "1,16", "--rate", "1M/s", "--budget", "5s", "--name", "paced"]].concat();
    let screen = tool.done(&paced).out;
    assert!(screen.lines().any(|line| line.contains("first p50") && line.contains("last p50")), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let document = document(&tool, &["export", "paced", "--format", "json"]);
    assert_eq!(document["batches"].as_array().unwrap().len(), 0, "a rate is kept, not gained");
    let views = |view: &str| -> Vec<f64> {
        let all = document["series"].as_array().unwrap().iter();
        let of_view = all.filter(|one| one["parameters"]["view"] == view);
        of_view.map(|one| one["percentiles"]["50"].as_f64().unwrap()).collect()
    };
    let (first, last) = (views("first_of_batch"), views("last_of_batch"));
    assert_eq!((first.len(), last.len(), first[0] == last[0]), (2, 2, true));
    assert!((first[1] - last[1] - 15_000.0).abs() < 1_500.0, "15 messages of 1 µs: {first:?} {last:?}");
    for (more, part) in [
        (
            &["--batch", "64", "--capacity", "10,1000"][..],
            "--batch 64 does not fit into a queue of --capacity 10",
        ),
        (&["--queue", "semaphore", "--batch", "8"], "queue `semaphore` has no batches"),
        (&["--queue", "kanal", "--batch", "1,8,64"], "whatever the batch"),
        (&["--batch", "0"], "1 to 4194302"),
        (&["--batch", "8,8"], "lists 8 twice"),
        (&["--batch", "64", "--rate", "10/s"], "takes 6.4 s to fill"),
        (&["--queue", "dotnet:channel", "--batch", "8"], "one message at a time"),
        (&["--batch", "8", "--rate-sweep"], "--rate-sweep"),
        (&["--batch", "8", "--producers", "2"], "--producers"),
    ] {
        let refused = tool.call(&[&["queue", "--machine", "sim:chiplet-16"], more].concat());
        assert!(refused.code == 2 && refused.err.contains(part), "{more:?}: {}", refused.err);
    }
    let alone =
        ["queue", "--machine", "sim:chiplet-16", "--queue", "semaphore", "--batch", "1", "--pairs", "0-1"];
    tool.done(&[&alone[..], &["--budget", "2s", "-q", "--no-save"]].concat());
}

#[test]
fn tables_contain_measured_trials_and_all_if_the_budget_suffices() {
    let tool = Tool::new();
    let counts = |cpu_options: &[&str], budget: &str| {
        let words = "queue --machine sim:chiplet-16-smt --rate 1M/s --queue spsc --seed 1 --capacity 1,10,100,1000,10000";
        let words: Vec<&str> = words.split(' ').collect();
        let words = [&words[..], cpu_options, &["-q", "--budget", budget, "--name", budget]].concat();
        let screen = tool.done(&words).out;
        let document = document(&tool, &["export", budget, "--format", "json"]);
        let of_trial =
            |one: &Value| (format!("{} {}", one["placement"], one["parameters"]), one["passes"] != 0);
        let trials = document["series"].as_array().unwrap().iter().map(of_trial);
        // Counts views, of which a measured trial has several.
        let (all, reached): (Vec<_>, Vec<_>) =
            (trials.clone().collect(), trials.filter(|one| one.1).collect());
        let rows = screen.lines().filter(|line| line.starts_with(" spsc ") && line.contains(" u64 ")).count();
        (rows, reached.len(), all.len())
    };
    let (rows, reached, all) = counts(&["--cpus", "0,8", "--pairs", "all"], "1s");
    assert!(0 < rows && rows <= reached && reached < all, "{rows} rows, {reached} of {all} distributions");
    let (rows, reached, all) = counts(&["--pairs", "0-1,0-8"], "10s");
    assert!(rows >= 2 * 5 && reached == all, "{rows} rows, {reached} of {all} distributions");
}

#[test]
fn a_rate_is_measured_at_one_capacity_between_one_pair_of_each_relation() {
    let tool = Tool::new();
    let measured = |words: &[&str]| {
        let rate =
            ["queue", "--machine", "sim:chiplet-16", "--rate", "1M/s", "--queue", "spsc", "--format", "json"];
        let out = tool.done(&[&rate[..], words, &["-q", "--no-save", "--budget", "5s"]].concat()).out;
        let document: Value = serde_json::from_str(&out).unwrap();
        let trials = document["series"].as_array().unwrap().iter();
        let trials = trials.map(|one| format!("{} {}", one["placement"], one["parameters"]["capacity"]));
        trials.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(measured(&["--cpus", "0,8"]), ["[0,8] 1000.0"]);
    assert_eq!(measured(&["--cpus", "0,1,8"]), ["[0,1] 1000.0", "[0,8] 1000.0"]);
    assert_eq!(measured(&["--cpus", "0,8", "--pairs", "8-0", "--capacity", "10"]), ["[8,0] 10.0"]);
}
