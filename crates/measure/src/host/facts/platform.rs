//! [`Platform`]: what stands between this process and the hardware.

use super::CpuInfo;
use crate::host::root::SystemRoot;

/// What stands between this process and the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The hypervisor: `kvm`, `vmware`, `hyper-v`, `xen` …, or `unnamed` where the processor only says that there is
    /// one. `None` where nothing points to one.
    pub hypervisor: Option<String>,
    /// The emulator that executes every instruction: no number would say anything about hardware.
    pub emulator: Option<String>,
    /// Windows Subsystem for Linux.
    pub wsl: Option<Wsl>,
    /// Whether the absence of a hypervisor is a statement of the processor rather than silence: x86 has a bit for
    /// it, other architectures do not.
    pub speaks: bool,
}

/// The two kinds of Windows Subsystem for Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wsl {
    /// System calls translated by Windows.
    One,
    /// A Linux kernel under Hyper-V.
    Two,
}

impl Platform {
    /// Asks the processor (only on the live system), then `/sys/hypervisor`, the device tree, DMI and
    /// `/proc/cpuinfo`.
    pub fn read(root: &SystemRoot) -> Platform {
        let cpuinfo = CpuInfo::read(root);
        let signature = if root.is_live() { live_signature() } else { None };
        Platform::of(root, &cpuinfo, signature.as_deref())
    }

    fn of(root: &SystemRoot, cpuinfo: &CpuInfo, signature: Option<&str>) -> Platform {
        let flag = cpuinfo.has_flag("hypervisor");
        let wsl = wsl(root);
        let hypervisor = signature
            .map(named)
            .or_else(|| root.peek("/sys/hypervisor/type"))
            .or_else(|| device_tree(root))
            // A processor that denies a hypervisor is right: clouds name themselves in DMI on bare metal too.
            .or_else(|| dmi(root).filter(|_| flag != Some(false)))
            .or_else(|| (flag == Some(true)).then(|| "unnamed".to_owned()))
            .or_else(|| wsl.map(|_| "hyper-v".to_owned()));
        let emulator = emulator(cpuinfo, signature);
        Platform { hypervisor, emulator, wsl, speaks: signature.is_some() || flag.is_some() }
    }
}

/// The twelve letters of CPUID leaf 0x4000_0000.
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
        "" => "unnamed",
        "XenVMMXenVMM" => "xen",
        "VMwareVMware" => "vmware",
        "Microsoft Hv" => "hyper-v",
        // KVM that offers Windows the interface of Hyper-V.
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

/// `linux,kvm` or `xen,xen-4.11`, NUL-separated, where a hypervisor wrote the device tree.
fn device_tree(root: &SystemRoot) -> Option<String> {
    let compatible = root.peek("/proc/device-tree/hypervisor/compatible")?;
    let first = compatible.split('\0').find(|name| !name.is_empty())?;
    Some(match first.split_once(',') {
        Some((_, "kvm")) => "kvm".to_owned(),
        Some(("xen", _)) => "xen".to_owned(),
        _ => first.to_owned(),
    })
}

