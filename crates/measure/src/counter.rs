//! Reads the counter that times everything, with the necessary fences.
//!
//! All three functions read the same counter. The difference of two values is valid on one CPU. Across CPUs it is valid
//! only if the clock is known to be synchronous. The functions end the process with a signal where [`check`] fails.
//! They do not call [`check`], since timed loops contain them.

/// The counter's name: `tsc`, `cntvct`, or `instant` (nanoseconds of the standard library's clock).
pub const SOURCE: &str = imp::SOURCE;

/// Reasons why reading the counter would end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// CPUID leaf 1, EDX\[4\] is clear.
    #[error("this CPU has no time stamp counter")]
    NoCounter,
    /// CPUID leaf 8000_0001h, EDX\[27\] is clear.
    #[error("this CPU has no RDTSCP instruction, which ends each timed span")]
    NoRdtscp,
    /// `PR_SET_TSC` (`man 2 prctl`).
    #[error("this process may not read the time stamp counter (PR_SET_TSC)")]
    Forbidden,
}

/// Checks that this machine has the instructions that read the counter, and that this process may execute them. Returns
/// the first fault.
pub fn check() -> Result<(), Unreadable> {
    imp::check()
}

/// Whether this process is forbidden to read the counter. The clocks of the system then fail as well.
pub fn is_forbidden() -> bool {
    imp::check() == Err(Unreadable::Forbidden)
}

/// Reads the counter at the start of a timed span. Everything before the read has completed, and nothing of the span
/// has begun.
///
/// ```
/// use coretalk_measure::counter;
/// let begun = counter::start();
/// assert!(counter::stop() >= begun);
/// ```
#[inline(always)]
pub fn start() -> u64 {
    imp::start()
}

/// Reads the counter at the end of a timed span. Every load of the span has completed, and nothing after it has begun.
#[inline(always)]
pub fn stop() -> u64 {
    imp::stop()
}

/// Reads the counter without a fence, for deadlines and pacing. The value is precise to a few tens of ticks.
pub fn now_ticks() -> u64 {
    imp::now_ticks()
}

#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod imp {
    use super::Unreadable;
    use std::arch::{asm, x86_64::_rdtsc};

    pub(super) const SOURCE: &str = "tsc";

    pub(super) fn check() -> Result<(), Unreadable> {
        let cpuid = raw_cpuid::CpuId::new();
        let identifiers = cpuid.get_extended_processor_and_feature_identifiers();
        if is_forbidden() {
            Err(Unreadable::Forbidden)
        } else if !cpuid.get_feature_info().is_some_and(|info| info.has_tsc()) {
            Err(Unreadable::NoCounter)
        } else if !identifiers.is_some_and(|info| info.has_rdtscp()) {
            Err(Unreadable::NoRdtscp)
        } else {
            Ok(())
        }
    }

    #[cfg(target_os = "linux")]
    fn is_forbidden() -> bool {
        let mut mode: libc::c_int = 0;
        // SAFETY: this operation writes one `int` to the address of a live `int`.
        let status = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
        status == 0 && mode == libc::PR_TSC_SIGSEGV
    }

    #[cfg(not(target_os = "linux"))]
    fn is_forbidden() -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn start() -> u64 {
        let (low, high): (u32, u32);
        // Without `nomem` the compiler moves no memory access across. The first LFENCE keeps RDTSC behind earlier
        // instructions. The second keeps later instructions behind RDTSC (Intel SDM 2B, "RDTSC"). On AMD, LFENCE
        // serialises since Linux sets DE_CFG[1].
        // SAFETY: RDTSC and LFENCE change only EAX and EDX. Without RDTSC the process ends with a signal, which leaves
        // no undefined state. Callers call `check` before.
        unsafe {
            asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline(always)]
    pub(super) fn stop() -> u64 {
        let (low, high): (u32, u32);
        // RDTSCP waits for all earlier instructions and loads. LFENCE keeps later ones behind (Intel SDM 2B, "RDTSCP").
        // SAFETY: as in `start`. RDTSCP also changes ECX. A CPU without RDTSCP ends the process with a signal.
        unsafe {
            asm!(
                "rdtscp", "lfence",
                out("eax") low, out("edx") high, out("ecx") _,
                options(nostack, preserves_flags)
            );
        }
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline]
    pub(super) fn now_ticks() -> u64 {
        // SAFETY: RDTSC has no effect but its result. Without it the process ends with a signal, as in `start`.
        unsafe { _rdtsc() }
    }
}

#[cfg(all(target_arch = "aarch64", not(any(miri, loom))))]
mod imp {
    use std::arch::asm;

    pub(super) const SOURCE: &str = "cntvct";

    pub(super) fn check() -> Result<(), super::Unreadable> {
        Ok(())
    }

    #[inline(always)]
    pub(super) fn start() -> u64 {
        let ticks: u64;
        // Arm permits speculative reads of the counter. The first ISB keeps the read behind earlier instructions (Arm
        // ARM, "Self-hosted views of the counters"); the second keeps the span behind the read. Without `nomem` the
        // compiler moves no memory access across.
        // SAFETY: CNTVCT_EL0 is readable from user space on Linux, and nothing but the result register changes.
        unsafe {
            asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
        }
        ticks
    }

    #[inline(always)]
    pub(super) fn stop() -> u64 {
        // The same fences are needed on both sides of the read.
        start()
    }

    #[inline]
    pub(super) fn now_ticks() -> u64 {
        let ticks: u64;
        // SAFETY: CNTVCT_EL0 is readable from user space on Linux, and nothing but the result register changes.
        unsafe {
            asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, nomem, preserves_flags));
        }
        ticks
    }
}

/// Nanoseconds of the standard library's clock, for Miri and where no counter is known.
#[cfg(all(not(loom), any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64")))))]
mod imp {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) const SOURCE: &str = "instant";

    pub(super) fn check() -> Result<(), super::Unreadable> {
        Ok(())
    }

    pub(super) fn start() -> u64 {
        now_ticks()
    }

    pub(super) fn stop() -> u64 {
        now_ticks()
    }

    pub(super) fn now_ticks() -> u64 {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        // 584 years of nanoseconds fit.
        Instant::now().duration_since(*ORIGIN.get_or_init(Instant::now)).as_nanos() as u64
    }
}

/// Counts its own reads. Loom explores orders of memory accesses, in which no time passes.
#[cfg(loom)]
mod imp {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    pub(super) const SOURCE: &str = "step";

    pub(super) fn check() -> Result<(), super::Unreadable> {
        Ok(())
    }

    pub(super) fn start() -> u64 {
        now_ticks()
    }

    pub(super) fn stop() -> u64 {
        now_ticks()
    }

    pub(super) fn now_ticks() -> u64 {
        // Not an atomic of loom: the program must not synchronise through its clock. Relaxed: only the value matters.
        static READINGS: AtomicU64 = AtomicU64::new(0);
        READINGS.fetch_add(1, Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn the_counter_advances_and_never_runs_backwards() {
        let mut last = super::start();
        let first = last;
        for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
            for read in [super::start, super::now_ticks, super::stop] {
                let value = read();
                // Unfenced reads may be executed a little early, but never before a fenced one that precedes them.
                assert!(value >= last, "{value} after {last}");
                last = value;
            }
        }
        assert!(last > first, "the counter stands still at {first}");
    }
}
