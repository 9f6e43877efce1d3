use super::*;
use crate::host::fixture::SystemTree;

/// Compares topologies of trees; bars separate levels, caches and classes.
fn check(rows: &[(&str, SystemTree, &str)]) {
    for (name, tree, expected) in rows {
        let (topology, expected) = (tree.topology(), expected.split('|').map(str::trim));
        assert_eq!(topology.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{name}");
    }
}

/// One package of CPUs without SMT.
fn board(cpus: u32) -> SystemTree {
    let cores: Vec<String> = (0..cpus).map(|cpu| cpu.to_string()).collect();
    let all = format!("0-{}", cpus - 1);
    SystemTree::new().online(&all).cores(&strs(&cores)).packages(&[&all])
}

/// Cores of two threads in common numbering: `"0,4" "1,5" …`.
fn pairs(cores: u32, offset: u32) -> Vec<String> {
    (0..cores).map(|core| format!("{core},{}", core + offset)).collect()
}

fn strs(groups: &[String]) -> Vec<&str> {
    groups.iter().map(String::as_str).collect()
}

#[test]
fn groups_become_levels_by_their_nesting() {
    check(&[
        (
            "a guest of two CPUs",
            board(2)
                .groups("die_cpus_list", "die_id", &["0-1"])
                .each("0", "topology/cluster_cpus_list", "0")
                .each("1", "topology/cluster_cpus_list", "1")
                .each("0-1", "topology/cluster_id", "65535")
                .each("0-1", "cpu_capacity", "1024")
                .caches(1, "Data", &["0", "1"])
                .caches(2, "Unified", &["0", "1"])
                .caches(3, "Unified", &["0-1"])
                .caches(1, "Instruction", &["0", "1"])
                .each("0-1", "cache/index0/size", "48K")
                .each("0-1", "cache/index1/size", "32K")
                .each("0-1", "cache/index2/size", "0K")
                .each("0-1", "cache/index3/size", "32768K")
                .nodes(&[(0, "0-1")]),
            "cpus 0,1 | core 0:0 1:1 | l3 0:0,1 | package 0:0,1 | die as package | node as machine |\
             L1d 49152: 0 1 | L3 33554432: 0,1",
        ),
        (
            "two sockets numbered in turns",
            SystemTree::new()
                .online("0-7")
                .cores(&["0,4", "1,5", "2,6", "3,7"])
                .packages(&["0,2,4,6", "1,3,5,7"])
                .caches(3, "Unified", &["0,2,4,6", "1,3,5,7"])
                .nodes(&[(0, "0,2,4,6"), (1, "1,3,5,7")]),
            "cpus 0-7 | core 0:0,4 1:1,5 2:2,6 3:3,7 | l3 0:0,2,4,6 1:1,3,5,7 | node 0:0,2,4,6 1:1,3,5,7 |\
             package 0:0,2,4,6 1:1,3,5,7",
        ),
        (
            "dies and clusters that divide something",
            board(8)
                .clusters(&["0-1", "2-3", "4-5", "6-7"])
                .groups("die_cpus_list", "die_id", &["0-3", "4-7"])
                .caches(3, "Unified", &["0-3", "4-7"]),
            "cpus 0-7 | core 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 | cluster 0:0,1 1:2,3 2:4,5 3:6,7 |\
             l3 0:0-3 1:4-7 | die 0:0-3 1:4-7 | package 0:0-7",
        ),
        (
            "an L2 of the threads of a core",
            SystemTree::new()
                .online("0-7")
                .cores(&["0,4", "1,5", "2,6", "3,7"])
                .clusters(&["0-1,4-5", "2-3,6-7"])
                .packages(&["0-7"])
                .caches(2, "Unified", &["0,4", "1,5", "2,6", "3,7"])
                .caches(3, "Unified", &["0-7"]),
            "cpus 0-7 | core 0:0,4 1:1,5 2:2,6 3:3,7 | cluster 0:0,1,4,5 1:2,3,6,7 | l3 0:0-7 |\
             package 0:0-7",
        ),
        (
            "clusters of several last-level caches",
            board(8).clusters(&["0-3", "4-7"]).caches(2, "Unified", &["0-1", "2-3", "4-5", "6-7"]),
            "cpus 0-7 | core 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 | l3 0:0,1 1:2,3 2:4,5 3:6,7 |\
             cluster 0:0-3 1:4-7 | package 0:0-7",
        ),
        (
            "an L3 inside a core",
            SystemTree::new()
                .online("0-7")
                .cores(&["0-7"])
                .packages(&["0-7"])
                .groups("book_cpus_list", "book_id", &["0-7"])
                .caches(3, "Unified", &["0,2,4,6", "1,3,5,7"]),
            "cpus 0-7 | l3 0:0,2,4,6 1:1,3,5,7 | core 0:0-7 | package 0:0-7 | book 0:0-7",
        ),
        (
            "an older kernel, whose shared L2 shows the modules",
            SystemTree::new()
                .online("0-5")
                .groups("thread_siblings_list", "core_id", &["0,1", "2", "3", "4", "5"])
                .groups("core_siblings_list", "physical_package_id", &["0-5"])
                .caches(2, "Unified", &["0,1", "2-5"])
                .caches(3, "Unified", &["0-5"]),
            "cpus 0-5 | core 0:0,1 1:2 2:3 3:4 4:5 | cluster 1:2-5 | l3 0:0-5 | package 0:0-5",
        ),
        (
            "offline and missing CPUs",
            SystemTree::new()
                .online("0-1,4,8-9")
                .cores(&["0", "1", "4", "5", "8", "9"])
                .packages(&["0-1,4-5", "8-9"])
                .caches(3, "Unified", &["0-1,4-5", "8-9"]),
            "cpus 0,1,4,8,9 | core 0:0 1:1 2:4 4:8 5:9 | l3 0:0,1,4 1:8,9 | package 0:0,1,4 1:8,9",
        ),
        (
            "no list of online CPUs",
            SystemTree::new().cores(&["0", "1", "2"]).each("1", "online", "0").each("2", "online", "1"),
            "cpus 0,2 | core 0:0 2:2",
        ),
    ]);
}

#[test]
fn kinds_capacities_and_clocks_make_classes() {
    let dense = |slow: &str| {
        let fast = SystemTree::new().online("0-3").each("0-1", "cpufreq/cpuinfo_max_freq", "5100000");
        fast.each("2-3", "cpufreq/cpuinfo_max_freq", slow)
    };
    check(&[
        (
            "an Intel hybrid",
            SystemTree::new()
                .online("0-11")
                .cores(&["0,1", "2,3", "4", "5", "6", "7", "8", "9", "10", "11"])
                .clusters(&["0,1", "2,3", "4-7", "8-11"])
                .packages(&["0-11"])
                .caches(2, "Unified", &["0,1", "2,3", "4-7", "8-11"])
                .caches(3, "Unified", &["0-11"])
                .file("/sys/devices/cpu_core/cpus", "0-3\n")
                .file("/sys/devices/cpu_atom/cpus", "4-11\n"),
            "cpus 0-11 | core 0:0,1 1:2,3 2:4 3:5 4:6 5:7 6:8 7:9 8:10 9:11 | cluster 2:4-7 3:8-11 |\
             l3 0:0-11 | package 0:0-11 | class 0 E: 4-11 | class 1 P: 0-3",
        ),
        (
            "low-power cores, outside the L3",
            board(6)
                .caches(2, "Unified", &["0", "1", "2-3", "4-5"])
                .caches(3, "Unified", &["0-3"])
                .file("/sys/devices/cpu_core/cpus", "0-1")
                .file("/sys/devices/cpu_atom/cpus", "2-5"),
            "cpus 0-5 | core 0:0 1:1 2:2 3:3 4:4 5:5 | cluster 2:2,3 | l3 0:0-3 ?:4,5 | package 0:0-5 |\
             class 0 LP: 4,5 | class 1 E: 2,3 | class 2 P: 0,1",
        ),
        (
            "big and little cores, whose L2 is the last cache",
            board(6)
                .clusters(&["0-3", "4-5"])
                .caches(1, "Data", &["0", "1", "2", "3", "4", "5"])
                .caches(2, "Unified", &["0-3", "4-5"])
                .each("0-3", "cpu_capacity", "485")
                .each("4-5", "cpu_capacity", "1024"),
            "cpus 0-5 | core 0:0 1:1 2:2 3:3 4:4 5:5 | l3 0:0-3 1:4,5 | package 0:0-5 | cluster as l3 |\
             class 0 E: 0-3 | class 1 P: 4,5",
        ),
        (
            "three capacities, which get no letters",
            SystemTree::new()
                .online("0-7")
                .each("0-3", "cpu_capacity", "250")
                .each("4-5", "cpu_capacity", "760")
                .each("6", "cpu_capacity", "800")
                .each("7", "cpu_capacity", "1024"),
            "cpus 0-7 | class 0 class 0: 0-3 | class 1 class 1: 4-6 | class 2 class 2: 7",
        ),
        ("a large gap", dense("3300000"), "cpus 0-3 | class 0 class 0: 2,3 | class 1 class 1: 0,1"),
        ("a small gap", dense("4700000"), "cpus 0-3"),
        (
            "a CPU without a capacity",
            SystemTree::new().online("0-2").each("0", "cpu_capacity", "400").each(
                "1",
                "cpu_capacity",
                "1024",
            ),
            "cpus 0-2",
        ),
    ]);
}

#[test]
fn a_desktop_of_two_l3_keeps_them_apart() {
    let cores = pairs(16, 16);
    let desktop = SystemTree::new()
        .online("0-31")
        .cores(&strs(&cores))
        .packages(&["0-31"])
        .groups("die_cpus_list", "die_id", &["0-31"])
        .caches(2, "Unified", &strs(&cores))
        .caches(3, "Unified", &["0-7,16-23", "8-15,24-31"])
        .each("0-31", "cpufreq/cpuinfo_max_freq", "5083398")
        .each("0-7,16-23", "acpi_cppc/highest_perf", "231")
        .each("8-15,24-31", "acpi_cppc/highest_perf", "166")
        .nodes(&[(0, "0-31")]);
    let topology = read_topology(desktop.root()).unwrap();
    assert_eq!(topology.level(Level::Core).len(), 16);
    assert_eq!(topology.level(Level::L3)[1].cpus.to_string(), "8-15,24-31");
    assert_eq!(topology.relation(CpuId(0), CpuId(16)), coretalk_model::Relation::Smt);
    assert_eq!(topology.relation(CpuId(0), CpuId(8)), coretalk_model::Relation::Package);
    assert!(topology.classes().is_empty(), "favoured cores are no kind of their own");
    assert_eq!(topology.level(Level::Cluster).len() + topology.level(Level::Die).len(), 0);
}

#[test]
fn nodes_keep_their_numbers_and_may_lack_cpus_or_memory() {
    let server = board(4)
        .nodes(&[(0, "0-1"), (2, "2-3"), (8, "")])
        .file(
            "/sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:       16 kB\nNode 0 MemFree: 1 kB\n",
        )
        .file("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       0 kB\n");
    let nodes = read_nodes(server.root()).unwrap();
    assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 2, 8]);
    assert_eq!(nodes.iter().map(|node| node.memory_bytes).collect::<Vec<_>>(), [Some(16384), Some(0), None]);
    let topology = read_topology(server.root()).unwrap();
    assert_eq!(topology.node_of(CpuId(3)), Some(2));
    assert_eq!(topology.level(Level::Node).len(), 2);
}

