//! Counts the CPU migrations of a program.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// Counter inherited by children of the calling thread. Starts at exec: placing and pinning them do not count.
#[derive(Debug)]
pub struct Migrations(File);

impl Migrations {
    /// Begins to count in later children; `None` if the system refuses (containers, strict settings).
    pub fn watch() -> Option<Migrations> {
        Some(Migrations(counter()?))
    }

    /// Number of migrations in all ended programs that the calling thread has started since.
    pub fn count(mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
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

const SOFTWARE: u32 = 1;
const CPU_MIGRATIONS: u64 = 4;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Opens the counter. Refused by a strict `perf_event_paranoid`; excluding the kernel would be permitted but always
/// count zero, since migrations happen in the kernel.
fn counter() -> Option<File> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: 64,
        config: CPU_MIGRATIONS,
        sample: 0,
        sample_type: 0,
        read_format: 0,
        flags: DISABLED | INHERIT | ENABLE_ON_EXEC,
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    // SAFETY: the structure is readable and says how long it is; the other arguments are numbers.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
    // SAFETY: the descriptor is fresh and nobody else has it.
    (fd >= 0).then(|| unsafe { File::from_raw_fd(fd as i32) })
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
            let counter = Migrations::watch()?;
            let ended = Command::new("taskset").args(["-c", first, "sh", "-c", &text]).output();
            ended.is_ok_and(|ended| ended.status.success()).then(|| counter.count()).flatten()
        };
        let Some(held) = script("for i in 1 2 3 4 5 6 7 8; do /bin/true; done".into()) else {
            return println!("skipped: no taskset, or the system does not count migrations for us");
        };
        // `taskset` itself runs before it is pinned, which may migrate it.
        assert!(held <= 2, "{held}");
        let moves = format!("for i in 1 2 3 4; do taskset -cp {second} $$; taskset -cp {first} $$; done");
        assert!(script(moves).unwrap() >= 8);
    }
}
