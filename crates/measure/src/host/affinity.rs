//! Which CPUs a thread may run on: masks of any size, and a pin that is proven before it is believed.

use coretalk_model::cpu::MAX_CPU;
use coretalk_model::{CpuId, CpuSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a thread is not on the CPU it was sent to.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The system said no: the CPU does not exist, is offline, or lies outside the cpuset.
    #[error("set the affinity to CPU {cpu}")]
    Refused {
        /// The CPU.
        cpu: CpuId,
        /// The system's reason.
        source: io::Error,
    },
    /// The system said yes, and the thread may still run elsewhere (seen on emulators).
    #[error(
        "stay on CPU {cpu}: the system accepted the mask, but the mask is now {mask} and the thread runs on CPU {found}"
    )]
    Ignored {
        /// The CPU asked for.
        cpu: CpuId,
        /// The mask that the system reports afterwards.
        mask: CpuSet,
        /// Where the thread was found.
        found: CpuId,
    },
}

impl PinError {
    /// The system's error number; `EINVAL` where it claimed success and did nothing.
    pub fn errno(&self) -> i32 {
        match self {
            PinError::Refused { source, .. } => source.raw_os_error().unwrap_or(libc::EINVAL),
            PinError::Ignored { .. } => libc::EINVAL,
        }
    }

    /// The reason as an error of the system.
    pub fn into_io(self) -> io::Error {
        match self {
            PinError::Refused { source, .. } => source,
            ignored => io::Error::other(ignored.to_string()),
        }
    }
}

