//! [`Platform`]: a hypervisor, emulator or other layer below this process.

use super::CpuInfo;
use crate::host::root::SystemRoot;
use coretalk_model::environment::UNNAMED;

/// Layers between this process and the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// Hypervisor: `kvm`, `vmware`, `hyper-v`, `xen` and others, or `unnamed`; `None` without evidence.
    pub hypervisor: Option<String>,
    /// Emulator that executes every instruction. Results would not describe the hardware.
    pub emulator: Option<String>,
    /// Windows Subsystem for Linux.
    pub wsl: Option<Wsl>,
    /// Whether the system runs directly on the hardware; `None` if unknown. Only x86 has a flag for it.
    pub bare_metal: Option<bool>,
    /// Where the layer was found.
    pub evidence: Option<String>,
}

/// Version of Windows Subsystem for Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wsl {
    /// WSL 1: Windows translates system calls.
    One,
    /// WSL 2: a Linux kernel under Hyper-V.
    Two,
}

impl Platform {
    /// Reads CPUID (only on the live system), then `/sys/hypervisor`, the device tree, DMI and `/proc/cpuinfo`.
    pub fn read(root: &SystemRoot) -> Platform {
        let cpuinfo = CpuInfo::read(root);
        let signature = if root.is_live() { live_signature() } else { None };
        let platform = Platform::detect(root, &cpuinfo, signature.as_deref());
        match root.is_live().then(|| translated(root, std::env::consts::ARCH)).flatten() {
            Some(translated) => platform.under_emulator(translated),
            None => platform,
        }
    }

    /// Replaces facts that a user-mode emulator makes invalid: the files describe another processor.
    fn under_emulator(self, Translated { emulator, evidence }: Translated) -> Platform {
        Platform {
            hypervisor: None,
            emulator: Some(emulator),
            bare_metal: Some(false),
            evidence: Some(evidence),
            ..self
        }
    }

    fn detect(root: &SystemRoot, cpuinfo: &CpuInfo, signature: Option<&str>) -> Platform {
        let flag = cpuinfo.has_flag("hypervisor");
        let (wsl, emulator) = (wsl(root), emulator(cpuinfo, signature));
        let found = signature
            .map(|letters| (named(letters), format!("CPUID leaf 0x40000000: `{}`", letters.trim())))
            .or_else(|| Some((root.peek(TYPE)?, TYPE.to_owned())))
            .or_else(|| device_tree(root))
            // DMI is ignored if the processor denies a hypervisor, since clouds also name themselves there on bare
            // metal.
            .or_else(|| dmi(root).filter(|_| flag != Some(false)))
            .or_else(|| (flag == Some(true)).then(|| (UNNAMED.to_owned(), "CPUID: hypervisor".to_owned())))
            .or_else(|| wsl.map(|_| ("hyper-v".to_owned(), "the kernel is that of WSL".to_owned())));
        let denied = || {
            let by_processor = (flag == Some(false)).then(|| "CPUID: no hypervisor".to_owned());
            by_processor.or_else(|| Some(format!("DMI: product `{}`", metal(root)?)))
        };
        let (hypervisor, bare_metal, evidence) = match (found, &emulator) {
            (Some((name, evidence)), _) => (Some(name), Some(false), Some(evidence)),
            (None, Some(emulator)) => (None, Some(false), Some(format!("{emulator} emulates the processor"))),
            (None, None) => {
                let evidence = denied();
                (None, evidence.is_some().then_some(true), evidence)
            }
        };
        Platform { hypervisor, emulator, wsl, bare_metal, evidence }
    }
}

const TYPE: &str = "/sys/hypervisor/type";

