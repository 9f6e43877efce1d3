//! [`Room`]: the memory that this process may still allocate.

use crate::host::cgroup::free_memory;
use crate::host::root::SystemRoot;

/// The memory that this process may still allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Number of bytes.
    pub bytes: u64,
    /// The limiting resource.
    pub bound: Bound,
}

/// The limit on a process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The limit of the address space, which includes reserved memory (`ulimit -v`).
    AddressSpace,
    /// Memory of the system and the control groups that is available without eviction (`MemAvailable`, `memory.max`).
    Available,
}

impl Room {
    /// The room of this process; `None` if the system does not report it.
    pub fn of_this_process() -> Option<Room> {
        Room::read(&SystemRoot::live())
    }

    fn read(root: &SystemRoot) -> Option<Room> {
        let available = available_in(root).map(|bytes| Room { bytes, bound: Bound::Available });
        let limited = address_limit(root).map(|limit| {
            let taken = kilobytes(root, "/proc/self/status", "VmSize:").unwrap_or(0);
            Room { bytes: limit.saturating_sub(taken), bound: Bound::AddressSpace }
        });
        [available, limited].into_iter().flatten().min_by_key(|room| room.bytes)
    }
}

/// Memory of a thread: its counters, and the touched pages of its user and kernel stacks.
const THREAD_BYTES: u64 = 1 << 20;

/// The reason why there is no memory for this many threads; `None` if there is enough, or if it is unknown.
pub fn lacking_for_threads(threads: usize) -> Option<String> {
    let needed = threads as u64 * THREAD_BYTES;
    let available = available_bytes()?;
    (needed > available).then(|| {
        let [needed, free] = [needed, available].map(|bytes| bytes >> 20);
        format!("{threads} threads need about {needed} MiB of memory, and {free} MiB are free")
    })
}

/// Memory left for other programs. With less, the kernel may kill one of them.
const RESERVE_BYTES: u64 = 32 << 20;

/// The reason why this much memory is unavailable without harm to others; `None` if it is available or unknown.
pub fn lacking(bytes: u64) -> Option<String> {
    let available = available_bytes()?;
    (bytes + RESERVE_BYTES > available).then(|| {
        let [needed, kept, free] = [bytes, RESERVE_BYTES, available].map(|bytes| bytes >> 20);
        format!("{needed} MiB are needed, {kept} MiB stay free for other programs, and {free} MiB are free")
    })
}

/// Bytes available without swapping; `None` if the system does not report them.
pub fn available_bytes() -> Option<u64> {
    available_in(&SystemRoot::live())
}

fn available_in(root: &SystemRoot) -> Option<u64> {
    let system_bytes = kilobytes(root, "/proc/meminfo", "MemAvailable:");
    system_bytes.into_iter().chain(free_memory(root)).min()
}

/// Parses a line with name, soft limit and hard limit (`man 2 getrlimit`):
/// `Max address space         unlimited            unlimited            bytes`.
fn address_limit(root: &SystemRoot) -> Option<u64> {
    let limits = root.peek("/proc/self/limits")?;
    let values = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    values.split_whitespace().next()?.parse().ok()
}

/// Parses `MemAvailable:   12345 kB`.
fn kilobytes(root: &SystemRoot, file: &str, name: &str) -> Option<u64> {
    let text = root.peek(file)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture::SystemTree;

    fn room(limit: &str, available: &str) -> Option<Room> {
        let limits = format!("Max cpu time  unlimited\nMax address space  {limit}  unlimited bytes\n");
        let tree = SystemTree::with_files(&[
            ("/proc/self/limits", &limits),
            ("/proc/self/status", "Name: x\nVmSize:\t  1000 kB\n"),
            ("/proc/meminfo", &format!("MemTotal: 9000 kB\n{available}\n")),
        ]);
        Room::read(tree.root())
    }

    #[test]
    fn the_smaller_bound_counts_and_unreported_memory_is_unknown() {
        let available = "MemAvailable:    4000 kB";
        let expect = |bytes, bound| Some(Room { bytes, bound });
        assert_eq!(room("unlimited", available), expect(4000 << 10, Bound::Available));
        assert_eq!(room("3072000", available), expect(2000 << 10, Bound::AddressSpace));
        assert_eq!(room("1000", available), expect(0, Bound::AddressSpace), "more is taken than is allowed");
        assert_eq!(room("unlimited", "MemFree: 7 kB"), None);
        assert_eq!(Room::read(&SystemRoot::new("/nonexistent")), None);
    }

    #[test]
    fn a_thread_fits_and_a_billion_do_not() {
        assert_eq!(lacking_for_threads(1), None);
        assert!(lacking_for_threads(1 << 30).is_some_and(|reason| reason.contains("are free")));
    }
}