/// Binds the calling thread to exactly one CPU and proves it: the mask reads back as this CPU alone, and the thread
/// runs there. After an error the affinity is what it was.
///
/// # Errors
/// [`PinError`] where the system refuses or only pretends.
pub fn pin_current_thread(cpu: CpuId) -> Result<(), PinError> {
    let refused = |source| PinError::Refused { cpu, source };
    if cpu.0 > MAX_CPU {
        // A mask for it would not fit into memory; the kernel knows no such CPU either.
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let before = current_mask().map_err(refused)?;
    let only = CpuSet::from_iter([cpu]);
    set_mask(&only).map_err(refused)?;
    let proof = current_mask().and_then(|mask| Ok((mask, current_cpu()?)));
    match proof {
        Ok((mask, found)) if mask == only && found == cpu => Ok(()),
        Ok((mask, found)) => {
            // Best effort: the mask was in force a moment ago, so that a refusal now means that it has been taken
            // away, and the error below says what is in force instead.
            let _ = set_mask(&before);
            Err(PinError::Ignored { cpu, mask, found })
        }
        Err(source) => {
            let _ = set_mask(&before);
            Err(refused(source))
        }
    }
}

/// The system's number of the calling thread.
pub fn current_thread() -> i32 {
    // SAFETY: asks for a number, no memory involved.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// The CPUs that the calling thread may run on.
///
/// # Errors
/// The system's reason; the call does not exist on some emulators.
pub fn current_mask() -> io::Result<CpuSet> {
    mask_of(CALLING)
}

/// The number by which the system understands the calling thread.
const CALLING: i32 = 0;

/// The online CPUs that a thread of this process may run on.
///
/// # Errors
/// As [`current_mask`], or the thread has ended.
pub fn mask_of(thread: i32) -> io::Result<CpuSet> {
    // The kernel answers EINVAL while the buffer is smaller than its own masks; machines beyond 1,024 CPUs need more
    // than the fixed `cpu_set_t`.
    let mut words = vec![0u64; 16];
    loop {
        // SAFETY: the buffer is writable for the length given, and any bit pattern is a valid mask.
        let status = unsafe {
            libc::sched_getaffinity(
                thread,
                size_of_val(words.as_slice()),
                words.as_mut_ptr().cast::<libc::cpu_set_t>(),
            )
        };
        if status == 0 {
            return Ok(CpuSet::from_words(words));
        }
        let reason = io::Error::last_os_error();
        if reason.raw_os_error() != Some(libc::EINVAL) || words.len() * 64 > MAX_CPU as usize {
            return Err(reason);
        }
        words = vec![0; words.len() * 2];
    }
}

/// The hold on a thread that pins itself to a CPU. Where that CPU does not run it, since another one of real-time priority
/// keeps it, the thread could not even be killed, and the process would never end.
///
/// The lock is held while the thread is let go, so that its number cannot be given to another thread meanwhile.
#[derive(Debug, Default)]
pub struct Hold(Mutex<Option<i32>>);

impl Hold {
    /// The calling thread is the one; before it is pinned.
    pub fn begin(&self) {
        *self.thread() = Some(current_thread());
    }

    /// The thread is about to end, and its number may be given again.
    pub fn end(&self) {
        *self.thread() = None;
    }

    fn thread(&self) -> MutexGuard<'_, Option<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread run where the calling one may, but for this CPU; nothing where it has ended, or may go nowhere else.
    pub fn release(&self, from: CpuId) {
        let Ok(mask) = current_mask() else { return };
        if let Some(thread) = *self.thread() {
            // A refusal leaves it where it is.
            let _ = set_mask_of(thread, &mask.difference(&CpuSet::from_iter([from])));
        }
    }
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// The system's reason: none of the CPUs is online and inside the cpuset.
pub fn set_mask(cpus: &CpuSet) -> io::Result<()> {
    set_mask_of(CALLING, cpus)
}

/// Lets a thread of this process run on these CPUs only.
///
/// # Errors
/// As [`set_mask`], or the thread has ended.
pub fn set_mask_of(thread: i32, cpus: &CpuSet) -> io::Result<()> {
    // A buffer shorter than the kernel's mask is filled up with zeros by the kernel, a longer one is cut.
    let words = cpus.words();
    // SAFETY: the buffer is readable for the length given.
    let status = unsafe {
        libc::sched_setaffinity(thread, size_of_val(words), words.as_ptr().cast::<libc::cpu_set_t>())
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPU that the calling thread runs on; about 1 ns through the vDSO on x86-64, without a system call.
///
/// # Errors
/// The system's reason; the call does not exist on some emulators.
pub fn current_cpu() -> io::Result<CpuId> {
    // SAFETY: no arguments, no memory.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).map(CpuId).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_let_go_from_its_cpu_and_not_after_its_end() {
        let everywhere = current_mask().unwrap();
        let cpu = everywhere.first().unwrap();
        let others = everywhere.difference(&CpuSet::from_iter([cpu]));
        if others.is_empty() {
            println!("skipped: this test needs two CPUs");
            return;
        }
        let (hold, pinned) = (Hold::default(), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let held = scope.spawn(|| {
                hold.begin();
                pin_current_thread(cpu).unwrap();
                pinned.wait();
                pinned.wait();
                hold.end();
                current_mask().unwrap()
            });
            pinned.wait();
            hold.release(cpu);
            pinned.wait();
            assert_eq!(held.join().unwrap(), others);
        });
        hold.release(cpu);
        assert_eq!(current_mask().unwrap(), everywhere);
    }

    #[test]
    fn a_pinned_thread_is_where_it_says() {
        std::thread::spawn(|| {
            let allowed = current_mask().unwrap();
            for cpu in allowed.iter() {
                pin_current_thread(cpu).unwrap();
                assert_eq!(current_cpu().unwrap(), cpu);
            }
            set_mask(&allowed).unwrap();
            assert_eq!(current_mask().unwrap(), allowed);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_and_nothing_changes() {
        std::thread::spawn(|| {
            let before = current_mask().unwrap();
            for cpu in [5000, MAX_CPU, u32::MAX] {
                let error = pin_current_thread(CpuId(cpu)).unwrap_err();
                assert_eq!(error.errno(), libc::EINVAL, "CPU {cpu}: {error}");
                assert_eq!(current_mask().unwrap(), before);
            }
        })
        .join()
        .unwrap();
    }
}
