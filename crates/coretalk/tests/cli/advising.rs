//! `advise`: recommended CPUs, their cost, and cases without a recommendation.

use super::comparing::triangle;
use super::tool::{Tool, words};
use serde_json::Value;
use std::collections::BTreeSet;

fn advice(tool: &Tool, line: &str) -> Value {
    tool.json(&words(&format!("advise --format json -q {line}")))["advice"][0].clone()
}

fn screen(tool: &Tool, line: &str) -> String {
    tool.done(&words(&format!("advise -q {line}"))).out
}

fn refused(tool: &Tool, line: &str, code: i32, part: &str) {
    tool.refused(&words(&format!("advise -q {line}")), code, part);
}

fn cpus(advice: &Value) -> Vec<u64> {
    advice["cpus"].as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap()).collect()
}

fn remarks(advice: &Value) -> String {
    advice["remarks"].to_string()
}

/// Finds an entry of a list by its `name`.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

/// Eight CPUs: 20.5 ns between CPUs of the same parity, else 85.5 ns; no value if `hole`.
fn parities(hole: impl Fn(usize, usize) -> bool) -> String {
    triangle(8, |row, column| match row {
        _ if hole(row, column) => f64::NAN,
        _ if row % 2 == column % 2 => 20.5,
        _ => 85.5,
    })
}

#[test]
fn communicating_threads_are_placed_together() {
    let tool = Tool::new();
    let screen = screen(&tool, "-n 8 --machine sim:chiplet-16");
    assert!(screen.contains("SIMULATED") && screen.contains("taskset -c 0-7 COMMAND"), "{screen}");
    let found = advice(&tool, "-n 8 --pattern ring --machine sim:chiplet-16 --cpus 4-15");
    assert!(cpus(&found).iter().all(|cpu| (8..16).contains(cpu)), "{found}");
    assert_eq!((&found["ground"], &found["reason"]), (&"latency".into(), &Value::Null));
    let [low, mean, high] =
        [&found["bounds"][0], &found["mean"], &found["bounds"][1]].map(|value| value.as_f64().unwrap());
    assert!(low < mean && mean < high && high < 20.0, "{found}");
    for name in ["spread", "system-order", "anywhere"] {
        let baseline = named(&found["baselines"], name);
        let excess = baseline["excess_bounds_percent"][0].as_f64().unwrap();
        assert!(baseline["worse"] == true && excess > 0.0, "{baseline}");
    }
    assert_eq!(found["snippets"].as_array().unwrap().len(), 7);
    assert!(tool.call(&["runs", "show", "latest"]).err.contains("no runs"));
}

#[test]
fn command_lines_place_each_thread_in_the_order_of_the_advice() {
    let line = "-n 4 --pattern pairs --machine sim:chiplet-16-smt --cpus 0,1,8,16,24";
    let found = advice(&Tool::new(), line);
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
        let snippet = named(&found["snippets"], name);
        assert!(snippet["text"].as_str().unwrap().contains(&part), "{snippet}");
    }
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let line = "-n 12 --pattern pipeline --machine sim:chiplet-16-smt";
    assert_eq!(advice(&Tool::new(), line), advice(&Tool::new(), line));
}

#[test]
fn runs_files_and_graphs_are_accepted() {
    let tool = Tool::new();
    tool.done(&words("latency --machine sim:chiplet-16 --seed 1 -q --name one"));
    let of_run = advice(&tool, "-n 4 --from one");
    assert_eq!((&of_run["from"], cpus(&of_run).len()), (&"run".into(), 4));
    tool.write("m.csv", parities(|_, _| false));
    // Threads 0, 2 and 4 communicate much, 1 and 3 little.
    tool.write("graph.txt", "0 2 9 # much\n2 4 9\n0 4 9\n1 3 1\n");
    let of_file = advice(&tool, "--graph graph.txt --from m.csv");
    assert_eq!((&of_file["from"], &of_file["pattern"]), (&"file".into(), &Value::Null));
    let at = cpus(&of_file);
    assert!(at[0] % 2 == at[2] % 2 && at[2] % 2 == at[4] % 2 && at[1] % 2 == at[3] % 2, "{of_file}");
    assert_eq!(of_file["mean"], 20.5);
    assert_eq!(cpus(&advice(&tool, "--graph graph.txt -n 8 --from m.csv")).len(), 8);
}

