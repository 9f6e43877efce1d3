//! `compare`: runs and files, with the exit codes that scripts rely on.

use super::tool::{Said, Tool, flat, words};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Measures a simulated machine; the line holds at least the command, a seed and a name.
fn measure(tool: &Tool, line: &str) {
    tool.done(&words(&format!("{line} --machine sim:chiplet-16 -q -o x")));
}

/// A store with two runs of the same experiment, one with another hint, and two without a common pair of CPUs.
fn store() -> Tool {
    let tool = Tool::new();
    for options in [
        "--name one --seed 1",
        "--name two --seed 2",
        "--name none --seed 3 --hint none",
        "--name apart --seed 4 --cpus 8-11",
        "--name start --seed 5 --cpus 0-3",
    ] {
        measure(&tool, &format!("latency {options}"));
    }
    tool
}

fn call(tool: &Tool, line: &str) -> Said {
    tool.call(&words(&format!("compare {line}")))
}

fn text(tool: &Tool, line: &str) -> String {
    tool.done(&words(&format!("compare {line}"))).out
}

fn markdown(tool: &Tool, line: &str) -> String {
    text(tool, &format!("{line} --format markdown"))
}

fn document(tool: &Tool, line: &str) -> Value {
    tool.json(&words(&format!("compare {line} --format json")))
}

fn refused(tool: &Tool, line: &str, code: i32, part: &str) {
    tool.refused(&words(&format!("compare {line}")), code, part);
}

/// A bare core-to-core-latency matrix: the lower triangle, empty where the value is NaN.
pub fn triangle(cpus: usize, ns: impl Fn(usize, usize) -> f64) -> String {
    let cell = |row: usize, column: usize| match ns(row, column) {
        ns if column < row && !ns.is_nan() => format!("{ns:.2}"),
        _ => String::new(),
    };
    let row = |row| (0..cpus).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n";
    (0..cpus).map(row).collect()
}

fn matrix(tool: &Tool, name: &str, cpus: usize, ns: impl Fn(usize, usize) -> f64) {
    tool.write(name, triangle(cpus, ns));
}

fn base(row: usize, column: usize) -> f64 {
    40.0 + ((7 * row + 3 * column) % 5) as f64 / 4.0
}

/// Two halves of 16 CPUs, twice as far from each other as within.
fn halves(near: f64, far: f64) -> impl Fn(usize, usize) -> f64 {
    move |row, column| base(row, column) * if row / 8 == column / 8 { near } else { 2.0 * far }
}

fn wobble(row: usize, column: usize) -> f64 {
    1.0 + ((7 * row + 3 * column) % 5) as f64 / 500.0
}

/// Eight pairs of neighbours.
fn twos(near: f64, far: f64) -> impl Fn(usize, usize) -> f64 {
    move |row, column| wobble(row, column) * if row / 2 == column / 2 { near } else { far }
}

/// Twelve pairs of neighbours within two groups of twelve.
fn threads(row: usize, column: usize, across: f64) -> f64 {
    match row {
        _ if row / 2 == column / 2 => 7.5,
        _ if row / 12 == column / 12 => 18.0,
        _ => across,
    }
}

/// Writes two files: four groups of three, and twelve pairs within two groups of twelve.
fn two_machines(tool: &Tool) {
    matrix(tool, "threes.csv", 12, |a, b| wobble(a, b) * if a / 3 == b / 3 { 40.0 } else { 84.0 });
    matrix(tool, "threads.csv", 24, |a, b| wobble(a, b) * threads(a, b, 84.0));
}

