//! `queue` under load on simulated machines: at rates, in batches, with several producers and consumers.

use super::queue::QUEUE;
use super::tool::{Tool, assert_contains, assert_fits, flat, list, number, words};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MACHINE: &str = "queue --machine sim:chiplet-16";

fn has_view(series: &Value, view: &str) -> bool {
    series["parameters"]["view"] == view
}

#[track_caller]
fn assert_refused(tool: &Tool, cases: &[(&str, &str)]) {
    for (options, part) in cases {
        tool.refused(&words(&format!("{MACHINE} {options}")), 2, part);
    }
}

#[test]
fn a_map_at_a_rate_shows_the_delays_of_the_document() {
    let tool = Tool::new();
    let screen = tool.out(&format!(
        "{MACHINE} --cpus 0-2,8 --queue semaphore --capacity 1 --rate 5k/s --pairs all --budget 10s -q --name paced"
    ));
    assert_contains(&flat(&screen), &["the row produces, the column consumes"]);
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    let shown: f64 = words(row)[2].parse().unwrap();
    let document = tool.document("export paced");
    let is_match = |one: &&Value| one["placement"] == json!([0, 1]) && has_view(one, "corrected");
    let one = list(&document["series"]).iter().find(is_match).unwrap();
    let p50_us = number(&one["percentiles"]["50"]) / 1e3;
    assert!((shown / p50_us - 1.0).abs() < 0.05, "{shown} shown, {p50_us} found:\n{screen}");
}

#[test]
fn a_rate_gives_corrected_and_uncorrected_delays_and_excessive_rates_are_saturated() {
    let tool = Tool::new();
    let at = |rate: &str| {
        let options = "--queue spsc --format json --no-save --pairs 0-8";
        tool.document(&format!("{QUEUE} --rate {rate} {options}"))["series"].clone()
    };
    let kept = at("1M/s");
    let views: Vec<&Value> = list(&kept).iter().map(|one| &one["parameters"]["view"]).collect();
    assert_eq!(views, ["corrected", "uncorrected", "corrected", "uncorrected"]);
    let beyond = &at("900M/s")[0];
    assert_eq!((&beyond["count"], &beyond["flags"][0]), (&0.into(), &"saturated".into()), "{beyond}");
}

#[test]
fn a_sweep_of_rates_names_the_knee_on_the_screen_in_the_document_and_on_the_page() {
    let tool = Tool::new();
    let screen = tool.out(&format!(
        "{MACHINE} --seed 1 --queue spsc,semaphore --pairs 0-8 --rate-sweep 1M..100M/s --budget 20s -q --name sweep"
    ));
    let document = tool.document("export sweep");
    let knees = list(&document["knees"]);
    assert_eq!((knees.len(), list(&document["matrices"]).len()), (2, 0));
    for knee in knees {
        let [kept, missed] = ["keeps_per_s", "fails_per_s"].map(|name| number(&knee[name]) / 1e6);
        assert!(1.0 < kept && kept < missed && missed < 100.0, "{knee}");
        let queue = knee["parameters"]["queue"].as_str().unwrap();
        let claim = format!("{queue} keeps up with {kept} M messages/s, not with {missed} M");
        assert_contains(&flat(&screen), &[&claim]);
        assert_eq!((&knee["rates"], &knee["parameters"]["capacity"]), (&21.into(), &1000.0.into()));
        assert!(number(&knee["p99_least_ns"]) > 85.0, "a line travels: {knee}");
    }
    assert_contains(&screen, &["░ most passes fell behind"]);
    assert_fits(&screen);
    let corrected = || list(&document["series"]).iter().filter(|one| has_view(one, "corrected"));
    let counts = &corrected().next().unwrap()["counts"];
    assert!(counts["passes_kept"].as_u64() >= Some(8) && counts["passes_missed"] == 0, "{counts}");

    let page = tool.report(&["sweep"], "page.html");
    assert_eq!(page.matches("messages/s offered").count(), 4, "a chart for each queue, wide and narrow");
    let csv = tool.out("export sweep --format csv");
    assert_eq!(
        csv.lines().filter(|line| line.contains(",corrected,")).count(),
        corrected().filter(|one| one["count"] != 0).count()
    );
}

