//! `queue` on simulated machines: matrices, exports, screens and plans.

use super::tool::{Tool, assert_contains, assert_fits, between, flat, list, number, words};
use serde_json::{Value, json};

pub const QUEUE: &str = "queue --machine sim:chiplet-16 --cpus 0,1,8 --seed 1 --capacity 1,100 -q";

#[test]
fn every_ordered_pair_is_a_cell_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.out(&format!("{QUEUE} --format json --name first"));
    assert_eq!(tool.out("export first --format json"), live);
    let document: Value = serde_json::from_str(&live).unwrap();
    let matrices = list(&document["matrices"]);
    assert_eq!((matrices.len(), list(&document["series"]).len()), (6, 0));
    let spsc = &matrices[4];
    assert_eq!(["probe", "quantity", "unit"].map(|key| &spsc[key]), ["queue", "throughput", "messages/s"]);
    assert_eq!(spsc["parameters"]["queue"], "spsc");
    assert_eq!(spsc["parameters"]["capacity"], 1.0);
    let cells = list(&spsc["cells"]);
    assert_eq!(cells.len(), 9, "three CPUs, the diagonal among them");
    for cell in cells {
        let on_one_cpu = cell["from"] == cell["to"];
        assert_eq!(list(&cell["flags"]).contains(&"shared-spin".into()), on_one_cpu, "{cell}");
        assert!(number(&cell["cpu_ns_per_message"]) > 0.0 && cell["ci"].is_array(), "{cell}");
    }
    let again = tool.document(&format!("{QUEUE} --format json --no-save"));
    assert_eq!(again["matrices"], document["matrices"]);
}

#[test]
fn tables_are_exported_as_squares_or_as_rows_with_their_probe() {
    let tool = Tool::new();
    tool.out(&format!("{QUEUE} --queue semaphore,spsc --name first"));
    let csv = tool.out("export first --format csv");
    let blocks: Vec<&str> = csv.split("\n\n").collect();
    assert_eq!(blocks.len(), 4, "two queues at two capacities:\n{csv}");
    let heading = "# coretalk matrix: directed, messages/s\n# probe: queue\n# queue: spsc\n";
    assert!(blocks[3].starts_with(heading) && blocks[3].contains("\n# capacity: 100\n"), "{csv}");
    let [semaphore, spsc] = [blocks[1], blocks[3]].map(|block| -> Vec<Vec<&str>> {
        let rows = block.lines().filter(|line| !line.starts_with('#'));
        rows.map(|row| row.split(',').collect()).collect()
    });
    assert_eq!((semaphore.len(), &semaphore[0][..]), (4, &["cpu", "0", "1", "8"][..]));
    let mut semaphore_rates = semaphore[1..].iter().flat_map(|row| &row[1..]);
    assert!(semaphore_rates.all(|rate| rate.parse::<f64>().unwrap() > 0.0), "{csv}");
    let diagonal = [1, 2, 3].map(|at| spsc[at][at]);
    assert_eq!(diagonal, [""; 3], "two threads that poll on one CPU are not a slow pair");

    tool.write("first.csv", &csv);
    tool.refused(&["lint", "first.csv"], 4, "messages per second");

    let table = tool.out("export first --format markdown");
    assert_eq!(table.matches("\n| CPU | 0 | 1 | 8 |\n").count(), 4, "{table}");
    let rows = tool.out("export first --format csv --probe queue");
    assert_eq!(rows.lines().filter(|line| line.starts_with("queue,")).count(), 36, "{rows}");
}

#[test]
fn the_load_of_each_cpu_is_drawn_over_the_run() {
    let tool = Tool::new();
    let live = tool.out(&format!("{QUEUE} --queue semaphore --name first"));
    let rows: Vec<&str> = live.lines().skip_while(|line| !line.starts_with(" Load of each CPU")).collect();
    assert!(rows.len() > 5 && rows[2].starts_with("    0 ") && rows[4].starts_with("    8 "), "{live}");
    let document = tool.document("export first");
    let cpus = list(&document["load"]["cpus"]);
    assert_eq!(cpus.len(), 3);
    for cpu in cpus {
        let shares: Vec<f64> = list(&cpu["load"]).iter().map(number).collect();
        assert!((50..=60).contains(&shares.len()), "{cpu}");
        assert!(shares.iter().all(|share| (0.0..=1.1).contains(share)), "{cpu}");
        assert!(shares.iter().sum::<f64>() > 1.0, "{cpu}");
    }
}

