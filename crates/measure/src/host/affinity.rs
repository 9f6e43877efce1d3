//! Thread affinity: masks of any size, and pinning with verification.

use coretalk_model::cpu::MAX_CPU;
use coretalk_model::{CpuId, CpuSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Why a thread could not be pinned.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The system refused. The CPU does not exist, is offline or is outside the cpuset.
    #[error("set the affinity to CPU {cpu}")]
    Refused {
        /// The CPU.
        cpu: CpuId,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The system reported success without effect, as some emulators do.
    #[error(
        "stay on CPU {cpu}: the system accepted the mask, but the mask is now {mask} and the thread runs on CPU {found}"
    )]
    Ignored {
        /// Requested CPU.
        cpu: CpuId,
        /// Affinity afterwards.
        mask: CpuSet,
        /// CPU of the thread afterwards.
        found: CpuId,
    },
}

impl PinError {
    /// The error number; `EINVAL` for `PinError::Ignored`.
    pub fn errno(&self) -> i32 {
        match self {
            PinError::Refused { source, .. } => source.raw_os_error().unwrap_or(libc::EINVAL),
            PinError::Ignored { .. } => libc::EINVAL,
        }
    }

    /// The reason as an I/O error.
    pub fn into_io(self) -> io::Error {
        match self {
            PinError::Refused { source, .. } => source,
            ignored => io::Error::other(ignored.to_string()),
        }
    }
}

/// Pins the calling thread to one CPU and verifies affinity and current CPU. An error leaves the affinity unchanged.
pub fn pin_current_thread(cpu: CpuId) -> Result<(), PinError> {
    let refused = |source| PinError::Refused { cpu, source };
    if cpu.0 > MAX_CPU {
        // The kernel has no such CPU, and a mask for it would be too large.
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let before = current_mask().map_err(refused)?;
    let only = CpuSet::from_iter([cpu]);
    set_mask(&only).map_err(refused)?;
    let proof = current_mask().and_then(|mask| Ok((mask, current_cpu()?)));
    match proof {
        Ok((mask, found)) if mask == only && found == cpu => Ok(()),
        Ok((mask, found)) => {
            // Best effort: the old mask may no longer be permitted. The error reports the mask found after pinning.
            let _ = set_mask(&before);
            Err(PinError::Ignored { cpu, mask, found })
        }
        Err(source) => {
            let _ = set_mask(&before);
            Err(refused(source))
        }
    }
}

/// Id of the calling thread.
pub fn current_thread() -> i32 {
    // SAFETY: the call only returns a number.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Affinity of the calling thread. Some emulators lack the system call.
pub fn current_mask() -> io::Result<CpuSet> {
    mask_of(CALLING_THREAD)
}

/// Stands for the calling thread in system calls.
const CALLING_THREAD: i32 = 0;

/// Affinity of a thread of this process, online CPUs only. Fails if the thread has ended.
pub fn mask_of(thread: i32) -> io::Result<CpuSet> {
    // The kernel returns EINVAL while the buffer is smaller than its masks. Over 1,024 CPUs exceed `cpu_set_t`.
    let mut words = vec![0u64; 16];
    loop {
        // SAFETY: the buffer is writable for the given length, and any bit pattern is a valid mask.
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

/// Moves a thread off the CPU to which it pinned itself. A thread of real-time priority may occupy that CPU. Then the
/// pinned thread could not even be killed, and the process would never end.
///
/// The lock is held while the thread is moved, so that its id is not reused meanwhile.
#[derive(Debug, Default)]
pub struct Hold(Mutex<Option<i32>>);

impl Hold {
    /// Registers the calling thread. Must be called before the thread is pinned.
    pub fn begin(&self) {
        *self.thread() = Some(current_thread());
    }

    /// Unregisters the thread, which is about to end.
    pub fn end(&self) {
        *self.thread() = None;
    }

    fn thread(&self) -> MutexGuard<'_, Option<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread run on all CPUs of the calling thread except `from`. Has no effect if the thread has ended or
    /// there is no such CPU.
    pub fn release(&self, from: CpuId) {
        let Ok(mask) = current_mask() else { return };
        if let Some(thread) = *self.thread() {
            let _ = set_mask_of(thread, &mask.difference(&CpuSet::from_iter([from])));
        }
    }
}

/// Sets the affinity of the calling thread. Fails if none of the CPUs is online and inside the cpuset.
pub fn set_mask(cpus: &CpuSet) -> io::Result<()> {
    set_mask_of(CALLING_THREAD, cpus)
}

/// Sets the affinity of a thread of this process. Fails as [`set_mask`], or if the thread has ended.
pub fn set_mask_of(thread: i32, cpus: &CpuSet) -> io::Result<()> {
    // The kernel pads a short mask with zeros and truncates a long one.
    let words = cpus.words();
    // SAFETY: the buffer is readable for the given length.
    let status = unsafe {
        libc::sched_setaffinity(thread, size_of_val(words), words.as_ptr().cast::<libc::cpu_set_t>())
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// CPU of the calling thread. Takes about 1 ns through the vDSO on x86-64. Some emulators lack the call.
pub fn current_cpu() -> io::Result<CpuId> {
    // SAFETY: the call takes no arguments.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).map(CpuId).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_released_unless_it_has_ended() {
        let everywhere = current_mask().unwrap();
        let cpu = everywhere.first().unwrap();
        let others = everywhere.difference(&CpuSet::from_iter([cpu]));
        if others.is_empty() {
            return println!("skipped: this test needs two CPUs");
        }
        let (hold, pinned) = (Hold::default(), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
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
            assert_eq!(thread.join().unwrap(), others);
        });
        hold.release(cpu);
        assert_eq!(current_mask().unwrap(), everywhere);
    }

    #[test]
    fn a_pinned_thread_runs_on_its_cpu() {
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
