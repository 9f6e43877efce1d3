//! [`Migrations`]: how often the system moves the threads of a program from CPU to CPU.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

/// Two counters of the calling thread: one that its children inherit, and one of its own to take away from it.
#[derive(Debug)]
pub struct Migrations {
    with_children: File,
    own: File,
}

impl Migrations {
    /// Counts from now on; `None` where the system does not let us (a container, a strict setting).
    pub fn watch() -> Option<Migrations> {
        Some(Migrations { with_children: counter(Inherit::Yes)?, own: counter(Inherit::No)? })
    }

    /// How often since, for everything that the calling thread has started and that has ended.
    pub fn count(mut self) -> Option<u64> {
        Some(value(&mut self.with_children)?.saturating_sub(value(&mut self.own)?))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inherit {
    Yes,
    No,
}

/// The first fields of `perf_event_attr`, 64 bytes (`PERF_ATTR_SIZE_VER0`), of the system's interface.
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
const INHERIT: u64 = 1 << 1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Refused where `perf_event_paranoid` keeps a process from looking into the kernel: leaving the kernel out would be
/// granted, and always count zero, since it is the kernel that migrates.
fn counter(inherit: Inherit) -> Option<File> {
    let attributes = Attributes {
        kind: SOFTWARE,
        size: 64,
        config: CPU_MIGRATIONS,
        sample: 0,
        sample_type: 0,
        read_format: 0,
        flags: if inherit == Inherit::Yes { INHERIT } else { 0 },
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

fn value(counter: &mut File) -> Option<u64> {
    let mut bytes = [0; 8];
    counter.read_exact(&mut bytes).ok()?;
    Some(u64::from_ne_bytes(bytes))
}