#[test]
fn two_runs_of_one_machine_are_the_same_in_every_format() {
    let tool = store();
    let text = text(&tool, "one two --fail-on any");
    assert!(text.contains("are alike: no level differs by 3 % or more."), "{text}");
    assert!(text.contains("core cycles"), "{text}");
    let markdown = markdown(&tool, "one two");
    assert!(markdown.contains("| same L3 | 56 |"), "{markdown}");
    let document = document(&tool, "one two");
    assert!(document["run"].is_null() && document["compared"]["levels"] == "reported");
    for side in ["a", "b"] {
        let side = &document["compared"][side];
        assert_eq!((&side["machine"], &side["cpus"]), (&json!("SIMULATED chiplet-16"), &json!(16)));
    }
    let differences = document["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 2 + 120);
    assert!(differences.iter().all(|one| one["verdict"] == "same"), "{document}");
    assert!(differences[0]["level"] == "l3" && differences[0].get("cell").is_none());
    assert!(differences[2]["cell"] == json!([0, 1]) && differences[2].get("level").is_none());
}

#[test]
fn exit_codes_reflect_the_result() {
    let tool = Tool::new();
    matrix(&tool, "a.csv", 16, base);
    matrix(&tool, "slower.csv", 16, |row, column| 1.2 * base(row, column));
    matrix(&tool, "four.csv", 4, base);
    matrix(&tool, "tenth.csv", 4, |row, column| 1.1 * base(row, column));
    tool.write("few.csv", ",,\n40.0,,\n41.0,42.0,\n");
    for (line, code) in [
        ("a.csv slower.csv", 0),
        ("a.csv slower.csv --fail-on slower", 1),
        ("a.csv slower.csv --fail-on any", 1),
        ("a.csv slower.csv --fail-on faster", 0),
        ("slower.csv a.csv --fail-on faster", 1),
        ("a.csv slower.csv --fail-on slower --min-effect 30%", 0),
        ("a.csv few.csv --fail-on any", 7),
        ("a.csv few.csv", 0),
        ("four.csv four.csv --fail-on any --min-effect 0.5%", 0),
        ("four.csv tenth.csv --fail-on faster", 0),
        ("four.csv tenth.csv --fail-on slower", 1),
        ("four.csv tenth.csv --fail-on any", 1),
        ("tenth.csv four.csv --fail-on faster", 1),
        ("tenth.csv four.csv --fail-on slower", 0),
        ("tenth.csv four.csv --fail-on any", 1),
    ] {
        let output = call(&tool, line);
        assert_eq!(output.code, code, "{line}: {}{}", output.out, output.err);
    }
    let text = text(&tool, "four.csv four.csv --min-effect 0.5%");
    assert!(text.contains("same: identical numbers"), "{text}");
}

#[test]
fn different_experiments_need_force() {
    let tool = store();
    tool.write("cycles.mct", "#m #HWCs 2 #Nodes 1 #SMT 0\n0 0 0\n0 1 99\n1 0 99\n1 1 0\n");
    for (line, code, part) in [
        ("one none", 2, "kernel of latency cas (cas+pause and cas); --force compares"),
        ("start apart", 2, "no pair of CPUs in common"),
        ("one cycles.mct --force", 2, "unit (ns and cycles)"),
        ("one two apart --fail-on any", 2, "--fail-on needs exactly two"),
        ("one two --format csv", 2, "text, markdown or json"),
        ("one two --min-effect 0%", 2, "between 0.1% and 100%"),
        ("one absent.csv", 4, "absent.csv"),
        ("one absent", 2, "absent"),
    ] {
        refused(&tool, line, code, part);
    }
    let forced = flat(&text(&tool, "one none --force"));
    assert!(forced.contains("! kernel of latency cas: cas+pause in one, cas in none: different"), "{forced}");
    assert!(forced.contains("compared because of --force"), "{forced}");
}

#[test]
fn a_run_equals_its_exports() {
    let tool = store();
    for (format, file) in [("csv", "one.csv"), ("c2c-csv", "bare.csv")] {
        tool.done(&["export", "one", "--format", format, "-o", file]);
    }
    let exported = text(&tool, "one one.csv --fail-on any");
    assert!(exported.contains("no level differs") && !exported.contains("! simulated"), "{exported}");
    // A bare matrix does not say whether it is simulated: a warning, and the numbers are compared.
    let bare = text(&tool, "one bare.csv --force");
    assert!(bare.contains("! simulated: yes in one, unknown in bare.csv"), "{bare}");
}

#[test]
fn three_or_more_inputs_make_a_table() {
    let tool = store();
    matrix(&tool, "a.csv", 16, base);
    let line = "one two none a.csv";
    let text = text(&tool, line);
    assert!(text.lines().count() >= 10 && text.contains("all pairs"), "{text}");
    let markdown = markdown(&tool, line);
    assert_eq!(markdown.lines().count(), 2 + 4, "{markdown}");
    let document = document(&tool, line);
    let rows = document["overview"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[3]["side"], &rows[3]["name"]), (4, &3.into(), &Value::Null));
    let near = &rows[0]["groups"][0];
    assert_eq!((&near["group"], &near["pairs"]), (&"l3".into(), &56.into()), "{document}");
    let [low, median, high] =
        [&near["range"][0], &near["median"], &near["range"][1]].map(|value| value.as_f64().unwrap());
    assert!(low < median && median < high, "{near}");
}

