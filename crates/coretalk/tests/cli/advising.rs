//! `advise`: recommended CPUs, their cost, and cases without a recommendation.

use super::tool::{Tool, words};
use serde_json::Value;

fn advice(tool: &Tool, words: &[&str]) -> Value {
    let out = tool.done(&[&["advise", "--format", "json", "-q"], words].concat()).out;
    serde_json::from_str::<Value>(&out).unwrap()["advice"][0].clone()
}

fn write(tool: &Tool, name: &str, text: &str) {
    tool.write(name, text);
}

/// A lower triangle for eight CPUs: 20.5 ns between CPUs of the same parity, else `across`; no value if `hole`.
fn matrix(across: f64, hole: impl Fn(u32, u32) -> bool) -> String {
    let cell = |row: u32, column: u32| match (column < row, row % 2 == column % 2) {
        (true, _) if hole(row, column) => String::new(),
        (true, true) => "20.5".to_owned(),
        (true, false) => across.to_string(),
        _ => String::new(),
    };
    (0..8).map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn cpus(advice: &Value) -> Vec<u64> {
    advice["cpus"].as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap()).collect()
}

#[test]
fn communicating_threads_are_placed_together() {
    let tool = Tool::new();
    let screen = tool.done(&["advise", "-n", "8", "--machine", "sim:chiplet-16", "-q"]).out;
    assert!(screen.contains("SIMULATED") && screen.contains("taskset -c 0-7 COMMAND"), "{screen}");
    let found =
        advice(&tool, &["-n", "8", "--pattern", "ring", "--machine", "sim:chiplet-16", "--cpus", "4-15"]);
    assert!(cpus(&found).iter().all(|cpu| (8..16).contains(cpu)), "{found}");
    assert_eq!((&found["ground"], &found["reason"]), (&"latency".into(), &Value::Null));
    let [low, high] = [0, 1].map(|end| found["bounds"][end].as_f64().unwrap());
    let mean = found["mean"].as_f64().unwrap();
    assert!(low < mean && mean < high && high < 20.0, "{found}");
    let worse = |name: &str| {
        let baseline =
            found["baselines"].as_array().unwrap().iter().find(|known| known["name"] == name).unwrap();
        baseline["worse"] == true && baseline["excess_bounds_percent"][0].as_f64().unwrap() > 0.0
    };
    assert!(worse("spread") && worse("system-order") && worse("anywhere"), "{found}");
    assert_eq!(found["snippets"].as_array().unwrap().len(), 7);
    assert!(tool.call(&["runs", "show", "latest"]).err.contains("no runs"));
}

