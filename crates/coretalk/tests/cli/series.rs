//! Runs of series on simulated machines: deterministic, saved, shown again, resumed, exported.

use super::tool::{Tool, assert_contains, assert_fits, between, list, number, words};
use coretalk::store::RunFile;
use coretalk_model::Histogram;
use coretalk_report::style::Style;
use coretalk_report::{Saved, Screen, screen};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const WAKE: &str = "wake --machine sim:chiplet-16 --seed 1 --primitive semaphore --samples 200";

#[test]
fn a_run_of_series_is_saved_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&words(&format!("{WAKE} --format json -q --name first")));
    assert_eq!(live.err, "");
    assert_eq!(tool.out("export first --format json"), live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let again = tool.document(&format!("{WAKE} --format json -q --no-save"));
    assert_eq!(again["series"], document["series"]);
    let series = list(&document["series"]);
    // Two relations, three gaps, four histograms.
    assert_eq!(series.len(), 24);
    assert_eq!(series[2]["probe"], "wake");
    assert!(series.iter().all(|entry| entry["kind"] == "event" && entry["unit"] == "ns"));
    let lines = tool.out("export first --format jsonl");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["schema"], &first["pass"]), (&"coretalk.pass/1".into(), &0.into()));
    assert!(tool.out("runs list").contains("complete"));
}

#[test]
fn json_lines_are_streamed_as_they_are_exported() {
    let tool = Tool::new();
    let streamed = tool.out(&format!("{WAKE} --format jsonl -q --name lines"));
    assert_eq!(tool.out("export lines --format jsonl"), streamed);
}

#[test]
fn an_interrupted_run_of_series_resumes_where_it_ended() {
    let tool = Tool::new();
    tool.write("stops.toml", "based_on = \"chiplet-16\"\n[failures]\nstop_at_ms = 2000\n");
    // The scenario interrupts every segment.
    let segment = |line: &str| {
        let stopped = tool.call(&words(&format!("{line} --machine sim:stops.toml -q")));
        assert_eq!(stopped.code, 5, "{}", stopped.err);
        assert_contains(&stopped.err, &["resume with"]);
        tool.out("export half --format jsonl")
    };
    let before = segment("wake --seed 1 --primitive semaphore --name half");
    assert!(tool.out("runs show half").contains("Interrupted"));
    let after = segment("--resume half");
    assert!(after.starts_with(&before) && after.lines().count() > before.lines().count());
    let mut distinct = BTreeSet::new();
    for line in after.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(distinct.insert((line["trial"].to_string(), line["pass"].to_string())), "{line} twice");
    }
}

#[test]
fn a_resumed_run_accepts_its_command_a_budget_and_output_options() {
    let tool = Tool::new();
    tool.out("wait --machine sim:laptop-smt --strategy busy,futex --seed 1 --budget 200ms -q --name short");
    for accepted in [
        "-q",
        "--color never",
        "--budget 300ms",
        "-v --order id",
        "--format json -o x.json --export-csv x.csv",
    ] {
        for command in ["", "wait --machine sim:laptop-smt"] {
            tool.out(&format!("{command} --resume short {accepted}"));
        }
    }
    assert!(tool.path().join("x.json").exists());
    for refused in ["--strategy busy,futex", "--seed 1", "--precision 3%", "--cpus 0,1"] {
        let part = format!("{} cannot be combined with --resume", words(refused)[0]);
        tool.refused(&words(&format!("wait --resume short -q {refused}")), 2, &part);
    }
}

/// Options of short runs.
const SHORT: &str = "--machine sim:laptop-smt --seed 1 --budget 500ms -q";

#[test]
fn screens_of_trials_have_no_doubled_blank_lines_and_no_blanks_at_the_end_of_lines() {
    let tool = Tool::new();
    for command in [
        "wait --strategy clock",
        "queue --rate 100k/s --pairs 0-1,1-2 --capacity 1,10",
        "queue --queue spsc --capacity 1",
        "contend --threads 1,2",
        "spawn --kind pool",
        "broadcast",
        "wake --primitive pipe",
    ] {
        let screen = tool.out(&format!("{command} {SHORT} --no-save"));
        assert!(!screen.contains("\n\n\n"), "{command}: {screen}");
        assert!(screen.lines().all(|line| line == line.trim_end()), "{command}: {screen}");
    }
}

