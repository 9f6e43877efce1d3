//! How much the last-level caches hold that some CPUs share, and how much memory there is to go beyond them.

use coretalk_model::{CpuId, CpuSet};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes that all last-level caches of these CPUs hold together; `None` where the system does not say so of each.
pub fn last_level_bytes(cpus: &CpuSet) -> Option<u64> {
    within(Path::new("/sys/devices/system/cpu"), cpus)
}

fn within(root: &Path, cpus: &CpuSet) -> Option<u64> {
    let caches: Option<BTreeMap<String, u64>> = cpus.iter().map(|cpu| last_level(root, cpu)).collect();
    // One entry for each cache, named by who shares it.
    caches.filter(|caches| !caches.is_empty()).map(|caches| caches.values().sum())
}

/// Who shares the highest cache of a CPU, and what it holds.
fn last_level(root: &Path, cpu: CpuId) -> Option<(String, u64)> {
    let folder = root.join(format!("cpu{cpu}/cache"));
    let caches = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let read =
            |name: &str| Some(std::fs::read_to_string(entry.path().join(name)).ok()?.trim().to_owned());
        let level: u32 = read("level")?.parse().ok()?;
        Some((level, read("shared_cpu_list")?, bytes(&read("size")?)?))
    });
    caches.max_by_key(|(level, ..)| *level).map(|(_, sharers, bytes)| (sharers, bytes))
}

/// `32768K`, `36M`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "" => 1,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Bytes of memory that can be had without swapping; `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cache_counts_once_however_many_share_it() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, index, level, sharers, size) in [
            (0, 0, "1", "0", "32K"),
            (0, 3, "3", "0-1", "32768K"),
            (1, 3, "3", "0-1", "32768K"),
            (2, 3, "3", "2-3", "16M"),
        ] {
            let folder = root.path().join(format!("cpu{cpu}/cache/index{index}"));
            std::fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("shared_cpu_list", sharers), ("size", size)] {
                std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        let of = |list: &str| within(root.path(), &list.parse().unwrap());
        assert_eq!(of("0-1"), Some(32 << 20));
        assert_eq!(of("0-2"), Some(48 << 20));
        // Of CPU 3 nothing is known: a part is no answer.
        assert_eq!(of("0-3"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            [bytes("512"), bytes("8M"), bytes("1G"), bytes("8T"), bytes("M")],
            [Some(512), Some(8 << 20), Some(1 << 30), None, None]
        );
    }
}
