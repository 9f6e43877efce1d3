//! `topology`: reported structure, inferred structure, and how they agree.

use super::tool::{Tool, assert_contains, flat, list, words};
use serde_json::{Value, json};

/// Returns the lower triangle, without headings, of a matrix of eight CPUs.
fn matrix(value: impl Fn(u32, u32) -> f64) -> String {
    let cell = |row, column| if column < row { format!("{:.2}", value(row, column)) } else { String::new() };
    (0..8).map(|row| (0..8).map(|column| cell(row, column)).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// A matrix of two groups of four CPUs: 20.5 ns within a group, `across` ns between the groups.
fn two_groups(across: f64) -> String {
    matrix(|row, column| if row / 4 == column / 4 { 20.5 } else { across })
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

/// Returns the topology of the JSON document.
fn topology(tool: &Tool, options: &str) -> Value {
    tool.document(&format!("topology --format json -q {options}"))["topology"].take()
}

fn field<'a>(items: &'a Value, name: &str) -> Vec<&'a Value> {
    list(items).iter().map(|item| &item[name]).collect()
}

#[test]
fn topology_of_a_simulated_machine_agrees_with_its_report() {
    let tool = Tool::new();
    let machine = "--machine sim:chiplet-16-smt";
    assert_contains(&tool.out(&format!("topology {machine} -q")), &["SIMULATED", "agree: group-2"]);
    let found = topology(&tool, machine);
    let groups = [0, 1].map(|level| list(&found["inferred"]["levels"][level]["groups"]).len());
    assert_eq!(groups, [16, 2]);
    assert_eq!(found["inferred"]["levels"][1]["repeats"], 1.0);
    assert_eq!(field(&found["agreement"], "verdict"), ["agree", "agree"]);
    assert_eq!(found, topology(&tool, machine), "the same again");
    assert!(tool.call(&["runs", "show", "latest"]).err.contains("no runs"));
}

#[test]
fn migrating_virtual_cpus_prevent_inference() {
    let found = topology(&Tool::new(), "--machine sim:noisy-vm");
    assert_eq!(found["inferred"], Value::Null);
    assert!(found["reason"].as_str().unwrap().contains("changed level"), "{found}");
}

#[test]
fn a_mesh_is_reported_as_continuous() {
    let found = topology(&Tool::new(), "--machine sim:mesh-64");
    let inferred = &found["inferred"];
    assert_eq!((&inferred["continuous"], &inferred["levels"]), (&true.into(), &json!([])));
    assert!(field(&found["doubts"], "kind").iter().all(|kind| *kind == "unfit"), "{}", found["doubts"]);
}

#[test]
fn a_saved_run_and_its_exported_document_have_the_same_topology() {
    let tool = Tool::new();
    tool.out("latency --machine sim:laptop-smt --seed 1 -q --name one");
    let mut found = topology(&tool, "--from one");
    assert_eq!(found["doubts"], json!([]), "a machine without faults");
    found["inferred"]["levels"][0]["repeats"] = Value::Null;
    assert_eq!(found, tool.document("export one")["topology"]);
    assert_eq!(found["inferred"]["levels"][0]["groups"][0], "0,4");
    // The exported document lacks only the intervals of the cells.
    tool.out("export one -o one.json");
    let read = topology(&tool, "--from one.json");
    assert_eq!(read["reported"], found["reported"]);
    assert_eq!(field(&read["agreement"], "verdict"), field(&found["agreement"], "verdict"));
}

#[test]
fn a_matrix_is_compared_with_hwloc_xml() {
    let tool = Tool::new();
    tool.write("two.csv", two_groups(85.5));
    tool.write("flat.csv", two_groups(20.5));
    tool.write("right.xml", hwloc(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]));
    tool.write("wrong.xml", hwloc(&[&[0, 1, 2, 4], &[3, 5, 6, 7]]));
    for (options, parts) in [
        ("two.csv", &["2: 0-3 4-7", "--reported FILE.xml"][..]),
        ("two.csv --reported right.xml", &["agree: group-1"]),
        ("flat.csv", &["no groups, all pairs are equal"]),
        ("right.xml", &["hwloc", "8 CPUs", "no latencies"]),
    ] {
        assert_contains(&tool.out(&format!("topology --from {options}")), parts);
    }
    let level = &topology(&tool, "--from two.csv --reported wrong.xml")["agreement"][0];
    assert_eq!((&level["verdict"], &level["moved"]), (&"conflict".into(), &"3,4".into()));
    assert!(list(&level["evidence"]).len() >= 2, "{level}");
}