#[test]
fn command_lines_place_each_thread_in_the_order_of_the_advice() {
    let words = ["-n", "4", "--pattern", "pairs", "--machine", "sim:chiplet-16-smt", "--cpus", "0,1,8,16,24"];
    let found = advice(&Tool::new(), &words);
    let [a, b, c, d] = cpus(&found)[..] else { panic!("{found}") };
    // Which pair comes first depends on the seed; in either order the threads are not in the order of CPU ids.
    assert!([[0, 16, 8, 24], [8, 24, 0, 16]].contains(&[a, b, c, d]), "{found}");
    for (name, part) in [
        ("taskset", "-c 0,8,16,24 ".to_owned()),
        ("systemd", "CPUAffinity=0,8,16,24".to_owned()),
        ("container", "--cpuset-cpus=0,8,16,24 ".to_owned()),
        ("openmp", format!("OMP_PLACES='{{{a}}},{{{b}}},{{{c}}},{{{d}}}'")),
        ("gomp", format!("'{a} {b} {c} {d}'")),
        ("slurm", format!("map_cpu:{a},{b},{c},{d} ")),
        ("libvirt", format!("vcpu='1' cpuset='{b}'/>\n  <vcpupin vcpu='2' cpuset='{c}'")),
    ] {
        let snippet = found["snippets"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        assert!(snippet["text"].as_str().unwrap().contains(&part), "{snippet}");
    }
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let words = ["-n", "12", "--pattern", "pipeline", "--machine", "sim:chiplet-16-smt"];
    assert_eq!(advice(&Tool::new(), &words), advice(&Tool::new(), &words));
}

#[test]
fn runs_files_and_graphs_are_accepted() {
    let tool = Tool::new();
    tool.done(&["latency", "--machine", "sim:chiplet-16", "--seed", "1", "-q", "--name", "one"]);
    let of_run = advice(&tool, &["-n", "4", "--from", "one"]);
    assert_eq!((&of_run["from"], cpus(&of_run).len()), (&"run".into(), 4));
    write(&tool, "m.csv", &matrix(85.5, |_, _| false));
    // Threads 0, 2 and 4 communicate much, 1 and 3 little.
    write(&tool, "graph.txt", "0 2 9 # much\n2 4 9\n0 4 9\n1 3 1\n");
    let of_file = advice(&tool, &["--graph", "graph.txt", "--from", "m.csv"]);
    assert_eq!((&of_file["from"], &of_file["pattern"]), (&"file".into(), &Value::Null));
    let at = cpus(&of_file);
    assert!(at[0] % 2 == at[2] % 2 && at[2] % 2 == at[4] % 2 && at[1] % 2 == at[3] % 2, "{of_file}");
    assert_eq!(of_file["mean"], 20.5);
    let more = advice(&tool, &["--graph", "graph.txt", "-n", "8", "--from", "m.csv"]);
    assert_eq!(cpus(&more).len(), 8);
}

#[test]
fn constraints_narrow_the_choice() {
    let tool = Tool::new();
    let smt = ["--machine", "sim:chiplet-16-smt", "-n", "2", "--pattern", "pairs"];
    let pair = |more: &[&str]| cpus(&advice(&tool, &[&smt[..], more].concat()));
    let sibling = |pair: &[u64]| pair[0].abs_diff(pair[1]) == 16;
    assert!(sibling(&pair(&["--sharing", "allowed"])), "threads of a core talk fastest");
    assert!(!sibling(&pair(&[])) && !sibling(&pair(&["--sharing", "never"])));
    assert!(pair(&["--avoid", "0-3,16-19"]).iter().all(|cpu| cpu % 16 >= 4));
    let classes = advice(&tool, &["--machine", "sim:hybrid", "-n", "4", "--class", "e"]);
    assert_eq!(classes["candidates"], "12-19");
    let node = advice(&tool, &["--machine", "sim:epyc-2s-192", "-n", "3", "--node", "1"]);
    assert_eq!(node["candidates"], "96-191");
}

#[test]
fn omitted_smt_siblings_are_mentioned_and_smt_all_includes_them() {
    let tool = Tool::new();
    let smt = ["--machine", "sim:chiplet-16-smt", "-n", "6", "--seed", "1"];
    let with = |more: &[&str]| advice(&tool, &[&smt[..], more].concat());
    let mentions_siblings = |found: &Value| found["remarks"].to_string().contains("SMT siblings (");
    let usual = with(&[]);
    assert_eq!(cpus(&usual), [0, 1, 2, 3, 4, 5]);
    assert!(mentions_siblings(&usual) && usual["remarks"].to_string().contains("16-31"), "{usual}");
    let all = with(&["--smt", "all"]);
    assert_eq!((&all["candidates"], mentions_siblings(&all)), (&"0-31".into(), false));
    assert_eq!(all["cpus"], with(&["--sharing", "allowed"])["cpus"]);
    let first = with(&["--smt", "one-per-core"]);
    assert_eq!((&first["candidates"], mentions_siblings(&first)), (&"0-15".into(), false));
    assert!(!mentions_siblings(&advice(&tool, &["-n", "4", "--machine", "sim:chiplet-16"])));
    for (more, part) in [
        (&["--smt", "siblings"][..], "use --smt all"),
        (&["--smt", "all", "--sharing", "never"], "drop one of them"),
    ] {
        let output = tool.call(&[&["advise"], &smt[..], more].concat());
        assert!(output.code == 2 && output.err.contains(part), "{}", output.err);
    }
}

#[test]
fn nothing_is_recommended_without_evidence() {
    let tool = Tool::new();
    write(&tool, "flat.csv", &matrix(20.5, |_, _| false));
    write(&tool, "pair.csv", ",\n20.5,\n");
    write(&tool, "holes.csv", &matrix(85.5, |row, column| (row + column) % 3 != 0));
    for (words, reason) in [
        (&["-n", "4", "--from", "flat.csv"][..], "shown to be better"),
        (&["-n", "2", "--from", "pair.csv"], "only one placement"),
        (&["-n", "4", "--from", "holes.csv"], "at least half are needed"),
        (&["-n", "3", "--machine", "sim:noisy-vm"], "changed level"),
        (&["-n", "8", "--from", "flat.csv", "--pattern", "independent"], "no threads talk"),
    ] {
        let found = advice(&tool, words);
        assert!(found["reason"].as_str().unwrap().contains(reason), "{found}");
        assert_eq!(found["ground"], "none");
        assert!(found["cpus"].is_null() && found["snippets"].as_array().unwrap().is_empty(), "{found}");
        let screen = tool.done(&[&["advise", "-q"], words].concat()).out;
        assert!(screen.contains("No advice:") && !screen.contains("taskset"), "{screen}");
    }
    let spread = advice(&tool, &["-n", "2", "--machine", "sim:chiplet-16", "--pattern", "independent"]);
    assert_eq!((&spread["ground"], cpus(&spread)), (&"structure".into(), vec![0, 8]));
}

#[test]
fn missing_pairs_are_mentioned_and_widen_the_bounds() {
    let tool = Tool::new();
    write(&tool, "hole.csv", &matrix(85.5, |row, column| (row, column) == (2, 0)));
    let found = advice(&tool, &["-n", "4", "--from", "hole.csv"]);
    assert!(found["remarks"][0].as_str().unwrap().contains("1 of the candidate pairs"), "{found}");
    // The odd CPUs have all latencies.
    assert_eq!(cpus(&found), [1, 3, 5, 7]);
}

#[test]
fn invalid_input_is_refused_with_its_location() {
    let tool = Tool::new();
    write(&tool, "m.csv", &matrix(85.5, |_, _| false));
    write(&tool, "negative.csv", ",,\n20.5,,\n-1,20.5,\n");
    for (name, text) in [
        ("self.txt", "0 1 1\n2 2 1\n"),
        ("minus.txt", "0 1 -3\n"),
        ("far.txt", "0 9 1\n"),
        ("nobody.txt", "# nothing\n"),
        ("words.txt", "a b c\n"),
    ] {
        write(&tool, name, text);
    }
    for (words, code, part) in [
        (&["--graph", "self.txt"][..], 4, "self.txt: failed to read line 2: thread 2 talks to itself"),
        (&["--graph", "minus.txt"], 4, "line 1: the weight -3 is negative"),
        (&["--graph", "far.txt", "-n", "4"], 4, "there is no thread 9: the 4 threads are counted from 0"),
        (&["--graph", "far.txt"], 3, "10 threads need as many CPUs, and 8 (0-7) may be used"),
        (&["--graph", "nobody.txt"], 4, "no threads talk"),
        (&["--graph", "words.txt"], 4, "`a` is not a thread"),
        (&["-n", "9"], 3, "9 threads need as many CPUs"),
        (&["-n", "2", "--sharing", "never"], 2, "--reported FILE.xml"),
    ] {
        tool.refused(&[&["advise", "--from", "m.csv"], words].concat(), code, part);
    }
    let output = tool.call(&["advise", "-n", "2", "--from", "negative.csv"]);
    assert_eq!((output.code, output.err.contains("line 3")), (4, true), "{}", output.err);
}

/// Returns the comparison of the advised placement with the one called `name`.
fn against<'a>(found: &'a Value, name: &str) -> &'a Value {
    let lines = found["proof"]["against"].as_array().unwrap();
    lines.iter().find(|line| line["names"].as_array().unwrap().contains(&name.into())).unwrap()
}