#[test]
fn every_part_of_a_split_table_names_its_rows() {
    let queue = "queue --rate 100k/s --pairs 0-1 --capacity 1,10 --queue spsc --no-save";
    let screen = Tool::new().out(&format!("{queue} {SHORT}"));
    let (_, below) = screen.split_once("messages/s\n").unwrap_or_else(|| panic!("{screen}"));
    for (row, capacity) in below.lines().zip(["1", "10"]) {
        assert_eq!(words(row)[..3], ["spsc", capacity, "u64"], "{screen}");
    }
    assert!(below.lines().count() >= 2, "{screen}");
}

#[test]
fn modes_have_the_unit_of_their_table() {
    let tool = Tool::new();
    tool.out(&format!("broadcast --readers 2 {SHORT} --name modes"));
    let path = tool.out("runs path modes");
    let mut report = RunFile::open(Path::new(path.trim())).unwrap().report().unwrap();
    let mut bimodal = Histogram::new();
    for (ns, count) in [(64.7, 900), (400.0, 100)] {
        bimodal.record((ns * 1e3) as u64 / Histogram::UNIT_PS, count);
    }
    report.series.as_mut().unwrap().result.trials[0].histograms.insert("last".into(), bimodal);
    let text = screen::render(&report, Screen::Shown(Saved::As("modes")), &Style::default());
    assert_contains(&text, &["90 % at 64.7 ns, 10 % at 400 ns"]);
}

#[test]
fn percentile_tables_go_into_a_directory_and_not_onto_standard_output() {
    let tool = Tool::new();
    tool.refused(&words(&format!("{WAKE} --format hgrm")), 2, "-o DIR");
    tool.out(&format!("{WAKE} -q --name tables --export-hgrm live"));
    tool.out("export tables --format hgrm -o read");
    let [live, read] = ["live", "read"].map(|folder| {
        let files = std::fs::read_dir(tool.path().join(folder)).unwrap();
        assert_eq!(files.count(), 18, "three distributions hold something");
        tool.read(format!("{folder}/wake-20000-semaphore-0-8-slept.hgrm"))
    });
    assert_eq!(live, read);
    assert!(read.starts_with("#coretalk"));
    assert!(read.contains("\n#[Buckets =           39, SubBuckets     =         2048]"));
    for format in ["hgrm", "c2c-csv"] {
        assert_eq!(tool.call(&["export", "tables", "--format", format]).code, 2);
    }
    let csv = tool.out("export tables --format csv");
    assert_eq!(csv.lines().filter(|line| !line.starts_with('#')).count(), 25, "{csv}");
}

#[test]
fn every_pair_is_a_map_with_its_relations_in_words() {
    let screen = Tool::new().out(
        "wake --machine sim:chiplet-16 --seed 1 --primitive semaphore --pairs all --cpus 0-3,8-11 --samples 3 -q \
         --color never",
    );
    assert_contains(&screen, &["the row wakes the column", "(24 pairs), across L3"]);
    assert_fits(&screen);
}

#[test]
fn a_plan_lists_the_trials_and_their_time() {
    let plan = Tool::new().out("plan wake --machine sim:chiplet-16 --primitive park");
    assert_contains(&plan, &["trials", "6", "30 s"]);
}

#[test]
fn a_map_of_wake_ups_shows_the_l3_and_no_value_rounded_to_zero() {
    let tool = Tool::new();
    let map = "wake --machine sim:chiplet-16 --cpus 0-3,8-11 --seed 1 --pairs all -q --budget 6s";
    let screen = tool.out(&format!("{map} --primitive semaphore --name map"));
    assert_contains(&screen, &[" gap 20 µs, primitive semaphore: median in µs, the row wakes the column"]);
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    let (near, far) = row.split_once('│').unwrap();
    let cells = |text: &str| -> Vec<f64> {
        words(text).iter().map(|cell| cell.trim_end_matches('!').parse().unwrap()).collect()
    };
    let (near, far) = (&cells(near)[1..], cells(far));
    assert_eq!((near.len(), far.len()), (3, 4), "{screen}");
    let farthest_near = near.iter().copied().fold(0.0, f64::max);
    assert!(far.iter().all(|far| *far > farthest_near), "across L3 takes longer: {near:?} and {far:?}");
    let picture = tool.report(&["map"], "z.svg");
    assert_contains(&picture, &["wake: gap 20 µs, primitive semaphore: median in µs", ">56 pairs"]);
    let page = tool.report(&["map"], "z.html");
    let view: Value = serde_json::from_str(between(&page, "id=\"view\">", "</script>")).unwrap();
    let shown = &view["runs"][0]["maps"][0];
    assert_eq!((&shown["unit"], &shown["index"]), (&"µs".into(), &Value::Null));
    assert_eq!(shown["columns"]["measured"], 56);
    // Hand-overs below 100 ns are shown in nanoseconds.
    let screen = tool.out(&format!("{map} --primitive tas --no-save"));
    assert_contains(&screen, &["median in ns, the row wakes the column"]);
    assert!(!screen.contains(" 0.0"), "{screen}");
}

