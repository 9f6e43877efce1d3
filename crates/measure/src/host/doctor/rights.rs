//! Checks of what this process is granted and what it runs on.

use super::{LiveFacts, Report};
use crate::host::root::SystemRoot;
use coretalk_model::Verdict;

/// Bits of `CapEff` (`linux/capability.h`).
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

/// A limit of 40 allows nice −20 (`man 2 getrlimit`).
const NICE_MINUS_20: u64 = 40;

/// What the kernel grants every process since Linux 5.16, and more than the lines of one pair take.
const ENOUGH_LOCKED_BYTES: u64 = 8 << 20;

pub(super) fn rlimits(root: &SystemRoot, _: &LiveFacts) -> Report {
    let limit = |name: &str| soft_limit(root, name);
    let (nice, memlock) = (limit("Max nice priority"), limit("Max locked memory"));
    let (Some(nice), Some(memlock)) = (nice, memlock) else {
        return Report::new(Verdict::CannotTell, "the system does not report the limits of this process");
    };
    let may_raise = has_capability(root, CAP_SYS_NICE) || nice >= NICE_MINUS_20;
    let may_lock = has_capability(root, CAP_IPC_LOCK) || memlock >= ENOUGH_LOCKED_BYTES;
    let lacking = match (may_raise, may_lock) {
        (true, true) => return Report::new(Verdict::Ok, "priority can be raised and memory locked"),
        (false, true) => "priority cannot be raised",
        (true, false) => "memory cannot be locked",
        (false, false) => "neither can priority be raised nor memory locked",
    };
    Report::new(Verdict::Warn, format!("{lacking}: other programs disturb measurements more often"))
        .fix("sudo setcap cap_sys_nice,cap_ipc_lock+ep \"$(command -v coretalk)\"")
}

/// `Max nice priority         0                    0`: name, soft limit, hard limit.
fn soft_limit(root: &SystemRoot, name: &str) -> Option<u64> {
    let limits = root.peek("/proc/self/limits")?;
    let values = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match values.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// Whether the kernel honours this capability. It looks at the first user name space only: the root of a container
/// with its own carries every bit and may do none of this.
fn has_capability(root: &SystemRoot, bit: u32) -> bool {
    let is_first =
        root.peek("/proc/self/uid_map").is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]));
    let status = root.peek("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    is_first && bits >> bit & 1 == 1
}

pub(super) fn libc(_: &SystemRoot, live: &LiveFacts) -> Report {
    match live.libc {
        None => Report::new(Verdict::CannotTell, "the C library does not identify itself"),
        Some(library) if library.starts_with("glibc") => {
            Report::new(Verdict::Ok, format!("C library {library}"))
        }
        Some(library) => Report::new(
            Verdict::Warn,
            format!("C library {library}: wake-up, lock and spawn times differ from those of glibc"),
        )
        .fix(format!("cargo build --release --target {}-unknown-linux-gnu", std::env::consts::ARCH)),
    }
}

pub(super) fn microcode(root: &SystemRoot, _: &LiveFacts) -> Report {
    match root.peek("/sys/devices/system/cpu/vulnerabilities/old_microcode").as_deref() {
        Some("Not affected") => Report::new(Verdict::Ok, "the kernel knows of no newer microcode"),
        Some(state) if state.starts_with("Vulnerable") => {
            Report::new(Verdict::Warn, "newer microcode exists: an update may change numbers")
                .fix("sudo fwupdmgr update")
        }
        _ => Report::new(Verdict::CannotTell, "the kernel does not report whether the microcode is current"),
    }
}