#[test]
fn constraints_narrow_the_choice() {
    let tool = Tool::new();
    let pair = |more: &str| {
        cpus(&advice(&tool, &format!("--machine sim:chiplet-16-smt -n 2 --pattern pairs {more}")))
    };
    let sibling = |pair: &[u64]| pair[0].abs_diff(pair[1]) == 16;
    assert!(sibling(&pair("--sharing allowed")), "threads of a core talk fastest");
    assert!(!sibling(&pair("")) && !sibling(&pair("--sharing never")));
    assert!(pair("--avoid 0-3,16-19").iter().all(|cpu| cpu % 16 >= 4));
    for (line, candidates) in [
        ("--machine sim:hybrid -n 4 --class e", "12-19"),
        ("--machine sim:epyc-2s-192 -n 3 --node 1", "96-191"),
    ] {
        assert_eq!(advice(&tool, line)["candidates"], candidates, "{line}");
    }
}

#[test]
fn omitted_smt_siblings_are_mentioned_and_smt_all_includes_them() {
    let tool = Tool::new();
    let smt = "--machine sim:chiplet-16-smt -n 6 --seed 1";
    let with = |more: &str| advice(&tool, &format!("{smt} {more}"));
    let mentions_siblings = |found: &Value| remarks(found).contains("SMT siblings (");
    let usual = with("");
    assert_eq!(cpus(&usual), [0, 1, 2, 3, 4, 5]);
    assert!(mentions_siblings(&usual) && remarks(&usual).contains("16-31"), "{usual}");
    let all = with("--smt all");
    assert_eq!((&all["candidates"], mentions_siblings(&all)), (&"0-31".into(), false));
    assert_eq!(all["cpus"], with("--sharing allowed")["cpus"]);
    let first = with("--smt one-per-core");
    assert_eq!((&first["candidates"], mentions_siblings(&first)), (&"0-15".into(), false));
    assert!(!mentions_siblings(&advice(&tool, "-n 4 --machine sim:chiplet-16")));
    refused(&tool, &format!("{smt} --smt siblings"), 2, "use --smt all");
    refused(&tool, &format!("{smt} --smt all --sharing never"), 2, "drop one of them");
}

#[test]
fn nothing_is_recommended_without_evidence() {
    let tool = Tool::new();
    tool.write("flat.csv", triangle(8, |_, _| 20.5));
    tool.write("pair.csv", ",\n20.5,\n");
    tool.write("holes.csv", parities(|row, column| (row + column) % 3 != 0));
    for (line, reason) in [
        ("-n 4 --from flat.csv", "shown to be better"),
        ("-n 2 --from pair.csv", "only one placement"),
        ("-n 4 --from holes.csv", "at least half are needed"),
        ("-n 3 --machine sim:noisy-vm", "changed level"),
        ("-n 8 --from flat.csv --pattern independent", "no threads talk"),
    ] {
        let found = advice(&tool, line);
        assert!(found["reason"].as_str().unwrap().contains(reason), "{found}");
        assert_eq!(found["ground"], "none");
        assert!(found["cpus"].is_null() && found["snippets"].as_array().unwrap().is_empty(), "{found}");
        let screen = screen(&tool, line);
        assert!(screen.contains("No advice:") && !screen.contains("taskset"), "{screen}");
    }
    let spread = advice(&tool, "-n 2 --machine sim:chiplet-16 --pattern independent");
    assert_eq!((&spread["ground"], cpus(&spread)), (&"structure".into(), vec![0, 8]));
}

