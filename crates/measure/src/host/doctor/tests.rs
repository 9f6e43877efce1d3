use super::*;
use crate::host::fixture::SystemTree;
use crate::host::spread::Spread;
use coretalk_model::environment::GIVEN_CHECKS;
use std::collections::BTreeSet;

/// Each line tests one verdict of a check, named by its sentence; together they must cover all verdicts in [`CHECKS`].
macro_rules! verdicts {
    ($($sentence:ident: $id:literal is $verdict:ident, $tree:expr $(, $live:expr)?;)*) => {
        $(#[test]
        fn $sentence() {
            let finding = finding($id, &$tree, [LiveFacts::default() $(, $live)?].last().unwrap());
            assert_eq!(finding.verdict, Verdict::$verdict, "{finding:?}");
        })*

        const COVERED: &[(&str, Verdict)] = &[$(($id, Verdict::$verdict)),*];
    };
}

verdicts! {
    threads_that_stay_are_fine: "affinity" is Ok, SystemTree::new(), pinning(Result::Ok(()));
    untested_pinning_is_unknown: "affinity" is CannotTell, SystemTree::new();
    a_refused_affinity_is_a_failure: "affinity" is Fail, SystemTree::new(), pinning(Result::Err("EPERM"));

    a_group_and_a_mask_that_hold_every_cpu_are_fine: "cpuset" is Ok, group("0-7", "0-7");
    without_a_control_group_the_allowed_cpus_are_unknown: "cpuset" is CannotTell, SystemTree::new().online("0-7");
    a_group_that_holds_some_cpus_only_is_named: "cpuset" is Warn, group("0-3", "0-3");
    a_mask_that_leaves_out_cpus_is_named: "cpuset" is Warn, group("0-7", "0-3");
    a_mask_that_leaves_out_only_isolated_cpus_is_fine: "cpuset" is Ok,
        group("0-7", "0-5").file(ISOLATED, "6-7\n");
    one_cpu_makes_no_pair: "cpuset" is Fail, group("5", "5");
    a_machine_of_one_cpu_has_no_pair: "cpuset" is Fail, SystemTree::new().online("0");

    no_quota_is_fine: "cpu-quota" is Ok, quota("max 100000");
    a_quota_of_every_cpu_is_fine: "cpu-quota" is Ok, quota("800000 100000");
    a_quota_out_of_reach_is_unknown: "cpu-quota" is CannotTell, SystemTree::new().online("0-7");
    a_quota_of_some_cpus_stops_threads: "cpu-quota" is Warn, quota("400000 100000");
    a_quota_below_two_cpus_is_a_failure: "cpu-quota" is Fail, quota("150000 100000");

    no_isolated_cpu_is_fine: "isolated-cpus" is Ok, group("0-7", "0-7").file(ISOLATED, "\n");
    isolated_cpus_in_the_mask_are_measured_anyway: "isolated-cpus" is Ok, group("0-7", "0-7").file(ISOLATED, "6-7");
    a_kernel_silent_about_isolation_is_unknown: "isolated-cpus" is CannotTell, group("0-7", "0-7");
    isolated_cpus_left_out_of_the_mask_are_named: "isolated-cpus" is Warn, group("0-7", "0-5").file(ISOLATED, "6-7");

    smt_on_is_fine: "smt" is Ok, SystemTree::new().file(SMT, "on\n");
    smt_off_is_fine: "smt" is Ok, SystemTree::new().file(SMT, "off\n");
    smt_forced_off_is_fine: "smt" is Ok, SystemTree::new().file(SMT, "forceoff\n");
    a_processor_without_smt_is_fine: "smt" is Ok, SystemTree::new().file(SMT, "notsupported\n");
    smt_shows_in_the_cores_too: "smt" is Ok, SystemTree::new().file(SMT, "notimplemented\n").online("0-1").cores(&["0-1"]);
    unreported_siblings_are_unknown: "smt" is CannotTell, SystemTree::new().online("0-1");

    groups_inside_each_other_are_fine: "topology" is Ok, SystemTree::new().online("0-3").cores(&["0", "1", "2", "3"]).packages(&["0-3"]);
    a_system_that_names_no_group_is_unknown: "topology" is CannotTell, SystemTree::new().online("0-1");
    crossing_groups_are_a_warning: "topology" is Warn,
        SystemTree::new().online("0-3").packages(&["0-1", "2-3"]).nodes(&[(0, "0,2"), (1, "1,3")]);

    bare_metal_is_fine: "hypervisor" is Ok, flags("fpu tsc");
    a_processor_that_cannot_say_is_unknown: "hypervisor" is CannotTell, SystemTree::new();
    a_guest_is_a_warning: "hypervisor" is Warn, flags("fpu tsc hypervisor");
    wsl_1_is_a_warning: "hypervisor" is Warn,
        SystemTree::with_files(&[("/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n")]);
    an_emulator_has_no_hardware_times: "hypervisor" is Fail,
        SystemTree::with_files(&[("/proc/cpuinfo", "model name : QEMU TCG CPU version 2.5+\n")]);

    no_steal_is_fine: "steal" is Ok, stat("cpu0 10 0 0 990 0 0 0 0 0 0");
    a_kernel_that_counts_no_steal_is_unknown: "steal" is CannotTell, stat("cpu0 10 0 0 990");
    steal_widens_intervals: "steal" is Warn, stat("cpu0 10 0 0 985 0 0 0 5 0 0");
    recent_steal_counts_more_than_old: "steal" is Ok, stat("cpu0 10 0 0 985 0 0 0 5 0 0"), recent(&times(1, 99));

    an_idle_machine_is_fine: "load" is Ok, load("3.00 0.00 0.00 1/9 9"), recent(&times(1, 99));
    a_machine_without_cpu_times_is_unknown: "load" is CannotTell, SystemTree::new();
    a_load_average_is_no_share_of_the_cpus: "load" is CannotTell, load("3.00 0.00 0.00 1/9 9"), recent(&times(0, 0));
    more_than_a_twentieth_of_the_cpus_is_background_load: "load" is Warn, SystemTree::new(), recent(&times(6, 94));
    a_busy_moment_may_be_over_at_once: "load" is Warn, SystemTree::new(), recent(&times(18, 2));
    numbers_of_a_busy_machine_cannot_be_trusted: "load" is Fail, SystemTree::new(), recent(&times(98, 2));

    a_performance_governor_is_fine: "governor" is Ok, SystemTree::new().each("0-1", "cpufreq/scaling_governor", "performance");
    no_frequency_driver_is_unknown: "governor" is CannotTell, SystemTree::new();
    a_saving_governor_lets_clocks_fall: "governor" is Warn,
        SystemTree::new().each("0", "cpufreq/scaling_governor", "performance").each("1", "cpufreq/scaling_governor", "powersave");

    boost_on_is_fine: "boost" is Ok, SystemTree::with_files(&[(BOOST, "1\n")]);
    boost_without_a_switch_is_unknown: "boost" is CannotTell, SystemTree::new();
    boost_off_is_slower_than_the_hardware: "boost" is Warn, SystemTree::with_files(&[(BOOST, "0\n")]);

    shallow_sleep_is_fine: "kernel-idle" is Ok, idle("haltpoll", &[("POLL", "0", "0"), ("HLT", "1", "0")]);
    no_idle_driver_is_fine: "kernel-idle" is Ok, idle("none", &[]);
    deep_states_that_are_switched_off_are_fine: "kernel-idle" is Ok,
        idle("intel_idle", &[("C1", "2", "0"), ("C6", "133", "1")]);
    unreported_idle_states_are_unknown: "kernel-idle" is CannotTell, SystemTree::new();
    a_driver_without_states_is_unknown: "kernel-idle" is CannotTell, idle("acpi_idle", &[]);
    deep_sleep_takes_long_to_leave: "kernel-idle" is Warn, idle("intel_idle", &[("C1", "2", "0"), ("C6", "133", "0")]);

    a_kernel_that_trusts_the_counter_is_fine: "clock-source" is Ok, clock("tsc", "tsc hpet");
    the_arm_counter_is_as_good: "clock-source" is Ok, clock("arch_sys_counter", "arch_sys_counter");
    the_counter_of_another_processor_is_a_warning: "clock-source" is Warn, clock("tsc", "tsc hpet"),
        read(Result::Ok(&counter("cntvct", None)));
    a_kernel_silent_about_its_clock_is_unknown: "clock-source" is CannotTell, SystemTree::new();
    a_counter_that_cannot_be_read_is_a_failure: "clock-source" is Fail, clock("tsc", "tsc hpet"),
        read(Result::Err("this CPU has no RDTSCP"));
    a_kernel_that_left_the_counter_is_a_warning: "clock-source" is Warn, clock("hpet", "hpet acpi_pm");

    an_invariant_counter_is_fine: "tsc-invariant" is Ok, flags("constant_tsc nonstop_tsc");
    the_arm_counter_is_invariant_by_definition: "tsc-invariant" is Ok, SystemTree::new(), read(Result::Ok(&counter("cntvct", None)));
    a_processor_silent_about_its_counter_is_unknown: "tsc-invariant" is CannotTell, SystemTree::new();
    a_guest_without_an_invariant_counter_is_a_warning: "tsc-invariant" is Warn, flags("constant_tsc hypervisor");
    a_counter_that_follows_the_core_clock_is_a_failure: "tsc-invariant" is Fail, flags("tsc");
    the_measured_clock_overrides_cpu_flags: "tsc-invariant" is Fail, flags("constant_tsc nonstop_tsc"),
        read(Result::Ok(&counter("tsc", Some(false))));

    counters_that_agree_are_fine: "tsc-sync" is Ok, SystemTree::new(), offset(-40.0, 60.0);
    counters_that_were_not_compared_are_unknown: "tsc-sync" is CannotTell, SystemTree::new();
    an_offset_below_its_own_error_is_unknown: "tsc-sync" is CannotTell, SystemTree::new(), offset(967_099.0, 2_200_995.0);
    counters_that_agree_within_a_small_error_are_fine: "tsc-sync" is Ok, SystemTree::new(), offset(150.0, 211.0);
    an_offset_that_is_no_number_is_unknown: "tsc-sync" is CannotTell, SystemTree::new(), offset(f64::NAN, 60.0);
    counters_half_a_microsecond_apart_concern_one_way: "tsc-sync" is Warn, SystemTree::new(), offset(516.0, 60.0);
    counters_that_are_surely_a_nanosecond_apart_are_no_failure: "tsc-sync" is Warn, SystemTree::new(),
        offset(2_000_001.0, 2_000_000.0);
    counters_two_seconds_apart_have_no_common_start: "tsc-sync" is Fail, SystemTree::new(), offset(2e9, 60.0);

    transparent_huge_pages_are_fine: "huge-pages" is Ok, SystemTree::with_files(&[(THP, "always [madvise] never\n")]);
    reserved_huge_pages_are_fine_too: "huge-pages" is Ok,
        SystemTree::with_files(&[(THP, "always madvise [never]\n"), ("/proc/meminfo", "HugePages_Free:       12\n")]);
    a_kernel_silent_about_huge_pages_is_unknown: "huge-pages" is CannotTell, SystemTree::new();
    a_policy_that_cannot_be_read_is_unknown: "huge-pages" is CannotTell, SystemTree::with_files(&[("/proc/meminfo", "HugePages_Free: 0\n")]);
    no_huge_pages_miss_the_tlb: "huge-pages" is Warn, SystemTree::with_files(&[(THP, "always madvise [never]\n")]);

    a_node_with_memory_is_fine: "node-memory" is Ok, granted(&[4096, 4096], "0-1");
    a_node_without_memory_is_named: "node-memory" is Warn, granted(&[4096, 0], "0-1");
    a_node_whose_memory_is_not_granted_is_named: "node-memory" is Warn, granted(&[4096, 4096], "0");
    a_system_without_nodes_is_unknown: "node-memory" is CannotTell, SystemTree::new();

    one_node_needs_no_balancing: "numa-balancing" is Ok, SystemTree::with_files(&[(BALANCING, "1\n")]).nodes(&[(0, "0-7")]);
    balancing_off_is_fine: "numa-balancing" is Ok, two_nodes().file(BALANCING, "0\n");
    a_kernel_silent_about_balancing_is_unknown: "numa-balancing" is CannotTell, two_nodes();
    balancing_unmaps_pages: "numa-balancing" is Warn, two_nodes().file(BALANCING, "1\n");

    generous_limits_are_fine: "rlimits" is Ok, limits("unlimited", "40");
    capabilities_replace_limits: "rlimits" is Ok, limits("65536", "0").file("/proc/self/status", "CapEff:\t0000000000804000\n");
    a_process_without_limits_in_reach_is_unknown: "rlimits" is CannotTell, SystemTree::new();
    tight_limits_let_others_disturb: "rlimits" is Warn, limits("65536", "0");
    root_of_its_own_user_namespace_has_no_capabilities: "rlimits" is Warn,
        limits("unlimited", "0").file("/proc/self/status", "CapEff:\t000001ffffffffff\n").file("/proc/self/uid_map", "0 100000 65536\n");

    the_usual_c_library_is_fine: "libc" is Ok, SystemTree::new(), library("glibc 2.36");
    a_c_library_without_a_name_is_unknown: "libc" is CannotTell, SystemTree::new();
    another_c_library_is_a_warning: "libc" is Warn, SystemTree::new(), library("musl");

    current_microcode_is_fine: "microcode" is Ok, SystemTree::with_files(&[(MICROCODE, "Not affected\n")]);
    microcode_of_unknown_age_is_unknown: "microcode" is CannotTell, SystemTree::with_files(&[(MICROCODE, "Unknown (running under hypervisor)\n")]);
    old_microcode_is_a_warning: "microcode" is Warn, SystemTree::with_files(&[(MICROCODE, "Vulnerable\n")]);
}