/// Signature in CPUID leaf 0x4000_0000, twelve characters.
#[cfg(target_arch = "x86_64")]
fn live_signature() -> Option<String> {
    use raw_cpuid::Hypervisor;
    let named = match raw_cpuid::CpuId::new().get_hypervisor_info()?.identify() {
        Hypervisor::Xen => "XenVMMXenVMM",
        Hypervisor::VMware => "VMwareVMware",
        Hypervisor::HyperV => "Microsoft Hv",
        Hypervisor::KVM => "KVMKVMKVM",
        Hypervisor::QEMU => "TCGTCGTCGTCG",
        Hypervisor::Bhyve => "bhyve bhyve ",
        Hypervisor::QNX => " QNXQVMBSQG ",
        Hypervisor::ACRN => "ACRNACRNACRN",
        Hypervisor::Unknown(ebx, ecx, edx) => {
            let bytes: Vec<u8> = [ebx, ecx, edx].iter().flat_map(|word| word.to_le_bytes()).collect();
            return Some(bytes.iter().map(|&byte| char::from(byte)).filter(char::is_ascii_graphic).collect());
        }
    };
    Some(named.to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn live_signature() -> Option<String> {
    None
}

fn named(signature: &str) -> String {
    match signature.trim() {
        "" => UNNAMED,
        "XenVMMXenVMM" => "xen",
        "VMwareVMware" => "vmware",
        "Microsoft Hv" => "hyper-v",
        // KVM that offers the interface of Hyper-V to Windows.
        "KVMKVMKVM" | "Linux KVM Hv" => "kvm",
        "TCGTCGTCGTCG" => "qemu-tcg",
        "bhyve bhyve" => "bhyve",
        "QNXQVMBSQG" => "qnx",
        "ACRNACRNACRN" => "acrn",
        "VBoxVBoxVBox" => "virtualbox",
        "prl hyperv" | "lrpepyh vr" => "parallels",
        other => return other.to_owned(),
    }
    .to_owned()
}

/// Hypervisor from the device tree: `linux,kvm` or `xen,xen-4.11` (NUL-separated). A board that only virtual machines
/// have counts as well, emulated or not: `linux,dummy-virt` of QEMU, kvmtool, crosvm and Firecracker.
fn device_tree(root: &SystemRoot) -> Option<(String, String)> {
    const HYPERVISOR: &str = "/proc/device-tree/hypervisor/compatible";
    const BOARD: &str = "/proc/device-tree/compatible";
    let names = |path: &str| root.peek(path).unwrap_or_default();
    let (hypervisor, board) = (names(HYPERVISOR), names(BOARD));
    if let Some(first) = hypervisor.split('\0').find(|name| !name.is_empty()) {
        let name = match first.split_once(',') {
            Some((_, "kvm")) => "kvm",
            Some(("xen", _)) => "xen",
            _ => first,
        };
        return Some((name.to_owned(), format!("{HYPERVISOR}: `{first}`")));
    }
    let virt = board.split('\0').find(|name| *name == "linux,dummy-virt")?;
    Some((UNNAMED.to_owned(), format!("{BOARD}: `{virt}`")))
}

/// Product name of a cloud's bare-metal machine. It has the cloud's name but no hypervisor.
fn metal(root: &SystemRoot) -> Option<String> {
    let product = root.peek("/sys/class/dmi/id/product_name")?;
    (product.ends_with(".metal") || product.contains("-metal")).then_some(product)
}

/// Vendors of virtual machines. On many Arm guests this is the only evidence.
fn dmi(root: &SystemRoot) -> Option<(String, String)> {
    let field = |name: &str| root.peek(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product) = (field("sys_vendor"), field("product_name"));
    if metal(root).is_some() {
        return None;
    }
    let known = [
        ("QEMU", "qemu"),
        ("VMware", "vmware"),
        ("innotek", "virtualbox"),
        ("Amazon EC2", "kvm"),
        ("Google", "kvm"),
        ("Xen", "xen"),
        ("Parallels", "parallels"),
    ];
    let by_vendor =
        known.iter().find(|(maker, _)| vendor.starts_with(maker)).map(|(_, name)| (*name).to_owned());
    let is_hyper_v = vendor.starts_with("Microsoft") && product == "Virtual Machine";
    let name = by_vendor
        .or_else(|| is_hyper_v.then(|| "hyper-v".to_owned()))
        .or_else(|| product.starts_with("KVM").then(|| "kvm".to_owned()))?;
    Some((name, format!("DMI: vendor `{vendor}`")))
}

/// Emulators that identify themselves: QEMU without accelerator by CPUID leaf or model name, Rosetta by vendor.
fn emulator(cpuinfo: &CpuInfo, signature: Option<&str>) -> Option<String> {
    let has = |key: &'static str, text: &str| cpuinfo.value(key).is_some_and(|value| value.contains(text));
    if signature == Some("TCGTCGTCGTCG") || has("model name", "TCG") {
        return Some("qemu-tcg".to_owned());
    }
    (has("vendor_id", "VirtualApple") || has("model name", "VirtualApple")).then(|| "rosetta".to_owned())
}

/// A user-mode emulator. The kernel has another architecture, and its description of processors does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Translated {
    emulator: String,
    evidence: String,
}

/// The emulator of a program for this architecture; `None` if the kernel has the same architecture or does not report
/// it. Linux 6.1 has a file for the architecture. On older kernels the keys of `/proc/cpuinfo` distinguish x86 from
/// Arm, unless the emulator replaces that file.
pub(super) fn translated(root: &SystemRoot, arch: &str) -> Option<Translated> {
    const KERNEL: &str = "/proc/sys/kernel/arch";
    const CPUS: &str = "/proc/cpuinfo";
    let (x86, arm) = ("x86_64", "aarch64");
    let cpuinfo = CpuInfo(root.peek(CPUS).unwrap_or_default());
    let by_keys = || {
        let if_present = |key, arch| cpuinfo.value(key).map(|_| (arch, format!("{CPUS} has `{key}`")));
        if_present("vendor_id", x86).or_else(|| if_present("CPU implementer", arm))
    };
    let by_kernel = root.peek(KERNEL).map(|named| (named.clone(), format!("{KERNEL}: `{named}`")));
    let (of_kernel, evidence) =
        by_kernel.or_else(|| by_keys().map(|(arch, evidence)| (arch.to_owned(), evidence)))?;
    if ![x86, arm].contains(&arch) || ![x86, arm].contains(&of_kernel.as_str()) || of_kernel == arch {
        return None;
    }
    // QEMU replaces the executable link of the process, but not the link of its thread.
    let executable = root.executable_of_thread();
    let emulator =
        executable.filter(|name| name.starts_with("qemu-")).unwrap_or_else(|| "a user-mode emulator".into());
    let evidence = format!("the kernel is of {of_kernel} ({evidence}), this program of {arch}");
    Some(Translated { emulator, evidence })
}

/// The version of WSL. Both name the vendor in the kernel release: `4.4.0-19041-Microsoft`,
/// `5.15.90.1-microsoft-standard-WSL2`.
fn wsl(root: &SystemRoot) -> Option<Wsl> {
    let release = root.peek("/proc/sys/kernel/osrelease")?;
    match (
        release.contains("WSL2") || release.contains("microsoft-standard"),
        release.ends_with("-Microsoft"),
    ) {
        (true, _) => Some(Wsl::Two),
        (false, true) => Some(Wsl::One),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    fn platform(files: &[(&str, &str)], signature: Option<&str>) -> Platform {
        let tree = SystemTree::with_files(files);
        Platform::detect(tree.root(), &CpuInfo::read(tree.root()), signature)
    }

    const GUEST: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc hypervisor lahf_lm\n");
    const METAL: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc lahf_lm\n");
    const ARM: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
    const EC2: (&str, &str) = ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");

    const C6G_METAL: (&str, &str) = ("/sys/class/dmi/id/product_name", "c6g.metal\n");
    const BOARD: (&str, &str) = ("/proc/device-tree/compatible", "linux,dummy-virt\0");

    #[test]
    fn a_signature_or_else_files_name_the_hypervisor() {
        for (files, signature, name) in [
            (&[GUEST][..], Some("KVMKVMKVM"), Some("kvm")),
            (&[GUEST], Some("VMwareVMware"), Some("vmware")),
            (&[GUEST], Some("bhyve bhyve "), Some("bhyve")),
            (&[GUEST], Some("SomethingNew"), Some("SomethingNew")),
            (&[GUEST], Some(""), Some("unnamed")),
            (&[("/sys/hypervisor/type", "xen\n")], None, Some("xen")),
            (&[("/proc/device-tree/hypervisor/compatible", "linux,kvm\0")], None, Some("kvm")),
            (&[EC2], None, Some("kvm")),
            (&[GUEST], None, Some("unnamed")),
            (&[ARM, BOARD], None, Some("unnamed")),
            (&[METAL, EC2], None, None),
            (&[EC2, C6G_METAL], None, None),
        ] {
            assert_eq!(platform(files, signature).hypervisor.as_deref(), name, "{files:?} {signature:?}");
        }
    }

    #[test]
    fn without_evidence_bare_metal_is_unknown() {
        let bare = |files: &[(&str, &str)]| Platform::read(SystemTree::with_files(files).root()).bare_metal;
        assert_eq!([bare(&[METAL]), bare(&[ARM, EC2, C6G_METAL])], [Some(true); 2]);
        assert_eq!([bare(&[GUEST]), bare(&[ARM, BOARD]), bare(&[ARM, EC2])], [Some(false); 3]);
        assert_eq!([bare(&[]), bare(&[ARM])], [None, None]);
        assert_eq!(bare(&[("/proc/cpuinfo", "vendor_id : VirtualApple")]), Some(false), "an emulator");
    }

    #[test]
    fn platform_facts_have_evidence() {
        for (files, signature, evidence) in [
            (&[GUEST][..], Some("KVMKVMKVM"), Some("CPUID leaf 0x40000000: `KVMKVMKVM`")),
            (&[METAL], None, Some("CPUID: no hypervisor")),
            (&[EC2], None, Some("DMI: vendor `Amazon EC2`")),
            (&[], None, None),
        ] {
            assert_eq!(platform(files, signature).evidence.as_deref(), evidence, "{files:?}");
        }
    }

    #[test]
    fn emulators_are_recognised() {
        for (cpuinfo, signature, emulator) in [
            ("", Some("TCGTCGTCGTCG"), Some("qemu-tcg")),
            ("model name : QEMU TCG CPU version 2.5+", None, Some("qemu-tcg")),
            ("vendor_id : VirtualApple", None, Some("rosetta")),
            ("model name : QEMU Virtual CPU version 2.5+", Some("KVMKVMKVM"), None),
        ] {
            let platform = platform(&[("/proc/cpuinfo", cpuinfo)], signature);
            assert_eq!(platform.emulator.as_deref(), emulator, "{cpuinfo}");
        }
    }

    #[test]
    fn a_program_of_another_architecture_than_its_kernel_is_emulated() {
        let x86 = ("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n");
        let arm = ("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n");
        let kernel = ("/proc/sys/kernel/arch", "x86_64\n");
        let emulator = |files: &[(&str, &str)], arch| translated(SystemTree::with_files(files).root(), arch);
        let evidence =
            |files: &[(&str, &str)], arch| emulator(files, arch).map(|translated| translated.evidence);
        assert_eq!(
            evidence(&[x86], "aarch64").as_deref(),
            Some("the kernel is of x86_64 (/proc/cpuinfo has `vendor_id`), this program of aarch64")
        );
        assert_eq!(
            evidence(&[arm, kernel], "aarch64").as_deref(),
            Some("the kernel is of x86_64 (/proc/sys/kernel/arch: `x86_64`), this program of aarch64"),
            "an emulator that writes that file itself"
        );
        assert!(emulator(&[arm], "x86_64").is_some());
        for (files, arch) in
            [(&[x86, kernel][..], "x86_64"), (&[arm], "aarch64"), (&[], "aarch64"), (&[x86], "riscv64")]
        {
            assert_eq!(emulator(files, arch), None, "{arch}");
        }
        let guest = platform(&[x86], None);
        assert_eq!(guest.hypervisor.as_deref(), Some("unnamed"));
        let emulated = guest.under_emulator(emulator(&[x86], "aarch64").unwrap());
        assert_eq!((emulated.hypervisor, emulated.bare_metal), (None, Some(false)), "that of another system");
        assert_eq!(emulated.emulator.as_deref(), Some("a user-mode emulator"));
    }

    #[test]
    fn both_kinds_of_wsl_are_distinguished_from_azure() {
        let wsl = |release: &str| {
            Platform::read(SystemTree::with_files(&[("/proc/sys/kernel/osrelease", release)]).root()).wsl
        };
        assert_eq!(wsl("5.15.153.1-microsoft-standard-WSL2\n"), Some(Wsl::Two));
        assert_eq!(wsl("4.4.0-19041-Microsoft\n"), Some(Wsl::One));
        assert_eq!(wsl("6.8.0-1014-azure\n"), None);
    }
}
