//! Counts migrations and hardware events in a program and its children.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

struct Event {
    /// Name of the event in the values of a run.
    name: &'static str,
    kind: u32,
    config: u64,
    flags: u64,
}

const SOFTWARE: u32 = 1;
const CPU_MIGRATIONS: u64 = 4;
const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
const INSTRUCTIONS: u64 = 1;
const CACHE_MISSES: u64 = 3;
const BRANCH_MISSES: u64 = 5;
const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;

const fn hardware(name: &'static str, config: u64) -> Event {
    // Only user mode is counted, which a `perf_event_paranoid` of 2 permits.
    Event { name, kind: HARDWARE, config, flags: EXCLUDE_KERNEL_AND_HYPERVISOR }
}

/// Migrations happen in the kernel. A count that excludes the kernel would be permitted, but always 0.
const EVENTS: [Event; COUNT] = [
    Event { name: "migrations", kind: SOFTWARE, config: CPU_MIGRATIONS, flags: 0 },
    hardware("instructions", INSTRUCTIONS),
    hardware("cycles", CYCLES),
    hardware("cache_misses", CACHE_MISSES),
    hardware("branch_misses", BRANCH_MISSES),
];
const COUNT: usize = 5;

/// Numbers of events of an ended program; `None` where the system does not count them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EventCounts(pub(super) [Option<u64>; COUNT]);

impl EventCounts {
    /// The known numbers by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EVENTS.iter().zip(self.0).filter_map(|(event, count)| Some((event.name, count?)))
    }
}

/// Counters inherited by children of the calling thread. They start at exec, after the children were pinned.
#[derive(Debug)]
pub struct Counters([Option<File>; COUNT]);

impl Counters {
    /// Begins to count events in later children, if the system permits. Containers and strict settings refuse.
    pub fn watch() -> Counters {
        Counters(EVENTS.each_ref().map(|event| open_counter(event).ok()))
    }

    /// Numbers of events in all ended programs that the calling thread has started since [`watch`](Counters::watch).
    pub fn counts(self) -> EventCounts {
        EventCounts(self.0.map(|counter| read_count(counter?)))
    }
}

pub(crate) fn hardware_refusal() -> Option<io::Error> {
    open_counter(&EVENTS[1]).err()
}

/// The value of a counter; `None` if it did not run all the time. The CPU may have fewer counters than are in use, or
/// the program ran on a kind of core without this counter.
fn read_count(mut counter: File) -> Option<u64> {
    let mut bytes = [0; 24];
    counter.read_exact(&mut bytes).ok()?;
    let (words, _) = bytes.as_chunks::<8>();
    let [count, enabled_ns, running_ns] = [words[0], words[1], words[2]].map(u64::from_ne_bytes);
    (running_ns == enabled_ns).then_some(count)
}

/// First fields of the kernel's `perf_event_attr`, 64 bytes (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

const TIME_ENABLED_AND_RUNNING: u64 = 1 | 1 << 1;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

fn open_counter(event: &Event) -> io::Result<File> {
    let attributes = Attributes {
        kind: event.kind,
        size: 64,
        config: event.config,
        sample: 0,
        sample_type: 0,
        read_format: TIME_ENABLED_AND_RUNNING,
        flags: DISABLED | INHERIT | ENABLE_ON_EXEC | event.flags,
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    // SAFETY: the structure is readable and contains its size. The other arguments are numbers.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::affinity;
    use std::process::Command;

    #[test]
    fn a_program_on_one_cpu_is_never_moved_and_one_that_moves_itself_is() {
        let own = affinity::current_mask().unwrap();
        let cpus: Vec<String> = own.iter().take(2).map(|cpu| cpu.to_string()).collect();
        let [first, second] = cpus.as_slice() else { return println!("skipped: one CPU only") };
        let script = |text: String| {
            let counters = Counters::watch();
            let ended = Command::new("taskset").args(["-c", first, "sh", "-c", &text]).output();
            ended.is_ok_and(|ended| ended.status.success()).then(|| counters.counts().0[0]).flatten()
        };
        let Some(migrations) = script("for i in 1 2 3 4 5 6 7 8; do /bin/true; done".into()) else {
            return println!("skipped: no taskset, or the system does not count migrations for us");
        };
        // `taskset` itself runs before it is pinned, which may migrate it.
        assert!(migrations <= 2, "{migrations}");
        let moves = format!("for i in 1 2 3 4; do taskset -cp {second} $$; taskset -cp {first} $$; done");
        assert!(script(moves).unwrap() >= 8);
    }

    #[test]
    fn instructions_are_counted_where_the_system_permits_it() {
        let counters = Counters::watch();
        assert!(Command::new("true").status().is_ok_and(|status| status.success()));
        let counts = counters.counts();
        assert_eq!(counts.0[1].is_some(), hardware_refusal().is_none(), "{counts:?}");
        assert!(counts.0[1].is_none_or(|count| count > 1_000), "{counts:?}");
    }
}
