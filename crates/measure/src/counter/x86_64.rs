//! The time stamp counter.

use std::arch::{asm, x86_64::_rdtsc};

pub(super) const SOURCE: &str = "tsc";

#[inline(always)]
pub(super) fn start() -> u64 {
    let (low, high): (u32, u32);
    // Without `nomem` the compiler moves no memory access across. LFENCE in front: RDTSC may otherwise run ahead of
    // what precedes it; LFENCE behind: what follows may otherwise run ahead of RDTSC (Intel SDM 2B, "RDTSC"). On AMD
    // LFENCE serialises since Linux sets DE_CFG[1].
    // SAFETY: RDTSC and LFENCE are unprivileged on every x86-64 Linux and change nothing but EAX and EDX.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
pub(super) fn stop() -> u64 {
    let (low, high): (u32, u32);
    // RDTSCP waits for all earlier instructions and loads; LFENCE keeps later ones behind it (Intel SDM 2B, "RDTSCP").
    // SAFETY: as above, and RDTSCP is present on every CPU with an invariant counter; it changes ECX besides.
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
    // SAFETY: RDTSC is unprivileged on every x86-64 Linux and has no effect but its result.
    unsafe { _rdtsc() }
}