#[test]
fn a_sweep_takes_one_pair_of_each_relation_and_refuses_invalid_ranges() {
    let tool = Tool::new();
    let document =
        tool.document(&format!("{MACHINE} --queue spsc --rate-sweep -q --no-save --budget 3s --format json"));
    let placements: Vec<&Value> = list(&document["knees"]).iter().map(|knee| &knee["placement"]).collect();
    assert_eq!(placements.len(), 2, "inside an L3 and across: {placements:?}");
    assert_refused(
        &tool,
        &[
            ("--rate-sweep 9M..1M/s", "below the second"),
            ("--rate-sweep 9M", "FROM..TO"),
            ("--rate-sweep 9M..", "both of them"),
            ("--rate-sweep 0..1M", "1000G/s"),
        ],
    );
}

#[test]
fn a_sweep_whose_ends_poll_on_one_cpu_is_marked_and_names_no_knee() {
    let line = format!("{MACHINE} --queue slots --pairs 0-0 --rate-sweep 1k..1M --budget 3s -q --no-save");
    let screen = flat(&Tool::new().out(&line));
    assert_contains(
        &screen,
        &[
            "slots polls at both ends of one CPU, whose time slices its rates show",
            "Both ends poll on one CPU",
        ],
    );
    assert!(!screen.contains("keeps up") && !screen.contains("p99 is smallest"), "{screen}");
}

#[test]
fn rates_kept_by_some_passes_have_delays_and_a_remark_in_comparisons() {
    let tool = Tool::new();
    let sweep = |name: &str, seed: u32| {
        let options = "--queue slots --rate-sweep 60M..100M --pairs 0-1 --budget 3s -q";
        tool.out(&format!("queue --machine sim:noisy-vm {options} --seed {seed} --name {name}"))
    };
    let screen = sweep("first", 1);
    sweep("second", 2);
    let document = tool.document("export first");
    let is_saturated = |one: &&Value| list(&one["flags"]).contains(&"saturated".into());
    let corrected = list(&document["series"]).iter().filter(|one| has_view(one, "corrected"));
    let partly: Vec<&Value> = corrected.filter(is_saturated).collect();
    assert!(!partly.is_empty(), "no rate was kept by some passes alone: {screen}");
    for one in &partly {
        let [kept, missed] =
            ["passes_kept", "passes_missed"].map(|name| one["counts"][name].as_u64().unwrap());
        assert_eq!(one["passes"], kept + missed, "of all states: {one}");
        assert!(kept > 0 && missed > 0, "{one}");
        // If most passes missed the rate, the row has neither delays nor a reached rate.
        let count = format!(" {kept} of {} ", kept + missed);
        let row = screen.lines().find(|line| line.contains(&count)).unwrap();
        assert_eq!(row.matches('·').count() > 1, kept < missed, "{row}");
    }
    assert_contains(&flat(&screen), &["some passes did not keep the send rate"]);
    let remark = format!("did not keep the send rate in every pass: {} result", partly.len());
    assert_contains(&flat(&tool.out("compare first second")), &[&remark]);
}

#[test]
fn one_combination_of_producers_and_consumers_is_marked_like_a_table() {
    let screen = Tool::new().out(&format!(
        "{MACHINE} --cpus 0,1 --queue array-queue,mutex --seed 1 --capacity 100 --producers 2 --consumers 2 \
         --budget 3s -q --no-save"
    ));
    assert!(screen.contains("4 threads share 2 CPUs"), "{screen}");
    let row = screen.lines().find(|line| line.trim_start().starts_with("array-queue")).expect("a row");
    assert!(words(row)[3].ends_with('s'), "two that poll share a CPU: {row}");
    assert!(row.matches('±').count() == 2 && !row.contains('?'), "both sides have an interval: {row}");
}

#[test]
fn several_producers_are_one_series_and_share_nothing_with_the_matrices() {
    let tool = Tool::new();
    let document = |more: &str| tool.document(&format!("{QUEUE} --format json --no-save {more}"));
    // Without `--queue`, some queues for several producers and consumers are measured.
    let unnamed = document("--producers 2 --consumers 2");
    assert_eq!(list(&unnamed["series"]).len(), 6, "three queues at two capacities");
    let mutex = document("--producers 2 --queue mutex");
    assert_eq!(mutex["matrices"], json!([]));
    let series = list(&mutex["series"]);
    assert_eq!((series.len(), &series[0]["placement"]), (2, &json!([0, 1, 8])));
    assert!(number(&series[0]["values"]["messages_per_s"]) > 0.0);
}

