//! `topology`: reported structure, inferred structure, and how they agree.

use super::tool::{Tool, flat};
use serde_json::Value;

/// Returns the lower triangle, without headings, of two groups of four CPUs: 20.5 ns within a group, `across`.5 ns
/// between the groups.
fn matrix(across: u32) -> String {
    let cell = |row: u32, column: u32| match (column < row, row / 4 == column / 4) {
        (true, true) => "20.5".to_owned(),
        (true, false) => format!("{across}.5"),
        _ => String::new(),
    };
    (0..8).map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Returns hwloc XML with these last-level caches.
pub fn hwloc(caches: &[&[u32]]) -> String {
    let core = |cpu: &u32| {
        format!("<object type=\"Core\" os_index=\"{cpu}\"><object type=\"PU\" os_index=\"{cpu}\"/></object>")
    };
    let cache = |cpus: &&[u32]| {
        format!("<object type=\"L3Cache\">{}</object>", cpus.iter().map(core).collect::<String>())
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\" os_index=\"0\">{}</object></object>\
         </topology>\n",
        caches.iter().map(cache).collect::<String>()
    )
}

fn topology(tool: &Tool, words: &[&str]) -> Value {
    let out = tool.done(&[&["topology", "--format", "json", "-q"], words].concat()).out;
    serde_json::from_str::<Value>(&out).unwrap()["topology"].clone()
}

#[test]
fn topology_of_a_simulated_machine_agrees_with_its_report() {
    let tool = Tool::new();
    let screen = tool.done(&["topology", "--machine", "sim:chiplet-16-smt", "-q"]).out;
    assert!(screen.contains("SIMULATED") && screen.contains("agree: group-2"), "{screen}");
    let found = topology(&tool, &["--machine", "sim:chiplet-16-smt"]);
    let groups = |level: usize| found["inferred"]["levels"][level]["groups"].as_array().unwrap().len();
    assert_eq!((groups(0), groups(1)), (16, 2));
    assert_eq!(found["inferred"]["levels"][1]["repeats"], 1.0);
    let verdicts: Vec<&str> =
        found["agreement"].as_array().unwrap().iter().map(|item| item["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["agree", "agree"]);
    assert_eq!(found, topology(&tool, &["--machine", "sim:chiplet-16-smt"]), "the same again");
    assert!(tool.call(&["runs", "show", "latest"]).err.contains("no runs"));
}

#[test]
fn migrating_virtual_cpus_prevent_inference() {
    let found = topology(&Tool::new(), &["--machine", "sim:noisy-vm"]);
    assert_eq!(found["inferred"], Value::Null);
    assert!(found["reason"].as_str().unwrap().contains("changed level"), "{found}");
}

#[test]
fn a_mesh_is_reported_as_continuous() {
    let found = topology(&Tool::new(), &["--machine", "sim:mesh-64"]);
    assert_eq!(
        (&found["inferred"]["continuous"], &found["inferred"]["levels"]),
        (&true.into(), &Value::Array(vec![]))
    );
    let doubts = found["doubts"].as_array().unwrap().iter();
    assert!(doubts.clone().all(|doubt| doubt["kind"] == "unfit"), "{:?}", doubts);
}

#[test]
fn a_saved_run_and_its_exported_document_have_the_same_topology() {
    let tool = Tool::new();
    tool.done(&["latency", "--machine", "sim:laptop-smt", "--seed", "1", "-q", "--name", "one"]);
    let mut found = topology(&tool, &["--from", "one"]);
    assert_eq!(found["doubts"], Value::Array(vec![]), "a machine without faults");
    found["inferred"]["levels"][0]["repeats"] = Value::Null;
    let exported = tool.json(&["export", "one"]);
    assert_eq!(found, exported["topology"]);
    assert_eq!(found["inferred"]["levels"][0]["groups"][0], "0,4");
    // The exported document lacks only the intervals of the cells.
    tool.done(&["export", "one", "-o", "one.json"]);
    let read = topology(&tool, &["--from", "one.json"]);
    assert_eq!(read["reported"], found["reported"]);
    let verdicts = |document: &Value| -> Vec<Value> {
        document["agreement"].as_array().unwrap().iter().map(|item| item["verdict"].clone()).collect()
    };
    assert_eq!(verdicts(&read), verdicts(&found));
}

#[test]
fn a_matrix_is_compared_with_hwloc_xml() {
    let tool = Tool::new();
    let write = |name: &str, text: String| tool.write(name, text);
    write("two.csv", matrix(85));
    write("flat.csv", matrix(20));
    write("right.xml", hwloc(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]));
    write("wrong.xml", hwloc(&[&[0, 1, 2, 4], &[3, 5, 6, 7]]));
    let bare = tool.done(&["topology", "--from", "two.csv"]).out;
    assert!(bare.contains("2: 0-3 4-7") && bare.contains("--reported FILE.xml"), "{bare}");
    let right = tool.done(&["topology", "--from", "two.csv", "--reported", "right.xml"]).out;
    assert!(right.contains("agree: group-1"), "{right}");
    let wrong = topology(&tool, &["--from", "two.csv", "--reported", "wrong.xml"]);
    let level = &wrong["agreement"][0];
    assert_eq!((&level["verdict"], &level["moved"]), (&"conflict".into(), &"3,4".into()));
    assert!(level["evidence"].as_array().unwrap().len() >= 2, "{level}");
    let flat = tool.done(&["topology", "--from", "flat.csv"]).out;
    assert!(flat.contains("no groups, all pairs are equal"), "{flat}");
    let alone = tool.done(&["topology", "--from", "right.xml"]).out;
    assert!(alone.contains("hwloc") && alone.contains("8 CPUs") && alone.contains("no latencies"), "{alone}");
}

#[test]
fn contradictory_pairs_and_clock_steps_are_reported_in_text_and_json() {
    let tool = Tool::new();
    let write = |name: &str, cell: &dyn Fn(u32, u32) -> String| {
        let row =
            |row| (0..8).map(move |column| if column < row { cell(row, column) } else { String::new() });
        let text: String = (0..8).map(|at| row(at).collect::<Vec<_>>().join(",") + "\n").collect();
        tool.write(name, text);
    };
    // Pairs of CPUs, and a chain of close pairs across three of them.
    write("chain.csv", &|row, column| {
        let is_near = row / 2 == column / 2 || (column, row) == (0, 2) || (column, row) == (3, 4);
        let noise = f64::from((row * 5 + column * 3) % 7) / 10.0;
        format!("{:.2}", noise + if is_near { 20.0 } else { 60.0 })
    });
    // Pairs of CPUs that are one clock step closer than others.
    write("steps.csv", &|row, column| {
        let step = if row / 2 == column / 2 { 3.0 } else { 4.0 + f64::from((row * 7 + column) % 5 / 4) };
        format!("{:.1}", 5.2 * step)
    });
    let inferred = topology(&tool, &["--from", "chain.csv"])["inferred"].clone();
    assert_eq!((&inferred["contradictory"], &inferred["dropped"]), (&3.into(), &serde_json::json!([])));
    let text = "3 pairs lie nearer than the other pairs of their CPUs allow, and nothing shows which values are wrong";
    for command in [&["topology", "--from", "chain.csv"][..], &["lint", "chain.csv"]] {
        let screen = flat(&tool.done(command).out);
        assert_eq!(screen.matches(text).count(), 1, "{screen}");
        assert!(!screen.contains("as on a mesh") && !screen.contains("single"), "{screen}");
    }
    assert_eq!(inferred["continuous"], false);
    let doubted = |suspect: &&Value| suspect["doubt"] == "contradictory";
    assert_eq!(inferred["suspects"].as_array().unwrap().iter().filter(doubted).count(), 3, "{inferred}");
    let inferred = topology(&tool, &["--from", "steps.csv"])["inferred"].clone();
    assert_eq!((&inferred["contradictory"], &inferred["levels"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(inferred["dropped"][0]["groups"], serde_json::json!(["0,1", "2,3", "4,5", "6,7"]));
    let screen = flat(&tool.done(&["topology", "--from", "steps.csv"]).out);
    assert!(screen.contains("no groups that its clock can show"), "{screen}");
}

/// Clusters of four CPUs with an L2 per pair of CPUs, and a NUMA node without CPUs.
#[test]
fn nested_groups_and_nodes_without_cpus_are_reported() {
    let tool = Tool::new();
    let object = |what: &str, inside: &str| format!("<object {what}>{inside}</object>");
    let core = |cpu: u32| {
        object(
            &format!("type=\"Core\" os_index=\"{cpu}\""),
            &format!("<object type=\"PU\" os_index=\"{cpu}\"/>"),
        )
    };
    let pair = |cpu: u32| object("type=\"L2Cache\"", &(core(cpu) + &core(cpu + 1)));
    let cluster = |cpu: u32| object("type=\"Group\" subtype=\"Cluster\"", &(pair(cpu) + &pair(cpu + 2)));
    let nodes = "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0xff\"/>\
                 <object type=\"NUMANode\" os_index=\"2\" cpuset=\"0xff\" local_memory=\"68719476736\"/>";
    let distances = "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" indexing=\"os\"><indexes length=\"4\">0 2 \
                     </indexes><u64values length=\"12\">10 14 14 10 </u64values></distances2>";
    let package = object("type=\"Package\" os_index=\"0\"", &(nodes.to_owned() + &cluster(0) + &cluster(4)));
    let file =
        format!("<topology version=\"2.0\">{}{distances}</topology>", object("type=\"Machine\"", &package));
    tool.write("nested.xml", file);
    let reported = topology(&tool, &["--from", "nested.xml"])["reported"].take();
    let names: Vec<&Value> =
        reported["levels"].as_array().unwrap().iter().map(|level| &level["level"]).collect();
    assert_eq!(names, ["core", "l2", "cluster", "node", "package"]);
    assert_eq!(reported["levels"][1]["groups"], serde_json::json!(["0,1", "2,3", "4,5", "6,7"]));
    assert_eq!(reported["not_reported"], serde_json::json!(["l3", "die"]));
    let far = serde_json::json!([{ "node": 2, "memory_bytes": 68_719_476_736u64, "distances": [{ "from": 0, "distance": 14 }] }]);
    assert_eq!(reported["memory_nodes"], far);
    let screen = tool.done(&["topology", "--from", "nested.xml"]).out;
    assert!(screen.contains(" l2        4 0,1 2,3 4,5 6,7"), "{screen}");
    assert!(
        screen.contains("Node 2 has memory and no CPUs of its own: 68.7 GB, at distance 14 from node 0."),
        "{screen}"
    );
    assert!(screen.contains("Not reported: L3, dies."), "{screen}");
    // A matrix file has no report of the system.
    tool.write("pair.csv", ",\n20.5,\n");
    assert_eq!(topology(&tool, &["--from", "pair.csv"])["reported"]["not_reported"], Value::Null);
}

/// The same clusters on a simulated machine, through a run file: ladder, groups and documents show both levels.
#[test]
fn clusters_with_an_l2_per_pair_are_measured_at_both_levels() {
    let tool = Tool::new();
    let scenario = "[structure]\nkind = 'tree'\nlevels = [{ level = 'package', count = 1 }, { level = 'cluster', count \
                    = 2 }, { level = 'l2', count = 2 }, { level = 'core', count = 2 }]\n[latency_ns]\nl2 = 15.0\ncluster \
                    = 30.0\npackage = 70.0\n";
    tool.write("nested.toml", scenario);
    let run = tool.done(&["--machine", "sim:nested.toml", "--seed", "3", "-q", "--name", "nested"]).out;
    for part in
        ["4 L2: 0,1, 2,3 … 6,7", "2 clusters: 0-3 and 4-7", "15 ns inside an L2", "30 inside a cluster"]
    {
        assert!(run.contains(part), "{part}: {run}");
    }
    let document = tool.json(&["export", "nested", "--format", "json"]);
    let levels = document["topology"]["reported"]["levels"].as_array().unwrap();
    let names: Vec<&Value> = levels.iter().map(|level| &level["level"]).collect();
    assert_eq!(names, ["core", "l2", "cluster", "package"]);
    let agreement = document["topology"]["agreement"].as_array().unwrap();
    let verdicts: Vec<[&Value; 2]> =
        agreement.iter().map(|level| [&level["level"], &level["verdict"]]).collect();
    assert_eq!(verdicts, [["l2", "agree"], ["cluster", "agree"]]);
}

#[test]
fn invalid_files_are_refused_and_a_single_pair_has_no_structure() {
    let tool = Tool::new();
    let write = |name: &str, text: &str| tool.write(name, text);
    write("page.xml", "<?xml version=\"1.0\"?><html><body>404</body></html>");
    write(
        "loop.xml",
        "<?xml version=\"1.0\"?><!DOCTYPE topology [<!ENTITY a \"&a;&a;\">]><topology>&a;</topology>",
    );
    write("pair.csv", ",\n20.5,\n");
    write("negative.csv", ",,\n20.5,,\n-1,20.5,\n");
    for (words, part) in [
        (&["topology", "--from", "page.xml"][..], "page.xml"),
        (&["topology", "--from", "loop.xml"], "loop.xml"),
        (&["topology", "--from", "negative.csv"], "line 3"),
        (&["topology", "--from", "pair.csv", "--reported", "missing.xml"], "missing.xml"),
    ] {
        tool.refused(words, 4, part);
    }
    let pair = tool.done(&["topology", "--from", "pair.csv"]).out;
    assert!(pair.contains("cannot tell: 2 CPUs have 1 pair"), "{pair}");
}

#[test]
fn an_isolated_cpu_is_reported_in_terminal_page_and_document() {
    let tool = Tool::new();
    let words = "latency --machine sim:chiplet-16 --cpus 0-3,8 --seed 1 --store runs";
    let screen = tool.done(&words.split(' ').collect::<Vec<_>>()).out;
    let flat = flat(&screen);
    let expected = "(medians): a group of its own, as the system reports (L3)";
    assert!(flat.contains(expected), "{screen}");
    tool.done(&["report", "latest", "--store", "runs", "-o", "page.html"]);
    let page = tool.read("page.html");
    assert!(page.contains(expected), "the page does not say it");
    let document = tool.done(&["export", "latest", "--store", "runs", "--format", "json"]).out;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let lone_cpu = &document["topology"]["inferred"]["all_but_one"][0];
    assert_eq!(
        (&lone_cpu["cpu"], &lone_cpu["reported"]),
        (&8.into(), &serde_json::json!(["l3"])),
        "{lone_cpu}"
    );
}

#[test]
fn pairs_too_slow_for_the_budget_are_reported_as_the_reason() {
    let tool = Tool::new();
    // Latencies far above those of two virtual CPUs that share a physical CPU.
    let text = "name = 'turns'\n[structure]\nkind = 'matrix'\ncpus = [0, 1, 2]\n\
                half_round_trip_ns = [[5e8, 5e8, 5e8], [5e8, 5e8, 5e8], [5e8, 5e8, 5e8]]\n";
    tool.write("turns.toml", text);
    let machine = ["--machine", "sim:turns.toml", "-q"];
    let screen = tool.done(&[&["topology"], &machine[..]].concat()).out;
    let reason = "no pair was measured within 10 s";
    assert!(flat(&screen).contains(&format!("No groups from latencies: {reason}.")), "{screen}");
    let call = tool.call(&[&["advise", "-n", "2"], &machine[..]].concat());
    assert_eq!((call.code, call.err.contains(reason)), (3, true), "{}", call.err);
}

/// Boxes are nested like the groups: an L3 with two nodes, a core with two L3 caches; groups that cross have no box.
#[test]
fn boxes_are_nested_like_groups_and_crossing_groups_have_none() {
    let tool = Tool::new();
    let screen = |name: &str, structure: &str, latencies: &str| {
        tool.write(name, format!("[structure]\n{structure}\n[latency_ns]\n{latencies}\n"));
        tool.done(&["topology", "--machine", &format!("sim:{name}"), "-q"]).out
    };
    let tree = |levels: &[(&str, u32)]| {
        let level = |(level, count): &(&str, u32)| format!("{{ level = '{level}', count = {count} }}");
        format!("kind = 'tree'\nlevels = [{}]", levels.iter().map(level).collect::<Vec<_>>().join(", "))
    };
    let snc = screen(
        "snc.toml",
        &tree(&[("package", 2), ("l3", 1), ("node", 2), ("core", 2)]),
        "node = 20\nl3 = 40\nmachine = 120",
    );
    assert!(
        snc.contains("package 0 = L3 0 · 0-3") && snc.contains("│ ┌ node 0 · 0,1 ─┐ ┌ node 1 · 2,3 ─┐ │"),
        "{snc}"
    );
    let power = screen(
        "power.toml",
        &(tree(&[("package", 1), ("core", 2), ("l3", 2)]) + "\nthreads_per_core = 2\nsiblings = 'together'"),
        "l3 = 10\nsmt = 20\npackage = 60",
    );
    assert!(
        power.contains("┌ core 0 · 0-3 ") && power.contains("│ ┌ L3 0 · 0,1 ─┐ ┌ L3 1 · 2,3 ─┐ │"),
        "{power}"
    );
    let cross = screen(
        "cross.toml",
        "kind = 'groups'\ncpus = '0-3,6'\ngroups = [{ level = 'l3', cpus = '0-1' }, { level = 'node', cpus = '1-3' }]",
        "l3 = 20\nnode = 50\nmachine = 90",
    );
    let found = topology(&tool, &["--machine", "sim:cross.toml"]);
    let crossing = serde_json::json!([{ "levels": ["l3", "node"], "groups": ["0,1", "1-3"] }]);
    assert_eq!((&found["reported"]["crossing"], &found["offline"]), (&crossing, &"".into()));
    tool.done(&["latency", "--machine", "sim:cross.toml", "--name", "cross", "-q", "--budget", "2s"]);
    let map = flat(&tool.done(&["runs", "show", "cross"]).out);
    assert!(map.contains("cross each other") && !map.contains("reports no groups"), "{map}");
    let expected = "No box: L3 0 (CPUs 0,1) and node 0 (CPUs 1-3) share CPUs and neither contains the other.";
    assert!(flat(&cross).contains(expected) && !cross.contains('┌'), "{cross}");
    tool.write("off.toml", "based_on = 'laptop-smt'\n[[failures.departures]]\ncpu = 3\nat_ms = 0\n");
    let off = tool.done(&["topology", "--machine", "sim:off.toml", "-q"]).out;
    assert!(off.contains(" Offline: CPU 3."), "{off}");
    assert_eq!(topology(&tool, &["--machine", "sim:off.toml"])["offline"], "3");
}

#[test]
fn thousands_of_boxes_are_drawn_in_time() {
    let tool = Tool::new();
    let cpus: Vec<[u32; 1]> = (0..8_000).map(|cpu| [cpu]).collect();
    let caches: Vec<&[u32]> = cpus.iter().map(<[u32; 1]>::as_slice).collect();
    tool.write("many.xml", hwloc(&caches));
    let began = std::time::Instant::now();
    let screen = tool.done(&["topology", "--from", "many.xml"]).out;
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert!(screen.contains("… 7997 more of them …") && screen.contains("7999"), "{screen}");
}

#[test]
fn a_report_of_other_cpus_is_not_compared_with_latencies() {
    let tool = Tool::new();
    tool.write("two.csv", matrix(85));
    tool.write("more.xml", hwloc(&[&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9]]));
    let words = ["--from", "two.csv", "--reported", "more.xml"];
    assert_eq!(topology(&tool, &words)["agreement"], serde_json::json!([]));
    let screen = flat(&tool.done(&[&["topology"], &words[..]].concat()).out);
    let text = "the report is of CPUs 0-9, the latencies are of CPUs 0-7: the sets of CPUs differ, so the two are not compared";
    assert!(screen.contains(text) && !screen.contains("agree"), "{screen}");
}