#[test]
fn a_table_of_groups_that_few_files_share_has_a_row_per_file() {
    let tool = Tool::new();
    for (name, size, near, far) in
        [("pairs.csv", 2, 8.0, 60.0), ("halves.csv", 8, 20.0, 130.0), ("fours.csv", 4, 30.0, 300.0)]
    {
        matrix(&tool, name, 16, |a, b| if a / size == b / size { near } else { far });
    }
    let markdown = markdown(&tool, "pairs.csv halves.csv fours.csv");
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 2 + 3 && rows.iter().all(|row| row.matches('|').count() == 5), "{markdown}");
    assert!(rows.iter().any(|row| row.starts_with("| pairs.csv") && row.contains("8.00")), "{markdown}");
}

#[test]
fn tables_of_many_groups_fit_the_screen() {
    let tool = Tool::new();
    for seed in 1..=3 {
        let options = format!("--primitive pipe,std-mutex --seed {seed} --name {seed} --budget 5s");
        measure(&tool, &format!("wake {options}"));
    }
    let text = text(&tool, "1 2 3");
    let rows = text.lines().filter(|line| line.contains("primitive=pipe")).count();
    assert!(rows >= 6 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains(" 1 = ") && text.contains(" 3 = "), "{text}");
}

#[test]
fn every_probe_is_compared() {
    let tool = Tool::new();
    for line in [
        "wake --primitive pipe,std-mutex",
        "queue --cpus 0-3 --queue spsc --capacity 10",
        "place --threads 4 --placement one-l3 --placement across-l3 --workload ring",
    ] {
        let name = words(line)[0];
        measure(&tool, &format!("{line} --seed 1 --name {name}-a"));
        measure(&tool, &format!("{line} --seed 2 --name {name}-b"));
        let document = document(&tool, &format!("{name}-a {name}-b"));
        let differences = document["differences"].as_array().unwrap().iter();
        let levels: Vec<&Value> = differences.filter(|one| one.get("level").is_some()).collect();
        let is_same = |one: &&Value| one["verdict"] == "same";
        // Wake-ups scatter too much for runs of a second, so `cannot-tell` is allowed.
        let is_like = |one: &&Value| is_same(one) || name == "wake" && one["verdict"] == "cannot-tell";
        assert!(levels.iter().any(is_same) && levels.iter().all(is_like), "{name}: {levels:#?}");
    }
    refused(&tool, "wake-a queue-a", 2, "cannot be compared");
}

