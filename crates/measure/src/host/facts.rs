//! [`read_environment`]: conditions of a measurement, from system files and the processor.

mod cpu_times;
mod platform;

pub use cpu_times::{BUSY_FRACTION, CpuTimes, steal_ms};
pub use platform::{Platform, Wsl};

use super::root::SystemRoot;
use crate::queues::libraries::VERSIONS;
use coretalk_model::Environment;
use coretalk_model::environment::{Atomics, BuildFacts, Linking};
use std::collections::BTreeMap;

const CPU: &str = "/sys/devices/system/cpu";

/// Reads all facts except clock, page size, priority and user labels. Unreadable facts stay `None`.
pub fn read_environment(root: &SystemRoot) -> Environment {
    let cpuinfo = CpuInfo::read(root);
    let platform = Platform::read(root);
    Environment {
        host: root.peek("/proc/sys/kernel/hostname"),
        cpu_model: cpu_model(root, &cpuinfo),
        microcode: cpuinfo
            .value("microcode")
            .map(str::to_owned)
            .or_else(|| root.peek(&format!("{CPU}/cpu0/microcode/version"))),
        firmware: firmware(root),
        kernel: kernel(root),
        arch: Some(std::env::consts::ARCH.to_owned()),
        mitigations: mitigations(root),
        memory_bytes: memory_bytes(root),
        governor: distinct(root, "scaling_governor"),
        frequency_driver: distinct(root, "scaling_driver"),
        boost: boost(root),
        idle_driver: root.peek(&format!("{CPU}/cpuidle/current_driver")),
        hypervisor: platform.hypervisor,
        bare_metal: platform.bare_metal,
        platform_evidence: platform.evidence,
        emulator: platform.emulator,
        atomics: root.is_live().then(atomics).flatten(),
        libc: libc_version(),
        isolated: isolated(root),
        load_1min: load_1min(root),
        compiler: compiler(),
        build: non_empty(env!("CORETALK_BUILD")),
        build_facts: Some(build_facts()),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        libraries: libraries(),
        ..Environment::default()
    }
}

/// Compiler of this crate, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
pub fn compiler() -> Option<String> {
    non_empty(env!("CORETALK_COMPILER"))
}

/// Build settings of this crate and its timed loops. A program that uses the crate adds its own facts.
pub fn build_facts() -> BuildFacts {
    let features = env!("CORETALK_FEATURES").split(',').filter(|name| !name.is_empty());
    BuildFacts {
        target: env!("CORETALK_TARGET").to_owned(),
        linking: if cfg!(target_feature = "crt-static") { Linking::Static } else { Linking::Dynamic },
        features: features.map(str::to_owned).collect(),
        profile: env!("CORETALK_PROFILE").to_owned(),
        opt_level: env!("CORETALK_OPT_LEVEL").to_owned(),
        ..BuildFacts::default()
    }
}

/// Implementation of atomic operations. Compilers for aarch64 call a helper, which detects the Large System Extensions
/// once. Without them it uses exclusive load-store pairs.
#[cfg(target_arch = "aarch64")]
fn atomics() -> Option<Atomics> {
    Some(if std::arch::is_aarch64_feature_detected!("lse") { Atomics::Lse } else { Atomics::LlSc })
}

/// Implementation of atomic operations. This architecture has only one.
#[cfg(not(target_arch = "aarch64"))]
fn atomics() -> Option<Atomics> {
    None
}

/// Versions of measured libraries. No allocator is bundled: messages on the heap use the allocator of the system.
fn libraries() -> BTreeMap<String, String> {
    let allocator = format!("malloc of {}", libc_version().as_deref().unwrap_or("the C library"));
    let versions = VERSIONS.map(|(name, version)| (name.to_owned(), version.to_owned()));
    versions.into_iter().chain([("allocator".to_owned(), allocator)]).collect()
}

/// Name and version of the C library, such as `glibc 2.36`; `None` if unknown.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn libc_version() -> Option<String> {
    // SAFETY: the function takes nothing. It returns a constant, NUL-terminated string of the C library.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

/// Name of the C library; musl does not report its version.
#[cfg(target_env = "musl")]
pub fn libc_version() -> Option<String> {
    Some("musl".to_owned())
}

/// Name and version of the C library, such as `glibc 2.36`; `None` if unknown.
#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl")))]
pub fn libc_version() -> Option<String> {
    None
}

/// CPUs removed from the kernel's scheduler (`isolcpus`); empty if unknown.
pub fn isolated(root: &SystemRoot) -> coretalk_model::CpuSet {
    root.list(&format!("{CPU}/isolated")).ok().flatten().unwrap_or_default()
}