#[test]
fn advice_is_proven_by_work_with_the_same_communication() {
    let tool = Tool::new();
    for (pattern, machine) in [
        ("ring", &["--machine", "sim:chiplet-16", "--cpus", "4-11"][..]),
        ("all-to-all", &["--machine", "sim:chiplet-16", "--cpus", "4-11"]),
        ("pipeline", &["--machine", "sim:chiplet-16", "--cpus", "4-11"]),
        ("ring", &["--machine", "sim:epyc-2s-192", "--cpus", "4-11,100-107"]),
    ] {
        let words = [&["-n", "4", "--pattern", pattern, "--prove"], machine].concat();
        let found = advice(&tool, &words);
        assert_eq!((&found["proof"]["workload"], &found["proof"]["reason"]), (&pattern.into(), &Value::Null));
        let spread = against(&found, "spread");
        let [predicted, measured] = ["predicted", "measured"].map(|name| spread[name].as_f64().unwrap());
        // Stages of a pipeline also compute, which takes the same time everywhere.
        let verdict = if pattern == "pipeline" { "less" } else { "as-predicted" };
        assert_eq!(spread["verdict"], verdict, "{pattern} {machine:?}: {found:#}");
        assert!(predicted > 2.0 && measured > 1.5, "{spread:#}");
        assert!(pattern == "pipeline" || (measured / predicted - 1.0).abs() < 0.05, "{spread:#}");
    }
}

