//! `compare`: runs and files, with the exit codes that scripts rely on.

use super::tool::{Tool, words};
use serde_json::Value;

/// A store with two runs of one machine, one of another, and one of a different experiment.
fn store() -> Tool {
    let tool = Tool::new();
    let run = |name: &str, seed: &str, more: &[&str]| {
        let words =
            ["latency", "--machine", "sim:chiplet-16", "--seed", seed, "--name", name, "-q", "-o", "x"];
        tool.done(&[&words[..], more].concat());
    };
    run("one", "1", &[]);
    run("two", "2", &[]);
    run("none", "3", &["--hint", "none"]);
    run("apart", "4", &["--cpus", "8-11"]);
    run("start", "5", &["--cpus", "0-3"]);
    tool
}

/// Writes a bare core-to-core-latency matrix of 16 CPUs.
fn file(tool: &Tool, name: &str, ns: impl Fn(usize, usize) -> f64) {
    let row = |row: usize| {
        let cell =
            |column: usize| if column < row { format!("{:.2}", ns(row, column)) } else { String::new() };
        (0..16).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    tool.write(name, (0..16).map(row).collect::<String>());
}

fn joined(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn base(row: usize, column: usize) -> f64 {
    40.0 + ((7 * row + 3 * column) % 5) as f64 / 4.0
}

#[test]
fn two_runs_of_one_machine_are_the_same_in_every_format() {
    let tool = store();
    let text = tool.done(&["compare", "one", "two", "--fail-on", "any"]);
    assert!(text.out.contains("are alike: no level differs by 3 % or more."), "{}", text.out);
    assert!(text.out.contains("core cycles"), "{}", text.out);
    let markdown = tool.done(&["compare", "one", "two", "--format", "markdown"]).out;
    assert!(markdown.contains("| same L3 | 56 |"), "{markdown}");
    let json = tool.done(&["compare", "one", "two", "--format", "json"]).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert!(document["run"].is_null() && document["compared"]["levels"] == "reported");
    let sides = ["a", "b"].map(|side| ["machine", "cpus"].map(|key| &document["compared"][side][key]));
    assert_eq!(sides, [[&Value::from("SIMULATED chiplet-16"), &Value::from(16)]; 2]);
    let differences = document["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 2 + 120);
    assert!(differences.iter().all(|one| one["verdict"] == "same"), "{json}");
    assert!(differences[0]["level"] == "l3" && differences[0].get("cell").is_none());
    assert!(differences[2]["cell"] == serde_json::json!([0, 1]) && differences[2].get("level").is_none());
}

#[test]
fn exit_codes_reflect_the_result() {
    let tool = Tool::new();
    file(&tool, "a.csv", base);
    file(&tool, "slower.csv", |row, column| 1.2 * base(row, column));
    tool.write("few.csv", ",,\n40.0,,\n41.0,42.0,\n");
    for (words, code) in [
        (&["compare", "a.csv", "slower.csv"][..], 0),
        (&["compare", "a.csv", "slower.csv", "--fail-on", "slower"], 1),
        (&["compare", "a.csv", "slower.csv", "--fail-on", "any"], 1),
        (&["compare", "a.csv", "slower.csv", "--fail-on", "faster"], 0),
        (&["compare", "slower.csv", "a.csv", "--fail-on", "faster"], 1),
        (&["compare", "a.csv", "slower.csv", "--fail-on", "slower", "--min-effect", "30%"], 0),
        (&["compare", "a.csv", "few.csv", "--fail-on", "any"], 7),
        (&["compare", "a.csv", "few.csv"], 0),
    ] {
        let output = tool.call(words);
        assert_eq!(output.code, code, "{words:?}: {}{}", output.out, output.err);
    }
}

#[test]
fn different_experiments_need_force() {
    let tool = store();
    let refused = |words: &[&str], part: &str| {
        let output = tool.call(words);
        assert_eq!(
            (output.code, output.out.as_str(), output.err.lines().count()),
            (2, "", 1),
            "{}",
            output.err
        );
        assert!(output.err.contains(part), "{words:?}: {}", output.err);
    };
    refused(&["compare", "one", "none"], "kernel of latency cas (cas+pause and cas); --force compares");
    let forced = joined(&tool.done(&["compare", "one", "none", "--force"]).out);
    assert!(forced.contains("! kernel of latency cas: cas+pause in one, cas in none: different"), "{forced}");
    assert!(forced.contains("compared because of --force"), "{forced}");
    refused(&["compare", "start", "apart"], "no pair of CPUs in common");
    tool.write("cycles.mct", "#m #HWCs 2 #Nodes 1 #SMT 0\n0 0 0\n0 1 99\n1 0 99\n1 1 0\n");
    refused(&["compare", "one", "cycles.mct", "--force"], "unit (ns and cycles)");
    refused(&["compare", "one", "two", "apart", "--fail-on", "any"], "--fail-on needs exactly two");
    refused(&["compare", "one", "two", "--format", "csv"], "text, markdown or json");
    refused(&["compare", "one", "two", "--min-effect", "0%"], "between 0.1% and 100%");
    let missing = tool.call(&["compare", "one", "absent.csv"]);
    assert_eq!((missing.code, missing.err.lines().count()), (4, 1), "{}", missing.err);
    let unknown = tool.call(&["compare", "one", "absent"]);
    assert_eq!((unknown.code, unknown.err.lines().count()), (2, 1), "{}", unknown.err);
}

#[test]
fn a_run_equals_its_exports() {
    let tool = store();
    tool.done(&["export", "one", "--format", "csv", "-o", "one.csv"]);
    let output = tool.done(&["compare", "one", "one.csv", "--fail-on", "any"]);
    assert!(output.out.contains("no level differs") && !output.out.contains("! simulated"), "{}", output.out);
    tool.done(&["export", "one", "--format", "c2c-csv", "-o", "bare.csv"]);
    // A bare matrix does not say whether it is simulated: a warning, and the numbers are compared.
    let output = tool.call(&["compare", "one", "bare.csv", "--force"]);
    assert!(
        output.code == 0 && output.out.contains("! simulated: yes in one, unknown in bare.csv"),
        "{}",
        output.out
    );
}

#[test]
fn three_or_more_inputs_make_a_table() {
    let tool = store();
    file(&tool, "a.csv", base);
    let words = ["compare", "one", "two", "none", "a.csv"];
    let text = tool.done(&words).out;
    assert!(text.lines().count() >= 10 && text.contains("all pairs"), "{text}");
    let markdown = tool.done(&[&words[..], &["--format", "markdown"]].concat()).out;
    assert_eq!(markdown.lines().count(), 2 + 4, "{markdown}");
    let json = tool.done(&[&words[..], &["--format", "json"]].concat()).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    let rows = document["overview"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[3]["side"], &rows[3]["name"]), (4, &3.into(), &Value::Null));
    let near = &rows[0]["groups"][0];
    assert_eq!((&near["group"], &near["pairs"]), (&"l3".into(), &56.into()), "{json}");
    let [low, high] = [0, 1].map(|end| near["range"][end].as_f64().unwrap());
    assert!(low < near["median"].as_f64().unwrap() && near["median"].as_f64().unwrap() < high, "{near}");
}

#[test]
fn a_table_of_groups_that_few_files_share_has_a_row_per_file() {
    let tool = Tool::new();
    file(&tool, "pairs.csv", |a, b| if a / 2 == b / 2 { 8.0 } else { 60.0 });
    file(&tool, "halves.csv", |a, b| if a / 8 == b / 8 { 20.0 } else { 130.0 });
    file(&tool, "fours.csv", |a, b| if a / 4 == b / 4 { 30.0 } else { 300.0 });
    let words = ["compare", "pairs.csv", "halves.csv", "fours.csv", "--format", "markdown"];
    let markdown = tool.done(&words).out;
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 2 + 3 && rows.iter().all(|row| row.matches('|').count() == 5), "{markdown}");
    assert!(rows.iter().any(|row| row.starts_with("| pairs.csv") && row.contains("8.00")), "{markdown}");
}

#[test]
fn tables_of_many_groups_fit_the_screen() {
    let tool = Tool::new();
    for seed in ["1", "2", "3"] {
        tool.done(&[
            "wake",
            "--machine",
            "sim:chiplet-16",
            "--primitive",
            "pipe,std-mutex",
            "--seed",
            seed,
            "--name",
            seed,
            "--budget",
            "5s",
            "-q",
            "-o",
            "x",
        ]);
    }
    let text = tool.done(&["compare", "1", "2", "3"]).out;
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("primitive=pipe")).collect();
    assert!(rows.len() >= 6 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains(" 1 = ") && text.contains(" 3 = "), "{text}");
}