/// Whether boost (turbo) is enabled. Drivers differ in file name and meaning.
pub fn boost(root: &SystemRoot) -> Option<bool> {
    let switch = |path: String| match root.peek(&path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    let no_turbo = || switch(format!("{CPU}/intel_pstate/no_turbo")).map(|off| !off);
    // Recent kernels have a switch per policy. Clocks can change if any switch is on.
    let policies = || {
        let policies = root.numbered(&format!("{CPU}/cpufreq"), "policy");
        policies.iter().filter_map(|policy| switch(format!("{CPU}/cpufreq/policy{policy}/boost"))).max()
    };
    switch(format!("{CPU}/cpufreq/boost")).or_else(no_turbo).or_else(policies)
}

/// Load average over one minute.
pub fn load_1min(root: &SystemRoot) -> Option<f64> {
    let load = root.peek("/proc/loadavg")?.split_whitespace().next()?.parse().ok()?;
    (0.0..f64::MAX).contains(&load).then_some(load)
}

pub(super) fn distinct(root: &SystemRoot, file: &str) -> Option<String> {
    let policies = root.numbered(&format!("{CPU}/cpufreq"), "policy");
    let mut values: Vec<String> = policies
        .iter()
        .filter_map(|policy| root.peek(&format!("{CPU}/cpufreq/policy{policy}/{file}")))
        .collect();
    if values.is_empty() {
        let cpus = root.numbered(CPU, "cpu");
        values.extend(cpus.iter().filter_map(|cpu| root.peek(&format!("{CPU}/cpu{cpu}/cpufreq/{file}"))));
    }
    values.sort_unstable();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Contents of `/proc/cpuinfo`, whose keys differ between architectures.
pub(super) struct CpuInfo(String);

impl CpuInfo {
    pub(super) fn read(root: &SystemRoot) -> CpuInfo {
        // Under an emulator the file describes another processor.
        let is_emulated = root.is_live() && platform::translated(root, std::env::consts::ARCH).is_some();
        CpuInfo(root.peek("/proc/cpuinfo").filter(|_| !is_emulated).unwrap_or_default())
    }

    pub(super) fn value(&self, key: &'static str) -> Option<&str> {
        self.values(key).next()
    }

    pub(super) fn values(&self, key: &'static str) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim()).filter(|value| !value.is_empty())
        })
    }

    /// Whether the processor has a feature flag of x86; `None` if there is no such list.
    pub(super) fn has_flag(&self, flag: &str) -> Option<bool> {
        self.value("flags").map(|flags| flags.split_whitespace().any(|name| name == flag))
    }
}

fn cpu_model(root: &SystemRoot, cpuinfo: &CpuInfo) -> Option<String> {
    let named = cpuinfo.value("model name").map(str::to_owned);
    named.or_else(|| brand(root)).or_else(|| arm_model(cpuinfo)).map(|name| squeeze(&name))
}

#[cfg(target_arch = "x86_64")]
fn brand(root: &SystemRoot) -> Option<String> {
    let brand = root.is_live().then(|| raw_cpuid::CpuId::new().get_processor_brand_string())??;
    Some(brand.as_str().to_owned()).filter(|name| !name.trim().is_empty())
}