#[test]
fn every_verdict_of_every_check_has_a_fixture() {
    let claimed = CHECKS.iter().flat_map(|check| check.verdicts.iter().map(|&verdict| (check.id, verdict)));
    let covered = COVERED.iter().copied();
    assert_eq!(covered.collect::<BTreeSet<_>>(), claimed.collect::<BTreeSet<_>>());
}

#[test]
fn ids_are_distinct_and_kebab_case() {
    let ids: BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), CHECKS.len());
    assert!(GIVEN_CHECKS.iter().all(|id| *id == "simulated" || ids.contains(id)));
    assert!(ids.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')));
}

#[test]
fn fixes_are_commands_for_this_system() {
    let saving = SystemTree::new().each("0", "cpufreq/scaling_governor", "powersave");
    let fix = |id, tree: &SystemTree| finding(id, tree, &LiveFacts::default()).fix;
    let clock_source = "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    for (id, tree, command) in [
        ("governor", saving, "sudo cpupower frequency-set -g performance"),
        ("isolated-cpus", group("0-7", "0-5").file(ISOLATED, "6-7"), "coretalk --cpus 6,7"),
        ("cpuset", group("0-7", "0-3"), "coretalk --cpus 0-7"),
        ("cpuset", group("0-3", "0-3"), "sudo systemd-run --scope -p AllowedCPUs=0-7 coretalk"),
        ("clock-source", clock("hpet", "tsc hpet acpi_pm"), clock_source),
    ] {
        assert_eq!(fix(id, &tree).as_deref(), Some(command), "{id}");
    }
    for (file, content, command) in [
        ("cpufreq/boost", "0", "echo 1 | sudo tee CPU/cpufreq/boost"),
        ("intel_pstate/no_turbo", "1", "echo 0 | sudo tee CPU/intel_pstate/no_turbo"),
        ("cpufreq/policy0/boost", "0", "echo 1 | sudo tee CPU/cpufreq/policy*/boost"),
    ] {
        let cpu = "/sys/devices/system/cpu";
        let tree = SystemTree::new().file(&format!("{cpu}/{file}"), content);
        assert_eq!(fix("boost", &tree), Some(command.replace("CPU", cpu)), "{file}");
    }
    assert_eq!(fix("clock-source", &clock("hpet", "hpet")), None);
    let outside = group("0-5", "0-5").file(ISOLATED, "6-7");
    assert_eq!(fix("isolated-cpus", &outside), None, "they are outside the control group");
    let load = finding("load", &SystemTree::new(), &recent(&times(98, 2)));
    assert_eq!(load.fix, None, "a list of programs changes nothing");
    assert!(load.text.starts_with("other programs took 98 % of the CPUs in 1.0 s: "), "{}", load.text);
}