#[test]
fn a_proof_contains_its_runs_and_is_reproducible() {
    let tool = Tool::new();
    let words = words("advise -n 4 --pattern ring --prove --machine sim:chiplet-16 --cpus 4-11");
    let json =
        |tool: &Tool| tool.done(&[&words[..], &["--format", "json", "-q", "--seed", "3"]].concat()).out;
    let document: Value = serde_json::from_str(&json(&tool)).unwrap();
    let comparison = &document["comparisons"][0];
    // The first CPUs by number are as good as the advised ones, so only `spread` is compared.
    assert_eq!((&comparison["workload"], &comparison["winner"]), (&"ring".into(), &"advised".into()));
    let runs = comparison["placements"][0]["runs"].as_array().unwrap().len();
    assert_eq!(document["advice"][0]["proof"]["runs"], runs);
    assert_eq!(json(&tool), json(&tool));
    let screen = tool.done(&[&words[..], &["-q"]].concat()).out;
    assert!(screen.contains("The advice holds") && screen.contains("as predicted"), "{screen}");
}

#[test]
fn unprovable_requests_state_the_reason() {
    let tool = Tool::new();
    let sim = ["--machine", "sim:chiplet-16", "--prove"];
    for (words, reason) in [
        (&["-n", "4", "--pattern", "pairs"][..], "no built-in workload has this pattern"),
        (&["-n", "4", "--pattern", "independent"], "do not talk"),
        (&["-n", "2", "--cpus", "0,1"], "there is no advice to check"),
        (&["-n", "1"], "no other to talk to"),
    ] {
        let found = advice(&tool, &[words, &sim[..]].concat());
        assert!(found["proof"]["reason"].as_str().unwrap().contains(reason), "{words:?}: {found:#}");
        assert_eq!(found["proof"]["against"], Value::Array(Vec::new()));
        let screen = tool.done(&[&["advise", "-q"], words, &sim[..]].concat()).out;
        assert!(screen.contains("Not proven") && screen.contains(reason), "{screen}");
    }
    assert_eq!(advice(&tool, &["-n", "4", "--machine", "sim:chiplet-16"])["proof"], Value::Null);
    // The budget is too short for a verdict.
    let hasty = advice(&tool, &[&["-n", "4", "--pattern", "ring", "--budget", "2s"], &sim[..]].concat());
    assert_eq!(against(&hasty, "spread")["verdict"], "cannot-tell", "{hasty:#}");
}

