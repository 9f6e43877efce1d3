//! `queue` on simulated machines: matrices, exports, screens and plans.

use super::tool::{Tool, flat};
use serde_json::Value;

const QUEUE: [&str; 9] =
    ["queue", "--machine", "sim:chiplet-16", "--cpus", "0,1,8", "--seed", "1", "--capacity", "1,100"];

pub fn queue<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&QUEUE[..], more].concat()
}

pub fn document(tool: &Tool, words: &[&str]) -> Value {
    serde_json::from_str(&tool.done(words).out).unwrap()
}

#[test]
fn every_ordered_pair_is_a_cell_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&queue(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let matrices = document["matrices"].as_array().unwrap();
    assert_eq!((matrices.len(), document["series"].as_array().unwrap().len()), (6, 0));
    let spsc = &matrices[4];
    assert_eq!(
        (&spsc["probe"], &spsc["quantity"], &spsc["unit"]),
        (&"queue".into(), &"throughput".into(), &"messages/s".into())
    );
    assert_eq!(
        (&spsc["parameters"]["queue"], &spsc["parameters"]["capacity"]),
        (&"spsc".into(), &1.0.into())
    );
    let cells = spsc["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 9, "three CPUs, the diagonal among them");
    for cell in cells {
        let on_one_cpu = cell["from"] == cell["to"];
        let flags = cell["flags"].as_array().unwrap();
        assert_eq!(flags.contains(&"shared-spin".into()), on_one_cpu, "{cell}");
        assert!(cell["cpu_ns_per_message"].as_f64().unwrap() > 0.0 && cell["ci"].is_array(), "{cell}");
    }
    let again = self::document(&tool, &queue(&["--format", "json", "-q", "--no-save"]));
    assert_eq!(again["matrices"], document["matrices"]);
}

#[test]
fn tables_are_exported_as_squares_or_as_rows_with_their_probe() {
    let tool = Tool::new();
    tool.done(&queue(&["-q", "--queue", "semaphore,spsc", "--name", "first"]));
    let csv = tool.done(&["export", "first", "--format", "csv"]).out;
    let blocks: Vec<&str> = csv.split("\n\n").collect();
    assert_eq!(blocks.len(), 4, "two queues at two capacities:\n{csv}");
    let rates = |block: &str| -> Vec<Vec<String>> {
        let rows = block.lines().filter(|line| !line.starts_with('#'));
        rows.map(|row| row.split(',').map(str::to_owned).collect()).collect()
    };
    assert!(
        blocks[3].starts_with("# coretalk matrix: directed, messages/s\n# probe: queue\n# queue: spsc\n")
    );
    assert!(blocks[3].contains("\n# capacity: 100\n"), "{csv}");
    let (semaphore, spsc) = (rates(blocks[1]), rates(blocks[3]));
    assert_eq!((semaphore.len(), &semaphore[0][..]), (4, &["cpu", "0", "1", "8"].map(str::to_owned)[..]));
    assert!(
        semaphore[1..].iter().flat_map(|row| &row[1..]).all(|rate| rate.parse::<f64>().unwrap() > 0.0),
        "{csv}"
    );
    let diagonal: Vec<&str> = (1..4).map(|at| spsc[at][at].as_str()).collect();
    assert_eq!(diagonal, [""; 3], "two threads that poll on one CPU are not a slow pair");

    let path = tool.path().join("first.csv");
    std::fs::write(&path, &csv).unwrap();
    let refused = tool.call(&["lint", path.to_str().unwrap()]);
    assert!(
        refused.code == 4 && refused.err.contains("messages per second"),
        "{} {}",
        refused.code,
        refused.err
    );

    let table = tool.done(&["export", "first", "--format", "markdown"]).out;
    assert_eq!(table.matches("\n| CPU | 0 | 1 | 8 |\n").count(), 4, "{table}");
    let rows = tool.done(&["export", "first", "--format", "csv", "--probe", "queue"]).out;
    assert_eq!(rows.lines().filter(|line| line.starts_with("queue,")).count(), 36, "{rows}");
}

#[test]
fn the_load_of_each_cpu_is_drawn_over_the_run() {
    let tool = Tool::new();
    let live = tool.done(&queue(&["-q", "--queue", "semaphore", "--name", "first"])).out;
    let rows: Vec<&str> = live.lines().skip_while(|line| !line.starts_with(" Load of each CPU")).collect();
    assert!(rows.len() > 5 && rows[2].starts_with("    0 ") && rows[4].starts_with("    8 "), "{live}");
    let document = document(&tool, &["export", "first", "--format", "json"]);
    let cpus = document["load"]["cpus"].as_array().unwrap();
    assert_eq!(cpus.len(), 3);
    for cpu in cpus {
        let shares: Vec<f64> =
            cpu["load"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
        assert!(
            (50..=60).contains(&shares.len()) && shares.iter().all(|share| (0.0..=1.1).contains(share)),
            "{cpu}"
        );
        assert!(shares.iter().sum::<f64>() > 1.0, "{cpu}");
    }
}

#[test]
fn the_screen_says_where_one_cpu_beats_two() {
    let screen = Tool::new().done(&queue(&["-q", "--queue", "semaphore,spsc", "--precision", "5%"])).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "capacity 100",
        "one CPU is faster at capacity 1",
        "this measures the scheduler, not the pair",
        "Fastest for u64, across L3: spsc at 1, 100.",
    ] {
        assert!(words.contains(part), "{part} is not in\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
}

#[test]
fn many_pairs_are_measured_concurrently_and_the_gate_is_reported() {
    let tool = Tool::new();
    let whole = ["queue", "--machine", "sim:chiplet-16", "--seed", "1", "--queue", "array-queue"];
    let rest = ["--capacity", "1,10", "--budget", "20s", "--precision", "5%"];
    let words = [&whole[..], &rest].concat();
    let planned = tool.done(&[&["plan"], &words[..]].concat()).out;
    assert!(
        planned.contains("up to 8 pairs, if a check shows that this does not change the results"),
        "{planned}"
    );
    let live = tool.done(&[&words[..], &["--format", "json", "-q", "--name", "many"]].concat()).out;
    assert_eq!(tool.done(&["export", "many", "--format", "json"]).out, live);
    let document: Value = serde_json::from_str(&live).unwrap();
    for matrix in document["matrices"].as_array().unwrap() {
        assert_eq!(
            (&matrix["regime"], &matrix["parameters"]["parallel_pairs"]),
            (&"parallel".into(), &"8".into())
        );
        let judged = matrix["gate"].as_array().unwrap().iter();
        let judged: Vec<_> =
            judged.map(|it| (it["relation"].as_str().unwrap(), it["equivalent"] == true)).collect();
        assert_eq!(judged, [("l3", true), ("package", true)]);
        for outcome in matrix["gate"].as_array().unwrap() {
            let [low, high] = [0, 1].map(|end| outcome["ci"][end].as_f64().unwrap());
            assert!(-0.05 < low && low < high && high < 0.05, "{outcome}");
        }
    }
    let screen = tool.done(&["runs", "show", "many"]).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["Up to 8 pairs at the same time.", "vs. serial, proven within ±5 %, 8 pairs at once"] {
        assert!(words.contains(part), "{part} is not in\n{screen}");
    }
    let alone = [&whole[..], &rest, &["--parallel", "1", "--format", "json", "-q", "--no-save"]].concat();
    let alone = self::document(&tool, &alone);
    assert_eq!(
        (&alone["matrices"][0]["regime"], &alone["matrices"][0]["gate"]),
        (&"serial".into(), &serde_json::json!([]))
    );
}

#[test]
fn a_large_machine_is_sampled_and_the_sample_is_verified() {
    let words =
        ["queue", "--machine", "sim:epyc-2s-192", "--seed", "1", "--queue", "spsc", "--capacity", "10", "-q"];
    let screen = Tool::new().done(&words).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Not every pair was measured. "), "{screen}");
    assert!(words.contains("of all cells do (95 %)."), "{screen}");
}

#[test]
fn a_page_shows_the_maps_of_all_capacities_side_by_side() {
    let tool = Tool::new();
    tool.done(&queue(&["-q", "--queue", "spsc", "--name", "small"]));
    let page = tool.path().join("page.html");
    tool.done(&["report", "small", "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("<section id=\"capacities\"").nth(1).expect("a section of capacities");
    let section = section.split("</section>").next().unwrap();
    assert_eq!(section.matches("<figure>").count(), 4, "a chart and maps of the one queue, wide and narrow");
    assert!(section.contains("spsc, u64 at each capacity"), "{section}");
    for capacity in ["capacity 1<", "capacity 100<"] {
        assert!(section.contains(capacity), "{capacity}");
    }
    let found = page.split("<section id=\"found\"").nth(1).expect("the tables of the terminal");
    let found = found.split("</section>").next().unwrap();
    assert!(found.contains("By relation") && found.contains("Cost of a message"), "{found}");
    assert!(!found.contains("Fastest for u64"), "the summary says that already");
}

#[test]
fn message_counts_accept_suffixes_and_end_with_the_budget() {
    let tool = Tool::new();
    let words = |asked: &'static str| {
        queue(&["-q", "--no-save", "--format", "json", "--queue", "semaphore", "--messages", asked])
    };
    let per_pass = |asked: &'static str| {
        let cell = &document(&tool, &words(asked))["matrices"][0]["cells"][1];
        cell["n"].as_f64().unwrap() / cell["passes"].as_f64().unwrap()
    };
    assert_eq!(per_pass("8k"), 1_000.0);
    // A simulated machine also stops at its budget: 25 million messages in each of 18 cells take minutes.
    let many = document(&tool, &[&words("25M")[..], &["--budget", "10s"]].concat());
    let cells = many["matrices"].as_array().unwrap().iter().flat_map(|it| it["cells"].as_array().unwrap());
    let sent: Vec<f64> = cells.map(|cell| cell["n"].as_f64().unwrap()).collect();
    assert!(sent.iter().all(|sent| *sent > 0.0), "every cell has its share of the budget: {sent:?}");
    assert!(sent.iter().sum::<f64>() < 18.0 * 25e6, "{sent:?}");
    let loads =
        many["load"]["cpus"].as_array().unwrap().iter().flat_map(|cpu| cpu["load"].as_array().unwrap());
    let loads: Vec<f64> = loads.map(|load| load.as_f64().unwrap()).collect();
    assert!(
        !loads.is_empty() && loads.iter().all(|load| *load < 1.001),
        "no CPU works longer than it has: {loads:?}"
    );
    let planned = tool
        .done(&["plan", "queue", "--machine", "sim:chiplet-16", "--messages", "25M", "--budget", "20s"])
        .out;
    assert!(planned.contains("25 000 000 per trial") && planned.contains("at most 20 s"), "{planned}");
    for (asked, part) in
        [("0", "between 1 and `10G`"), ("1.5", "must be whole"), ("many", "such as `25M`"), ("11G", "10G")]
    {
        let refused = tool.call(&["queue", "--machine", "sim:chiplet-16", "--messages", asked]);
        assert!(refused.code == 2 && refused.err.contains(part), "{asked}: {}", refused.err);
    }
}

#[test]
fn without_intervals_no_queue_is_called_the_fastest() {
    let words = ["queue", "--machine", "sim:chiplet-16", "--cpus", "0,1", "--seed", "1", "--no-save", "-q"];
    let more = ["--queue", "spsc,mutex", "--budget", "0.1s"];
    let screen = Tool::new().done(&[&words[..], &more].concat()).out;
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(too few passes)"), "{screen}");
    assert!(words.contains("Fastest for u64, same L3: cannot tell at 1, 10, 100,"), "{screen}");
}

#[test]
fn a_plan_of_tails_counts_their_time() {
    let tool = Tool::new();
    let machine = ["--machine", "sim:laptop-smt", "--seed", "1", "--budget", "60s"];
    let planned = tool.done(&[&["plan", "latency", "--tails"], &machine[..]].concat()).out;
    let time = planned.lines().find(|line| line.contains("machine time")).unwrap();
    let seconds: f64 = time.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    let without = tool.done(&[&["plan", "latency"], &machine[..]].concat()).out;
    assert!(
        seconds > 30.0 && time.contains("for single round trips") && !without.contains("round trips"),
        "{time}"
    );
}

#[test]
fn cells_of_time_slices_are_marked_and_show_no_rate() {
    let tool = Tool::new();
    let words =
        ["queue", "--machine", "sim:laptop-smt", "--seed", "1", "--queue", "spsc", "--capacity", "1,100"];
    let screen = tool.done(&[&words[..], &["--budget", "10s", "-q", "--name", "slices"]].concat()).out;
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("s"), "{row}");
    let drawn = |name: &str| -> String {
        let series = if name.ends_with(".svg") { &["--series", "capacity 100"][..] } else { &[] };
        tool.done(&[&["report", "slices", "-o", name], series].concat());
        std::fs::read_to_string(tool.path().join(name)).unwrap()
    };
    let picture = drawn("picture.svg");
    assert!(picture.contains(">s</text>") && picture.contains("slices"), "no mark in the picture");
    let page = drawn("page.html");
    // The diagonal of an 8 × 8 matrix, where both threads share a CPU.
    assert_eq!(page.matches("\"slices\":[0,9,18,27,36,45,54,63]").count(), 2, "a list for each capacity");
    let document = document(&tool, &["export", "slices"]);
    let diagonal = &document["matrices"][0]["cells"][0];
    let rate = format!(">{:.0}</text>", diagonal["median"].as_f64().unwrap());
    assert!(diagonal["flags"].as_array().unwrap().contains(&"shared-spin".into()), "{diagonal}");
    assert!(!picture.contains(&rate), "{rate} of time slices is drawn");
}

#[test]
fn queues_of_two_cpus_are_compared_in_a_picture_and_one_queue_is_drawn_over_its_capacities() {
    let tool = Tool::new();
    let words =
        ["queue", "--machine", "sim:laptop-smt", "--cpus", "0,1", "--seed", "1", "-q", "--budget", "20s"];
    let screen = flat(&tool.done(&[&words[..], &["--name", "two"]].concat()).out);
    assert!(screen.contains("The results rest on ") && !screen.contains("over the capacity"), "{screen}");
    let drawn = |more: &[&str]| -> String {
        tool.done(&[&["report", "two", "-o", "two.svg"], more].concat());
        std::fs::read_to_string(tool.path().join("two.svg")).unwrap()
    };
    let picture = drawn(&[]);
    for part in [
        "Messages per second, capacity 1000, u64",
        "both on one CPU; not ranked: spsc (time slices of a shared CPU)",
        "semaphore-slim",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(drawn(&["--series", "semaphore"]).contains("semaphore, u64 at each capacity"));
    let screen = tool.done(&[&words[..], &["--queue", "spsc", "--no-save"]].concat()).out;
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    let screen = flat(&screen);
    let chart = "spsc, u64, inside an L3: million messages per second over the capacity. Not drawn: both on one CPU (time slices).";
    assert!(screen.contains(chart) && screen.contains("1 000 10 000"), "{screen}");
}
