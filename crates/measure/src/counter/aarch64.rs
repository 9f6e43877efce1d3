//! The virtual count of the generic timer.

use std::arch::asm;

pub(super) const SOURCE: &str = "cntvct";

#[inline(always)]
pub(super) fn start() -> u64 {
    let ticks: u64;
    // The architecture lets a counter read be speculated; ISB in front keeps it behind all that precedes (Arm ARM,
    // "Self-hosted views of the counters"), ISB behind keeps the timed span behind the read. Without `nomem` the
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