#[test]
fn rows_of_trials_are_distinguishable_at_100_columns() {
    let tool = Tool::new();
    for seed in 1..=2 {
        let options = format!("--threads 2,4,16 --budget 3s --seed {seed} --name c{seed}");
        measure(&tool, &format!("contend --method cas-backoff,parking-lot-mutex {options}"));
    }
    let text = text(&tool, "c1 c2");
    assert!(text.contains("; every row: arrange compact-core\n"), "{text}");
    assert!(text.contains("\n critical 50 ns, parallel 500 ns\n"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("   cas-") || line.starts_with("   parking-")).collect();
    let named: BTreeSet<String> = rows[..6].iter().map(|row| row.split("  ").take(2).collect()).collect();
    assert_eq!((rows.len(), named.len()), (12, 6), "{text}");
    assert!(named.contains(" parking-lot-mutex, threads 16"), "{text}");
    let markdown = markdown(&tool, "c1 c2");
    let row = "| parking-lot-mutex, threads 16, critical 50 ns, parallel 500 ns | 1 |";
    assert!(markdown.contains(row), "{markdown}");
}

#[test]
fn files_are_grouped_by_common_structure() {
    let tool = Tool::new();
    matrix(&tool, "before.csv", 16, halves(1.0, 1.0));
    matrix(&tool, "after.csv", 16, halves(1.0, 1.2));
    let text = text(&tool, "before.csv after.csv");
    assert!(text.contains("group-1: 0-7 8-15, as the latencies of both show"), "{text}");
    assert!(text.contains("after.csv is slower than before.csv: across"), "{text}");
    let document = document(&tool, "before.csv after.csv");
    assert_eq!(document["compared"]["levels"], "inferred");
    let verdict = |level: usize| &document["differences"][level]["verdict"];
    assert_eq!((verdict(0), verdict(1)), (&"same".into(), &"slower".into()), "{document}");
}

#[test]
fn machines_with_different_groups_are_not_compared_by_cpu_number() {
    let tool = Tool::new();
    two_machines(&tool);
    let text = flat(&text(&tool, "threes.csv threads.csv"));
    for part in [
        "threes.csv shows 4 groups of 3, threads.csv 12 groups of 2 in 2 groups of 12: it is unknown",
        "Cannot tell: nothing in threes.csv is known to correspond to anything in threads.csv.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("cells:") && !text.contains("FASTER"), "{text}");
    let failing = call(&tool, "threes.csv threads.csv --fail-on any");
    assert_eq!(failing.code, 7, "{}", failing.err);
    let nothing = "threes.csv and threads.csv have nothing in common that can be compared";
    assert!(failing.err.contains(nothing), "{}", failing.err);
    let unnamed = document(&tool, "threes.csv threads.csv");
    assert_eq!(unnamed["compared"]["pairing"], "nothing");
    for one in unnamed["differences"].as_array().unwrap() {
        assert!(one.get("cell").is_none() && one["verdict"] == "cannot-tell", "{one}");
        assert!(one["a"].is_null() != one["b"].is_null(), "{one}");
    }
    for file in ["r.html", "r.svg"] {
        tool.done(&["report", "threes.csv", "threads.csv", "-q", "-o", file]);
    }
    let page = tool.read("r.html");
    assert!(page.contains("\"differences\":[]") && page.contains("it is unknown which of them correspond"));
    let picture = tool.read("r.svg");
    assert!(!picture.contains(" ÷ ") && picture.contains("Cannot tell: nothing in matrix 1"), "no third map");
    // Documents contain file names only if they were given or requested.
    let unnamed = unnamed.to_string();
    assert!(unnamed.contains("A shows 4 groups") && !unnamed.contains("threes.csv"), "{unnamed}");
    for (line, part) in [
        ("Zen2=threes.csv Zen3=threads.csv", "Zen2 shows 4 groups"),
        ("threes.csv threads.csv --with-identity", "threes.csv shows 4 groups"),
    ] {
        assert!(document(&tool, line).to_string().contains(part), "{line}");
    }
}

#[test]
fn threads_of_a_core_are_not_compared_with_cores_of_a_cluster() {
    let tool = Tool::new();
    matrix(&tool, "threads.csv", 16, twos(7.7, 19.0));
    matrix(&tool, "clusters.csv", 16, twos(60.0, 260.0));
    assert_eq!(call(&tool, "threads.csv clusters.csv --fail-on any").code, 7);
    let text = flat(&text(&tool, "threads.csv clusters.csv"));
    for part in [
        "look alike but may be different things",
        "Cannot tell: nothing in threads.csv",
        "group-1 of threads.csv",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("SLOWER") && !text.contains('+'), "no percentage: {text}");
    let compared = &document(&tool, "threads.csv clusters.csv")["compared"];
    assert_eq!(compared["pairing"], "nothing");
    assert!(compared["pairing_reason"].to_string().contains("13.7 times as long"), "{compared}");
}

#[test]
fn sides_have_the_names_given_by_the_user_and_the_slower_one_is_named() {
    let tool = Tool::new();
    matrix(&tool, "slow.csv", 16, twos(60.0, 260.0));
    matrix(&tool, "fast.csv", 16, twos(7.7, 250.0));
    for sides in ["Zen2=slow.csv Zen3=fast.csv", "Zen3=fast.csv Zen2=slow.csv"] {
        let shown = flat(&text(&tool, sides));
        for part in ["in Zen2, 7.8 times as long as in Zen3 (7.", "Not compared: group-1.", "group-1 of Zen2"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let is_letter = |word: &&str| ["A", "B"].contains(&word.trim_matches([',', '.', ':']));
        assert_eq!(words(&shown).into_iter().find(is_letter), None, "{shown}");
        let open = call(&tool, &format!("{sides} --fail-on any"));
        assert!([1, 7].contains(&open.code), "what is not compared is undecided: {}", open.out);
        let forced = flat(&text(&tool, &format!("{sides} --force")));
        assert!(forced.contains("compared because of --force"), "{forced}");
        assert!(!forced.contains("Not compared"), "{forced}");
    }
    let bare = flat(&text(&tool, "slow.csv fast.csv"));
    assert!(bare.starts_with("fast.csv is faster than slow.csv: "), "{bare}");
    let idle = call(&tool, "slow.csv slow.csv --force");
    assert!(idle.err.contains("--force changes nothing here"), "{}", idle.err);
    let many = text(&tool, "Zen2=slow.csv Zen3=fast.csv again=slow.csv");
    assert!(["Zen2", "Zen3", "again"].iter().all(|name| many.contains(name)), "{many}");
}

#[test]
fn a_common_change_of_all_pairs_is_one_verdict_in_the_document() {
    let tool = Tool::new();
    matrix(&tool, "before.csv", 16, halves(1.0, 1.0));
    let together = |near: f64, far: f64| {
        matrix(&tool, "after.csv", 16, halves(near, far));
        document(&tool, "before.csv after.csv")["compared"]["together"].as_array().unwrap().clone()
    };
    for (factor, verdict) in [(1.2, "slower"), (1.0, "same")] {
        let [found] = &together(factor, factor)[..] else { panic!("{factor}: one verdict") };
        let shift = found["shift_percent"].as_f64().unwrap();
        assert!((shift - 100.0 * (factor - 1.0)).abs() < 0.1 && found["pairs"] == 120, "{found}");
        assert!(found["verdict"] == verdict && found["level"] == "all", "{found}");
    }
    assert!(together(1.2, 1.0).is_empty());
}

#[test]
fn an_impossible_value_is_refused_with_its_location() {
    let tool = Tool::new();
    matrix(&tool, "base.csv", 16, base);
    tool.write("tiny.csv", tool.read("base.csv").replacen("40.75", "1e-320", 1));
    refused(&tool, "tiny.csv base.csv", 4, "column 1: no latency can be 1e-320");
}

#[test]
fn a_renumbered_machine_is_compared_by_level() {
    let tool = Tool::new();
    two_machines(&tool);
    let renumbered = |cpu: usize| 2 * (cpu % 12) + cpu / 12;
    matrix(&tool, "turned.csv", 24, |a, b| threads(renumbered(a), renumbered(b), 110.0));
    assert_eq!(call(&tool, "threads.csv turned.csv --fail-on slower").code, 1);
    let text = flat(&text(&tool, "threads.csv turned.csv"));
    assert!(text.contains("turned.csv is slower than threads.csv: across"), "{text}");
    for shown in [text, markdown(&tool, "threads.csv turned.csv")] {
        assert!(shown.contains("numbered differently") && !shown.contains("cells:"), "{shown}");
    }
}

#[test]
fn tables_of_many_inputs_name_the_groups_of_each_column() {
    let tool = Tool::new();
    two_machines(&tool);
    matrix(&tool, "cores.csv", 16, |a, b| if a / 2 == b / 2 { 8.0 } else { 20.0 });
    let line = "threes.csv threads.csv cores.csv";
    let text = text(&tool, line);
    let kinds =
        "Groups of different kinds, such as cores of a cluster and threads of a core, cannot be compared";
    for part in ["groups of 2, kind 2", "larger groups, kind 1", "4 × 3", "12 × 2", "2 × 12", "8 × 2", kinds]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document = document(&tool, line);
    let columns = ["larger-groups-1-kind-1", "groups-of-2-kind-2", "groups-of-2-kind-3"];
    for (row, column) in columns.into_iter().enumerate() {
        let first = &document["overview"][row]["groups"][0];
        assert_eq!((&first["group"], &first["column"]), (&"group-1".into(), &column.into()), "{document}");
    }
    assert_eq!(document["overview"][2]["groups"][0]["sizes"], Value::from([2; 8]));
}