#[test]
fn every_probe_is_compared() {
    let tool = Tool::new();
    let run = |name: &str, seed: &str, words: &[&str]| {
        let common = ["--seed", seed, "--name", name, "-q", "-o", "x"];
        tool.done(&[words, &common].concat());
    };
    let wake = ["wake", "--machine", "sim:chiplet-16", "--primitive", "pipe,std-mutex"];
    let queue =
        ["queue", "--machine", "sim:chiplet-16", "--cpus", "0-3", "--queue", "spsc", "--capacity", "10"];
    let place = words(
        "place --machine sim:chiplet-16 --threads 4 --placement one-l3 --placement across-l3 \
            --workload ring",
    );
    for (words, name) in [(&wake[..], "wake"), (&queue[..], "queue"), (&place[..], "place")] {
        run(&format!("{name}-a"), "1", words);
        run(&format!("{name}-b"), "2", words);
        let (a, b) = (format!("{name}-a"), format!("{name}-b"));
        let out = tool.done(&["compare", &a, &b, "--format", "json"]);
        let document: Value = serde_json::from_str(&out.out).unwrap();
        let levels: Vec<&Value> = document["differences"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one.get("level").is_some())
            .collect();
        // Wake-ups scatter too much for runs of a second, so `cannot-tell` is allowed.
        let is_like =
            |one: &Value| one["verdict"] == "same" || name == "wake" && one["verdict"] == "cannot-tell";
        assert!(
            levels.iter().any(|one| one["verdict"] == "same") && levels.iter().all(|one| is_like(one)),
            "{name}: {levels:#?}"
        );
    }
    let output = tool.call(&["compare", "wake-a", "queue-a"]);
    assert_eq!((output.code, output.err.contains("cannot be compared")), (2, true), "{}", output.err);
}