#[test]
fn contradictory_pairs_and_clock_steps_are_reported_in_text_and_json() {
    let tool = Tool::new();
    // Pairs of CPUs, and a chain of close pairs across three of them.
    let chain = matrix(|row, column| {
        let is_near = row / 2 == column / 2 || (column, row) == (0, 2) || (column, row) == (3, 4);
        f64::from((row * 5 + column * 3) % 7) / 10.0 + if is_near { 20.0 } else { 60.0 }
    });
    // Pairs of CPUs that are one clock step closer than others.
    let steps = matrix(|row, column| {
        5.2 * if row / 2 == column / 2 { 3.0 } else { 4.0 + f64::from((row * 7 + column) % 5 / 4) }
    });
    tool.write("chain.csv", chain);
    tool.write("steps.csv", steps);
    let inferred = topology(&tool, "--from chain.csv")["inferred"].take();
    assert_eq!((&inferred["contradictory"], &inferred["dropped"]), (&3.into(), &json!([])));
    assert_eq!(inferred["continuous"], false);
    let doubts = field(&inferred["suspects"], "doubt");
    assert_eq!(doubts.iter().filter(|doubt| **doubt == "contradictory").count(), 3, "{inferred}");
    let text = "3 pairs lie nearer than the other pairs of their CPUs allow, and nothing shows which values are wrong";
    for line in ["topology --from chain.csv", "lint chain.csv"] {
        let screen = flat(&tool.out(line));
        assert_eq!(screen.matches(text).count(), 1, "{screen}");
        assert!(!screen.contains("as on a mesh") && !screen.contains("single"), "{screen}");
    }
    let inferred = topology(&tool, "--from steps.csv")["inferred"].take();
    assert_eq!((&inferred["contradictory"], &inferred["levels"]), (&0.into(), &json!([])));
    assert_eq!(inferred["dropped"][0]["groups"], json!(["0,1", "2,3", "4,5", "6,7"]));
    let screen = flat(&tool.out("topology --from steps.csv"));
    assert!(screen.contains("no groups that its clock can show"), "{screen}");
}

/// Clusters of four CPUs with an L2 per pair of CPUs, and a NUMA node without CPUs.
#[test]
fn nested_groups_and_nodes_without_cpus_are_reported() {
    let tool = Tool::new();
    let object = |what: &str, inside: &str| format!("<object {what}>{inside}</object>");
    let core = |cpu: u32| {
        let thread = format!("<object type=\"PU\" os_index=\"{cpu}\"/>");
        object(&format!("type=\"Core\" os_index=\"{cpu}\""), &thread)
    };
    let pair = |cpu: u32| object("type=\"L2Cache\"", &(core(cpu) + &core(cpu + 1)));
    let cluster = |cpu: u32| object("type=\"Group\" subtype=\"Cluster\"", &(pair(cpu) + &pair(cpu + 2)));
    let nodes = "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0xff\"/>\
                 <object type=\"NUMANode\" os_index=\"2\" cpuset=\"0xff\" local_memory=\"68719476736\"/>";
    let distances = "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" indexing=\"os\"><indexes length=\"4\">0 2 \
                     </indexes><u64values length=\"12\">10 14 14 10 </u64values></distances2>";
    let package = object("type=\"Package\" os_index=\"0\"", &(nodes.to_owned() + &cluster(0) + &cluster(4)));
    let machine = object("type=\"Machine\"", &package);
    tool.write("nested.xml", format!("<topology version=\"2.0\">{machine}{distances}</topology>"));
    let reported = topology(&tool, "--from nested.xml")["reported"].take();
    assert_eq!(field(&reported["levels"], "level"), ["core", "l2", "cluster", "node", "package"]);
    assert_eq!(reported["levels"][1]["groups"], json!(["0,1", "2,3", "4,5", "6,7"]));
    assert_eq!(reported["not_reported"], json!(["l3", "die"]));
    let distances = json!([{ "from": 0, "distance": 14 }]);
    let far = json!([{ "node": 2, "memory_bytes": 68_719_476_736u64, "distances": distances }]);
    assert_eq!(reported["memory_nodes"], far);
    assert_contains(
        &tool.out("topology --from nested.xml"),
        &[
            " l2        4 0,1 2,3 4,5 6,7",
            "Node 2 has memory and no CPUs of its own: 68.7 GB, at distance 14 from node 0.",
            "Not reported: L3, dies.",
        ],
    );
    // A matrix file has no report of the system.
    tool.write("pair.csv", ",\n20.5,\n");
    assert_eq!(topology(&tool, "--from pair.csv")["reported"]["not_reported"], Value::Null);
}