#[test]
fn an_l2_of_pairs_inside_clusters_of_four_is_a_level_of_its_own() {
    let (twos, fours): (&[&str], &[&str]) = (&["0-1", "2-3", "4-5", "6-7"], &["0-3", "4-7"]);
    let server = |clusters: &[&str], l2: &[&str]| {
        let clustered = board(8).clusters(clusters);
        clustered.caches(2, "Unified", l2).caches(3, "Unified", &["0-7"])
    };
    for (name, clusters, l2, levels) in [
        ("an L2 inside clusters", fours, twos, "l2 0:0,1 1:2,3 2:4,5 3:6,7 | cluster 0:0-3 1:4-7"),
        ("clusters inside an L2", twos, fours, "cluster 0:0,1 1:2,3 2:4,5 3:6,7 | l2 0:0-3 1:4-7"),
        ("equal groups", fours, fours, "cluster 0:0-3 1:4-7"),
        ("one equal group", fours, &["0-3", "4-5", "6-7"], "l2 1:4,5 2:6,7 | cluster 0:0-3 1:4-7"),
    ] {
        let cores = "cpus 0-7 | core 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7";
        let expected = format!("{cores} | {levels} | l3 0:0-7 | package 0:0-7");
        check(&[(name, server(clusters, l2), &expected)]);
    }
    let topology = read_topology(server(fours, twos).root()).unwrap();
    let relations = [1, 2, 4].map(|other| topology.relation(CpuId(0), CpuId(other)).name());
    assert_eq!(relations, ["l2", "cluster", "l3"]);
}

