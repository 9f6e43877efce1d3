use super::*;
use crate::host::fixture::Tree;

const POLICY0: &str = "/sys/devices/system/cpu/cpufreq/policy0";
const POLICY1: &str = "/sys/devices/system/cpu/cpufreq/policy1";

#[test]
fn a_system_that_says_nothing_is_unknown_throughout() {
    let environment = read_environment(Tree::new().root());
    let tool = Environment {
        arch: environment.arch.clone(),
        libc: environment.libc.clone(),
        compiler: environment.compiler.clone(),
        build: environment.build.clone(),
        tool_version: environment.tool_version.clone(),
        libraries: environment.libraries.clone(),
        ..Environment::default()
    };
    assert_eq!(environment, tool);
}

#[test]
fn the_tool_knows_how_it_was_built() {
    let environment = read_environment(Tree::new().root());
    assert!(environment.compiler.unwrap().starts_with("rustc "));
    assert!(environment.build.unwrap().contains(std::env::consts::ARCH));
    assert_eq!(environment.tool_version, env!("CARGO_PKG_VERSION"));
    assert!(environment.libraries["rtrb"].starts_with(|first: char| first.is_ascii_digit()));
    assert!(environment.libraries["allocator"].starts_with("malloc of "));
}

#[test]
fn what_a_server_says_of_itself_is_read() {
    let tree = Tree::of(&[
        (
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD EPYC 9654  96-Core Processor   \nmicrocode\t: 0xa10113e\n",
        ),
        ("/proc/meminfo", "MemTotal:       24684096 kB\nMemFree: 1 kB\n"),
        ("/proc/loadavg", "0.22 0.27 0.24 1/92 9927\n"),
        ("/proc/sys/kernel/ostype", "Linux\n"),
        ("/proc/sys/kernel/osrelease", "6.12.1-amd64\n"),
        ("/proc/sys/kernel/hostname", "db1\n"),
        ("/sys/class/dmi/id/bios_vendor", "American Megatrends Inc.\n"),
        ("/sys/class/dmi/id/bios_version", " 1.4 \n"),
        ("/sys/class/dmi/id/bios_date", "03/01/2024\n"),
        ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("/sys/devices/system/cpu/vulnerabilities/retbleed", "Mitigation: untrained return thunk\n"),
        ("/sys/devices/system/cpu/isolated", "8-15\n"),
        ("/sys/devices/system/cpu/cpuidle/current_driver", "acpi_idle\n"),
        ("/sys/devices/system/cpu/cpufreq/boost", "1\n"),
        (&format!("{POLICY0}/scaling_governor"), "schedutil\n"),
        (&format!("{POLICY1}/scaling_governor"), "performance\n"),
        (&format!("{POLICY0}/scaling_driver"), "acpi-cpufreq\n"),
    ]);
    let environment = read_environment(tree.root());
    let known = |fact: &Option<String>| fact.clone().unwrap_or_default();
    assert_eq!(known(&environment.cpu_model), "AMD EPYC 9654 96-Core Processor");
    assert_eq!(known(&environment.microcode), "0xa10113e");
    assert_eq!(known(&environment.firmware), "American Megatrends Inc. 1.4 03/01/2024");
    assert_eq!(known(&environment.kernel), "Linux 6.12.1-amd64");
    assert_eq!(known(&environment.host), "db1");
    assert_eq!(known(&environment.governor), "performance, schedutil");
    assert_eq!(known(&environment.frequency_driver), "acpi-cpufreq");
    assert_eq!(known(&environment.idle_driver), "acpi_idle");
    assert_eq!(environment.memory_bytes, Some(24_684_096 * 1024));
    assert_eq!(environment.load_1min, Some(0.22));
    assert_eq!(environment.isolated.to_string(), "8-15");
    assert_eq!(environment.boost, Some(true));
    assert_eq!(environment.mitigations["meltdown"], "Not affected");
    assert_eq!(environment.mitigations.len(), 2);
}

#[test]
fn boost_is_read_in_the_sense_of_each_driver() {
    let cpu = "/sys/devices/system/cpu";
    for (path, content, expected) in [
        (format!("{cpu}/cpufreq/boost"), "0", Some(false)),
        (format!("{cpu}/intel_pstate/no_turbo"), "1", Some(false)),
        (format!("{cpu}/intel_pstate/no_turbo"), "0", Some(true)),
        (format!("{POLICY1}/boost"), "1", Some(true)),
        (format!("{POLICY0}/boost"), "0", Some(false)),
        (format!("{cpu}/cpufreq/boost"), "yes", None),
    ] {
        assert_eq!(boost(Tree::of(&[(&path, content)]).root()), expected, "{path} {content}");
    }
}

#[test]
fn a_governor_is_found_without_policies_too() {
    let tree = Tree::new().each("0-3", "cpufreq/scaling_governor", "ondemand");
    assert_eq!(distinct(tree.root(), "scaling_governor").as_deref(), Some("ondemand"));
}

#[test]
fn arm_cores_get_their_names_once_and_unknown_ones_keep_their_numbers() {
    let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
        processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
        processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\n\
        processor\t: 3\nCPU implementer\t: 0x51\nCPU part\t: 0xfff\n";
    let tree = Tree::of(&[("/proc/cpuinfo", cpuinfo)]);
    assert_eq!(
        read_environment(tree.root()).cpu_model.as_deref(),
        Some("Arm Cortex-A55 + Arm Cortex-A76 + Arm core (implementer 0x51, part 0xfff)")
    );
}

#[test]
fn numbers_that_are_none_stay_unknown() {
    let tree = Tree::of(&[
        ("/proc/meminfo", "MemTotal:       99999999999999999999 kB\n"),
        ("/proc/loadavg", "inf\n"),
        ("/sys/devices/system/cpu/isolated", "none\n"),
    ]);
    let environment = read_environment(tree.root());
    assert_eq!((environment.memory_bytes, environment.load_1min), (None, None));
    assert!(environment.isolated.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_a_kernel_and_memory() {
    let environment = read_environment(&SystemRoot::live());
    assert!(environment.kernel.unwrap().starts_with("Linux "));
    assert!(environment.memory_bytes.unwrap() > 1 << 20);
}
