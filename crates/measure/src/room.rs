//! [`Room`]: how much memory this process may still take.

use crate::host::root::SystemRoot;

/// How much memory this process may still take, as the system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// So much.
    pub bytes: u64,
    /// What bounds it.
    pub bound: Bound,
}

/// What bounds the memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The limit of its address space, which counts what is reserved as well (`ulimit -v`).
    AddressSpace,
    /// What the system could give without pushing others out (`MemAvailable`).
    Available,
}

impl Room {
    /// Of this process; `None` where the system does not say.
    pub fn of_this_process() -> Option<Room> {
        Room::of(&SystemRoot::live())
    }

    fn of(root: &SystemRoot) -> Option<Room> {
        let available = kilobytes(root, "/proc/meminfo", "MemAvailable:")
            .map(|bytes| Room { bytes, bound: Bound::Available });
        let limited = address_limit(root).map(|limit| {
            let taken = kilobytes(root, "/proc/self/status", "VmSize:").unwrap_or(0);
            Room { bytes: limit.saturating_sub(taken), bound: Bound::AddressSpace }
        });
        [available, limited].into_iter().flatten().min_by_key(|room| room.bytes)
    }
}

/// `Max address space         unlimited            unlimited            bytes`: name, soft limit, hard limit (`man 2
/// getrlimit`).
fn address_limit(root: &SystemRoot) -> Option<u64> {
    let limits = root.peek("/proc/self/limits")?;
    let values = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    values.split_whitespace().next()?.parse().ok()
}

/// `MemAvailable:   12345 kB`.
fn kilobytes(root: &SystemRoot, file: &str, name: &str) -> Option<u64> {
    let text = root.peek(file)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(limit: &str, available: &str) -> Option<Room> {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: String| {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "proc/self/limits",
            format!("Max cpu time  unlimited\nMax address space  {limit}  unlimited bytes\n"),
        );
        write("proc/self/status", "Name: x\nVmSize:\t  1000 kB\n".into());
        write("proc/meminfo", format!("MemTotal: 9000 kB\n{available}\n"));
        Room::of(&SystemRoot::new(folder.path()))
    }

    #[test]
    fn the_smaller_bound_counts_and_what_is_not_said_is_unknown() {
        let available = "MemAvailable:    4000 kB";
        let expect = |bytes, bound| Some(Room { bytes, bound });
        assert_eq!(room("unlimited", available), expect(4000 << 10, Bound::Available));
        assert_eq!(room("3072000", available), expect(2000 << 10, Bound::AddressSpace));
        assert_eq!(room("1000", available), expect(0, Bound::AddressSpace), "more is taken than is allowed");
        assert_eq!(room("unlimited", "MemFree: 7 kB"), None);
        assert_eq!(Room::of(&SystemRoot::new("/nonexistent")), None);
    }
}
