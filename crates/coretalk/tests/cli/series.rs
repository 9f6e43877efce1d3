//! Runs of series on simulated machines: deterministic, saved, shown again, resumed, exported.

use super::tool::{Tool, words};
use coretalk::store::RunFile;
use coretalk_model::Histogram;
use coretalk_report::style::Style;
use coretalk_report::{Saved, Screen, screen};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const WAKE: [&str; 9] =
    ["wake", "--machine", "sim:chiplet-16", "--seed", "1", "--primitive", "semaphore", "--samples", "200"];

fn wake<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WAKE[..], more].concat()
}

#[test]
fn a_run_of_series_is_saved_and_reads_back_as_it_was() {
    let tool = Tool::new();
    let live = tool.done(&wake(&["--format", "json", "-q", "--name", "first"]));
    assert_eq!(live.err, "");
    assert_eq!(tool.done(&["export", "first", "--format", "json"]).out, live.out);
    let document: Value = serde_json::from_str(&live.out).unwrap();
    let again = tool.done(&wake(&["--format", "json", "-q", "--no-save"])).out;
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["series"], document["series"]);
    let series = document["series"].as_array().unwrap();
    // Two relations, three gaps, four histograms.
    assert_eq!(series.len(), 24);
    assert_eq!(series[2]["probe"], "wake");
    assert!(series.iter().all(|entry| entry["kind"] == "event" && entry["unit"] == "ns"));
    let lines = tool.done(&["export", "first", "--format", "jsonl"]).out;
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["schema"], &first["pass"]), (&"coretalk.pass/1".into(), &0.into()));
    assert!(tool.done(&["runs", "list"]).out.contains("complete"));
}

#[test]
fn json_lines_are_streamed_as_they_are_exported() {
    let tool = Tool::new();
    let streamed = tool.done(&wake(&["--format", "jsonl", "-q", "--name", "lines"])).out;
    assert_eq!(tool.done(&["export", "lines", "--format", "jsonl"]).out, streamed);
}

#[test]
fn an_interrupted_run_of_series_resumes_where_it_ended() {
    let tool = Tool::new();
    let scenario = "based_on = \"chiplet-16\"\n[failures]\nstop_at_ms = 2000\n";
    tool.write("stops.toml", scenario);
    let machine = ["--machine", "sim:stops.toml"];
    let words =
        [&["wake", "--seed", "1", "--primitive", "semaphore", "-q", "--name", "half"], &machine[..]].concat();
    let stopped = tool.call(&words);
    assert_eq!(stopped.code, 5, "{}", stopped.err);
    assert!(stopped.err.contains("resume with"), "{}", stopped.err);
    let passes = |run: &str| tool.done(&["export", run, "--format", "jsonl"]).out;
    let before = passes("half");
    assert!(tool.done(&["runs", "show", "half"]).out.contains("Interrupted"));
    let more = tool.call(&[&["--resume", "half", "-q"], &machine[..]].concat());
    // The scenario interrupts every segment.
    assert_eq!(more.code, 5, "{}", more.err);
    let after = passes("half");
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
    let asked = ["wait", "--machine", "sim:laptop-smt", "--strategy", "busy,futex"];
    tool.done(&[&asked[..], &["--seed", "1", "--budget", "200ms", "-q", "--name", "short"]].concat());
    let json = ["--format", "json", "-o", "x.json", "--export-csv", "x.csv"];
    for accepted in
        [&["-q"][..], &["--color", "never"], &["--budget", "300ms"], &["-v", "--order", "id"], &json]
    {
        for command in [&[][..], &asked[..3]] {
            tool.done(&[command, &["--resume", "short"], accepted].concat());
        }
    }
    assert!(tool.path().join("x.json").exists());
    for refused in [&asked[3..], &["--seed", "1"], &["--precision", "3%"], &["--cpus", "0,1"]] {
        let output = tool.call(&[&asked[..1], &["--resume", "short", "-q"], refused].concat());
        let is_named = output.err.contains(&format!("{} cannot be combined with --resume", refused[0]));
        assert_eq!((output.code, is_named), (2, true), "{}", output.err);
    }
}