#[test]
fn findings_state_their_facts() {
    let throttled = quota("400000 100000").file("/sys/fs/cgroup/cpu.stat", "nr_throttled 12\n");
    let board = SystemTree::new().file("/proc/device-tree/compatible", "linux,dummy-virt\0");
    let present = SystemTree::new().file("/sys/devices/system/cpu/present", "0-7\n");
    for (id, tree, part) in [
        ("cpu-quota", throttled, "throttled 12 times"),
        ("hypervisor", board, "guest of an unnamed hypervisor (/proc/device-tree/compatible: `linux"),
        (
            "topology",
            present.online("0-3").packages(&["0-3"]),
            "the reported groups of CPUs lie inside each other; offline: CPUs 4-7",
        ),
    ] {
        let text = finding(id, &tree, &LiveFacts::default()).text;
        assert!(text.contains(part), "{id}: {text}");
    }
    for (ns, part) in [
        (-12.0, "the counters of 4 CPUs agree within the error of ± 60 ns"),
        (81.4, "the counters of 4 CPUs are at most 81 ± 60 ns apart"),
        (516.0, "up to 516 ns apart (± 60)"),
    ] {
        let text = finding("tsc-sync", &SystemTree::new(), &offset(ns, 60.0)).text;
        assert!(text == part || ns > 500.0 && text.contains(part), "{text}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_check_answers_for_arbitrary_file_contents(
        contents in proptest::collection::vec("[ -~\n\t]{0,40}|[0-9]{0,3}([,\\-][0-9]{1,3}){0,3}|(cpu[0-9]{0,11} ?([0-9]{1,22} ){0,9}\n){0,3}", FUZZED_FILES.len()),
    ) {
        let files: Vec<(&str, &str)> = FUZZED_FILES.iter().copied().zip(contents.iter().map(String::as_str)).collect();
        let tree = SystemTree::with_files(&files);
        proptest::prop_assert_eq!(examine(tree.root(), &LiveFacts::default()).len(), CHECKS.len());
        let environment = crate::host::facts::read_environment(tree.root());
        proptest::prop_assert!(environment.load_1min.is_none_or(f64::is_finite));
    }
}

const FUZZED_FILES: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/self/mountinfo",
    "/proc/self/status",
    "/proc/stat",
    "/sys/devices/system/cpu/cpu0/cache/index3/level",
    "/sys/devices/system/cpu/cpu0/cpu_capacity",
    "/sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/node0/cpulist",
];