#[test]
fn crossing_levels_are_kept() {
    let groups = board(4).clusters(&["0,2", "1,3"]);
    let crossing = groups.caches(3, "Unified", &["0-1", "2-3"]);
    assert_eq!(read_topology(crossing.root()).unwrap().crossing().len(), 4);
}

#[test]
fn memory_without_cpus_is_named_with_its_distance() {
    let expander = |rows: [&str; 3]| {
        let tree = SystemTree::new()
            .online("0-3")
            .packages(&["0-1", "2-3"])
            .nodes(&[(0, "0-1"), (1, "2-3"), (4, "")])
            .file("/sys/devices/system/node/node4/meminfo", "Node 4 MemTotal:       16 kB\n");
        [0, 1, 4].into_iter().zip(rows).fold(tree, |tree, (node, row)| {
            tree.file(&format!("/sys/devices/system/node/node{node}/distance"), row)
        })
    };
    let around = "cpus 0-3 | node 0:0,1 1:2,3 | package 0:0,1 1:2,3";
    check(&[
        (
            "a table of distances",
            expander(["10 21 14\n", "21 10 24\n", "14 24 10\n"]),
            &format!("{around} | memory 4 Some(16384) [(0, 14), (1, 24)]"),
        ),
        (
            "a row with a wrong number of columns",
            expander(["10 21\n", "21 10 24\n", ""]),
            &format!("{around} | memory 4 Some(16384) [(1, 24)]"),
        ),
        (
            "one socket without distances",
            SystemTree::new().online("0-1").packages(&["0-1"]).nodes(&[(0, "0-1"), (1, "")]),
            "cpus 0,1 | package 0:0,1 | node as machine | memory 1 None []",
        ),
    ]);
}