#[test]
fn the_screen_says_where_one_cpu_beats_two() {
    let screen = Tool::new().out(&format!("{QUEUE} --queue semaphore,spsc --precision 5%"));
    assert_contains(
        &flat(&screen),
        &[
            "capacity 100",
            "one CPU is faster at capacity 1",
            "this measures the scheduler, not the pair",
            "Fastest for u64, across L3: spsc at 1, 100.",
        ],
    );
    assert_fits(&screen);
}

#[test]
fn many_pairs_are_measured_concurrently_and_the_gate_is_reported() {
    let tool = Tool::new();
    let many = "queue --machine sim:chiplet-16 --seed 1 --queue array-queue --capacity 1,10 --budget 20s \
                --precision 5%";
    let plan = tool.out(&format!("plan {many}"));
    assert_contains(&plan, &["up to 8 pairs, if a check shows that this does not change the results"]);
    let live = tool.out(&format!("{many} --format json -q --name many"));
    assert_eq!(tool.out("export many --format json"), live);
    let document: Value = serde_json::from_str(&live).unwrap();
    for matrix in list(&document["matrices"]) {
        assert_eq!([&matrix["regime"], &matrix["parameters"]["parallel_pairs"]], ["parallel", "8"]);
        let gate = list(&matrix["gate"]);
        let relations: Vec<&Value> = gate.iter().map(|outcome| &outcome["relation"]).collect();
        assert_eq!(relations, ["l3", "package"]);
        for outcome in gate {
            let [low, high] = [0, 1].map(|end| number(&outcome["ci"][end]));
            assert!(outcome["equivalent"] == true && -0.05 < low && low < high && high < 0.05, "{outcome}");
        }
    }
    assert_contains(
        &flat(&tool.out("runs show many")),
        &["Up to 8 pairs at the same time.", "vs. serial, proven within ±5 %, 8 pairs at once"],
    );
    let alone = &tool.document(&format!("{many} --parallel 1 --format json -q --no-save"))["matrices"][0];
    assert_eq!((&alone["regime"], &alone["gate"]), (&"serial".into(), &json!([])));
}

#[test]
fn a_large_machine_is_sampled_and_the_sample_is_verified() {
    let line = "queue --machine sim:epyc-2s-192 --seed 1 --queue spsc --capacity 10 -q";
    let screen = flat(&Tool::new().out(line));
    assert_contains(&screen, &["Not every pair was measured. ", "of all cells do (95 %)."]);
}

#[test]
fn a_page_shows_the_maps_of_all_capacities_side_by_side() {
    let tool = Tool::new();
    tool.out(&format!("{QUEUE} --queue spsc --name small"));
    let page = tool.report(&["small"], "page.html");
    let section = between(&page, "<section id=\"capacities\"", "</section>");
    assert_eq!(section.matches("<figure>").count(), 4, "a chart and maps of the one queue, wide and narrow");
    assert_contains(section, &["spsc, u64 at each capacity", "capacity 1<", "capacity 100<"]);
    let found = between(&page, "<section id=\"found\"", "</section>");
    assert_contains(found, &["By relation", "Cost of a message"]);
    assert!(!found.contains("Fastest for u64"), "the summary says that already");
}