/// The same clusters on a simulated machine, through a run file: ladder, groups and documents show both levels.
#[test]
fn clusters_with_an_l2_per_pair_are_measured_at_both_levels() {
    let tool = Tool::new();
    let scenario = "[structure]\nkind = 'tree'\nlevels = [{ level = 'package', count = 1 }, { level = 'cluster', count \
                    = 2 }, { level = 'l2', count = 2 }, { level = 'core', count = 2 }]\n[latency_ns]\nl2 = 15.0\ncluster \
                    = 30.0\npackage = 70.0\n";
    tool.write("nested.toml", scenario);
    assert_contains(
        &tool.out("--machine sim:nested.toml --seed 3 -q --name nested"),
        &["4 L2: 0,1, 2,3 … 6,7", "2 clusters: 0-3 and 4-7", "15 ns inside an L2", "30 inside a cluster"],
    );
    let topology = &tool.document("export nested")["topology"];
    assert_eq!(field(&topology["reported"]["levels"], "level"), ["core", "l2", "cluster", "package"]);
    assert_eq!(field(&topology["agreement"], "level"), ["l2", "cluster"]);
    assert_eq!(field(&topology["agreement"], "verdict"), ["agree", "agree"]);
}

#[test]
fn invalid_files_are_refused_and_a_single_pair_has_no_structure() {
    let tool = Tool::new();
    let entity = "<!DOCTYPE topology [<!ENTITY a \"&a;&a;\">]><topology>&a;</topology>";
    tool.write("loop.xml", format!("<?xml version=\"1.0\"?>{entity}"));
    tool.write("page.xml", "<?xml version=\"1.0\"?><html><body>404</body></html>");
    tool.write("pair.csv", ",\n20.5,\n");
    tool.write("negative.csv", ",,\n20.5,,\n-1,20.5,\n");
    for (file, part) in [
        ("page.xml", "page.xml"),
        ("loop.xml", "loop.xml"),
        ("negative.csv", "line 3"),
        ("pair.csv --reported missing.xml", "missing.xml"),
    ] {
        tool.refused(&words(&format!("topology --from {file}")), 4, part);
    }
    assert_contains(&tool.out("topology --from pair.csv"), &["cannot tell: 2 CPUs have 1 pair"]);
}

#[test]
fn an_isolated_cpu_is_reported_in_terminal_page_and_document() {
    let tool = Tool::new();
    let screen = tool.out("latency --machine sim:chiplet-16 --cpus 0-3,8 --seed 1");
    let expected = "(medians): a group of its own, as the system reports (L3)";
    assert_contains(&flat(&screen), &[expected]);
    assert!(tool.report(&["latest"], "page.html").contains(expected), "the page does not say it");
    let lone_cpu = &tool.document("export latest")["topology"]["inferred"]["all_but_one"][0];
    assert_eq!((&lone_cpu["cpu"], &lone_cpu["reported"]), (&8.into(), &json!(["l3"])), "{lone_cpu}");
}

#[test]
fn pairs_too_slow_for_the_budget_are_reported_as_the_reason() {
    let tool = Tool::new();
    // Latencies far above those of two virtual CPUs that share a physical CPU.
    let text = "name = 'turns'\n[structure]\nkind = 'matrix'\ncpus = [0, 1, 2]\n\
                half_round_trip_ns = [[5e8, 5e8, 5e8], [5e8, 5e8, 5e8], [5e8, 5e8, 5e8]]\n";
    tool.write("turns.toml", text);
    let reason = "no pair was measured within 10 s";
    let screen = flat(&tool.out("topology --machine sim:turns.toml -q"));
    assert_contains(&screen, &[&format!("No groups from latencies: {reason}.")]);
    let call = tool.call(&words("advise -n 2 --machine sim:turns.toml -q"));
    assert_eq!((call.code, call.err.contains(reason)), (3, true), "{}", call.err);
}