#[cfg(target_os = "linux")]
#[test]
fn this_machine_answers_every_check_in_one_line() {
    let library = crate::host::facts::libc_version();
    let live = LiveFacts { libc: library.as_deref(), ..LiveFacts::default() };
    let findings = examine(&SystemRoot::live(), &live);
    for (finding @ DoctorFinding { text, .. }, check) in findings.iter().zip(CHECKS) {
        assert_eq!(finding.id, check.id);
        assert!(check.verdicts.contains(&finding.verdict), "{finding:?}");
        assert!(!text.is_empty() && !text.contains('\n') && !text.ends_with('.'), "{finding:?}");
    }
    assert_eq!(findings.len(), CHECKS.len());
}

const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const SMT: &str = "/sys/devices/system/cpu/smt/control";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const BALANCING: &str = "/proc/sys/kernel/numa_balancing";
const MICROCODE: &str = "/sys/devices/system/cpu/vulnerabilities/old_microcode";

fn finding(id: &str, tree: &SystemTree, live: &LiveFacts) -> DoctorFinding {
    let findings = examine(tree.root(), live);
    // No check returns a verdict that it does not declare.
    for (finding, check) in findings.iter().zip(CHECKS) {
        assert!(check.verdicts.contains(&finding.verdict), "{finding:?}");
    }
    findings.into_iter().find(|finding| finding.id == id).unwrap()
}