#[test]
fn message_counts_accept_suffixes_and_end_with_the_budget() {
    let tool = Tool::new();
    let sent = |more: &str| {
        tool.document(&format!("{QUEUE} --no-save --format json --queue semaphore --messages {more}"))
    };
    for (count, per_pass) in [("800", 100.0), ("8000", 1_000.0), ("8k", 1_000.0)] {
        let cell = &sent(count)["matrices"][0]["cells"][1];
        assert_eq!(number(&cell["n"]) / number(&cell["passes"]), per_pass, "an eighth in each pass");
    }
    // A simulated machine also stops at its budget: 25 million messages in each of 18 cells take minutes.
    let many = sent("25M --budget 10s");
    let cells = list(&many["matrices"]).iter().flat_map(|matrix| list(&matrix["cells"]));
    let counts: Vec<f64> = cells.map(|cell| number(&cell["n"])).collect();
    assert!(counts.iter().all(|count| *count > 0.0), "every cell has its share of the budget: {counts:?}");
    assert!(counts.iter().sum::<f64>() < 18.0 * 25e6, "{counts:?}");
    let loads = list(&many["load"]["cpus"]).iter().flat_map(|cpu| list(&cpu["load"]));
    let loads: Vec<f64> = loads.map(number).collect();
    assert!(!loads.is_empty() && loads.iter().all(|load| *load < 1.001), "more than the time: {loads:?}");
    let plan = tool.out("plan queue --machine sim:chiplet-16 --messages 25M --budget 20s");
    assert_contains(&plan, &["25 000 000 per trial", "at most 20 s"]);
    for (asked, part) in
        [("0", "between 1 and `10G`"), ("1.5", "must be whole"), ("many", "such as `25M`"), ("11G", "10G")]
    {
        tool.refused(&["queue", "--machine", "sim:chiplet-16", "--messages", asked], 2, part);
    }
}

#[test]
fn without_intervals_no_queue_is_called_the_fastest() {
    let line =
        "queue --machine sim:chiplet-16 --cpus 0,1 --seed 1 --no-save -q --queue spsc,mutex --budget 0.1s";
    let screen = flat(&Tool::new().out(line));
    assert_contains(&screen, &["(too few passes)", "Fastest for u64, same L3: cannot tell at 1, 10, 100,"]);
}

#[test]
fn a_plan_of_tails_counts_their_time() {
    let plan = |more: &str| {
        Tool::new().out(&format!("plan latency --machine sim:laptop-smt --seed 1 --budget 60s {more}"))
    };
    let tails = plan("--tails");
    let time = tails.lines().find(|line| line.contains("machine time")).unwrap();
    let seconds: f64 = words(time).iter().find_map(|word| word.parse().ok()).unwrap();
    assert!(seconds > 30.0 && time.contains("for single round trips"), "{time}");
    assert!(!plan("").contains("round trips"));
}

#[test]
fn cells_of_time_slices_are_marked_and_show_no_rate() {
    let tool = Tool::new();
    let screen = tool.out(
        "queue --machine sim:laptop-smt --seed 1 --queue spsc --capacity 1,100 --budget 10s -q --name slices",
    );
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    assert_eq!(words(row)[1], "s", "{row}");
    let picture = tool.report(&["slices", "--series", "capacity 100"], "picture.svg");
    assert!(picture.contains(">s</text>") && picture.contains("slices"), "no mark in the picture");
    let page = tool.report(&["slices"], "page.html");
    // The diagonal of an 8 × 8 matrix, where both threads share a CPU.
    assert_eq!(page.matches("\"slices\":[0,9,18,27,36,45,54,63]").count(), 2, "a list for each capacity");
    let diagonal = &tool.document("export slices")["matrices"][0]["cells"][0];
    let rate = format!(">{:.0}</text>", number(&diagonal["median"]));
    assert!(list(&diagonal["flags"]).contains(&"shared-spin".into()), "{diagonal}");
    assert!(!picture.contains(&rate), "{rate} of time slices is drawn");
}

#[test]
fn queues_of_two_cpus_are_compared_in_a_picture_and_one_queue_is_drawn_over_its_capacities() {
    let tool = Tool::new();
    let two = "queue --machine sim:laptop-smt --cpus 0,1 --seed 1 -q --budget 20s";
    let screen = flat(&tool.out(&format!("{two} --name two")));
    assert!(screen.contains("The results rest on ") && !screen.contains("over the capacity"), "{screen}");
    assert_contains(
        &tool.report(&["two"], "two.svg"),
        &[
            "Messages per second, capacity 1000, u64",
            "both on one CPU; not ranked: spsc (time slices of a shared CPU)",
            "semaphore-slim",
        ],
    );
    let one = tool.report(&["two", "--series", "semaphore"], "two.svg");
    assert!(one.contains("semaphore, u64 at each capacity"));
    let screen = tool.out(&format!("{two} --queue spsc --no-save"));
    assert_fits(&screen);
    assert_contains(
        &flat(&screen),
        &[
            "spsc, u64, inside an L3: million messages per second over the capacity. Not drawn: both on one CPU",
            "1 000 10 000",
        ],
    );
}