#[test]
fn missing_pairs_are_mentioned_and_widen_the_bounds() {
    let tool = Tool::new();
    tool.write("hole.csv", parities(|row, column| (row, column) == (2, 0)));
    let found = advice(&tool, "-n 4 --from hole.csv");
    assert!(found["remarks"][0].as_str().unwrap().contains("1 of the candidate pairs"), "{found}");
    // The odd CPUs have all latencies.
    assert_eq!(cpus(&found), [1, 3, 5, 7]);
}

#[test]
fn invalid_input_is_refused_with_its_location() {
    let tool = Tool::new();
    tool.write("m.csv", parities(|_, _| false));
    tool.write("negative.csv", ",,\n20.5,,\n-1,20.5,\n");
    for (name, text) in [
        ("self.txt", "0 1 1\n2 2 1\n"),
        ("minus.txt", "0 1 -3\n"),
        ("far.txt", "0 9 1\n"),
        ("nobody.txt", "# nothing\n"),
        ("words.txt", "a b c\n"),
    ] {
        tool.write(name, text);
    }
    for (line, code, part) in [
        ("--from m.csv --graph self.txt", 4, "self.txt: failed to read line 2: thread 2 talks to itself"),
        ("--from m.csv --graph minus.txt", 4, "line 1: the weight -3 is negative"),
        ("--from m.csv --graph far.txt -n 4", 4, "no thread 9: the 4 threads are counted from 0"),
        ("--from m.csv --graph far.txt", 3, "10 threads need as many CPUs, and 8 (0-7) may be used"),
        ("--from m.csv --graph nobody.txt", 4, "no threads talk"),
        ("--from m.csv --graph words.txt", 4, "`a` is not a thread"),
        ("--from m.csv -n 9", 3, "9 threads need as many CPUs"),
        ("--from m.csv -n 2 --sharing never", 2, "--reported FILE.xml"),
        ("--from negative.csv -n 2", 4, "line 3"),
    ] {
        refused(&tool, line, code, part);
    }
}

/// Returns the comparison of the advised placement with the one called `name`.
fn against<'a>(found: &'a Value, name: &str) -> &'a Value {
    let lines = found["proof"]["against"].as_array().unwrap();
    lines.iter().find(|line| line["names"].as_array().unwrap().contains(&name.into())).unwrap()
}

#[test]
fn advice_is_proven_by_work_with_the_same_communication() {
    let tool = Tool::new();
    for (pattern, machine, cpus) in [
        ("ring", "chiplet-16", "4-11"),
        ("all-to-all", "chiplet-16", "4-11"),
        ("pipeline", "chiplet-16", "4-11"),
        ("ring", "epyc-2s-192", "4-11,100-107"),
    ] {
        let line = format!("-n 4 --pattern {pattern} --prove --machine sim:{machine} --cpus {cpus}");
        let found = advice(&tool, &line);
        assert_eq!((&found["proof"]["workload"], &found["proof"]["reason"]), (&pattern.into(), &Value::Null));
        let spread = against(&found, "spread");
        let [predicted, measured] = ["predicted", "measured"].map(|name| spread[name].as_f64().unwrap());
        // Stages of a pipeline also compute, which takes the same time everywhere.
        let verdict = if pattern == "pipeline" { "less" } else { "as-predicted" };
        assert_eq!(spread["verdict"], verdict, "{line}: {found:#}");
        assert!(predicted > 2.0 && measured > 1.5, "{spread:#}");
        assert!(pattern == "pipeline" || (measured / predicted - 1.0).abs() < 0.05, "{spread:#}");
    }
}