#[test]
fn screens_of_trials_have_no_doubled_blank_lines_and_no_blanks_at_the_end_of_lines() {
    let tool = Tool::new();
    let common = ["--machine", "sim:laptop-smt", "--seed", "1", "--budget", "500ms", "--no-save", "-q"];
    for words in [
        &["wait", "--strategy", "clock"][..],
        &["queue", "--rate", "100k/s", "--pairs", "0-1,1-2", "--capacity", "1,10"],
        &["queue", "--queue", "spsc", "--capacity", "1"],
        &["contend", "--threads", "1,2"],
        &["spawn", "--kind", "pool"],
        &["broadcast"],
        &["wake", "--primitive", "pipe"],
    ] {
        let screen = tool.done(&[words, &common].concat()).out;
        assert!(!screen.contains("\n\n\n"), "{words:?}: {screen}");
        assert!(screen.lines().all(|line| line == line.trim_end()), "{words:?}: {screen}");
    }
}

#[test]
fn every_part_of_a_split_table_names_its_rows() {
    let tool = Tool::new();
    let words = ["queue", "--rate", "100k/s", "--pairs", "0-1", "--capacity", "1,10", "--queue", "spsc"];
    let common = ["--machine", "sim:laptop-smt", "--seed", "1", "--budget", "500ms", "--no-save", "-q"];
    let screen = tool.done(&[&words[..], &common].concat()).out;
    let below =
        screen.split_once("messages/s\n").map(|(_, below)| below).unwrap_or_else(|| panic!("{screen}"));
    let rows: Vec<Vec<&str>> = below.lines().take(2).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..3], ["spsc", "1", "u64"], "{screen}");
    assert_eq!(rows[1][..3], ["spsc", "10", "u64"], "{screen}");
}

#[test]
fn modes_have_the_unit_of_their_table() {
    let tool = Tool::new();
    let words = ["broadcast", "--readers", "2", "--machine", "sim:laptop-smt", "--seed", "1"];
    tool.done(&[&words[..], &["--budget", "500ms", "-q", "--name", "modes"]].concat());
    let path = tool.done(&["runs", "path", "modes"]).out;
    let mut report = RunFile::open(Path::new(path.trim())).unwrap().report().unwrap();
    let mut bimodal = Histogram::new();
    for (ns, count) in [(64.7, 900), (400.0, 100)] {
        bimodal.record((ns * 1e3) as u64 / Histogram::UNIT_PS, count);
    }
    report.series.as_mut().unwrap().result.trials[0].histograms.insert("last".into(), bimodal);
    let text = screen::render(&report, Screen::Shown(Saved::As("modes")), &Style::default());
    assert!(text.contains("90 % at 64.7 ns, 10 % at 400 ns"), "{text}");
}

#[test]
fn percentile_tables_go_into_a_directory_and_not_onto_standard_output() {
    let tool = Tool::new();
    let refused = tool.call(&wake(&["--format", "hgrm"]));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("-o DIR"), "{}", refused.err);
    tool.done(&wake(&["-q", "--name", "tables", "--export-hgrm", "live"]));
    tool.done(&["export", "tables", "--format", "hgrm", "-o", "read"]);
    let name = "wake-20000-semaphore-0-8-slept.hgrm";
    let [live, read] = ["live", "read"].map(|folder| {
        let folder = tool.path().join(folder);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 18, "three distributions hold something");
        std::fs::read_to_string(folder.join(name)).unwrap()
    });
    assert_eq!(live, read);
    assert!(
        read.starts_with("#coretalk")
            && read.contains("\n#[Buckets =           39, SubBuckets     =         2048]")
    );
    assert_eq!(tool.call(&["export", "tables", "--format", "hgrm"]).code, 2);
    assert_eq!(tool.call(&["export", "tables", "--format", "c2c-csv"]).code, 2);
    let csv = tool.done(&["export", "tables", "--format", "csv"]).out;
    assert!(csv.lines().filter(|line| !line.starts_with('#')).count() == 25, "{csv}");
}

#[test]
fn every_pair_is_a_map_with_its_relations_in_words() {
    let tool = Tool::new();
    let words = ["wake", "--machine", "sim:chiplet-16", "--seed", "1", "--primitive", "semaphore"];
    let all = ["--pairs", "all", "--cpus", "0-3,8-11", "--samples", "3", "-q", "--color", "never"];
    let output = tool.done(&[&words[..], &all].concat()).out;
    assert!(
        output.contains("the row wakes the column") && output.contains("(24 pairs), across L3"),
        "{output}"
    );
    assert!(output.lines().all(|line| line.chars().count() <= 100), "{output}");
}