/// Eight online CPUs, some allowed by a control group and a mask.
fn group(cpuset: &str, mask: &str) -> SystemTree {
    unified()
        .file("/sys/fs/cgroup/cpuset.cpus.effective", cpuset)
        .file("/proc/self/status", &format!("Cpus_allowed_list:\t{mask}\n"))
}

fn two_nodes() -> SystemTree {
    SystemTree::new().nodes(&[(0, "0-3"), (1, "4-7")])
}

/// Two nodes with memory in kB; the process may use the listed ones.
fn granted(memory_kb: &[u64], list: &str) -> SystemTree {
    let tree = two_nodes().file("/proc/self/status", &format!("Mems_allowed_list:\t{list}\n"));
    memory_kb.iter().enumerate().fold(tree, |tree, (node, kb)| {
        let file = format!("/sys/devices/system/node/node{node}/meminfo");
        tree.file(&file, &format!("Node {node} MemTotal: {kb} kB\n"))
    })
}

fn quota(max: &str) -> SystemTree {
    unified().file("/sys/fs/cgroup/cpu.max", max)
}

fn unified() -> SystemTree {
    SystemTree::with_files(&[
        ("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("/proc/self/cgroup", "0::/\n"),
    ])
    .online("0-7")
}

fn flags(flags: &str) -> SystemTree {
    SystemTree::with_files(&[("/proc/cpuinfo", &format!("processor\t: 0\nflags\t\t: {flags}\n"))])
}

fn stat(lines: &str) -> SystemTree {
    SystemTree::with_files(&[("/proc/stat", lines)])
}

fn times(busy: u32, idle: u32) -> CpuTimes {
    CpuTimes::read(stat(&format!("cpu0 {busy} 0 0 {idle} 0 0 0 0 0 0")).root()).unwrap()
}

fn recent(times: &CpuTimes) -> LiveFacts<'_> {
    LiveFacts { recent: Some(times), ..LiveFacts::default() }
}