#[test]
fn rows_of_trials_are_distinguishable_at_100_columns() {
    let tool = Tool::new();
    let (method, threads) = ("cas-backoff,parking-lot-mutex", "2,4,16");
    for seed in ["1", "2"] {
        let words = ["contend", "--machine", "sim:chiplet-16", "--method", method, "--threads", threads];
        tool.done(
            &[&words[..], &["--budget", "3s", "-q", "--seed", seed, "--name", &format!("c{seed}")]].concat(),
        );
    }
    let text = tool.done(&["compare", "c1", "c2"]).out;
    assert!(text.contains("; every row: arrange compact-core\n"), "{text}");
    assert!(text.contains("\n critical 50 ns, parallel 500 ns\n"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("   cas-") || line.starts_with("   parking-")).collect();
    let named: std::collections::BTreeSet<String> =
        rows[..6].iter().map(|row| row.split("  ").take(2).collect()).collect();
    assert_eq!((rows.len(), named.len()), (12, 6), "{text}");
    assert!(named.contains(" parking-lot-mutex, threads 16"), "{text}");
    let markdown = tool.done(&["compare", "c1", "c2", "--format", "markdown"]).out;
    assert!(
        markdown.contains("| parking-lot-mutex, threads 16, critical 50 ns, parallel 500 ns | 1 |"),
        "{markdown}"
    );
}

#[test]
fn files_are_grouped_by_common_structure() {
    let tool = Tool::new();
    let halves = |factor: f64| {
        move |row: usize, column: usize| {
            let far = row / 8 != column / 8;
            base(row, column) * if far { 2.0 * factor } else { 1.0 }
        }
    };
    file(&tool, "before.csv", halves(1.0));
    file(&tool, "after.csv", halves(1.2));
    let text = tool.done(&["compare", "before.csv", "after.csv"]).out;
    assert!(text.contains("group-1: 0-7 8-15, as the latencies of both show"), "{text}");
    assert!(text.contains("after.csv is slower than before.csv: across"), "{text}");
    let json = tool.done(&["compare", "before.csv", "after.csv", "--format", "json"]).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["compared"]["levels"], "inferred");
    let verdict = |level: usize| &document["differences"][level]["verdict"];
    assert_eq!((verdict(0), verdict(1)), (&"same".into(), &"slower".into()), "{json}");
}