#[test]
fn misleading_latencies_are_contradicted_by_the_work() {
    let tool = Tool::new();
    // The file claims that even CPUs are close; on the machine, 0-3 and 4-7 are.
    write(&tool, "says.csv", &matrix(85.5, |_, _| false));
    let row = |row: u32| {
        let cell = |column: u32| match column < row {
            true if row / 4 == column / 4 => "20.5",
            true => "85.5",
            false => "",
        };
        (0..8).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    write(&tool, "is.csv", &(0..8).map(row).collect::<String>());
    let words = ["-n", "4", "--pattern", "ring", "--from", "says.csv", "--prove", "--machine", "sim:is.csv"];
    let found = advice(&tool, &words);
    assert_eq!(against(&found, "system-order")["verdict"], "contradicted", "{found:#}");
    let screen = tool.done(&[&["advise", "-q"], &words[..]].concat()).out;
    assert!(screen.contains("disagree") && screen.contains("trust the measurement"), "{screen}");
}

#[test]
fn work_on_another_machine_proves_nothing() {
    let tool = Tool::new();
    tool.done(&["latency", "--machine", "sim:chiplet-16", "--cpus", "4-11", "-q", "--name", "one"]);
    let from = ["advise", "-n", "4", "--pattern", "ring", "--from", "one"];
    let other = tool.call(&[&from[..], &["--prove", "--machine", "sim:laptop-smt"]].concat());
    assert_eq!(other.code, 2, "{}", other.err);
    assert!(other.err.contains("laptop-smt") && other.err.contains("chiplet-16"), "{}", other.err);
    let idle = tool.call(&[&from[..], &["--machine", "sim:chiplet-16"]].concat());
    assert_eq!(idle.code, 2);
    assert!(idle.err.contains("--machine has no effect with --from"), "{}", idle.err);
    let found = advice(
        &tool,
        &["-n", "4", "--pattern", "ring", "--from", "one", "--prove", "--machine", "sim:chiplet-16"],
    );
    assert_eq!(against(&found, "spread")["verdict"], "as-predicted");
}

#[test]
fn cpus_that_a_run_found_noisy_are_avoided() {
    let tool = Tool::new();
    // All CPUs have occasional stalls, and two have many more.
    let stall = |name: &str, per_second: f64, more: &str| {
        format!(
            "[[stalls]]\nname = '{name}'\nper_second = {per_second:?}\nus = [150.0, 250.0]\nrhythm = 'random'\n\
             seen_as = 'nothing'\n{more}\n"
        )
    };
    let stall = stall("now and then", 4.0, "") + &stall("storm", 200.0, "cpus = '3,12'");
    write(&tool, "noisy.toml", &format!("based_on = 'chiplet-16'\n{stall}\n"));
    let machine = ["--machine", "sim:noisy.toml"];
    let jitter = ["jitter", "--for", "2s", "--seed", "1", "--name", "quiet", "-q"];
    let output = tool.done(&[&jitter[..], &machine[..]].concat()).out;
    assert!(output.contains("avoid CPUs 3 12 ("), "{output}");
    let words = [&["-n", "2", "--jitter", "quiet"], &machine[..]].concat();
    let found = advice(&tool, &words);
    let candidates: coretalk_model::CpuSet = found["candidates"].as_str().unwrap().parse().unwrap();
    assert_eq!(candidates.to_string(), "0-2,4-11,13-15", "{found:#}");
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("avoided because") && remarks.contains("lost"), "{remarks}");
    tool.refused(
        &[&["advise", "-n", "16", "--jitter", "quiet", "-q"], &machine[..]].concat(),
        3,
        "--jitter excludes CPUs",
    );
    tool.done(&["latency", "--machine", "sim:laptop-smt", "--cpus", "0-3", "-q", "--name", "one", "-o", "x"]);
    tool.refused(&["advise", "-n", "2", "--from", "one", "--jitter", "quiet"], 2, "the latencies are from");
    tool.refused(
        &["advise", "-n", "2", "--from", "one", "--jitter", "one"],
        2,
        "needs a run of `coretalk jitter`",
    );
}