/// Makers of virtual machines; the only sign on many Arm guests.
fn dmi(root: &SystemRoot) -> Option<String> {
    let field = |name: &str| root.peek(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product) = (field("sys_vendor"), field("product_name"));
    // The metal instances of this cloud carry its name without a hypervisor.
    if product.ends_with(".metal") || product.contains("-metal") {
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
    by_vendor
        .or_else(|| is_hyper_v.then(|| "hyper-v".to_owned()))
        .or_else(|| product.starts_with("KVM").then(|| "kvm".to_owned()))
}

/// Emulators that say so: QEMU without an accelerator in its CPUID leaf or model name, Rosetta in its vendor.
fn emulator(cpuinfo: &CpuInfo, signature: Option<&str>) -> Option<String> {
    let has = |key: &'static str, text: &str| cpuinfo.value(key).is_some_and(|value| value.contains(text));
    if signature == Some("TCGTCGTCGTCG") || has("model name", "TCG") {
        return Some("qemu-tcg".to_owned());
    }
    (has("vendor_id", "VirtualApple") || has("model name", "VirtualApple")).then(|| "rosetta".to_owned())
}

/// Kernels of both kinds carry the maker in their release: `4.4.0-19041-Microsoft`, `5.15.90.1-microsoft-standard-WSL2`.
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
    use crate::host::fixture::Tree;

    fn hypervisor(files: &[(&str, &str)], signature: Option<&str>) -> Option<String> {
        let tree = Tree::of(files);
        Platform::of(tree.root(), &CpuInfo::read(tree.root()), signature).hypervisor
    }

    const GUEST: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc hypervisor lahf_lm\n");
    const METAL: (&str, &str) = ("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc lahf_lm\n");
    const EC2: (&str, &str) = ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");

    #[test]
    fn the_processor_names_its_hypervisor() {
        for (signature, name) in [
            ("KVMKVMKVM", "kvm"),
            ("VMwareVMware", "vmware"),
            ("bhyve bhyve ", "bhyve"),
            ("SomethingNew", "SomethingNew"),
            ("", "unnamed"),
        ] {
            assert_eq!(hypervisor(&[GUEST], Some(signature)).as_deref(), Some(name));
        }
    }

    #[test]
    fn without_the_processors_word_files_are_asked() {
        assert_eq!(hypervisor(&[("/sys/hypervisor/type", "xen\n")], None).as_deref(), Some("xen"));
        assert_eq!(
            hypervisor(&[("/proc/device-tree/hypervisor/compatible", "linux,kvm\0")], None).as_deref(),
            Some("kvm")
        );
        assert_eq!(hypervisor(&[EC2], None).as_deref(), Some("kvm"));
        assert_eq!(hypervisor(&[GUEST], None).as_deref(), Some("unnamed"));
    }

    #[test]
    fn bare_metal_of_a_cloud_is_no_guest() {
        assert_eq!(hypervisor(&[METAL, EC2], None), None);
        assert_eq!(hypervisor(&[EC2, ("/sys/class/dmi/id/product_name", "c6g.metal\n")], None), None);
    }

    #[test]
    fn silence_is_not_a_statement() {
        let speaks = |files: &[(&str, &str)]| Platform::read(Tree::of(files).root()).speaks;
        assert!(speaks(&[METAL]) && speaks(&[GUEST]));
        assert!(!speaks(&[]) && !speaks(&[("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n")]));
    }

    #[test]
    fn emulators_are_recognised() {
        let emulator = |cpuinfo: &str, signature| {
            let tree = Tree::of(&[("/proc/cpuinfo", cpuinfo)]);
            Platform::of(tree.root(), &CpuInfo::read(tree.root()), signature).emulator
        };
        assert_eq!(emulator("", Some("TCGTCGTCGTCG")).as_deref(), Some("qemu-tcg"));
        assert_eq!(emulator("model name : QEMU TCG CPU version 2.5+", None).as_deref(), Some("qemu-tcg"));
        assert_eq!(emulator("vendor_id : VirtualApple", None).as_deref(), Some("rosetta"));
        assert_eq!(emulator("model name : QEMU Virtual CPU version 2.5+", Some("KVMKVMKVM")), None);
    }

    #[test]
    fn both_kinds_of_wsl_are_told_apart_from_azure() {
        let wsl =
            |release: &str| Platform::read(Tree::of(&[("/proc/sys/kernel/osrelease", release)]).root()).wsl;
        assert_eq!(wsl("5.15.153.1-microsoft-standard-WSL2\n"), Some(Wsl::Two));
        assert_eq!(wsl("4.4.0-19041-Microsoft\n"), Some(Wsl::One));
        assert_eq!(wsl("6.8.0-1014-azure\n"), None);
    }
}