#[test]
fn a_proof_contains_its_runs_and_is_reproducible() {
    let tool = Tool::new();
    let line = "-n 4 --pattern ring --prove --machine sim:chiplet-16 --cpus 4-11";
    let json = || tool.done(&words(&format!("advise {line} --format json -q --seed 3"))).out;
    let document: Value = serde_json::from_str(&json()).unwrap();
    let comparison = &document["comparisons"][0];
    // The first CPUs by number are as good as the advised ones, so only `spread` is compared.
    assert_eq!((&comparison["workload"], &comparison["winner"]), (&"ring".into(), &"advised".into()));
    let runs = comparison["placements"][0]["runs"].as_array().unwrap().len();
    assert_eq!(document["advice"][0]["proof"]["runs"], runs);
    assert_eq!(json(), json());
    let screen = screen(&tool, line);
    assert!(screen.contains("The advice holds") && screen.contains("as predicted"), "{screen}");
}

#[test]
fn unprovable_requests_state_the_reason() {
    let tool = Tool::new();
    for (options, reason) in [
        ("-n 4 --pattern pairs", "no built-in workload has this pattern"),
        ("-n 4 --pattern independent", "do not talk"),
        ("-n 2 --cpus 0,1", "there is no advice to check"),
        ("-n 1", "no other to talk to"),
    ] {
        let line = format!("{options} --machine sim:chiplet-16 --prove");
        let found = advice(&tool, &line);
        assert!(found["proof"]["reason"].as_str().unwrap().contains(reason), "{line}: {found:#}");
        assert_eq!(found["proof"]["against"], Value::Array(Vec::new()));
        let screen = screen(&tool, &line);
        assert!(screen.contains("Not proven") && screen.contains(reason), "{screen}");
    }
    assert_eq!(advice(&tool, "-n 4 --machine sim:chiplet-16")["proof"], Value::Null);
    // The budget is too short for a verdict.
    let hasty = advice(&tool, "-n 4 --pattern ring --budget 2s --machine sim:chiplet-16 --prove");
    assert_eq!(against(&hasty, "spread")["verdict"], "cannot-tell", "{hasty:#}");
}

#[test]
fn misleading_latencies_are_contradicted_by_the_work() {
    let tool = Tool::new();
    // The file claims that CPUs of equal parity are close. On the machine, the CPUs of 0-3 are close, and those of 4-7.
    tool.write("says.csv", parities(|_, _| false));
    tool.write("is.csv", triangle(8, |row, column| if row / 4 == column / 4 { 20.5 } else { 85.5 }));
    let line = "-n 4 --pattern ring --from says.csv --prove --machine sim:is.csv";
    let found = advice(&tool, line);
    assert_eq!(against(&found, "system-order")["verdict"], "contradicted", "{found:#}");
    let screen = screen(&tool, line);
    assert!(screen.contains("disagree") && screen.contains("trust the measurement"), "{screen}");
}

#[test]
fn work_on_another_machine_proves_nothing() {
    let tool = Tool::new();
    tool.done(&words("latency --machine sim:chiplet-16 --cpus 4-11 -q --name one"));
    let from = "-n 4 --pattern ring --from one";
    for part in ["laptop-smt", "chiplet-16"] {
        refused(&tool, &format!("{from} --prove --machine sim:laptop-smt"), 2, part);
    }
    refused(&tool, &format!("{from} --machine sim:chiplet-16"), 2, "--machine has no effect with --from");
    let found = advice(&tool, &format!("{from} --prove --machine sim:chiplet-16"));
    assert_eq!(against(&found, "spread")["verdict"], "as-predicted");
}