#[test]
fn a_plan_lists_the_trials_and_their_time() {
    let output =
        Tool::new().done(&["plan", "wake", "--machine", "sim:chiplet-16", "--primitive", "park"]).out;
    assert!(output.contains("trials") && output.contains("6") && output.contains("30 s"), "{output}");
}

#[test]
fn a_map_of_wake_ups_shows_the_l3_and_no_value_rounded_to_zero() {
    let tool = Tool::new();
    let map =
        ["wake", "--machine", "sim:chiplet-16", "--cpus", "0-3,8-11", "--seed", "1", "--pairs", "all", "-q"];
    let map = [&map[..], &["--budget", "6s"]].concat();
    let screen = tool.done(&[&map[..], &["--primitive", "semaphore", "--name", "map"]].concat()).out;
    assert!(
        screen.contains(" gap 20 µs, primitive semaphore: median in µs, the row wakes the column"),
        "{screen}"
    );
    let row = screen.lines().find(|line| line.starts_with("   0 ")).unwrap();
    let (near, far) = row.split_once('│').unwrap();
    let cells = |text: &str| -> Vec<f64> {
        text.split_whitespace().map(|cell| cell.trim_end_matches('!').parse().unwrap()).collect()
    };
    let (near, far) = (&cells(near)[1..], cells(far));
    assert_eq!((near.len(), far.len()), (3, 4), "{screen}");
    let farthest_near = near.iter().copied().fold(0.0, f64::max);
    assert!(far.iter().all(|far| *far > farthest_near), "across L3 takes longer: {near:?} and {far:?}");
    tool.done(&["report", "map", "-o", "z.svg"]);
    let drawn = tool.read("z.svg");
    assert!(
        drawn.contains("wake: gap 20 µs, primitive semaphore: median in µs") && drawn.contains(">56 pairs")
    );
    tool.done(&["report", "map", "-o", "z.html"]);
    let page = tool.read("z.html");
    let view = page.split("id=\"view\">").nth(1).unwrap().split("</script>").next().unwrap();
    let view: Value = serde_json::from_str(view).unwrap();
    let shown = &view["runs"][0]["maps"][0];
    assert_eq!((&shown["unit"], &shown["index"]), (&"µs".into(), &Value::Null));
    assert_eq!(shown["columns"]["measured"], 56);
    // Hand-overs below 100 ns are shown in nanoseconds.
    let screen = tool.done(&[&map[..], &["--primitive", "tas", "--no-save"]].concat()).out;
    assert!(
        screen.contains("median in ns, the row wakes the column") && !screen.contains(" 0.0"),
        "{screen}"
    );
}