#[cfg(not(target_arch = "x86_64"))]
fn brand(_root: &SystemRoot) -> Option<String> {
    None
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn firmware(root: &SystemRoot) -> Option<String> {
    let parts = ["bios_vendor", "bios_version", "bios_date"];
    let known: Vec<String> =
        parts.iter().filter_map(|part| root.peek(&format!("/sys/class/dmi/id/{part}"))).collect();
    (!known.is_empty()).then(|| squeeze(&known.join(" ")))
}

fn kernel(root: &SystemRoot) -> Option<String> {
    let name = root.peek("/proc/sys/kernel/ostype");
    let release = root.peek("/proc/sys/kernel/osrelease");
    let known: Vec<String> = name.into_iter().chain(release).collect();
    (!known.is_empty()).then(|| known.join(" "))
}

fn mitigations(root: &SystemRoot) -> BTreeMap<String, String> {
    let directory = format!("{CPU}/vulnerabilities");
    let states = root.names(&directory).into_iter();
    states.filter_map(|name| root.peek(&format!("{directory}/{name}")).map(|state| (name, state))).collect()
}

fn memory_bytes(root: &SystemRoot) -> Option<u64> {
    let meminfo = root.peek("/proc/meminfo")?;
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Implementer, part and name of `MIDR_EL1`, from the kernel's `arch/arm64/include/asm/cputype.h` and util-linux'
/// `lscpu`. Cores of small machines are left out and shown by number.
const CORES: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Arm Cortex-A53"),
    (0x41, 0xd04, "Arm Cortex-A35"),
    (0x41, 0xd05, "Arm Cortex-A55"),
    (0x41, 0xd07, "Arm Cortex-A57"),
    (0x41, 0xd08, "Arm Cortex-A72"),
    (0x41, 0xd09, "Arm Cortex-A73"),
    (0x41, 0xd0a, "Arm Cortex-A75"),
    (0x41, 0xd0b, "Arm Cortex-A76"),
    (0x41, 0xd0c, "Arm Neoverse-N1"),
    (0x41, 0xd0d, "Arm Cortex-A77"),
    (0x41, 0xd40, "Arm Neoverse-V1"),
    (0x41, 0xd41, "Arm Cortex-A78"),
    (0x41, 0xd44, "Arm Cortex-X1"),
    (0x41, 0xd46, "Arm Cortex-A510"),
    (0x41, 0xd47, "Arm Cortex-A710"),
    (0x41, 0xd48, "Arm Cortex-X2"),
    (0x41, 0xd49, "Arm Neoverse-N2"),
    (0x41, 0xd4a, "Arm Neoverse-E1"),
    (0x41, 0xd4b, "Arm Cortex-A78C"),
    (0x41, 0xd4d, "Arm Cortex-A715"),
    (0x41, 0xd4e, "Arm Cortex-X3"),
    (0x41, 0xd4f, "Arm Neoverse-V2"),
    (0x41, 0xd80, "Arm Cortex-A520"),
    (0x41, 0xd81, "Arm Cortex-A720"),
    (0x41, 0xd82, "Arm Cortex-X4"),
    (0x41, 0xd84, "Arm Neoverse-V3"),
    (0x41, 0xd85, "Arm Cortex-X925"),
    (0x41, 0xd87, "Arm Cortex-A725"),
    (0x41, 0xd8e, "Arm Neoverse-N3"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x46, 0x001, "Fujitsu A64FX"),
    (0x48, 0xd01, "HiSilicon Kunpeng-920"),
    (0x51, 0x001, "Qualcomm Oryon"),
    (0x61, 0x022, "Apple Icestorm"),
    (0x61, 0x023, "Apple Firestorm"),
    (0x61, 0x032, "Apple Blizzard"),
    (0x61, 0x033, "Apple Avalanche"),
    (0x6d, 0xd49, "Microsoft Azure Cobalt 100"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

/// Models of Arm cores in the order of their first CPU, joined by ` + `; `None` without model numbers.
fn arm_model(cpuinfo: &CpuInfo) -> Option<String> {
    let implementers = cpuinfo.values("CPU implementer").filter_map(hexadecimal);
    let parts = cpuinfo.values("CPU part").filter_map(hexadecimal);
    let mut names: Vec<String> = Vec::new();
    for (implementer, part) in implementers.zip(parts) {
        let name = match CORES.iter().find(|core| (core.0, core.1) == (implementer, part)) {
            Some((_, _, name)) => (*name).to_owned(),
            None => format!("Arm core (implementer {implementer:#04x}, part {part:#05x})"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    const POLICY0: &str = "/sys/devices/system/cpu/cpufreq/policy0";
    const POLICY1: &str = "/sys/devices/system/cpu/cpufreq/policy1";

    #[test]
    fn without_files_all_facts_of_the_system_are_unknown() {
        let environment = read_environment(SystemTree::new().root());
        let Environment { arch, libc, compiler, build, build_facts, tool_version, libraries, .. } =
            environment.clone();
        let unknown = Environment::default();
        let tool =
            Environment { arch, libc, compiler, build, build_facts, tool_version, libraries, ..unknown };
        assert_eq!(environment, tool);
    }

    #[test]
    fn the_tool_knows_how_it_was_built() {
        let environment = read_environment(SystemTree::new().root());
        assert!(environment.compiler.unwrap().starts_with("rustc "));
        let (build, facts) = (environment.build.unwrap(), environment.build_facts.unwrap());
        assert!(facts.target.starts_with(std::env::consts::ARCH) && build.contains(&facts.target));
        assert!(build.starts_with(&format!("{}, opt-level {}, ", facts.profile, facts.opt_level)), "{build}");
        let is_static = facts.features.iter().any(|feature| feature == "crt-static");
        assert_eq!(is_static, facts.linking == Linking::Static);
        assert_eq!(environment.tool_version, env!("CARGO_PKG_VERSION"));
        assert!(environment.libraries["rtrb"].starts_with(|first: char| first.is_ascii_digit()));
        assert!(environment.libraries["allocator"].starts_with("malloc of "));
    }

    #[test]
    fn facts_of_a_server_are_read() {
        let tree = SystemTree::with_files(&[
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
            assert_eq!(
                boost(SystemTree::with_files(&[(&path, content)]).root()),
                expected,
                "{path} {content}"
            );
        }
    }

    #[test]
    fn a_governor_is_found_without_policies_too() {
        let tree = SystemTree::new().each("0-3", "cpufreq/scaling_governor", "ondemand");
        assert_eq!(distinct(tree.root(), "scaling_governor").as_deref(), Some("ondemand"));
    }

    #[test]
    fn arm_cores_get_their_names_once_and_unknown_ones_keep_their_numbers() {
        let cpuinfo = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
            processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\n\
            processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n\n\
            processor\t: 3\nCPU implementer\t: 0x51\nCPU part\t: 0xfff\n";
        let tree = SystemTree::with_files(&[("/proc/cpuinfo", cpuinfo)]);
        let names = "Arm Cortex-A55 + Arm Cortex-A76 + Arm core (implementer 0x51, part 0xfff)";
        assert_eq!(read_environment(tree.root()).cpu_model.as_deref(), Some(names));
    }

    #[test]
    fn invalid_numbers_are_unknown() {
        let tree = SystemTree::with_files(&[
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
}