#[test]
fn cpus_that_a_run_found_noisy_are_avoided() {
    let tool = Tool::new();
    let stall = |name: &str, per_second: &str, more: &str| {
        format!(
            "[[stalls]]\nname = '{name}'\nper_second = {per_second}\nus = [150.0, 250.0]\nrhythm = 'random'\n\
             seen_as = 'nothing'\n{more}\n"
        )
    };
    // All CPUs have occasional stalls, and two have many more.
    let stalls = stall("now and then", "4.0", "") + &stall("storm", "200.0", "cpus = '3,12'");
    tool.write("noisy.toml", format!("based_on = 'chiplet-16'\n{stalls}\n"));
    let jitter = words("jitter --for 2s --seed 1 --name quiet -q --machine sim:noisy.toml");
    let output = tool.done(&jitter).out;
    assert!(output.contains("avoid CPUs 3 12 ("), "{output}");
    let found = advice(&tool, "-n 2 --jitter quiet --machine sim:noisy.toml");
    let candidates: coretalk_model::CpuSet = found["candidates"].as_str().unwrap().parse().unwrap();
    assert_eq!(candidates.to_string(), "0-2,4-11,13-15", "{found:#}");
    let remarks = remarks(&found);
    assert!(remarks.contains("avoided because") && remarks.contains("lost"), "{remarks}");
    tool.done(&words("latency --machine sim:laptop-smt --cpus 0-3 -q --name one -o x"));
    for (line, code, part) in [
        ("-n 16 --jitter quiet --machine sim:noisy.toml", 3, "--jitter excludes CPUs"),
        ("-n 2 --from one --jitter quiet", 2, "the latencies are from"),
        ("-n 2 --from one --jitter one", 2, "needs a run of `coretalk jitter`"),
    ] {
        refused(&tool, line, code, part);
    }
}

#[test]
fn threads_of_a_core_that_the_system_hides_are_kept_apart() {
    let tool = Tool::new();
    tool.write("hidden.toml", "based_on = 'laptop-smt'\nreported = 'nothing'");
    // 0 and 4, 1 and 5, … are threads of one core.
    let few = screen(&tool, "-n 4 --machine sim:hidden.toml");
    assert!(few.contains("candidates: 4 CPUs, 0-3"), "{few}");
    let many = screen(&tool, "-n 6 --machine sim:hidden.toml");
    assert!(many.contains("more threads than cores"), "{many}");
    assert!(!many.contains("latency alone cannot tell"), "{many}");
}

/// Sixteen CPUs in two caches: 7 ns for CPUs i and i + 8, 18 ns within a cache of four such pairs, 80 ns across.
fn desktop() -> String {
    triangle(16, |row, column| match row {
        _ if row == column + 8 => 7.0,
        _ if row % 8 / 4 == column % 8 / 4 => 18.0,
        _ => 80.0,
    })
}

#[test]
fn without_cores_in_a_file_one_cpu_of_each_closest_pair_is_used() {
    let tool = Tool::new();
    tool.write("desktop.csv", desktop());
    let cores = |found: &Value| cpus(found).iter().map(|cpu| cpu % 8).collect::<BTreeSet<_>>().len();
    for threads in [3, 4] {
        let found = advice(&tool, &format!("-n {threads} --from desktop.csv"));
        assert_eq!((cores(&found), &found["candidates"]), (threads, &"0-7".into()));
        assert!(remarks(&found).contains("one CPU of each of the closest pairs"), "{found}");
    }
    // With more threads than pairs, threads share pairs, which is mentioned.
    let more = advice(&tool, "-n 10 --from desktop.csv");
    assert!(remarks(&more).contains("may be SMT siblings"), "{more}");
    let asked = advice(&tool, "-n 4 --from desktop.csv --sharing allowed");
    assert_eq!(cores(&asked), 2, "{asked}");
}

#[test]
fn contradictory_closest_pairs_are_not_shared() {
    let tool = Tool::new();
    // Cores of two CPUs, and two pairs of CPUs of different cores that appear as close as the CPUs of one core.
    let near = |row: usize, column: usize| row / 2 == column / 2 || [(0, 2), (1, 3)].contains(&(column, row));
    let matrix = triangle(8, |row, column| {
        let base = if near(row, column) { 20.0 } else { 60.0 };
        base + ((row * 5 + column * 3) % 7) as f64 / 10.0
    });
    tool.write("ring.csv", matrix);
    for threads in ["2", "4"] {
        let found = advice(&tool, &format!("-n {threads} --from ring.csv"));
        assert_eq!(found["candidates"], "0,3,4,6", "{found}");
        let remarks = remarks(&found);
        assert!(remarks.contains("one CPU of each of the closest pairs"), "{found}");
        assert!(remarks.contains("groups may be hidden"), "{found}");
    }
    let more = advice(&tool, "-n 6 --from ring.csv");
    assert!(remarks(&more).contains("some of the closest pairs may be SMT siblings"), "{more}");
}