#[test]
fn idle_gaps_before_wake_ups_are_chosen_and_kept() {
    let tool = Tool::new();
    let gaps = |words: &[&str]| -> Vec<f64> {
        let document = tool.json(words);
        let mut gaps: Vec<f64> = document["series"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["parameters"]["gap_ns"].as_f64().unwrap())
            .collect();
        gaps.sort_by(f64::total_cmp);
        gaps.dedup();
        gaps
    };
    let wake_words = |more: &[&'static str]| -> Vec<&'static str> {
        let words =
            ["wake", "--machine", "sim:chiplet-16", "--seed", "1", "--primitive", "pipe", "--samples", "100"];
        [&words[..], &["-q", "--format", "json", "--budget", "10s"], more].concat()
    };
    assert_eq!(
        gaps(&wake_words(&["--cpus", "0,1", "--gap", "1us,20us,5ms", "--name", "chosen"])),
        [1e3, 2e4, 5e6]
    );
    assert_eq!(gaps(&wake_words(&["--cpus", "0,1", "--no-save"])), [2e4, 1e6, 2e7]);
    assert_eq!(gaps(&wake_words(&["--cpus", "0,1", "--pairs", "all", "--no-save"])), [2e4]);
    assert_eq!(gaps(&wake_words(&["--cpus", "0-7", "--pairs", "all", "--gap", "1ms", "--no-save"])), [1e6]);
    let planned =
        tool.done(&["plan", "wake", "--machine", "sim:chiplet-16", "--gap", "1us,20us,5ms", "--cpus", "0,1"]);
    assert!(planned.out.contains("18"), "six primitives after three gaps: {}", planned.out);
    let screen = tool.done(&["runs", "show", "chosen"]).out;
    assert!(screen.contains("5 ms"), "{screen}");
    for (words, part) in [
        (&["wake", "--gap", "1us,1us"][..], "lists a gap twice"),
        (&["wake", "--gap", "2s"], "100ns"),
        (&["wake", "--gap", "1us", "--primitive", "uncontended:tas"], "wakes no thread"),
    ] {
        let refused = tool.call(&[words, &["--machine", "sim:chiplet-16"]].concat());
        assert!(refused.code == 2 && refused.err.contains(part), "{words:?}: {}", refused.err);
    }
}

#[test]
fn every_output_has_the_places_of_unpinned_waiters() {
    let tool = Tool::new();
    let words = |more: &[&'static str]| {
        let all = ["wake", "--machine", "sim:chiplet-16-smt", "--seed", "1", "--gap", "20us", "--unpinned"];
        [&all[..], &["--primitive", "semaphore,ttas", "-q", "--budget", "4s"], more].concat()
    };
    let document = tool.json(&words(&["--name", "free", "--format", "json"]));
    let series = document["series"].as_array().unwrap();
    let names = ["same_cpu_share", "sibling_share", "same_l3_share", "elsewhere_share"];
    let placed: Vec<&Value> = series.iter().filter(|one| !one["values"][names[0]].is_null()).collect();
    assert_eq!(placed.len(), 2, "one for each primitive");
    for one in placed {
        assert_eq!(one["parameters"]["mask"], "0-31");
        let value = |name: &str| one["values"][name].as_f64().unwrap();
        assert!((names.map(value).iter().sum::<f64>() - 1.0).abs() < 0.01, "{}", one["values"]);
        for (name, truth) in names.into_iter().zip([0.1, 0.2, 0.4, 0.3]) {
            let interval = [0, 1].map(|end| one["intervals"][name][end].as_f64().unwrap());
            assert!(interval[0] <= value(name) && value(name) <= interval[1], "{name}: {interval:?}");
            assert!((value(name) - truth).abs() < 0.03, "{name}: {} of {truth}", value(name));
        }
    }
    let screen = tool.done(&["runs", "show", "free"]).out;
    for part in
        ["Any of CPUs 0-31", "not ranked: ttas (another", "same CPU", "SMT sibling", "same L3", "elsewhere"]
    {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let csv = tool.done(&["export", "free", "--format", "csv"]).out;
    tool.done(&["report", "free", "-o", "free.html"]);
    let page = std::fs::read_to_string(tool.path().join("free.html")).unwrap();
    for name in names {
        assert!(csv.contains(name) && page.contains(&name.replace('_', " ")), "{name}");
    }
    tool.done(&["wake", "--resume", "free"]);
    tool.done(&words(&["--name", "again"]));
    assert!(tool.done(&["compare", "free", "again"]).out.contains("semaphore"));
    for (more, part) in [
        (&["--pairs", "0-1"][..], "'--unpinned' cannot be used with '--pairs"),
        (&["--primitive", "go:channel"], "`go:channel` is a runtime"),
        (&["--primitive", "uncontended:tas"], "`uncontended:tas` is not one thread that wakes one other"),
        (&["--cpus", "3"], "only CPU 3 is selected"),
    ] {
        let refused = tool.call(&[&["wake", "--machine", "sim:chiplet-16", "--unpinned"], more].concat());
        assert!(refused.code > 0 && refused.err.contains(part), "{more:?}: {}", refused.err);
    }
}

#[test]
fn probes_of_a_single_cpu_run_on_one_cpu() {
    let tool = Tool::new();
    let one = words("wake --machine sim:chiplet-16 --seed 1 --cpus 0 -q --no-save --budget 5s");
    let screen = tool.done(&[&one[..], &["--primitive", "sleep-1ms,uncontended:tas"]].concat()).out;
    assert!(screen.contains(" CPU 0\n") && screen.contains("uncontended:tas"), "{screen}");
    let refused = tool.call(&[&one[..], &["--primitive", "sleep-1ms,pipe"]].concat());
    assert_eq!(refused.code, 3, "{}", refused.err);
}