fn matrix(tool: &Tool, name: &str, cpus: usize, ns: impl Fn(usize, usize) -> f64) {
    let row = |row: usize| {
        let cell =
            |column: usize| if column < row { format!("{:.2}", ns(row, column)) } else { String::new() };
        (0..cpus).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    tool.write(name, (0..cpus).map(row).collect::<String>());
}

/// Writes two files: four groups of three, and twelve pairs within two groups of twelve.
fn two_machines(tool: &Tool) {
    let wobble = |row: usize, column: usize| 1.0 + ((7 * row + 3 * column) % 5) as f64 / 500.0;
    matrix(tool, "threes.csv", 12, |a, b| wobble(a, b) * if a / 3 == b / 3 { 40.0 } else { 84.0 });
    matrix(tool, "threads.csv", 24, |a, b| {
        wobble(a, b)
            * if a / 2 == b / 2 {
                7.5
            } else if a / 12 == b / 12 {
                18.0
            } else {
                84.0
            }
    });
}

#[test]
fn machines_with_different_groups_are_not_compared_by_cpu_number() {
    let tool = Tool::new();
    two_machines(&tool);
    let output = tool.call(&["compare", "threes.csv", "threads.csv"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let text = joined(&output.out);
    let groups =
        "threes.csv shows 4 groups of 3, threads.csv 12 groups of 2 in 2 groups of 12: it is unknown";
    assert!(text.contains(groups), "{text}");
    assert!(!output.out.contains("cells:") && !output.out.contains("FASTER"), "{}", output.out);
    let conclusion = "Cannot tell: nothing in threes.csv is known to correspond to anything in threads.csv.";
    assert!(text.contains(conclusion), "{text}");
    let failing = tool.call(&["compare", "threes.csv", "threads.csv", "--fail-on", "any"]);
    assert_eq!(failing.code, 7, "{}", failing.err);
    let nothing = "threes.csv and threads.csv have nothing in common that can be compared";
    assert!(failing.err.contains(nothing), "{}", failing.err);
    let json = tool.done(&["compare", "threes.csv", "threads.csv", "--format", "json"]).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["compared"]["pairing"], "nothing");
    let differences = document["differences"].as_array().unwrap();
    assert!(differences.iter().all(|one| one.get("cell").is_none() && one["verdict"] == "cannot-tell"));
    assert!(differences.iter().all(|one| one["a"].is_null() != one["b"].is_null()), "{json}");
    tool.done(&["report", "threes.csv", "threads.csv", "-q", "-o", "r.html"]);
    let page = tool.read("r.html");
    assert!(page.contains("\"differences\":[]") && page.contains("it is unknown which of them correspond"));
    tool.done(&["report", "threes.csv", "threads.csv", "-q", "-o", "r.svg"]);
    let picture = tool.read("r.svg");
    assert!(!picture.contains(" ÷ ") && picture.contains("Cannot tell: nothing in matrix 1"), "no third map");
    // Documents contain file names only if they were given or requested.
    let given = ["compare", "Zen2=threes.csv", "Zen3=threads.csv", "--format", "json"];
    let shown = ["compare", "threes.csv", "threads.csv", "--with-identity", "--format", "json"];
    assert!(tool.done(&given).out.contains("Zen2 shows 4 groups") && json.contains("A shows 4 groups"));
    assert!(tool.done(&shown).out.contains("threes.csv shows 4 groups") && !json.contains("threes.csv"));
}

#[test]
fn threads_of_a_core_are_not_compared_with_cores_of_a_cluster() {
    let tool = Tool::new();
    let twos = |near: f64, far: f64| {
        move |a: usize, b: usize| {
            (1.0 + ((7 * a + 3 * b) % 5) as f64 / 500.0) * if a / 2 == b / 2 { near } else { far }
        }
    };
    matrix(&tool, "threads.csv", 16, twos(7.7, 19.0));
    matrix(&tool, "clusters.csv", 16, twos(60.0, 260.0));
    let output = tool.call(&["compare", "threads.csv", "clusters.csv", "--fail-on", "any"]);
    assert_eq!(output.code, 7, "{}{}", output.out, output.err);
    let text = joined(&output.out);
    for part in [
        "look alike but may be different things",
        "Cannot tell: nothing in threads.csv",
        "group-1 of threads.csv",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!output.out.contains("SLOWER") && !output.out.contains('+'), "no percentage: {}", output.out);
    assert_eq!(tool.call(&["compare", "threads.csv", "clusters.csv"]).code, 0);
    let json = tool.done(&["compare", "threads.csv", "clusters.csv", "--format", "json"]).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["compared"]["pairing"], "nothing");
    assert!(
        document["compared"]["pairing_reason"].as_str().unwrap().contains("13.7 times as long"),
        "{json}"
    );
}

#[test]
fn sides_have_the_names_given_by_the_user_and_the_slower_one_is_named() {
    let tool = Tool::new();
    let twos = |near: f64, far: f64| {
        move |a: usize, b: usize| {
            (1.0 + ((7 * a + 3 * b) % 5) as f64 / 500.0) * if a / 2 == b / 2 { near } else { far }
        }
    };
    matrix(&tool, "slow.csv", 16, twos(60.0, 260.0));
    matrix(&tool, "fast.csv", 16, twos(7.7, 250.0));
    for sides in [["Zen2=slow.csv", "Zen3=fast.csv"], ["Zen3=fast.csv", "Zen2=slow.csv"]] {
        let words = [&["compare"][..], &sides].concat();
        let text = joined(&tool.done(&words).out);
        for part in ["in Zen2, 7.8 times as long as in Zen3 (7.", "Not compared: group-1.", "group-1 of Zen2"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let is_letter = |word: &str| ["A", "B"].contains(&word.trim_matches([',', '.', ':']));
        assert!(!text.split_whitespace().any(is_letter), "{text}");
        let open = tool.call(&[&words[..], &["--fail-on", "any"]].concat());
        assert!([1, 7].contains(&open.code), "what is not compared is undecided: {}", open.out);
        let forced = joined(&tool.done(&[&words[..], &["--force"]].concat()).out);
        assert!(
            forced.contains("compared because of --force") && !forced.contains("Not compared"),
            "{forced}"
        );
    }
    let bare = joined(&tool.done(&["compare", "slow.csv", "fast.csv"]).out);
    assert!(bare.starts_with("fast.csv is faster than slow.csv: "), "{bare}");
    let idle = tool.call(&["compare", "slow.csv", "slow.csv", "--force"]);
    assert!(idle.err.contains("--force changes nothing here"), "{}", idle.err);
    let many = tool.done(&["compare", "Zen2=slow.csv", "Zen3=fast.csv", "again=slow.csv"]).out;
    assert!(["Zen2", "Zen3", "again"].iter().all(|name| many.contains(name)), "{many}");
}

#[test]
fn a_common_change_of_all_pairs_is_one_verdict_in_the_document() {
    let tool = Tool::new();
    let halves = |factor: f64| {
        move |row: usize, column: usize| {
            factor * base(row, column) * if row / 8 == column / 8 { 1.0 } else { 2.0 }
        }
    };
    file(&tool, "before.csv", halves(1.0));
    for factor in [1.2, 1.0] {
        file(&tool, "after.csv", halves(factor));
        let json = tool.done(&["compare", "before.csv", "after.csv", "--format", "json"]).out;
        let document: Value = serde_json::from_str(&json).unwrap();
        let found = document["compared"]["together"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{factor}");
        let shift = found[0]["shift_percent"].as_f64().unwrap();
        assert!((shift - 100.0 * (factor - 1.0)).abs() < 0.1 && found[0]["pairs"] == 120, "{shift}");
        let verdict = if factor > 1.0 { "slower" } else { "same" };
        assert!(found[0]["verdict"] == verdict && found[0]["level"] == "all", "{found:?}");
    }
    file(&tool, "after.csv", |row, column| {
        halves(if row / 8 == column / 8 { 1.2 } else { 1.0 })(row, column)
    });
    let json = tool.done(&["compare", "before.csv", "after.csv", "--format", "json"]).out;
    assert!(json.contains("\"together\":[]"), "{json}");
}

#[test]
fn an_impossible_value_is_refused_with_its_location() {
    let tool = Tool::new();
    file(&tool, "base.csv", base);
    let text = tool.read("base.csv").replacen("40.75", "1e-320", 1);
    tool.write("tiny.csv", text);
    let output = tool.call(&["compare", "tiny.csv", "base.csv"]);
    assert_eq!((output.code, output.out.as_str()), (4, ""));
    assert!(output.err.contains("column 1: no latency can be 1e-320"), "{}", output.err);
}

#[test]
fn a_renumbered_machine_is_compared_by_level() {
    let tool = Tool::new();
    two_machines(&tool);
    let renumbered = |cpu: usize| 2 * (cpu % 12) + cpu / 12;
    matrix(&tool, "turned.csv", 24, |a, b| {
        let (a, b) = (renumbered(a), renumbered(b));
        if a / 2 == b / 2 {
            7.5
        } else if a / 12 == b / 12 {
            18.0
        } else {
            110.0
        }
    });
    let output = tool.call(&["compare", "threads.csv", "turned.csv", "--fail-on", "slower"]);
    assert_eq!(output.code, 1, "{}{}", output.out, output.err);
    assert!(
        output.out.contains("numbered differently")
            && joined(&output.out).contains("turned.csv is slower than threads.csv: across"),
        "{}",
        output.out
    );
    assert!(!output.out.contains("cells:"), "{}", output.out);
    let markdown = tool.done(&["compare", "threads.csv", "turned.csv", "--format", "markdown"]).out;
    assert!(markdown.contains("numbered differently") && !markdown.contains("cells:"), "{markdown}");
}

#[test]
fn a_small_file_equals_itself_and_slower_is_not_faster() {
    let tool = Tool::new();
    matrix(&tool, "few.csv", 4, base);
    let output = tool.call(&["compare", "few.csv", "few.csv", "--fail-on", "any", "--min-effect", "0.5%"]);
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
    assert!(output.out.contains("same: identical numbers"), "{}", output.out);
    matrix(&tool, "tenth.csv", 4, |row, column| 1.1 * base(row, column));
    for (what, code) in [("faster", 0), ("slower", 1), ("any", 1)] {
        let output = tool.call(&["compare", "few.csv", "tenth.csv", "--fail-on", what]);
        assert_eq!(output.code, code, "{what}: {}{}", output.out, output.err);
        let back = tool.call(&["compare", "tenth.csv", "few.csv", "--fail-on", what]);
        let expected = if what == "any" { 1 } else { 1 - code };
        assert_eq!(back.code, expected, "{what}: {}{}", back.out, back.err);
    }
}

#[test]
fn tables_of_many_inputs_name_the_groups_of_each_column() {
    let tool = Tool::new();
    two_machines(&tool);
    matrix(&tool, "cores.csv", 16, |a, b| if a / 2 == b / 2 { 8.0 } else { 20.0 });
    let words = ["compare", "threes.csv", "threads.csv", "cores.csv"];
    let text = tool.done(&words).out;
    let kinds =
        "Groups of different kinds, such as cores of a cluster and threads of a core, cannot be compared";
    for part in ["groups of 2, kind 2", "larger groups, kind 1", "4 × 3", "12 × 2", "2 × 12", "8 × 2", kinds]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = tool.done(&[&words[..], &["--format", "json"]].concat()).out;
    let document: Value = serde_json::from_str(&json).unwrap();
    let first = |row: usize| &document["overview"][row]["groups"][0];
    let column = |row: usize| (first(row)["group"].as_str(), first(row)["column"].as_str());
    assert_eq!(column(0), (Some("group-1"), Some("larger-groups-1-kind-1")), "{json}");
    assert_eq!(column(1), (Some("group-1"), Some("groups-of-2-kind-2")), "{json}");
    assert_eq!(column(2), (Some("group-1"), Some("groups-of-2-kind-3")), "{json}");
    assert_eq!(first(2)["sizes"], serde_json::json!([2, 2, 2, 2, 2, 2, 2, 2]));
}