/// Three groups of four with 20 ns inside and 30 ns across, except for the given pairs (low, high).
fn three_groups(wrong: &[((usize, usize), f64)]) -> String {
    triangle(12, |row, column| {
        let regular = if row / 4 == column / 4 { 20.0 } else { 30.0 };
        let base = wrong.iter().find(|(pair, _)| *pair == (column, row)).map_or(regular, |(_, ns)| *ns);
        base + ((row * 5 + column * 3) % 7) as f64 / 20.0
    })
}

#[test]
fn an_implausibly_close_pair_is_not_recommended() {
    let tool = Tool::new();
    tool.write("near.csv", three_groups(&[((0, 5), 3.0)]));
    let found = advice(&tool, "-n 2 --from near.csv");
    let placed = cpus(&found);
    assert_eq!(placed[0] / 4, placed[1] / 4, "{found}");
    let remark = "CPUs 0 and 5 take 3.20 ns where the other pairs suggest 30.";
    assert!(remarks(&found).contains(remark), "{found}");
    // Without an alternative pair, the remark remains.
    let only = advice(&tool, "-n 2 --from near.csv --cpus 0,5");
    assert!(remarks(&only).contains(remark), "{only}");
    let others = advice(&tool, "-n 2 --from near.csv --avoid 5");
    assert!(!remarks(&others).contains("measure again"), "{others}");
}

#[test]
fn one_contradictory_group_restricts_no_other() {
    let tool = Tool::new();
    tool.write("ring.csv", three_groups(&[((0, 1), 30.0), ((2, 3), 30.0)]));
    let found = advice(&tool, "-n 4 --from ring.csv");
    assert_eq!((cpus(&found), &found["candidates"]), (vec![4, 5, 6, 7], &"0,1,4-11".into()), "{found}");
    for options in ["--avoid 0,1", "--cpus 2-11"] {
        let found = advice(&tool, &format!("-n 4 --from ring.csv {options}"));
        assert_eq!(found["candidates"], "2-11", "{found}");
    }
}

#[test]
fn a_report_of_one_thread_per_core_leaves_no_doubt_about_siblings() {
    let tool = Tool::new();
    tool.write("desktop.csv", desktop());
    let caches: [&[u32]; 2] = [&[0, 1, 2, 3, 8, 9, 10, 11], &[4, 5, 6, 7, 12, 13, 14, 15]];
    tool.write("one.xml", super::topology::hwloc(&caches));
    let found = advice(&tool, "-n 2 --from desktop.csv --reported one.xml");
    assert_eq!((cpus(&found), &found["candidates"]), (vec![0, 8], &"0-15".into()));
    assert!(!remarks(&found).contains("sibling"), "{found}");
}

#[test]
fn doubts_about_a_file_are_shown_with_its_advice() {
    let tool = Tool::new();
    let matrix = triangle(8, |row, column| {
        let far = if row / 4 == column / 4 { 1 } else { 7 };
        (far + (row * 7 + column * 3) % 4) as f64 * 16.7
    });
    tool.write("coarse.csv", matrix);
    let lint = tool.done(&["lint", "coarse.csv"]).out;
    assert!(lint.contains("clock-comb"), "{lint}");
    let screen = screen(&tool, "-n 2 --from coarse.csv");
    assert!(screen.contains("multiples of 16.7 ns (`coretalk lint`)"), "{screen}");
    // A difference of one clock step is no reason: the second CPUs by number may be as good.
    assert!(screen.contains("Threads 0 and 1") || screen.contains("No advice"), "{screen}");
}