#[test]
fn lists_of_producers_and_consumers_give_a_table_and_a_map_with_shares() {
    let tool = Tool::new();
    let screen = tool.out(&format!(
        "{MACHINE} --cpus 0-7 --seed 1 --queue array-queue,mutex --capacity 100 --producers 1,2,4 --consumers 1,2 \
         --budget 10s -q --name ends"
    ));
    let row = |producers: &str, consumers: &str| -> Vec<&str> {
        let mut rows = screen.lines().map(words);
        rows.find(|row| row.len() > 3 && row[..2] == [producers, consumers]).expect("a row")
    };
    assert!(!row("1", "1").contains(&"1.00"), "no share where there is one: {screen}");
    assert!(row("4", "1").iter().any(|word| ["0.99", "1.00"].contains(word)), "in turn: {screen}");
    assert_contains(&screen, &["producers ↓ consumers →"]);
    assert_fits(&screen);
    let document = tool.document("export ends");
    let series = list(&document["series"]);
    assert_eq!((series.len(), list(&document["matrices"]).len()), (12, 0));
    let [most, least] = [[4.0, 2.0], [1.0, 1.0]].map(|ends| {
        let is_match = |one: &&Value| ["producers", "consumers"].map(|end| &one["parameters"][end]) == ends;
        series.iter().find(is_match).unwrap()
    });
    assert_eq!(most["placement"], json!([0, 1, 2, 3, 4, 5]));
    let values = &most["values"];
    assert!(number(&values["producer_fairness"]) > 0.9, "{most}");
    assert!(number(&values["consumer_share_max"]) < 0.6, "{most}");
    assert_eq!(least["values"]["producer_fairness"], Value::Null);
    assert!(most["intervals"]["producer_fairness"].is_array(), "{most}");
    let roles = list(&most["of_roles"]);
    let produced: f64 = roles[..4].iter().map(|role| number(&role["values"]["share"])).sum();
    assert!(roles.len() == 6 && (produced - 1.0).abs() < 0.02, "{roles:?}");
    assert!(roles[0]["intervals"]["share"].is_array() && least["of_roles"] == json!([]));
    let page = tool.report(&["ends"], "page.html");
    assert!(page.contains("array-queue, u64, capacity 100: million messages per second"), "no map");
    assert_refused(
        &tool,
        &[
            ("--queue spsc --producers 1,2", "only one producer"),
            ("--queue mutex --producers 2,2", "lists 2 twice"),
            ("--queue mutex --consumers 0,1", "0"),
        ],
    );
}

#[test]
fn batches_are_a_table_a_chart_and_series_of_their_own_and_resume() {
    let tool = Tool::new();
    let screen = tool.out(&format!(
        "{MACHINE} --seed 1 --queue spsc,mutex --pairs 0-1 --batch 1,8,64 --capacity 100 --budget 10s -q --name batches"
    ));
    for queue in ["spsc", "mutex"] {
        let rows = screen.lines().map(words);
        let rows = rows.filter(|row| row.first() == Some(&queue) && row.contains(&"100")).count();
        assert!(rows >= 3, "a row for each batch of {queue}: {screen}");
        let claim = format!("{queue}, u64, capacity 100, CPUs 0 → 1, same L3: batches of 64 pass");
        assert_contains(&flat(&screen), &[&claim]);
    }
    assert_fits(&screen);
    assert!(!screen.contains("slowest"), "sizes of batches are no queues that could be slower: {screen}");
    let document = tool.document("export batches");
    let series = list(&document["series"]);
    assert_eq!((series.len(), list(&document["matrices"]).len()), (6, 0));
    let rate = |queue: &str, batch: f64| {
        let is_match =
            |one: &&Value| one["parameters"]["queue"] == queue && one["parameters"]["batch"] == batch;
        number(&series.iter().find(is_match).unwrap()["values"]["messages_per_s"])
    };
    assert!(rate("mutex", 64.0) > 4.0 * rate("mutex", 1.0), "one lock for 64 messages: {series:?}");
    assert!(rate("spsc", 64.0) > 1.2 * rate("spsc", 1.0), "one index for 64 messages");
    assert_eq!(list(&document["batches"]).len(), 2);
    for batches in list(&document["batches"]) {
        let queue = batches["parameters"]["queue"].as_str().unwrap();
        assert_eq!((&batches["smallest"], &batches["best"]), (&1.into(), &64.into()), "{batches}");
        let of_64 = &batches["gains"][1];
        let [low, high] = [0, 1].map(|end| number(&of_64["ci"][end]));
        let times = rate(queue, 64.0) / rate(queue, 1.0);
        assert!(of_64["batch"] == 64 && low < times && times < high, "{times}: {batches}");
    }
    let csv = tool.out("export batches --format csv");
    assert!(csv.lines().any(|line| line.contains(",batch,")), "{csv}");
    let page = tool.report(&["batches"], "page.html");
    assert!(page.contains("what passes in batches") && page.contains("messages of a batch"), "no chart");
    assert_contains(&tool.out("--resume batches -q"), &["batches of 64 pass"]);
}