#[test]
fn idle_gaps_before_wake_ups_are_chosen_and_kept() {
    let tool = Tool::new();
    let machine = "--machine sim:chiplet-16";
    let pipe =
        format!("wake {machine} --seed 1 --primitive pipe --samples 100 -q --format json --budget 10s");
    for (options, expected) in [
        ("--cpus 0,1 --gap 1us,20us,5ms --name chosen", &[1e3, 2e4, 5e6][..]),
        ("--cpus 0,1 --no-save", &[2e4, 1e6, 2e7]),
        ("--cpus 0,1 --pairs all --no-save", &[2e4]),
        ("--cpus 0-7 --pairs all --gap 1ms --no-save", &[1e6]),
    ] {
        let document = tool.document(&format!("{pipe} {options}"));
        let series = list(&document["series"]).iter();
        let mut gaps: Vec<f64> = series.map(|one| number(&one["parameters"]["gap_ns"])).collect();
        gaps.sort_by(f64::total_cmp);
        gaps.dedup();
        assert_eq!(gaps, expected, "{options}");
    }
    let planned = tool.out(&format!("plan wake {machine} --gap 1us,20us,5ms --cpus 0,1"));
    assert!(planned.contains("18"), "six primitives after three gaps: {planned}");
    assert_contains(&tool.out("runs show chosen"), &["5 ms"]);
    for (options, part) in [
        ("--gap 1us,1us", "lists a gap twice"),
        ("--gap 2s", "100ns"),
        ("--gap 1us --primitive uncontended:tas", "wakes no thread"),
    ] {
        tool.refused(&words(&format!("wake {machine} {options}")), 2, part);
    }
}

#[test]
fn every_output_has_the_places_of_unpinned_waiters() {
    let tool = Tool::new();
    let free = "wake --machine sim:chiplet-16-smt --seed 1 --gap 20us --unpinned --primitive semaphore,ttas -q --budget 4s";
    let document = tool.document(&format!("{free} --name free --format json"));
    let names = ["same_cpu_share", "sibling_share", "same_l3_share", "elsewhere_share"];
    let is_placed = |one: &&Value| !one["values"][names[0]].is_null();
    let placed: Vec<&Value> = list(&document["series"]).iter().filter(is_placed).collect();
    assert_eq!(placed.len(), 2, "one for each primitive");
    for one in placed {
        assert_eq!(one["parameters"]["mask"], "0-31");
        let shares = names.map(|name| number(&one["values"][name]));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 0.01, "{shares:?}");
        for ((name, share), truth) in names.iter().zip(shares).zip([0.1, 0.2, 0.4, 0.3]) {
            let [low, high] = [0, 1].map(|end| number(&one["intervals"][name][end]));
            assert!(low <= share && share <= high, "{name}: {share} in {low} to {high}");
            assert!((share - truth).abs() < 0.03, "{name}: {share} of {truth}");
        }
    }
    assert_contains(
        &tool.out("runs show free"),
        &["Any of CPUs 0-31", "not ranked: ttas (another", "same CPU", "SMT sibling", "same L3", "elsewhere"],
    );
    let csv = tool.out("export free --format csv");
    let page = tool.report(&["free"], "free.html");
    for name in names {
        assert!(csv.contains(name) && page.contains(&name.replace('_', " ")), "{name}");
    }
    tool.out("wake --resume free");
    tool.out(&format!("{free} --name again"));
    assert_contains(&tool.out("compare free again"), &["semaphore"]);
    for (options, code, part) in [
        ("--pairs 0-1", 2, "'--unpinned' cannot be used with '--pairs"),
        ("--primitive go:channel", 2, "`go:channel` is a runtime"),
        ("--primitive uncontended:tas", 2, "`uncontended:tas` is not one thread that wakes one other"),
        ("--cpus 3", 3, "only CPU 3 is selected"),
    ] {
        tool.refused(&words(&format!("wake --machine sim:chiplet-16 --unpinned {options}")), code, part);
    }
}

#[test]
fn probes_of_a_single_cpu_run_on_one_cpu() {
    let tool = Tool::new();
    let one =
        "wake --machine sim:chiplet-16 --seed 1 --cpus 0 -q --no-save --budget 5s --primitive sleep-1ms";
    assert_contains(&tool.out(&format!("{one},uncontended:tas")), &[" CPU 0\n", "uncontended:tas"]);
    tool.refusal(&words(&format!("{one},pipe")), 3);
}
