//! WAITPKG and MONITORX.

use super::Instruction;
use std::arch::asm;

/// How to try one: waits so many ticks for a line that nobody writes.
pub(super) fn trial(instruction: Instruction) -> Option<fn(u64)> {
    match instruction {
        Instruction::Umwait => Some(|ticks| {
            let line = Line([0; 16]);
            umonitor(line.0.as_ptr());
            umwait(crate::counter::now_ticks() + ticks);
        }),
        Instruction::Tpause => Some(|ticks| tpause(crate::counter::now_ticks() + ticks)),
        Instruction::Mwaitx => Some(|ticks| {
            let line = Line([0; 16]);
            monitorx(line.0.as_ptr());
            mwaitx(ticks as u32);
        }),
        Instruction::Wfe => None,
    }
}

/// A line of its own: the stack around it is written.
#[repr(align(64))]
struct Line([u32; 16]);

/// MFENCE. The fence of the standard library is compiled to a locked instruction on the stack by newer compilers, which
/// costs a quarter.
#[inline(always)]
pub fn full_fence() {
    // SAFETY: MFENCE is part of every x86-64 and changes no register and no memory.
    unsafe { asm!("mfence", options(nostack, preserves_flags)) }
}

/// Watches the line of an address (Intel SDM 2B, "UMONITOR").
#[inline(always)]
pub fn umonitor(address: *const u32) {
    // SAFETY: it reads no memory and changes none; a CPU without it ends the process by a signal, which is why it is
    // tried in a process of its own before.
    unsafe { asm!("umonitor {}", in(reg) address, options(nostack, preserves_flags)) }
}

/// Waits until the watched line is written or the counter has reached the deadline, in C0.1 (bit 0 of the register).
#[inline(always)]
pub fn umwait(deadline_ticks: u64) {
    let (low, high) = (deadline_ticks as u32, (deadline_ticks >> 32) as u32);
    // SAFETY: as above; it changes flags, which are not declared as preserved.
    unsafe { asm!("umwait {:e}", in(reg) 1, in("eax") low, in("edx") high, options(nostack)) }
}

/// Waits until the counter has reached the deadline, in C0.1.
#[inline(always)]
pub fn tpause(deadline_ticks: u64) {
    let (low, high) = (deadline_ticks as u32, (deadline_ticks >> 32) as u32);
    // SAFETY: as above.
    unsafe { asm!("tpause {:e}", in(reg) 1, in("eax") low, in("edx") high, options(nostack)) }
}

/// Watches the line of an address (AMD APM 3, "MONITORX").
#[inline(always)]
pub fn monitorx(address: *const u32) {
    // SAFETY: as `umonitor`; no extension and no hint is asked for.
    unsafe {
        asm!("monitorx", in("rax") address, in("ecx") 0, in("edx") 0, options(nostack, preserves_flags))
    }
}

/// Waits until the watched line is written or so many ticks have passed (bit 1 of ECX: the timer in EBX counts), in C1
/// (0xF in bits 4 to 7 of EAX would be C0; 0 is C1).
#[inline(always)]
pub fn mwaitx(ticks: u32) {
    // SAFETY: as above. The compiler keeps RBX for itself: it is exchanged before and after.
    unsafe {
        asm!(
            "xchg {ticks}, rbx",
            "mwaitx",
            "xchg {ticks}, rbx",
            ticks = inout(reg) u64::from(ticks) => _,
            in("eax") 0,
            in("ecx") 2,
            options(nostack, preserves_flags)
        );
    }
}