fn load(average: &str) -> SystemTree {
    SystemTree::with_files(&[("/proc/loadavg", average)]).online("0-7")
}

/// Idle driver and its states: name, latency in microseconds, whether disabled.
fn idle(driver: &str, states: &[(&str, &str, &str)]) -> SystemTree {
    let mut tree = SystemTree::with_files(&[("/sys/devices/system/cpu/cpuidle/current_driver", driver)]);
    for (index, (name, latency, disable)) in states.iter().enumerate() {
        for (file, content) in [("name", name), ("latency", latency), ("disable", disable)] {
            tree = tree.each("0-1", &format!("cpuidle/state{index}/{file}"), content);
        }
    }
    tree
}

fn clock(current: &str, available: &str) -> SystemTree {
    let sources = "/sys/devices/system/clocksource/clocksource0";
    SystemTree::with_files(&[
        (&format!("{sources}/current_clocksource"), current),
        (&format!("{sources}/available_clocksource"), available),
    ])
}

fn counter(source: &str, invariant: Option<bool>) -> ClockFacts {
    ClockFacts { source: source.to_owned(), invariant, ..ClockFacts::default() }
}

fn read<'a>(clock: Result<&'a ClockFacts, &'a str>) -> LiveFacts<'a> {
    LiveFacts { clock: Some(clock), ..LiveFacts::default() }
}

fn offset(largest_ns: f64, bound_ns: f64) -> LiveFacts<'static> {
    let offsets = Spread { pairs: 3, largest_ns: largest_ns.abs(), bound_ns };
    LiveFacts { offsets: Some(offsets), ..LiveFacts::default() }
}

fn pinning(pinning: Result<(), &str>) -> LiveFacts<'_> {
    LiveFacts { pinning: Some(pinning), ..LiveFacts::default() }
}

fn library(name: &'static str) -> LiveFacts<'static> {
    LiveFacts { libc: Some(name), ..LiveFacts::default() }
}

fn limits(memlock: &str, nice: &str) -> SystemTree {
    let limits = format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max locked memory         {memlock}              {memlock}              bytes     \n\
         Max nice priority         {nice}                    {nice}                    \n"
    );
    SystemTree::with_files(&[("/proc/self/limits", &limits)])
}
