//! Names of Arm cores, which `/proc/cpuinfo` gives as numbers only.

use super::CpuInfo;

/// Implementer, part, name: `MIDR_EL1` as the kernel's `arch/arm64/include/asm/cputype.h` and util-linux' `lscpu`
/// name it. Only cores of machines that people measure; others keep their numbers.
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

/// The kinds of core, in the order of their first CPU, joined by ` + `; `None` where there are no such numbers.
pub(super) fn model(cpuinfo: &CpuInfo) -> Option<String> {
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