/// Boxes are nested like the groups: an L3 with two nodes, a core with two L3 caches; groups that cross have no box.
#[test]
fn boxes_are_nested_like_groups_and_crossing_groups_have_none() {
    let tool = Tool::new();
    let draw = |name: &str, structure: &str, latencies: &str| {
        tool.write(name, format!("[structure]\n{structure}\n[latency_ns]\n{latencies}\n"));
        tool.out(&format!("topology --machine sim:{name} -q"))
    };
    let tree = |levels: &[(&str, u32)]| {
        let level = |(level, count): &(&str, u32)| format!("{{ level = '{level}', count = {count} }}");
        format!("kind = 'tree'\nlevels = [{}]", levels.iter().map(level).collect::<Vec<_>>().join(", "))
    };
    let levels = tree(&[("package", 2), ("l3", 1), ("node", 2), ("core", 2)]);
    let screen = draw("snc.toml", &levels, "node = 20\nl3 = 40\nmachine = 120");
    assert_contains(&screen, &["package 0 = L3 0 · 0-3", "│ ┌ node 0 · 0,1 ─┐ ┌ node 1 · 2,3 ─┐ │"]);
    let levels = tree(&[("package", 1), ("core", 2), ("l3", 2)]);
    let siblings = format!("{levels}\nthreads_per_core = 2\nsiblings = 'together'");
    let screen = draw("power.toml", &siblings, "l3 = 10\nsmt = 20\npackage = 60");
    assert_contains(&screen, &["┌ core 0 · 0-3 ", "│ ┌ L3 0 · 0,1 ─┐ ┌ L3 1 · 2,3 ─┐ │"]);
    let groups = "kind = 'groups'\ncpus = '0-3,6'\ngroups = [{ level = 'l3', cpus = '0-1' }, { level = 'node', cpus = '1-3' }]";
    let cross = draw("cross.toml", groups, "l3 = 20\nnode = 50\nmachine = 90");
    let expected = "No box: L3 0 (CPUs 0,1) and node 0 (CPUs 1-3) share CPUs and neither contains the other.";
    assert!(flat(&cross).contains(expected) && !cross.contains('┌'), "{cross}");
    let found = topology(&tool, "--machine sim:cross.toml");
    let crossing = json!([{ "levels": ["l3", "node"], "groups": ["0,1", "1-3"] }]);
    assert_eq!((&found["reported"]["crossing"], &found["offline"]), (&crossing, &"".into()));
    tool.out("latency --machine sim:cross.toml --name cross -q --budget 2s");
    let map = flat(&tool.out("runs show cross"));
    assert!(map.contains("cross each other") && !map.contains("reports no groups"), "{map}");
    tool.write("off.toml", "based_on = 'laptop-smt'\n[[failures.departures]]\ncpu = 3\nat_ms = 0\n");
    assert_contains(&tool.out("topology --machine sim:off.toml -q"), &[" Offline: CPU 3."]);
    assert_eq!(topology(&tool, "--machine sim:off.toml")["offline"], "3");
}

#[test]
fn thousands_of_boxes_are_drawn_in_time() {
    let tool = Tool::new();
    let cpus: Vec<[u32; 1]> = (0..8_000).map(|cpu| [cpu]).collect();
    let caches: Vec<&[u32]> = cpus.iter().map(<[u32; 1]>::as_slice).collect();
    tool.write("many.xml", hwloc(&caches));
    let began = std::time::Instant::now();
    let screen = tool.out("topology --from many.xml");
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert_contains(&screen, &["… 7997 more of them …", "7999"]);
}

#[test]
fn a_report_of_other_cpus_is_not_compared_with_latencies() {
    let tool = Tool::new();
    tool.write("two.csv", two_groups(85.5));
    tool.write("more.xml", hwloc(&[&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9]]));
    let options = "--from two.csv --reported more.xml";
    assert_eq!(topology(&tool, options)["agreement"], json!([]));
    let screen = flat(&tool.out(&format!("topology {options}")));
    let text = "the report is of CPUs 0-9, the latencies are of CPUs 0-7: the sets of CPUs differ, so the two are not compared";
    assert!(screen.contains(text) && !screen.contains("agree"), "{screen}");
}