#[test]
fn batches_at_a_rate_show_first_and_last_delays() {
    let tool = Tool::new();
    let screen = tool.out(&format!(
        "{MACHINE} --seed 1 --queue spsc --pairs 0-1 -q --batch 1,16 --rate 1M/s --budget 5s --name paced"
    ));
    assert!(screen.lines().any(|line| line.contains("first p50") && line.contains("last p50")), "{screen}");
    assert_fits(&screen);
    let document = tool.document("export paced");
    assert_eq!(document["batches"], json!([]), "a rate is kept, not gained");
    let [first, last] = ["first_of_batch", "last_of_batch"].map(|view| -> Vec<f64> {
        let of_view = list(&document["series"]).iter().filter(|one| has_view(one, view));
        of_view.map(|one| number(&one["percentiles"]["50"])).collect()
    });
    assert_eq!((first.len(), last.len(), first[0] == last[0]), (2, 2, true));
    assert!((first[1] - last[1] - 15_000.0).abs() < 1_500.0, "15 messages of 1 µs: {first:?} {last:?}");
}

#[test]
fn unfit_batches_are_refused() {
    let tool = Tool::new();
    assert_refused(
        &tool,
        &[
            ("--batch 64 --capacity 10,1000", "--batch 64 does not fit into a queue of --capacity 10"),
            ("--queue semaphore --batch 8", "queue `semaphore` has no batches"),
            ("--queue kanal --batch 1,8,64", "whatever the batch"),
            ("--batch 0", "1 to 4194302"),
            ("--batch 8,8", "lists 8 twice"),
            ("--batch 64 --rate 10/s", "takes 6.4 s to fill"),
            ("--queue dotnet:channel --batch 8", "one message at a time"),
            ("--batch 8 --rate-sweep", "--rate-sweep"),
            ("--batch 8 --producers 2", "--producers"),
        ],
    );
    tool.out(&format!("{MACHINE} --queue semaphore --batch 1 --pairs 0-1 --budget 2s -q --no-save"));
}

#[test]
fn tables_contain_measured_trials_and_all_if_the_budget_suffices() {
    let tool = Tool::new();
    let counts = |options: &str| {
        let screen = tool.out(&format!(
            "queue --machine sim:chiplet-16-smt --rate 1M/s --queue spsc --seed 1 --capacity 1,10,100,1000,10000 -q \
             --name run {options}"
        ));
        let document = tool.document("export run");
        // Views, of which a measured trial has several.
        let views = list(&document["series"]);
        let reached = views.iter().filter(|one| one["passes"] != 0).count();
        let rows = screen.lines().filter(|line| line.starts_with(" spsc ") && line.contains(" u64 ")).count();
        (rows, reached, views.len())
    };
    let (rows, reached, all) = counts("--cpus 0,8 --pairs all --budget 1s");
    assert!(0 < rows && rows <= reached && reached < all, "{rows} rows, {reached} of {all} distributions");
    let (rows, reached, all) = counts("--pairs 0-1,0-8 --budget 10s");
    assert!(rows >= 2 * 5 && reached == all, "{rows} rows, {reached} of {all} distributions");
}

#[test]
fn a_rate_is_measured_at_one_capacity_between_one_pair_of_each_relation() {
    let tool = Tool::new();
    for (cpus, expected) in [
        ("--cpus 0,8", &["[0,8] 1000.0"][..]),
        ("--cpus 0,1,8", &["[0,1] 1000.0", "[0,8] 1000.0"]),
        ("--cpus 0,8 --pairs 8-0 --capacity 10", &["[8,0] 10.0"]),
    ] {
        let options = "--rate 1M/s --queue spsc --format json -q --no-save --budget 5s";
        let document = tool.document(&format!("{MACHINE} {options} {cpus}"));
        let series = list(&document["series"]).iter();
        let measured: BTreeSet<String> =
            series.map(|one| format!("{} {}", one["placement"], one["parameters"]["capacity"])).collect();
        assert!(measured.iter().eq(expected), "{cpus}: {measured:?}");
    }
}