#[test]
fn threads_of_a_core_that_the_system_hides_are_kept_apart() {
    let tool = Tool::new();
    write(&tool, "hidden.toml", "based_on = 'laptop-smt'\nreported = 'nothing'");
    // 0 and 4, 1 and 5, … are threads of one core.
    let few = tool.done(&["advise", "-n", "4", "--machine", "sim:hidden.toml", "-q"]).out;
    assert!(few.contains("candidates: 4 CPUs, 0-3"), "{few}");
    let many = tool.done(&["advise", "-n", "6", "--machine", "sim:hidden.toml", "-q"]).out;
    assert!(many.contains("more threads than cores"), "{many}");
    assert!(!many.contains("latency alone cannot tell"), "{many}");
}

/// Sixteen CPUs in two caches: 7 ns for CPUs i and i + 8, 18 ns within a cache of four such pairs, 80 ns across.
fn desktop() -> String {
    let cell = |row: u32, column: u32| match column < row {
        true if row == column + 8 => "7.0",
        true if row % 8 / 4 == column % 8 / 4 => "18.0",
        true => "80.0",
        false => "",
    };
    (0..16).map(|row| (0..16).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

#[test]
fn without_cores_in_a_file_one_cpu_of_each_closest_pair_is_used() {
    let tool = Tool::new();
    write(&tool, "desktop.csv", &desktop());
    let cores =
        |cpus: &[u64]| cpus.iter().map(|cpu| cpu % 8).collect::<std::collections::BTreeSet<_>>().len();
    for threads in ["3", "4"] {
        let found = advice(&tool, &["-n", threads, "--from", "desktop.csv"]);
        assert_eq!(
            (cores(&cpus(&found)).to_string(), &found["candidates"]),
            (threads.to_owned(), &"0-7".into())
        );
        assert!(found["remarks"].to_string().contains("one CPU of each of the closest pairs"), "{found}");
    }
    // With more threads than pairs, threads share pairs, which is mentioned.
    let more = advice(&tool, &["-n", "10", "--from", "desktop.csv"]);
    assert!(more["remarks"].to_string().contains("may be SMT siblings"), "{more}");
    let asked = advice(&tool, &["-n", "4", "--from", "desktop.csv", "--sharing", "allowed"]);
    assert_eq!(cores(&cpus(&asked)), 2, "{asked}");
}

#[test]
fn contradictory_closest_pairs_are_not_shared() {
    let tool = Tool::new();
    // Cores of two CPUs, and two pairs from different cores that appear as close.
    let near = |row: u64, column: u64| row / 2 == column / 2 || [(0, 2), (1, 3)].contains(&(column, row));
    let cell = |row: u64, column: u64| match column < row {
        true if near(row, column) => format!("20.{}", (row * 5 + column * 3) % 7),
        true => format!("60.{}", (row * 5 + column * 3) % 7),
        false => String::new(),
    };
    let row = |row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n";
    write(&tool, "ring.csv", &(0..8).map(row).collect::<String>());
    for threads in ["2", "4"] {
        let found = advice(&tool, &["-n", threads, "--from", "ring.csv"]);
        assert_eq!(found["candidates"], "0,3,4,6", "{found}");
        let remarks = found["remarks"].to_string();
        assert!(remarks.contains("one CPU of each of the closest pairs"), "{found}");
        assert!(remarks.contains("groups may be hidden"), "{found}");
    }
    let more = advice(&tool, &["-n", "6", "--from", "ring.csv"]);
    assert!(more["remarks"].to_string().contains("some of the closest pairs may be SMT siblings"), "{more}");
}

/// Three groups of four with 20 ns inside and 30 ns across, except for the given pairs (low, high).
fn three_groups(wrong: &[((u64, u64), f64)]) -> String {
    let ns = |row: u64, column: u64| {
        let regular = if row / 4 == column / 4 { 20.0 } else { 30.0 };
        let base = wrong.iter().find(|(pair, _)| *pair == (column, row)).map_or(regular, |(_, ns)| *ns);
        format!("{:.2}", base + ((row * 5 + column * 3) % 7) as f64 / 20.0)
    };
    let cell = |row: u64, column: u64| if column < row { ns(row, column) } else { String::new() };
    (0..12).map(|row| (0..12).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

#[test]
fn an_implausibly_close_pair_is_not_recommended() {
    let tool = Tool::new();
    write(&tool, "near.csv", &three_groups(&[((0, 5), 3.0)]));
    let found = advice(&tool, &["-n", "2", "--from", "near.csv"]);
    let placed = cpus(&found);
    assert_eq!(placed[0] / 4, placed[1] / 4, "{found}");
    let remark = "CPUs 0 and 5 take 3.20 ns where the other pairs suggest 30.";
    assert!(found["remarks"].to_string().contains(remark), "{found}");
    // Without an alternative pair, the remark remains.
    let only = advice(&tool, &["-n", "2", "--from", "near.csv", "--cpus", "0,5"]);
    assert!(only["remarks"].to_string().contains(remark), "{only}");
    let others = advice(&tool, &["-n", "2", "--from", "near.csv", "--avoid", "5"]);
    assert_eq!(others["remarks"].to_string().find("measure again"), None, "{others}");
}

#[test]
fn one_contradictory_group_restricts_no_other() {
    let tool = Tool::new();
    write(&tool, "ring.csv", &three_groups(&[((0, 1), 30.0), ((2, 3), 30.0)]));
    let found = advice(&tool, &["-n", "4", "--from", "ring.csv"]);
    assert_eq!((cpus(&found), &found["candidates"]), (vec![4, 5, 6, 7], &"0,1,4-11".into()), "{found}");
    for words in [["--avoid", "0,1"], ["--cpus", "2-11"]] {
        let found = advice(&tool, &[&["-n", "4", "--from", "ring.csv"], &words[..]].concat());
        assert_eq!(found["candidates"], "2-11", "{found}");
    }
}

#[test]
fn a_report_of_one_thread_per_core_leaves_no_doubt_about_siblings() {
    let tool = Tool::new();
    write(&tool, "desktop.csv", &desktop());
    write(
        &tool,
        "one.xml",
        &super::topology::hwloc(&[&[0, 1, 2, 3, 8, 9, 10, 11], &[4, 5, 6, 7, 12, 13, 14, 15]]),
    );
    let found = advice(&tool, &["-n", "2", "--from", "desktop.csv", "--reported", "one.xml"]);
    assert_eq!((cpus(&found), &found["candidates"]), (vec![0, 8], &"0-15".into()));
    assert!(!found["remarks"].to_string().contains("sibling"), "{found}");
}

#[test]
fn doubts_about_a_file_are_shown_with_its_advice() {
    let tool = Tool::new();
    let steps = |row: u32, column: u32| {
        let far = if row / 4 == column / 4 { 1 } else { 7 };
        far + (row * 7 + column * 3) % 4
    };
    let cell = |row: u32, column: u32| match column < row {
        true => format!("{:.1}", f64::from(steps(row, column)) * 16.7),
        false => String::new(),
    };
    let text: String = (0..8)
        .map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    write(&tool, "coarse.csv", &text);
    let lint = tool.done(&["lint", "coarse.csv"]).out;
    assert!(lint.contains("clock-comb"), "{lint}");
    let output = tool.done(&["advise", "-n", "2", "--from", "coarse.csv"]).out;
    assert!(output.contains("multiples of 16.7 ns (`coretalk lint`)"), "{output}");
    // A difference of one clock step is no reason: the second CPUs by number may be as good.
    assert!(output.contains("Threads 0 and 1") || output.contains("No advice"), "{output}");
}