#[test]
fn omitted_levels_name_the_equal_level() {
    let desktop = |dies: &[&str], clusters: &[&str]| {
        SystemTree::new()
            .online("0-3")
            .cores(&["0,1", "2,3"])
            .clusters(clusters)
            .groups("die_cpus_list", "die_id", dies)
            .packages(&["0-1", "2-3"])
            .nodes(&[(0, "0-3")])
    };
    let levels = "cpus 0-3 | core 0:0,1 1:2,3 | package 0:0,1 1:2,3";
    check(&[
        (
            "equal to the package",
            desktop(&["0-1", "2-3"], &["0-1", "2-3"]),
            &format!("{levels} | cluster as package | die as package | node as machine"),
        ),
        (
            "equal to several levels",
            desktop(&[], &["0", "1", "2-3"]),
            &format!("{levels} | cluster as several | node as machine"),
        ),
    ]);
    let topology = read_topology(desktop(&["0-1", "2-3"], &[]).root()).unwrap();
    assert_eq!(topology.unreported(), Some(vec![Level::Cluster, Level::L3]));
}

#[test]
fn with_smt_off_every_core_has_one_thread() {
    let off = board(4).file("/sys/devices/system/cpu/smt/control", "off\n").caches(3, "Unified", &["0-3"]);
    let topology = read_topology(off.root()).unwrap();
    assert!(!topology.has_smt(topology.cpus()));
    assert_eq!(topology.level(Level::Core).len(), 4);
}

#[test]
fn more_cpus_than_a_fixed_mask_holds_are_read() {
    let cores = pairs(640, 640);
    let huge = SystemTree::new()
        .online("0-1279")
        .cores(&strs(&cores))
        .packages(&["0-319,640-959", "320-639,960-1279"])
        .nodes(&[(0, "0-319,640-959"), (1, "320-639,960-1279")]);
    let topology = read_topology(huge.root()).unwrap();
    assert_eq!(topology.cpus().len(), 1280);
    assert_eq!(topology.siblings(CpuId(639)).to_string(), "639,1279");
    assert_eq!(topology.node_of(CpuId(1279)), Some(1));
}

#[test]
fn a_container_without_sysfs_is_flat() {
    let cpuinfo = "processor\t: 0\nvendor_id\t: GenuineIntel\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n";
    let cpuinfo = ("/proc/cpuinfo", cpuinfo);
    let mask = ("/proc/self/status", "Cpus_allowed_list:\t12-13\n");
    check(&[
        ("cpuinfo", SystemTree::with_files(&[cpuinfo]), "cpus 0,1"),
        ("a mask", SystemTree::with_files(&[mask]), "cpus 12,13"),
        ("a mask of other CPUs than cpuinfo", SystemTree::with_files(&[cpuinfo, mask]), "cpus 12,13"),
    ]);
}

#[test]
fn a_system_without_cpus_is_an_error() {
    let error = read_topology(SystemTree::new().root()).unwrap_err();
    assert!(error.to_string().starts_with("find the CPUs of this system"), "{error}");
}

#[test]
fn a_garbled_list_is_named_and_a_foreign_one_ignored() {
    let listed = |list| SystemTree::new().online("0-1").each("0", "topology/core_cpus_list", list);
    let error = read_topology(listed("zero").root()).unwrap_err();
    assert_eq!(error.to_string(), "read /sys/devices/system/cpu/cpu0/topology/core_cpus_list as a CPU list");
    check(&[("a list without the CPU itself", listed("1"), "cpus 0,1")]);
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_a_topology() {
    let topology = read_topology(&SystemRoot::live()).unwrap();
    assert!(!topology.cpus().is_empty());
}
